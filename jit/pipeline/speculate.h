// Speculation: a kernel that is fast where inputs lie in ranges that were observed, not promised. The expression is
// optimised as if the ranges were declared; the result gets a guard and, for other elements, the general kernel beside
// it (jit/codegen/speculative.h). Of kernels that reduce, or ask for numbers of elements, a scan looks at the call's
// inputs first, and the fast kernel or the general one does the call as a whole. It is published if it passes the check
// as a whole, gains on data in the ranges, and loses little on others at every length that is timed. Where short calls
// would lose, they are left to the general kernel.
#pragma once

#include <optional>
#include <string>

#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {

/// The greatest time over that of the general kernel, on data that always miss or never.
inline constexpr double kSpeculationLoss = 1.05;
/// The greatest on data that miss just often enough that most tries are in vain.
inline constexpr double kSpeculationLossOfFew = 1.10;
/// The greatest such time on data that never miss, at Target::elements. Less than the loss will do: data that often
/// miss lose for some seconds, until clients drop the code.
inline constexpr double kSpeculationGain = 0.97;
/// Share of a search's processor time that may be used beyond it, if need be, to join and check a fast kernel that was
/// found: all time before is lost without that.
inline constexpr double kJoinShare = 0.4;

/// Returns whether `fast` is what the code generator makes of `general`, in the same shape: then the ranges have given
/// nothing, and a gain that was measured is chance or the shape's.
bool needs_no_ranges(const Compiled& fast, const kir::Kernel& general, codegen::Isa isa);

/// A kernel of the assumed ranges without a guard, which can be joined with more than one general kernel.
struct FastKernel {
  Compiled compiled;
  equiv::Verdict errors;
  std::string detail;
};

/// Adds Optimised::speculation to `result`, which optimise() has made without it, and makes its kernel the winner if it
/// is to be published. Does nothing unless Target::assumed narrows a range. The result stays as it is, with the reason
/// told, whatever goes wrong on the way. `left_ns`: CPU time for the search in the assumed ranges. `fast`: the kernel
/// that an earlier call has found in them; where there is none it is searched for, and kept there.
void speculate(const expr::Expr& expr, const Options& options, std::uint64_t left_ns, Optimised& result,
               std::optional<FastKernel>& fast);

}  // namespace trident::pipeline
