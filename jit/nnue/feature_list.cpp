#include "jit/nnue/feature_list.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/base/check.h"

namespace trident::nnue {
namespace {

// A term as a list of nodes, with children by place.
struct Written {
  struct Node {
    Choice choice;
    std::uint32_t references = 0;
  };
  std::vector<Node> nodes;
  std::unordered_map<std::uint32_t, std::uint32_t> places;  ///< by class, and by overlay_child()
};

class Writer {
 public:
  Writer(const Incumbent& incumbent, const Afterstate* after) : incumbent_(incumbent), after_(after) {
    if (after == nullptr) return;
    from_ = incumbent.find(after->from);
    to_ = after->to == egraph::kNone ? overlay_child(after->overlay.count - 1) : incumbent.find(after->to);
  }

  // Returns the node that a reference leads to. References of the overlay itself to the place stay.
  std::uint32_t refer(std::uint32_t to, bool from_overlay) {
    if (to < overlay_child(0)) {
      to = incumbent_.find(to);
      if (after_ != nullptr && to == from_ && !from_overlay) to = to_;
    }
    const auto [at, fresh] = written_.places.emplace(to, written_.nodes.size());
    const std::uint32_t place = at->second;
    if (fresh) written_.nodes.push_back({choice_of(to)}), open_.push_back(to);
    ++written_.nodes[place].references;
    return place;
  }

  Written write(std::span<const ClassId> roots) {
    std::vector<ClassId> own(roots.begin(), roots.end());
    for (ClassId& root : own) root = incumbent_.find(root);
    for (const ClassId root : own) refer(root, false);
    while (!open_.empty()) {
      const std::uint32_t name = open_.back();
      open_.pop_back();
      const std::uint32_t place = written_.places.at(name);
      for (std::uint8_t s = 0; s < written_.nodes[place].choice.arity; ++s) {
        const std::uint32_t child = refer(written_.nodes[place].choice.child[s], name >= overlay_child(0));
        written_.nodes[place].choice.child[s] = child;
      }
    }
    return std::move(written_);
  }

 private:
  [[nodiscard]] Choice choice_of(std::uint32_t name) const {
    return name >= overlay_child(0) ? after_->overlay.nodes[name - overlay_child(0)] : incumbent_.choice(name);
  }

  const Incumbent& incumbent_;
  const Afterstate* after_;
  std::uint32_t from_ = egraph::kNone, to_ = egraph::kNone;
  Written written_;
  std::vector<std::uint32_t> open_;
};

}  // namespace

FeatureList features_of(const egraph::Term& term, std::span<const egraph::OpRow> ops, const KindTable& kinds,
                         unsigned depth) {
  CHECK(depth >= 1 && depth <= kDepthMax);
  // Nodes precede their users: going from last to first, all references to a node have been seen.
  std::vector<std::uint32_t> references(term.nodes.size());
  std::vector<std::uint32_t> roots = term.roots;
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());  // a root named twice is one root
  for (const std::uint32_t root : roots) ++references[root];
  for (std::size_t n = term.nodes.size(); n-- > 0;)
    if (references[n] > 0)
      for (std::uint8_t c = 0; c < ops[term.nodes[n].op].children; ++c) ++references[term.nodes[n].child[c]];

  std::vector<std::uint8_t> kind(term.nodes.size());
  for (std::size_t n = 0; n < kind.size(); ++n) kind[n] = kinds.of(term.nodes[n]);
  FeatureList out;
  struct Place {
    std::uint32_t node, code;
  };
  std::vector<Place> level, below;
  for (std::uint32_t v = 0; v < references.size(); ++v) {
    if (references[v] == 0) continue;
    ++out.nodes;
    level.assign(1, {v, 0});
    for (unsigned length = 0; !level.empty(); ++length) {
      below.clear();
      for (const Place at : level) {
        out.list.push_back(feature(kind[v], kind[at.node], at.code));
        if (length == depth) continue;
        const egraph::ENode& node = term.nodes[at.node];
        for (std::uint32_t slot = 0; slot < ops[node.op].children; ++slot)
          below.push_back({node.child[slot], code_of_child(at.code, slot)});
      }
      level.swap(below);
    }
    if (const std::uint32_t code = code_of_references(references[v]); code != 0)
      out.list.push_back(feature(kind[v], kind[v], code));
  }
  return out;
}

FeatureList features_of(const Incumbent& incumbent, std::span<const ClassId> roots, const Afterstate* after) {
  const Written written = Writer(incumbent, after).write(roots);
  struct Place {
    std::uint32_t node, code;
  };
  FeatureList out;
  out.nodes = static_cast<std::uint32_t>(written.nodes.size());
  std::vector<Place> level, below;
  for (std::uint32_t v = 0; v < written.nodes.size(); ++v) {
    const std::uint8_t above = written.nodes[v].choice.kind;
    level.assign(1, {v, 0});
    for (unsigned length = 0; !level.empty(); ++length) {
      below.clear();
      for (const Place at : level) {
        const Choice& choice = written.nodes[at.node].choice;
        out.list.push_back(feature(above, choice.kind, at.code));
        for (std::uint32_t slot = 0; length < incumbent.depth() && slot < choice.arity; ++slot)
          below.push_back({choice.child[slot], code_of_child(at.code, slot)});
      }
      level.swap(below);
    }
    if (const std::uint32_t code = code_of_references(written.nodes[v].references); code != 0)
      out.list.push_back(feature(above, above, code));
  }
  std::sort(out.list.begin(), out.list.end());
  return out;
}

}  // namespace trident::nnue
