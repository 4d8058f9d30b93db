#include "runtime/base/check.h"
#include "runtime/simd/levels.h"

namespace trident::simd {
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
    case Level::avx512vnni: return "AVX-512 VNNI";
  }
  CHECK(false);
}

// A processor with AVX-512 but without VNNI (Skylake-X) takes AVX2: its gain would be small.
bool available(Level level) {
#ifdef __x86_64__
  __builtin_cpu_init();  // also asks xgetbv whether the system saves the wide registers
  if (level == Level::avx2) return __builtin_cpu_supports("avx2");
  if (level == Level::avx512vnni)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#endif
  return level == Level::portable;
}

const Kernels& kernels(Level level) {
  CHECK(available(level));
#ifdef __x86_64__
  if (level == Level::avx2) return kAvx2Kernels;
  if (level == Level::avx512vnni) return kAvx512VnniKernels;
#endif
  return kPortableKernels;
}

const Kernels& kernels() {
  static const Kernels& chosen = kernels(best());
  return chosen;
}

}  // namespace trident::simd
