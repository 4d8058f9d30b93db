#include "jit/tir/neural/arithmetic.h"

namespace trident::tir::neural {

const Arithmetic* arithmetic_of(tensor::Level level) {
  if (tensor::kernels_of<double>(level) == nullptr) return nullptr;
#ifdef __x86_64__
  if (level == tensor::Level::avx2) return &kAvx2Arithmetic;
  if (level == tensor::Level::avx512) return &kAvx512Arithmetic;
#endif
  return &kPortableArithmetic;
}

}  // namespace trident::tir::neural
