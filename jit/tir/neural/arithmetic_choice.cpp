#include "jit/tir/neural/arithmetic.h"
#include "runtime/os/level_variants.h"

namespace trident::tir::neural {
namespace {

using os::SimdLevel;

constexpr os::LevelVariant<Arithmetic> kVariants[] = {
    {SimdLevel::portable, &kPortableArithmetic},
#ifdef __x86_64__
    {SimdLevel::avx2, &kAvx2Arithmetic},
    {SimdLevel::avx512, &kAvx512Arithmetic},
#endif
};

}  // namespace

const Arithmetic* arithmetic_of(SimdLevel level) {
  return os::variant_at(kVariants, level);
}

}  // namespace trident::tir::neural
