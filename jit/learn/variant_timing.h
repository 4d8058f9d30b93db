// Times the kernels of a family, against each other in one sandboxed child and once more in another: on arrays that
// the first cache holds, with values inside the declared ranges, turn by turn, so that disturbances of the machine
// hit all alike.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "jit/judge/guarded.h"
#include "jit/learn/variants.h"
#include "runtime/base/result.h"

namespace trident::learn {

/// A family in machine code, each kernel with the loop that the pipeline would try first.
struct CompiledFamily {
  std::vector<expr::Variable> variables;
  judge::Signature signature;
  std::vector<std::size_t> kernels;  ///< numbers of the variants that could be compiled, ascending
  std::vector<image::Mapped> code;
};
/// Errors: those of the first variant, and OsError.
Result<CompiledFamily> compile(const expr::Expr& source, std::span<const KernelVariant> variants, codegen::Isa isa);

struct TimingOptions {
  std::uint64_t seed = 1;  ///< seed of the values
  std::uint32_t rounds = 9;
  std::uint64_t batch_ns = 10'000;
  std::uint32_t attempts = 3;  ///< as long as the two measurements of a family differ
};

struct FamilyTiming {
  struct Pair {
    double ns = 0, ns_again = 0;  ///< per element; 0 if the kernel crashed or hung
  };
  std::vector<Pair> times;                 ///< for CompiledFamily::kernels: the attempt that repeats best
  std::vector<std::vector<Pair>> earlier;  ///< the other attempts, in order
  std::size_t kept = 0;                    ///< number of the attempt that repeats best, from 0
};

/// Chooses among attempts (at least one) the one that repeats best, the first of equal ones, and keeps the others.
FamilyTiming choose(std::vector<std::vector<FamilyTiming::Pair>> attempts);

/// Times a family; a measurement is the lower quartile of the rounds. Errors: OsError.
Result<FamilyTiming> time_family(const CompiledFamily& family, const TimingOptions& options);

/// Returns a number of elements, at most 1024, for which all arrays fit half of the first cache.
std::uint64_t elements_timed(const CompiledFamily& family);

/// True if two measurements of a family agree as well as those of a quiet machine do.
bool repeats(std::span<const FamilyTiming::Pair> times);

}  // namespace trident::learn
