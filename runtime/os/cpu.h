// The processor's features, asked once.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/result.h"

namespace trident::os {

struct CpuFeatures {
  bool avx2_fma = false;    ///< AVX2, FMA and F16C, enabled by the system too
  bool bmi2 = false;        ///< AVX2, FMA, BMI1, BMI2 and LZCNT: what the code of regions needs
  bool avx512 = false;      ///< AVX2, FMA and AVX-512 F, VL, DQ and BW
  bool avx512cd = false;    ///< these and AVX-512 CD
  bool avx512vnni = false;  ///< all of these and AVX-512 VNNI
  bool neon = false;        ///< AArch64 Advanced SIMD
};
const CpuFeatures& cpu_features();

/// The processor's marketing name, or "unknown". Read once: a confined process can ask again.
std::string cpu_name();

/// cpu_name() with what tells processors of one name apart, on x86: "AMD EPYC (AuthenticAMD family 26 model 2 stepping
/// 1)". One line, no '#'.
std::string cpu_model();

/// Bytes of a data cache of level 1, 2 or 3 as seen by one core; 0 when unknown.
std::size_t cache_bytes(int level);

/// Processors that this thread may run on.
unsigned usable_cpus();

/// Keeps the calling thread on the processor it runs on now; timing is steadier so. OsError where forbidden.
Result<void> pin_to_current_cpu();

}  // namespace trident::os
