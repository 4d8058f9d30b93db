#include "jit/egraph/incumbents.h"

#include <algorithm>
#include <set>
#include <utility>

namespace trident::egraph {
namespace {

// Moves terms with as many nodes of every op as an earlier one behind the others: mostly they add or multiply in
// another order.
void twins_last(std::vector<Term>& terms) {
  std::set<std::vector<std::uint16_t>> seen;
  std::stable_partition(terms.begin(), terms.end(), [&](const Term& term) {
    std::vector<std::uint16_t> ops;
    for (const ENode& node : term.nodes) ops.push_back(static_cast<std::uint16_t>(node.op << 8 | node.sort));
    std::sort(ops.begin(), ops.end());
    return seen.insert(std::move(ops)).second;
  });
}

}  // namespace

void Incumbents::remember(Term term, double cost) {
  bytes_ += term.nodes.size() * (sizeof(ENode) + sizeof(NodeIndex)) + sizeof(Incumbent);
  list_.push_back({cost, std::move(term)});
}

void Incumbents::put_first(Term term, double cost) {
  remember(std::move(term), cost);
  std::rotate(list_.begin(), list_.end() - 1, list_.end());
}

void Incumbents::keep_initial() {
  const auto initial =
      std::find_if(list_.begin(), list_.end(), [](const Incumbent& i) { return i.term.origin.empty(); });
  list_.assign(1, Incumbent(*initial));
}

std::vector<Term> Incumbents::take(std::size_t keep) {
  std::stable_sort(list_.begin(), list_.end(), [](const Incumbent& a, const Incumbent& b) { return a.cost < b.cost; });
  std::vector<Term> terms;
  for (Incumbent& i : list_) terms.push_back(std::move(i.term));
  if (terms.size() > keep) {
    twins_last(terms);
    terms.resize(std::max<std::size_t>(keep, 1));
  }
  return terms;
}

}  // namespace trident::egraph
