#include "runtime/base/check.h"
#include "runtime/field/levels.h"

namespace trident::field {
namespace {

Level best() {
  Level found = Level::portable;
  for (const Level level : kLevels)
    if (available(level)) found = level;
  return found;
}

}  // namespace

const char* name_of(Level level) {
  switch (level) {
    case Level::portable: return "portable";
    case Level::avx2: return "AVX2";
    case Level::avx512: return "AVX-512";
  }
  CHECK(false);
}

bool available(Level level) {
#ifdef __x86_64__
  __builtin_cpu_init();  // also asks xgetbv whether the system saves the wide registers
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (level == Level::avx2) return avx2;
  if (level == Level::avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return level == Level::portable;
}

const Kernels& kernels(Level level) {
  CHECK(available(level));
#ifdef __x86_64__
  if (level == Level::avx2) return kAvx2Kernels;
  if (level == Level::avx512) return kAvx512Kernels;
#endif
  return kPortableKernels;
}

const Kernels& kernels() {
  static const Kernels& chosen = kernels(best());
  return chosen;
}

}  // namespace trident::field
