// The tables of kernels that kernels.cpp defines, one per level.
#pragma once

#include "runtime/field/kernels.h"

namespace trident::field {

extern const Kernels kPortableKernels;
#ifdef __x86_64__
extern const Kernels kAvx2Kernels, kAvx512Kernels;
#endif

}  // namespace trident::field
