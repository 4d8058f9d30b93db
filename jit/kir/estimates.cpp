#include "jit/kir/estimates.h"

#include <cmath>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace trident::kir {
namespace {

#ifdef __x86_64__
[[gnu::target("avx512f")]] float inverse_root_estimate(float x) {
  const __m128 v = _mm_set_ss(x);
  return _mm_cvtss_f32(_mm_rsqrt14_ss(v, v));
}
#else
float inverse_root_estimate(float x) {
  return 1 / std::sqrt(x);
}
#endif

float rest(float g, float y) {
  return std::fma(-g, y * 0.5f, 0.5f);
}

bool is_own_root(float x) {
  return x == 0 || x == INFINITY;
}

}  // namespace

bool host_estimates() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

float sqrt14(float x) {
  if (!host_estimates()) return std::sqrt(x);
  if (is_own_root(x)) return x;
  const float y = inverse_root_estimate(x), g = x * y;
  return std::fma(g, rest(g, y), g);
}

float rsqrt14(float x) {
  if (!host_estimates()) return 1 / std::sqrt(x);
  const float y = inverse_root_estimate(x);
  if (is_own_root(x)) return y;
  return std::fma(y, rest(x * y, y), y);
}

}  // namespace trident::kir
