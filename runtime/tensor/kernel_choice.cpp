#include "runtime/os/cpu.h"
#include "runtime/tensor/kernel_levels.h"

namespace trident::tensor {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::portable: return "portable";
    case Level::avx2: return "avx2";
    case Level::avx512: return "avx512";
  }
  return "unknown";
}

namespace {
bool runs_here(Level level) {
#if defined(__x86_64__)
  switch (level) {
    case Level::portable: return true;
    case Level::avx2: return os::cpu_features().avx2_fma;
    case Level::avx512: return os::cpu_features().avx512 && os::cpu_features().avx2_fma;
  }
  return false;
#else
  return level == Level::portable;
#endif
}

template <class Real>
const Kernels<Real>& table_of(Level level) {
  const auto choose = [](const Kernels<float>& f, const Kernels<double>& d) -> const Kernels<Real>& {
    if constexpr (sizeof(Real) == sizeof(float))
      return f;
    else
      return d;
  };
#if defined(__x86_64__)
  if (level == Level::avx512) return choose(avx512::float_kernels(), avx512::double_kernels());
  if (level == Level::avx2) return choose(avx2::float_kernels(), avx2::double_kernels());
#endif
  (void)level;
  return choose(portable::float_kernels(), portable::double_kernels());
}
}  // namespace

Level best_level() {
  for (const Level level : {Level::avx512, Level::avx2}) {
    if (runs_here(level)) return level;
  }
  return Level::portable;
}

template <class Real>
const Kernels<Real>* kernels_of(Level level) {
  return runs_here(level) ? &table_of<Real>(level) : nullptr;
}

template <class Real>
const Kernels<Real>& kernels() {
  static const Kernels<Real>& best = table_of<Real>(best_level());
  return best;
}

template const Kernels<float>* kernels_of<float>(Level);
template const Kernels<double>* kernels_of<double>(Level);
template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace trident::tensor
