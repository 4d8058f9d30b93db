#include "runtime/os/simd_level.h"

#include "runtime/base/check.h"
#include "runtime/os/cpu.h"

namespace trident::os {

const char* name_of(SimdLevel level) {
  switch (level) {
    case SimdLevel::portable: return "portable";
    case SimdLevel::avx2: return "avx2";
    case SimdLevel::avx512: return "avx512";
    case SimdLevel::avx512vnni: return "avx512vnni";
  }
  CHECK(false);
}

bool runs_here(SimdLevel level) {
  switch (level) {
    case SimdLevel::portable: return true;
    case SimdLevel::avx2: return cpu_features().avx2_fma;
    case SimdLevel::avx512: return cpu_features().avx512cd;
    case SimdLevel::avx512vnni: return cpu_features().avx512vnni;
  }
  CHECK(false);
}

}  // namespace trident::os
