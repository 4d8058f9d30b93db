#include "jit/expr/rewrite/regions.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <utility>

namespace trident::expr::rewrite {
namespace {

using egraph::ENode;
using egraph::Facts;
using egraph::kNone;
using egraph::Term;

constexpr std::size_t kRegionPasses = 2;
constexpr std::uint8_t kStageOfScalars = 0;
/// Nodes and applications for one region: with fewer nothing is found. Where the budget has less for each, the last
/// regions go without.
constexpr std::uint64_t kShareMin = 512;

bool equal_nodes(const ENode& a, const ENode& b) {
  return a.op == b.op && a.sort == b.sort && a.flags == b.flags && a.child == b.child;
}

std::size_t hash_of_node(const ENode& n) {
  std::uint64_t h = std::uint64_t{n.op} << 24 | std::uint64_t{n.sort} << 16 | n.flags;
  for (const std::uint32_t child : n.child) h = (h ^ child) * 0x9E37'79B9'7F4A'7C15u, h ^= h >> 29;
  return static_cast<std::size_t>(h);
}

/// Builds a term whose nodes are all different. Few allocations: it also works when a search has just been cancelled.
class TermBuilder {
 public:
  explicit TermBuilder(std::size_t nodes) : slots_(std::bit_ceil(2 * nodes + 16), kNone) { term_.nodes.reserve(nodes); }

  std::uint32_t add(const ENode& node) {
    if (2 * term_.nodes.size() >= slots_.size()) grow();
    std::uint32_t& slot = slot_of(node);
    if (slot == kNone) {
      slot = static_cast<std::uint32_t>(term_.nodes.size());
      term_.nodes.push_back(node);
    }
    return slot;
  }
  void add_root(std::uint32_t root) { term_.roots.push_back(root); }
  Term take() { return std::move(term_); }

 private:
  std::uint32_t& slot_of(const ENode& node) {
    std::size_t at = hash_of_node(node) & (slots_.size() - 1);
    while (slots_[at] != kNone && !equal_nodes(term_.nodes[slots_[at]], node)) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kNone);
    for (std::uint32_t i = 0; i < term_.nodes.size(); ++i) slot_of(term_.nodes[i]) = i;
  }

  Term term_;
  std::vector<std::uint32_t> slots_;  ///< a power of two; at most half are taken
};

/// Returns the node with its children's numbers in another term.
ENode renumbered(ENode node, std::uint8_t children, std::span<const std::uint32_t> places) {
  for (std::uint8_t c = 0; c < children; ++c) node.child[c] = places[node.child[c]];
  return node;
}

/// A part of a term as a term of its own. Its variables from the language's size on stand for values from outside.
struct Region {
  Term term;
  std::vector<std::uint32_t> inputs;   ///< the outer node that each of these variables stands for
  std::vector<std::uint32_t> outputs;  ///< the node of the whole term behind each root
};

/// A term in depth-first order, divided into regions.
class Division {
 public:
  Division(const egraph::SearchSpace& space, const Term& term, std::size_t variables, std::size_t first_max)
      : ops_(space.ops), variables_(variables) {
    order(term);
    take_facts(space.semantics);
    divide(first_max);
  }

  [[nodiscard]] const Facts& facts(std::uint32_t node) const { return facts_[node]; }
  [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }
  /// Puts forms of the regions in their places.
  [[nodiscard]] Term put_together(std::span<const Term> forms) const;

 private:
  [[nodiscard]] std::uint8_t children(const ENode& node) const { return ops_[node.op].children; }
  [[nodiscard]] bool is_leaf(std::uint32_t i) const { return children(term_.nodes[i]) == 0; }
  /// Nodes of regions: no leaves, and known in the loop or before it.
  [[nodiscard]] bool belongs(std::uint32_t i) const {
    return !is_leaf(i) && facts_[i].stage <= egraph::kStageOfElements;
  }

