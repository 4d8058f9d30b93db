// Random expressions for differential, fuzz and soak tests: typed, over every op that the options admit, with declared
// ranges, and inputs that keep those promises. The same seed gives the same expression on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::testing {

/// SplitMix64: small, seedable, the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15u);
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBu;
    return z ^ (z >> 31);
  }
  /// In [0, bound).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }

 private:
  std::uint64_t state_;
};

struct RandomExprOptions {
  std::uint32_t nodes_max = 24;  ///< operations beside leaves, roughly
  std::uint32_t outputs_max = 3;
  std::uint32_t variables_max = 4;
  bool f32 = true;
  bool f64 = true;
  bool integers = true;   ///< i32 and i64, bit operations, casts between all types
  bool functions = true;  ///< transcendental functions, fmod, round, ...
  bool reductions = true;
  bool derivatives = false;  ///< Diff nodes
  bool scalars = true;       ///< parameters beside arrays
  double ranged = 0.7;       ///< share of variables with a declared range
};

/// Passes expr::check(), has at least one output, and every output depends on what the options admit only.
expr::Expr random_expr(std::uint64_t seed, const RandomExprOptions& options = {});

/// The bits of `count` values of `variable`: its range's ends, values near zero and drawn from the range; without a
/// range also infinities, NaN, denormals and extremes. A scalar has one value.
std::vector<std::uint64_t> random_values(const expr::Variable& variable, std::size_t count, Random& random);

}  // namespace trident::testing
