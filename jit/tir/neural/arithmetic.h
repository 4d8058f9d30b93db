// The network's arithmetic between matrix products, on fixed-point integers that are kept in doubles, per
// instruction-set level and equal to the bit on all of them.
//
// Why doubles: every sum of products is an integer of at most 2^52 (weights.h), which a double holds exactly. So the
// matrix products are those of training (runtime/tensor/kernels.h): exact in any order of summation, with or
// without fused products, and twice as fast as integer ones. Every formula here is one on integers; at a division or
// root the code explains why its rounding changes nothing.
//
//   finish     round(sum / 2^16), half up, to within +- 128.0
//   gelu       x Phi(x) by a table with 64 steps to the unit and straight lines between: within 2^-14
//   norm       round((x - mean) r / 2^20), r the largest integer with r^2 (variance + epsilon) <= 2^72 where the
//              variance is in units of 2^-32
//   softmax    e^x by a table likewise, in units of 2^-24; shares round(2^16 e / sum)
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/tensor/kernels.h"

namespace trident::tir::neural {

inline constexpr std::size_t kWidth = 64;
/// Bound of activations, 128.0: they saturate at +- this.
inline constexpr std::int64_t kActivationMax = std::int64_t{1} << 23;
inline constexpr std::int64_t kExactSumMax = std::int64_t{1} << 52;
/// The epsilon of training, 1e-5, in units of 2^-32.
inline constexpr std::int64_t kNormEpsilon = 42950;
/// Scales 1 / sqrt(32) and 1 / sqrt(64), for the scores of a head of the encoder and of the decoder.
inline constexpr std::int64_t kHeadScale = 11585, kDecoderScale = 8192;

struct Arithmetic {
  /// Computes y = finish(y + bias) by rows; `bias` (or null) times 2^16. Returns how many were beyond the bounds.
  std::uint64_t (*finish)(std::size_t rows, std::size_t columns, const double* bias, double* y);
  /// Computes gelu(x), |x| <= kActivationMax.
  void (*gelu)(std::size_t count, double* x);
  /// Computes x = finish(norm(x + y) gain + bias) by rows of kWidth; `bias` times 2^16.
  std::uint64_t (*add_norm)(std::size_t rows, const double* y, const double* gain, const double* bias, double* x);
  /// Turns sums of products into shares that sum to 2^16 but for rounding: softmax of round(round(x / 2^16) scale /
  /// 2^16) by rows. Bit j of mask[row]: column j counts; the others get 0. At most 32 columns.
  void (*softmax)(std::size_t rows, std::size_t columns, const std::uint32_t* mask, std::int64_t scale, double* x);
};

/// Returns the arithmetic of a level; null where this build or machine has none.
const Arithmetic* arithmetic_of(os::SimdLevel level);

/// Variants of arithmetic.cpp, one per level.
extern const Arithmetic kPortableArithmetic;
#ifdef __x86_64__
extern const Arithmetic kAvx2Arithmetic, kAvx512Arithmetic;
#endif

}  // namespace trident::tir::neural
