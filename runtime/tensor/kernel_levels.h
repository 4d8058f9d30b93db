// Where kernel_choice.cpp finds each level's table.
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
