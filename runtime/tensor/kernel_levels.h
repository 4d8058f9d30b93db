// The levels' tables of kernels, for kernel_choice.cpp.
#pragma once

#include "runtime/tensor/kernels.h"

namespace trident::tensor {

#define TRIDENT_KERNEL_LEVEL(level)        \
  namespace level {                        \
  const Kernels<float>& float_kernels();   \
  const Kernels<double>& double_kernels(); \
  }
TRIDENT_KERNEL_LEVEL(portable)
TRIDENT_KERNEL_LEVEL(avx2)
TRIDENT_KERNEL_LEVEL(avx512)
#undef TRIDENT_KERNEL_LEVEL

}  // namespace trident::tensor
