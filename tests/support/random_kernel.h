// Random well-formed kir kernels: every op, every type, all three sections, within the preconditions of ops.def.
//
// Results are comparable bit for bit except for NaN, whose payload no two machines need share. So floats that an
// arithmetic op may have made NaN are never reinterpreted as integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/kir/kir.h"

namespace trident::testing {

/// A small, fast generator (splitmix64) that gives the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E37'79B9'7F4A'7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9u;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

struct RandomKernelOptions {
  std::uint32_t ops = 30;
  std::uint32_t inputs_max = 4;
  std::uint32_t params_max = 2;
  std::uint32_t outputs_max = 3;
  bool reductions = true;
  bool narrow_only = false;  ///< 4-byte types only
  bool floats_only = false;  ///< f32 and f64, no integer arithmetic
};

kir::Kernel random_kernel(std::uint64_t seed, const RandomKernelOptions& options = {});

/// One lane: corner cases, numbers near one, integers, raw bits.
std::uint64_t random_lane(Random& random, kir::Type type);

/// The corner cases of `type` that random_lane picks from.
const std::vector<std::uint64_t>& corner_lanes(kir::Type type);

/// Equal bits, or both NaN.
bool same_lane(kir::Type type, std::uint64_t a, std::uint64_t b);

/// Every op that takes operands of `type` (Scalef within its preconditions), one array output each, on three inputs of
/// that type; conversions from it to every type, a lookup, and masks through selects.
kir::Kernel every_op_kernel(kir::Type type);

}  // namespace trident::testing
