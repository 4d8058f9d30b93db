#include <algorithm>
#include <span>

#include "jit/pipeline/pipeline.h"
#include "jit/pipeline/sha256.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/self.h"

namespace trident::pipeline {
namespace {

// Changes whenever the meaning of a key or of what is stored under it changes.
constexpr std::string_view kDomain = "trident kernel key 2";

/// How far from the processor the arrays of a call lie, roughly: what is fastest in one class need not be in another,
/// while within a class the judge's answer is the same but for its noise. Fixed bounds, not this machine's: a key means
/// the same everywhere.
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

}  // namespace

const expr::rewrite::OpCosts* measured_costs(codegen::Isa isa, const Search& search) {
  const bool counts = search.costs != nullptr && search.costs->table().isa == codegen::name_of(isa);
  return counts ? search.costs : nullptr;
}

image::Key key_of(const expr::Expr& expr, const Target& target, const Search& search) {
  return key_of(expr, expr::canonical_bytes(expr), target, search);
}

image::Key key_of(const expr::Expr& expr, std::span<const std::byte> canonical, const Target& target,
                  const Search& search) {
  thread_local Sha256 sha;
  sha.start();
  sha.add(kDomain);
  sha.add(os::build_id());
  sha.add(canonical);
  struct {
    std::uint8_t isa, policy;
    Regime regime;
    std::uint8_t zero[5] = {};
    double k;
  } fixed{static_cast<std::uint8_t>(target.isa),
          static_cast<std::uint8_t>(target.policy.kind),
          regime_of(expr, target.elements),
          {},
          target.policy.kind == expr::PolicyKind::bounded ? target.policy.k : 0};
  sha.add(std::as_bytes(std::span(&fixed, 1)));
  for (const std::string& name : search.disabled) sha.add(name);
  // What is shipped is covered by the build id.
  if (const auto* costs = measured_costs(target.isa, search); costs != nullptr) {
    sha.add("costs");
    sha.add(std::as_bytes(std::span(costs->table().figures)));
  }
  if (search.rules != nullptr) {
    sha.add("rules");
    sha.add(std::as_bytes(std::span(search.rules->digest())));
  }
  if (search.weights != nullptr) {
    sha.add("weights");
    sha.add(std::as_bytes(std::span(search.weights->digest())));
  }
  return sha.finish();
}

}  // namespace trident::pipeline
