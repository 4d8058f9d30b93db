#include "jit/kir/estimates.h"

#include <cmath>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace trident::kir {
namespace {

#ifdef __x86_64__
[[gnu::target("avx512f")]] float inverse_root_of_14_bits(float x) {
  const __m128 v = _mm_set_ss(x);
  return _mm_cvtss_f32(_mm_rsqrt14_ss(v, v));
}
[[gnu::target("avx512f")]] float reciprocal_of_14_bits(float x) {
  const __m128 v = _mm_set_ss(x);
  return _mm_cvtss_f32(_mm_rcp14_ss(v, v));
}
float inverse_root_of_12_bits(float x) {
  return _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(x)));
}
float reciprocal_of_12_bits(float x) {
  return _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x)));
}
constexpr bool kHas12Bits = true;
#else
float inverse_root_of_14_bits(float x) {
  return 1 / std::sqrt(x);
}
float reciprocal_of_14_bits(float x) {
  return 1 / x;
}
float inverse_root_of_12_bits(float x) {
  return 1 / std::sqrt(x);
}
float reciprocal_of_12_bits(float x) {
  return 1 / x;
}
constexpr bool kHas12Bits = false;
#endif

float rest(float g, float y) {
  return std::fma(-g, y * 0.5f, 0.5f);
}

bool is_own_root(float x) {
  return x == 0 || x == INFINITY;
}

/// Adds what is missing of `first`, which is g or y.
float stepped(float first, float g, float y) {
  const float r = std::fma(-g, y, 1.0f);
  return std::fma(first * r, std::fma(r, 0.375f, 0.5f), first);
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
  const float y = inverse_root_of_14_bits(x), g = x * y;
  return std::fma(g, rest(g, y), g);
}

float rsqrt14(float x) {
  if (!host_estimates()) return 1 / std::sqrt(x);
  const float y = inverse_root_of_14_bits(x);
  if (is_own_root(x)) return y;
  return std::fma(y, rest(x * y, y), y);
}

float div14(float a, float b) {
  if (!host_estimates() || !is_middle(b)) return a / b;
  const float y = reciprocal_of_14_bits(b), q = a * y;
  const float sum = std::fma(std::fma(-b, q, a), y, q);
  return is_middle(sum) ? sum : a / b;
}

float sqrt12(float x) {
  if (!kHas12Bits) return std::sqrt(x);
  const float y = inverse_root_of_12_bits(x), g = x * y;
  return g < INFINITY ? stepped(g, g, y) : std::sqrt(x);
}

float rsqrt12(float x) {
  if (!kHas12Bits) return 1 / std::sqrt(x);
  const float y = inverse_root_of_12_bits(x), g = x * y;
  return g < INFINITY ? stepped(y, g, y) : 1 / std::sqrt(x);
}

float div12(float a, float b) {
  if (!kHas12Bits) return a / b;
  const float y = reciprocal_of_12_bits(b), q = a * y, r = std::fma(-b, y, 1.0f);
  const float sum = std::fma(q, std::fma(r, r, r), q);
  return is_middle(sum) ? sum : a / b;
}

}  // namespace trident::kir