  void order(const Term& term);
  void take_facts(const egraph::Semantics& semantics);
  void divide(std::size_t first_max);
  [[nodiscard]] Region region_of(std::span<const std::uint32_t> nodes) const;
  [[nodiscard]] std::vector<std::uint32_t> last_users() const;

  std::span<const egraph::OpRow> ops_;
  std::size_t variables_;
  Term term_;
  std::vector<Facts> facts_;             ///< per node
  std::vector<std::uint32_t> last_use_;  ///< per node: its last user; kNone where a root or no region uses it
  std::vector<Region> regions_;
};

// Orders nodes so that those of a subterm stand together.
void Division::order(const Term& term) {
  std::vector<std::uint32_t> places(term.nodes.size(), kNone), stack;
  for (const std::uint32_t root : term.roots) {
    stack.push_back(root);
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      const ENode& node = term.nodes[at];
      const std::size_t before = stack.size();
      for (std::uint8_t c = children(node); c-- > 0 && places[at] == kNone;)
        if (places[node.child[c]] == kNone) stack.push_back(node.child[c]);
      if (stack.size() > before) continue;
      stack.pop_back();
      if (places[at] != kNone) continue;
      places[at] = static_cast<std::uint32_t>(term_.nodes.size());
      term_.nodes.push_back(renumbered(node, children(node), places));
    }
    term_.roots.push_back(places[root]);
  }
}

void Division::take_facts(const egraph::Semantics& semantics) {
  const Facts none;
  facts_.reserve(term_.nodes.size());
  for (const ENode& node : term_.nodes) {
    std::array<const Facts*, 3> of_children{&none, &none, &none};
    for (std::uint8_t c = 0; c < children(node); ++c) of_children[c] = &facts_[node.child[c]];
    facts_.push_back(semantics.facts(semantics.context, node, of_children));
  }
}

std::vector<std::uint32_t> Division::last_users() const {
  std::vector<std::uint32_t> last(term_.nodes.size(), 0);
  for (std::uint32_t i = 0; i < term_.nodes.size(); ++i)
    for (std::uint8_t c = 0; c < children(term_.nodes[i]); ++c) {
      std::uint32_t& of_operand = last[term_.nodes[i].child[c]];
      if (of_operand != kNone) of_operand = belongs(i) ? i : kNone;
    }
  for (const std::uint32_t root : term_.roots) last[root] = kNone;
  return last;
}

void Division::divide(std::size_t first_max) {
  last_use_ = last_users();
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = 0; i < term_.nodes.size(); ++i)
    if (belongs(i)) list.push_back(i);
  std::size_t most = first_max;
  for (std::size_t begin = 0; begin < list.size(); most = kRegionNodes) {
    const std::size_t end_max = std::min(begin + most, list.size());
    // Counts the values made here that are used beyond each place where the region may end.
    std::size_t end = end_max, fewest = list.size();
    for (std::size_t e = end_max; e >= begin + (most + 1) / 2 && end_max != list.size(); --e) {
      std::size_t crossing = 0;
      for (std::size_t i = begin; i < e; ++i) crossing += last_use_[list[i]] > list[e - 1] ? 1 : 0;
      if (crossing < fewest) fewest = crossing, end = e;
    }
    regions_.push_back(region_of(std::span(list).subspan(begin, end - begin)));
    begin = end;
  }
}

Region Division::region_of(std::span<const std::uint32_t> nodes) const {
  Region region;
  TermBuilder builder(3 * nodes.size());
  std::vector<std::uint32_t> places(term_.nodes.size(), kNone);
  const auto variable_for = [&](std::uint32_t outer) {
    ENode leaf;
    leaf.op = static_cast<std::uint8_t>(Op::Variable);
    leaf.sort = term_.nodes[outer].sort;
    leaf.child = {static_cast<std::uint32_t>(variables_ + region.inputs.size()),
                  facts_[outer].stage == kStageOfScalars ? 1u : 0u, 0};
    region.inputs.push_back(outer);
    return builder.add(leaf);
  };
  for (const std::uint32_t i : nodes) {
    const ENode& node = term_.nodes[i];
    for (std::uint8_t c = 0; c < children(node); ++c) {
      const std::uint32_t operand = node.child[c];
      if (places[operand] == kNone)
        places[operand] = is_leaf(operand) ? builder.add(term_.nodes[operand]) : variable_for(operand);
    }
    places[i] = builder.add(renumbered(node, children(node), places));
  }
  for (const std::uint32_t i : nodes) {
    if (last_use_[i] <= nodes.back()) continue;
    region.outputs.push_back(i);
    builder.add_root(places[i]);
  }
  region.term = builder.take();
  return region;
}

