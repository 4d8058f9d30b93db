// A kernel that another one must beat by much to be of use: that of a speculation must beat the general one on data in
// the assumed ranges. Most of the time of a search goes into checks, so it is asked before them whether they can pay.
#pragma once

#include <functional>
#include <span>

#include "jit/image/image.h"
#include "jit/judge/timing.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {

struct Rival {
  const image::Mapped& image;  ///< of the same arrays
  double most = 1;             ///< the greatest time that is of use, over the rival's
  codegen::Variant variant{};  ///< its code's: a form is tried in the same one, whose gain a tournament has shown
};

/// Times kernels of one signature, the rival first. Tests plant times.
using TimeKernels = std::function<Result<judge::Timings>(std::span<const image::Mapped* const>, const judge::Signature&,
                                                         const judge::Workload&, const judge::TimingRules&)>;
/// Times them in a sandboxed child.
Result<judge::Timings> time_in_sandbox(std::span<const image::Mapped* const> kernels, const judge::Signature& signature,
                                       const judge::Workload& workload, const judge::TimingRules& rules);

/// Times the likeliest variants of all forms, and the rival's own, beside the rival, unchecked.
/// Returns whether one may be of use, or cannot be timed. Errors: those of the code generator for a form's last
/// variant, OsError.
Result<bool> may_beat(const Rival& rival, std::span<const Tried> tried, const Options& options,
                      const judge::Workload& workload, const TimeKernels& time = time_in_sandbox);

/// Times one kernel beside the rival. Returns whether it is of use.
Result<bool> beats(const Rival& rival, const image::Mapped& kernel, const judge::Signature& signature,
                   const judge::Workload& workload);

}  // namespace trident::pipeline
