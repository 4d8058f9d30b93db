#include "runtime/os/level_variants.h"
#include "runtime/tensor/kernels.h"

namespace trident::tensor {
namespace {

using os::SimdLevel;

constexpr os::LevelVariant<KernelTables> kVariants[] = {
    {SimdLevel::portable, &kPortableKernels},
#ifdef __x86_64__
    {SimdLevel::avx2, &kAvx2Kernels},
    {SimdLevel::avx512, &kAvx512Kernels},
#endif
};

template <class Real>
const Kernels<Real>& table_in(const KernelTables& tables) {
  if constexpr (sizeof(Real) == sizeof(float))
    return tables.floats;
  else
    return tables.doubles;
}

}  // namespace

SimdLevel best_level() {
  return os::best_variant(kVariants).level;
}

template <class Real>
const Kernels<Real>* kernels_of(SimdLevel level) {
  const KernelTables* tables = os::variant_at(kVariants, level);
  return tables != nullptr ? &table_in<Real>(*tables) : nullptr;
}

template <class Real>
const Kernels<Real>& kernels() {
  static const Kernels<Real>& best = table_in<Real>(*os::best_variant(kVariants).table);
  return best;
}

template const Kernels<float>* kernels_of<float>(SimdLevel);
template const Kernels<double>* kernels_of<double>(SimdLevel);
template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace trident::tensor