Term Division::put_together(std::span<const Term> forms) const {
  TermBuilder builder(term_.nodes.size());
  std::vector<std::uint32_t> places(term_.nodes.size(), kNone);
  const auto place = [&](std::uint32_t i) {
    if (places[i] == kNone) places[i] = builder.add(renumbered(term_.nodes[i], children(term_.nodes[i]), places));
    return places[i];
  };
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    const Region& region = regions_[r];
    std::vector<std::uint32_t> inner;
    for (const ENode& node : forms[r].nodes) {
      const bool outer = node.op == static_cast<std::uint8_t>(Op::Variable) && node.child[0] >= variables_;
      inner.push_back(outer ? place(region.inputs[node.child[0] - variables_])
                            : builder.add(renumbered(node, children(node), inner)));
    }
    for (std::size_t k = 0; k < region.outputs.size(); ++k) places[region.outputs[k]] = inner[forms[r].roots[k]];
  }
  for (std::uint32_t i = 0; i < term_.nodes.size(); ++i)
    if (!belongs(i) && !is_leaf(i)) {
      for (std::uint8_t c = 0; c < children(term_.nodes[i]); ++c) place(term_.nodes[i].child[c]);
      place(i);
    }
  for (const std::uint32_t root : term_.roots) builder.add_root(place(root));
  return builder.take();
}

/// A division with one form of each region.
struct Patchwork {
  std::shared_ptr<const Division> division;
  std::vector<Term> forms;
  std::vector<std::size_t> changed;  ///< regions whose form is not the original

  [[nodiscard]] Term with(const std::vector<bool>& renewed) const {
    std::vector<Term> chosen;
    for (const Region& region : division->regions()) chosen.push_back(region.term);
    for (std::size_t i = 0; i < changed.size(); ++i)
      if (renewed[i]) chosen[changed[i]] = forms[changed[i]];
    return division->put_together(chosen);
  }
};

class RegionSearch {
 public:
  RegionSearch(const egraph::SearchSpace& space, const Language& language, const egraph::SearchOptions& options)
      : space_(space), language_(language), options_(options) {}

  RegionResult run(const Term& initial) {
    remember(initial);
    for (std::size_t pass = 0; pass < kRegionPasses && !over_; ++pass) {
      const std::size_t first_max = pass % 2 == 0 ? kRegionNodes : kRegionNodes / 2;
      const auto division =
          std::make_shared<const Division>(space_, Term(found_.front().term), language_.size(), first_max);
      search_all(division, kRegionPasses - pass);
    }
    RegionResult result;
    auto& terms = result.found.terms;
    for (Found& found : found_) terms.push_back(std::move(found.term));
    terms.resize(std::min(terms.size(), std::max<std::size_t>(options_.keep, 1)));
    result.found.stats = stats_;
    result.pieces = pieces();
    return result;
  }

 private:
  struct Found {
    double cost = 0;
    Term term;
  };

  [[nodiscard]] double cost_of_term(const Term& term) const {
    return options_.objective == egraph::Objective::dag ? dag_cost(term, space_.ops, space_.costs)
                                                        : tree_cost(term, space_.ops, space_.costs);
  }

  void remember(Term term) {
    const double cost = cost_of_term(term);
    const auto behind = std::find_if(found_.begin(), found_.end(), [&](const Found& f) { return cost < f.cost; });
    found_.insert(behind, {cost, std::move(term)});
  }

