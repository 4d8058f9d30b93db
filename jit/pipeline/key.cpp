#include "jit/pipeline/key.h"

#include <algorithm>

#include "runtime/base/submission_limits.h"
#include "runtime/os/self.h"
#include "runtime/store/sha256.h"

namespace trident::pipeline {
namespace {

constexpr std::string_view kExprDomain = "trident kernel key 3";

/// Distance of a call's arrays from the processor, roughly: the fastest code may differ between classes,
/// while within a class the judge's answer is the same but for its noise. The bounds are fixed, not this machine's, so
/// that a key means the same everywhere.
enum class Regime : std::uint8_t { level1, level2, last_level, streaming };

Regime regime_of(const expr::Expr& expr, std::uint64_t elements) {
  std::uint64_t bytes = 0;
  for (const auto& variable : expr.variables) bytes += variable.is_scalar() ? 0 : ir::bytes_of(variable.type);
  for (const auto& output : expr.outputs) bytes += ir::bytes_of(expr.at(output.node).type);
  const std::uint64_t moved = bytes * std::min<std::uint64_t>(elements, limits::kElementsHintMax);
  if (moved <= std::uint64_t{64} << 10) return Regime::level1;
  if (moved <= std::uint64_t{1} << 20) return Regime::level2;
  return moved <= std::uint64_t{8} << 20 ? Regime::last_level : Regime::streaming;
}

void add_target(KeyWriter& key, const expr::Expr& expr, const Target& target) {
  const struct {
    std::uint8_t isa, policy;
    Regime regime;
    std::uint8_t zero[5];
    double k;
  } piece{static_cast<std::uint8_t>(target.isa),
          static_cast<std::uint8_t>(target.policy.kind),
          regime_of(expr, target.elements),
          {},
          target.policy.kind == expr::PolicyKind::bounded ? target.policy.k : 0};
  key.add(std::as_bytes(std::span(&piece, 1)));
  if (target.assumed.empty()) return;
  key.add("assumed");
  key.add(std::as_bytes(std::span(target.assumed)));
}

/// Adds the user's rules and weights; the build id covers the shipped ones.
void add_search(KeyWriter& key, const Search& search, codegen::Isa isa) {
  for (const std::string& name : search.disabled) key.add(name);
  if (const auto* costs = measured_costs(isa, search); costs != nullptr) {
    key.add("costs");
    key.add(std::as_bytes(std::span(costs->table().figures)));
  }
  if (search.rules != nullptr) {
    key.add("rules");
    key.add(std::as_bytes(std::span(search.rules->digest())));
  }
  if (search.weights != nullptr) {
    key.add("weights");
    key.add(std::as_bytes(std::span(search.weights->digest())));
  }
}

}  // namespace

void KeyWriter::add(std::span<const std::byte> piece) {
  const std::uint64_t size = piece.size();
  const auto length = std::as_bytes(std::span(&size, 1));
  bytes_.insert(bytes_.end(), length.begin(), length.end());
  bytes_.insert(bytes_.end(), piece.begin(), piece.end());
}

image::Key KeyWriter::finish() const {
  return store::sha256_of(bytes_);
}

const expr::rewrite::OpCosts* measured_costs(codegen::Isa isa, const Search& search) {
  const bool counts = search.costs != nullptr && search.costs->table().isa == codegen::name_of(isa);
  return counts ? search.costs : nullptr;
}

image::Key expr_key(const expr::Expr& expr, const Target& target, const Search& search) {
  return expr_key(expr, expr::canonical_bytes(expr), target, search);
}

image::Key expr_key(const expr::Expr& expr, std::span<const std::byte> canonical, const Target& target,
                    const Search& search) {
  KeyWriter key(kExprDomain);
  key.add(os::build_id());
  key.add(canonical);
  add_target(key, expr, target);
  add_search(key, search, target.isa);
  return key.finish();
}

}  // namespace trident::pipeline
