#include "jit/learn/term_features.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::learn {

TermFeatures features_of(const egraph::Term& term, std::span<const egraph::OpRow> ops, const nnue::KindTable& kinds,
                         unsigned depth) {
  CHECK(depth >= 1 && depth <= nnue::kDepthMax);
  // Nodes precede their users: from the last to the first, everything that refers to a node has been seen.
  std::vector<std::uint32_t> references(term.nodes.size());
  std::vector<std::uint32_t> roots = term.roots;
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());  // one that is named twice is one root
  for (const std::uint32_t root : roots) ++references[root];
  for (std::size_t n = term.nodes.size(); n-- > 0;)
    if (references[n] > 0)
      for (std::uint8_t c = 0; c < ops[term.nodes[n].op].children; ++c) ++references[term.nodes[n].child[c]];

  std::vector<std::uint8_t> kind(term.nodes.size());
  for (std::size_t n = 0; n < kind.size(); ++n) kind[n] = kinds.of(term.nodes[n]);
  TermFeatures out;
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
        out.list.push_back(nnue::feature(kind[v], kind[at.node], at.code));
        if (length == depth) continue;
        const egraph::ENode& node = term.nodes[at.node];
        for (std::uint32_t slot = 0; slot < ops[node.op].children; ++slot)
          below.push_back({node.child[slot], nnue::code_of_child(at.code, slot)});
      }
      level.swap(below);
    }
    if (const std::uint32_t code = nnue::code_of_references(references[v]); code != 0)
      out.list.push_back(nnue::feature(kind[v], kind[v], code));
  }
  return out;
}

}  // namespace trident::learn
