#include "jit/egraph/proof_log.h"

#include <algorithm>
#include <utility>

#include "jit/egraph/egraph.h"

namespace trident::egraph {

void ProofLog::created(const ENode& node) {
  originals_.push_back(node);
  parent_.push_back(kNone);
  parent_edge_.push_back(kNone);
}

void ProofLog::merged(std::uint32_t x, std::uint32_t y, const Reason& reason) {
  const auto number = static_cast<std::uint32_t>(edges_.size());
  edges_.push_back({x, y, reason.kind, reason.index, static_cast<std::uint32_t>(variables_.size()),
                    static_cast<std::uint32_t>(reason.variables.size())});
  variables_.insert(variables_.end(), reason.variables.begin(), reason.variables.end());
  // x becomes the root of its tree: reverses the path above it.
  std::uint32_t above = y, by = number;
  for (std::uint32_t at = x; at != kNone;) {
    const std::uint32_t next = std::exchange(parent_[at], above);
    const std::uint32_t next_by = std::exchange(parent_edge_[at], by);
    above = at, by = next_by;
    at = next;
  }
}

std::optional<std::vector<std::uint32_t>> ProofLog::way(std::uint32_t a, std::uint32_t b) const {
  const auto up = [this](std::uint32_t from) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t at = from; at != kNone; at = parent_[at]) nodes.push_back(at);
    return nodes;
  };
  std::vector<std::uint32_t> from_a = up(a), from_b = up(b);
  if (from_a.back() != from_b.back()) return std::nullopt;
  while (!from_a.empty() && !from_b.empty() && from_a.back() == from_b.back()) from_a.pop_back(), from_b.pop_back();
  std::vector<std::uint32_t> edges;
  for (const std::uint32_t node : from_a) edges.push_back(parent_edge_[node]);
  for (const std::uint32_t node : from_b) edges.push_back(parent_edge_[node]);
  return edges;
}

bool ProofLog::equal_before(std::uint32_t a, std::uint32_t b, std::uint32_t number) const {
  if (a == b) return true;
  const auto edges = way(a, b);
  return edges && std::all_of(edges->begin(), edges->end(), [&](std::uint32_t e) { return e < number; });
}

std::size_t ProofLog::bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return of(originals_) + of(parent_) + of(parent_edge_) + of(edges_) + of(variables_);
}

}  // namespace trident::egraph
