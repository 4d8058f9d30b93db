// The tables of kernels that kernels.cpp defines, one per level.
#pragma once

#include "runtime/simd/kernels.h"

namespace trident::simd {

extern const Kernels kPortableKernels;
#ifdef __x86_64__
extern const Kernels kAvx2Kernels, kAvx512VnniKernels;
#endif

}  // namespace trident::simd
