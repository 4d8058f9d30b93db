#include "jit/expr/nan_sets.h"

namespace trident::expr {

void NanSets::join(NodeId id, NodeId a, NodeId b) {
  const std::uint64_t of_a = of(a), of_b = of(b);
  entry(id) = {true, of_a == 0 || of_b == 0 ? 0 : of_a | of_b};
}

std::uint64_t NanSets::of(NodeId id) {
  Entry& e = entry(id);
  if (!e.known) e = {true, values_ < 64 ? std::uint64_t{1} << values_++ : 0};
  return e.set;
}

bool NanSets::implies(NodeId b, NodeId a) {
  const std::uint64_t of_a = of(a);
  return of_a != 0 && (of(b) & of_a) == of_a;
}

NanSets::Entry& NanSets::entry(NodeId id) {
  if (entries_.empty()) entries_.resize(nodes_);
  return entries_[id.index];
}

}  // namespace trident::expr
