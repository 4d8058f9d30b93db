// Branch-free loops that the compiler vectorises (see the options of this file in CMakeLists.txt).
#include "tests/accuracy/measure.h"

#include <cstdint>
#include <limits>

namespace trident::accuracy {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

// A macro, since an inlined function does not take on the instruction set of each clone.
#define TRIDENT_MEASURE(in_units)                                                               \
  std::int64_t above = 0;                                                                       \
  for (std::size_t i = 0; i < count; ++i) {                                                     \
    const double r = reference[i], g = got[i], size = __builtin_fabs(r);                        \
    const double difference = __builtin_fabs(g - r);                                            \
    double error = in_units;                                                                    \
    error = difference == difference ? error : kInf; /* NaN, or equal infinities */             \
    error = size < 0x1p128 ? error : kInf;                                                      \
    error = (g == r) | ((g != g) & (r != r)) ? 0 : error;                                       \
    error = (size >= 0x1p128) & (__builtin_fabs(g) == kInf) & ((g < 0) == (r < 0)) ? 0 : error; \
    errors[i] = error;                                                                          \
    above |= error < limit ? 0 : 1;                                                             \
  }                                                                                             \
  return above != 0

#if defined(__x86_64__)
#define TRIDENT_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TRIDENT_CLONES
#endif

TRIDENT_CLONES
bool measure_ulp(const float* got, const double* reference, double limit, double* errors, std::size_t count) {
  // 1 / ulp is 2^(23 - exponent), from the exponent's bits reflected about those of 1; of the least normal below it.
  constexpr std::uint64_t kReflect = std::uint64_t{2 * 1023 + 23} << 52, kExponent = std::uint64_t{0x7FF} << 52;
  TRIDENT_MEASURE(
      difference *
      __builtin_bit_cast(
          double, kReflect - (__builtin_bit_cast(std::uint64_t, size < 0x1p-126 ? 0x1p-126 : size) & kExponent)));
}

TRIDENT_CLONES
bool measure_relative(const float* got, const double* reference, double limit, double* errors, std::size_t count) {
  TRIDENT_MEASURE(difference / size);
}

}  // namespace trident::accuracy
