// The inner loops of training, once per instruction-set level: matrix product, activations, normalisation, reductions,
// and the updates of the optimisers. All pointers are to row-major arrays of Real; nothing may overlap except where a
// parameter says "in place". No kernel allocates, and each sums in one fixed order, so that the same call on the same
// level gives the same bits (levels may differ in the last place: they fuse products into sums or not).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/os/simd_level.h"

namespace trident::tensor {

enum class Activation : std::uint8_t { none, relu, clipped_relu, gelu };

/// The parameters of one step of Adam; `decay` is decoupled (AdamW). Corrections are 1 / (1 - beta^t).
template <class Real>
struct AdamStep {
  Real rate, beta1, beta2, epsilon, decay, correction1, correction2, gradient_scale;
};
template <class Real>
struct SgdStep {
  Real rate, momentum, decay, gradient_scale;
};
template <class Real>
struct AdagradStep {
  Real rate, epsilon, gradient_scale;
};

template <class Real>
struct Kernels {
  /// c = alpha op(a) op(b) + beta c; op(a) is m x k, op(b) k x n; leading dimensions in elements; beta 0 ignores c.
  void (*gemm)(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
               std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc);
  /// packed[d * width + col] = from[col * ldb + d], zero where col >= columns: a panel of a transposed matrix.
  void (*pack_transposed)(const Real* from, std::size_t ldb, std::size_t depth, std::size_t columns, std::size_t width,
                          Real* packed);
  /// y = activation(y + bias), in place; `bias` (columns) may be null. `before` (rows x columns, or null) gets y +
  /// bias.
  void (*bias_activate)(std::size_t rows, std::size_t columns, const Real* bias, Activation, Real* before, Real* y);
  /// dx = dy * activation'(...), where the argument is the result y; for gelu it is the input. dx may be dy.
  void (*activation_backward)(std::size_t count, Activation, const Real* before, const Real* y, const Real* dy,
                              Real* dx);
  /// out[c] = sum over rows of x[r][c], plus out[c] when `accumulate`.
  void (*column_sums)(std::size_t rows, std::size_t columns, const Real* x, bool accumulate, Real* out);
  void (*add)(std::size_t count, const Real* a, const Real* b, Real* out);       ///< out may be a or b
  void (*multiply)(std::size_t count, const Real* a, const Real* b, Real* out);  ///< out may be a or b
  /// out += a * b
  void (*multiply_add)(std::size_t count, const Real* a, const Real* b, Real* out);
  /// y += alpha x
  void (*axpy)(std::size_t count, Real alpha, const Real* x, Real* y);
  void (*scale)(std::size_t count, Real alpha, Real* x);
  /// target += rate * (source - target): Polyak averaging.
  void (*lerp)(std::size_t count, Real rate, const Real* source, Real* target);
  double (*sum_of_squares)(std::size_t count, const Real* x);
  /// y = (x - mean) / sqrt(variance + epsilon) * gain + bias by rows; keeps the normalised rows and 1 / deviation.
  void (*layer_norm)(std::size_t rows, std::size_t columns, Real epsilon, const Real* x, const Real* gain,
                     const Real* bias, Real* normalised, Real* inverse_deviation, Real* y);
  /// Adds to d_gain and d_bias; dx is overwritten, or added to when `accumulate`; dx may be null.
  void (*layer_norm_backward)(std::size_t rows, std::size_t columns, const Real* gain, const Real* normalised,
                              const Real* inverse_deviation, const Real* dy, bool accumulate, Real* dx, Real* d_gain,
                              Real* d_bias);
  void (*adam)(std::size_t count, const AdamStep<Real>&, const Real* gradient, Real* weight, Real* m, Real* v);
  void (*sgd)(std::size_t count, const SgdStep<Real>&, const Real* gradient, Real* weight, Real* velocity);
  /// out = sum of the first `width` elements of rows ids[0..count) of a table with `stride` elements a row.
  void (*sum_rows)(std::size_t width, const Real* table, std::size_t stride, const std::int32_t* ids, std::size_t count,
                   Real* out);
  /// The gradient of one row is the sum of gradients[samples[i]][0..width) over i < count; it is summed in registers
  /// and applied at once. `row` holds `plane` elements each of weight, m and v. `ahead` is a row that a call soon after
  /// this one updates, or `row`: it is fetched along the way.
  void (*row_adam)(std::size_t width, std::size_t plane, const AdamStep<Real>&, const Real* const* gradients,
                   const std::uint32_t* samples, std::size_t count, Real* row, const Real* ahead);
  /// Does so by Adagrad; `row` holds weight and sum of squares.
  void (*row_adagrad)(std::size_t width, std::size_t plane, const AdagradStep<Real>&, const Real* const* gradients,
                      const std::uint32_t* samples, std::size_t count, Real* row, const Real* ahead);
};

/// Returns the best level of these kernels that this machine can run.
os::SimdLevel best_level();
/// Returns the kernels of `level`; null where this build or machine has none. Real: float or double.
template <class Real>
const Kernels<Real>* kernels_of(os::SimdLevel level);
/// Returns the kernels of the best level.
template <class Real>
const Kernels<Real>& kernels();

/// Variants of kernels.cpp, one per level.
struct KernelTables {
  Kernels<float> floats;
  Kernels<double> doubles;
};
extern const KernelTables kPortableKernels;
#ifdef __x86_64__
extern const KernelTables kAvx2Kernels, kAvx512Kernels;
#endif

}  // namespace trident::tensor
