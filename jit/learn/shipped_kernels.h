// Timed kernels shipped with the program (calibration/kernels.xz, by `make weights NAME=calibration-cut`), so that a judge can
// be trained where no kernel was timed.
#pragma once

#include "jit/learn/timed_kernels.h"

namespace trident::learn {

inline constexpr const char* kShippedKernels = "the kernels that come with the program";
Result<TimedKernels> shipped_kernels();

}  // namespace trident::learn