  void search_all(const std::shared_ptr<const Division>& division, std::size_t passes_left) {
    std::vector<std::vector<Term>> forms;  // per region, the best first
    std::size_t most = 1;
    const std::vector<Region>& regions = division->regions();
    for (std::size_t r = 0; r < regions.size(); ++r) {
      forms.push_back(search_one(*division, regions[r], passes_left * regions.size() - r));
      most = std::max(most, forms.back().size());
      if (cancelled()) return;
    }
    if (first_.division == nullptr) keep_best(division, forms);
    for (std::size_t rank = 0; rank < most; ++rank) {
      std::vector<Term> chosen;
      for (const auto& of_region : forms) chosen.push_back(of_region[std::min(rank, of_region.size() - 1)]);
      remember(division->put_together(chosen));
    }
  }

  void keep_best(const std::shared_ptr<const Division>& division, std::span<const std::vector<Term>> forms) {
    first_.division = division;
    for (std::size_t r = 0; r < forms.size(); ++r) {
      if (cost_of_term(forms[r].front()) < cost_of_term(division->regions()[r].term)) first_.changed.push_back(r);
      first_.forms.push_back(forms[r].front());
    }
  }

  TermPieces pieces() {
    if (first_.division == nullptr) return {};
    const std::size_t count = first_.changed.size();
    return {count, [first = std::make_shared<const Patchwork>(std::move(first_))](const std::vector<bool>& renewed) {
              return first->with(renewed);
            }};
  }

  /// Searches one region in its share of the budget; `left` regions are still to be searched, this one among them.
  std::vector<Term> search_one(const Division& division, const Region& region, std::size_t left) {
    Language language = language_;
    for (const std::uint32_t input : region.inputs) language.add_variable(division.facts(input));
    egraph::SearchSpace space = space_;
    space.semantics = language.semantics();
    egraph::SearchOptions options = options_;
    options.look = {}, options.explain = false;
    options.budget = share(left);
    if (over_) return {region.term};
    egraph::SearchResult result = egraph::search(space, region.term, options);
    stats_.add(result.stats);
    stats_.stop = result.stats.stop;
    over_ = result.stats.stop == egraph::Stop::cancelled || result.stats.stop == egraph::Stop::contradiction;
    return std::move(result.terms);
  }

  [[nodiscard]] bool cancelled() const {
    return options_.budget.cancelled != nullptr && options_.budget.cancelled->load(std::memory_order_relaxed);
  }

  egraph::SearchBudget share(std::size_t left) {
    const egraph::SearchBudget& all = options_.budget;
    over_ = over_ || stats_.applications >= all.applications ||
            (all.graph_nodes != 0 && stats_.nodes >= all.graph_nodes) ||
            (all.nanoseconds != 0 && stats_.nanoseconds >= all.nanoseconds);
    egraph::SearchBudget rest = rest_of(all, stats_);
    const auto part = [&](std::uint64_t& limit, std::uint64_t least) {
      if (limit != 0) limit = std::min(limit, std::max(limit / left, least));
    };
    part(rest.applications, kShareMin), part(rest.graph_nodes, kShareMin), part(rest.nanoseconds, 1);
    return rest;
  }

  const egraph::SearchSpace& space_;
  const Language& language_;
  const egraph::SearchOptions& options_;
  std::vector<Found> found_;  ///< the cheapest first
  Patchwork first_;
  egraph::SearchStats stats_;
  bool over_ = false;
};

}  // namespace

std::size_t inner_nodes(const Expr& expr) {
  return static_cast<std::size_t>(
      std::count_if(expr.nodes.begin(), expr.nodes.end(), [](const Node& n) { return n.a.valid(); }));
}

RegionResult search_by_regions(const egraph::SearchSpace& space, const Language& language, const egraph::Term& initial,
                               const egraph::SearchOptions& options) {
  return RegionSearch(space, language, options).run(initial);
}

}  // namespace trident::expr::rewrite
