// Vectors of the level that the including file is compiled for (TRIDENT_LEVEL_AVX512, TRIDENT_LEVEL_AVX2, or neither:
// 16 bytes, which every x86-64 and AArch64 has). Only kernels.cpp includes this and the other vector_*.h: everything
// here lives in the namespace of the level, so that the linker can never take one level's code for another's.
// The compiler's vector extensions rather than intrinsics: one source for all levels, and no library header whose
// inline functions could leak out of a file that is compiled for a wider machine.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(TRIDENT_LEVEL_AVX512)
#define TRIDENT_TENSOR_LEVEL avx512
#define TRIDENT_VECTOR_BYTES 64
#elif defined(TRIDENT_LEVEL_AVX2)
#define TRIDENT_TENSOR_LEVEL avx2
#define TRIDENT_VECTOR_BYTES 32
#else
#define TRIDENT_TENSOR_LEVEL portable
#define TRIDENT_VECTOR_BYTES 16
#endif

namespace trident::tensor::TRIDENT_TENSOR_LEVEL {

typedef float FloatVector __attribute__((vector_size(TRIDENT_VECTOR_BYTES)));
typedef double DoubleVector __attribute__((vector_size(TRIDENT_VECTOR_BYTES)));

template <class Real>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = FloatVector;
  typedef std::int32_t Mask __attribute__((vector_size(TRIDENT_VECTOR_BYTES)));
};
template <>
struct VectorOf<double> {
  using Type = DoubleVector;
  typedef std::int64_t Mask __attribute__((vector_size(TRIDENT_VECTOR_BYTES)));
};
template <class Real>
using Vector = typename VectorOf<Real>::Type;

template <class Real>
inline constexpr std::size_t kLanes = TRIDENT_VECTOR_BYTES / sizeof(Real);

template <class Real>
inline Vector<Real> load(const Real* from) {
  Vector<Real> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class Real>
inline void store(Real* to, Vector<Real> v) {
  __builtin_memcpy(to, &v, sizeof v);
}
template <class Real>
inline Vector<Real> splat(Real x) {
  return Vector<Real>{} + x;
}
/// The lanes summed from the lower half up: one order for every level of its width.
template <class Real>
inline Real lane_sum(Vector<Real> v) {
  Real lanes[kLanes<Real>];
  store(lanes, v);
  for (std::size_t width = kLanes<Real> / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}
template <class Real>
inline Vector<Real> larger(Vector<Real> a, Vector<Real> b) {
  return a > b ? a : b;
}
template <class Real>
inline Vector<Real> smaller(Vector<Real> a, Vector<Real> b) {
  return a < b ? a : b;
}
// There is no square root among the vector extensions, and a loop over lanes stays scalar.
#if defined(__clang__)
inline FloatVector square_root(FloatVector v) {
  return __builtin_elementwise_sqrt(v);
}
inline DoubleVector square_root(DoubleVector v) {
  return __builtin_elementwise_sqrt(v);
}
#elif defined(TRIDENT_LEVEL_AVX512)
inline constexpr int kCurrentRounding = 4;
inline FloatVector square_root(FloatVector v) {
  return __builtin_ia32_sqrtps512_mask(v, v, -1, kCurrentRounding);
}
inline DoubleVector square_root(DoubleVector v) {
  return __builtin_ia32_sqrtpd512_mask(v, v, -1, kCurrentRounding);
}
#elif defined(TRIDENT_LEVEL_AVX2)
inline FloatVector square_root(FloatVector v) {
  return __builtin_ia32_sqrtps256(v);
}
inline DoubleVector square_root(DoubleVector v) {
  return __builtin_ia32_sqrtpd256(v);
}
#else
inline FloatVector square_root(FloatVector v) {
  for (std::size_t i = 0; i < kLanes<float>; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
}
inline DoubleVector square_root(DoubleVector v) {
  for (std::size_t i = 0; i < kLanes<double>; ++i) v[i] = __builtin_sqrt(v[i]);
  return v;
}
#endif
inline float square_root(float x) {
  return __builtin_sqrtf(x);
}
inline double square_root(double x) {
  return __builtin_sqrt(x);
}

}  // namespace trident::tensor::TRIDENT_TENSOR_LEVEL
