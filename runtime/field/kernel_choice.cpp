#include "runtime/field/kernels.h"
#include "runtime/os/level_variants.h"

namespace trident::field {
namespace {

using os::SimdLevel;

constexpr os::LevelVariant<Kernels> kVariants[] = {
    {SimdLevel::portable, &kPortableKernels},
#ifdef __x86_64__
    {SimdLevel::avx2, &kAvx2Kernels},
    {SimdLevel::avx512, &kAvx512Kernels},
#endif
};

}  // namespace

const Kernels* kernels_of(SimdLevel level) {
  return os::variant_at(kVariants, level);
}

const Kernels& kernels() {
  static const Kernels& best = *os::best_variant(kVariants).table;
  return best;
}

}  // namespace trident::field
