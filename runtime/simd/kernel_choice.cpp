#include "runtime/simd/kernels.h"
#include "runtime/os/level_variants.h"

namespace trident::simd {
namespace {

using os::SimdLevel;

// A processor with AVX-512 but without VNNI (Skylake-X) takes AVX2: its gain would be small.
constexpr os::LevelVariant<Kernels> kVariants[] = {
    {SimdLevel::portable, &kPortableKernels},
#ifdef __x86_64__
    {SimdLevel::avx2, &kAvx2Kernels},
    {SimdLevel::avx512vnni, &kAvx512VnniKernels},
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

}  // namespace trident::simd
