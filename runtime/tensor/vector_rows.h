// Rows of embedding tables: sums of rows by id, and updates of one row from the samples that used it.
#pragma once

#include "runtime/tensor/kernels.h"
#include "runtime/tensor/vector_elementwise.h"
#include "runtime/tensor/vector_types.h"

namespace trident::tensor::TRIDENT_TENSOR_LEVEL {

// Columns are taken in strips of this many vectors, all in registers. AVX-512 has room for more, but the sums of a
// strip run beside the roots and divisions of the one before only while the processor sees both: an update of a hot row
// of 256 floats from four samples takes 170 ns on Zen 4 with 16 vectors, 115 with 8, 111 with 4. (A reciprocal by two
// Newton steps in place of the division is slower: 140.)
#if defined(TRIDENT_LEVEL_AVX512)
inline constexpr std::size_t kRowVectors = 4;
#else
inline constexpr std::size_t kRowVectors = 8;
#endif
inline constexpr std::size_t kPrefetchAhead =
    8;  // rows; a row of 256 floats is 1 KB somewhere in a table of hundreds of MB

/// Calls strip(column, vectors) for whole strips, then for single vectors, then part(column, lanes) for what is left.
template <class Real, class Strip, class Part>
inline void by_strips(std::size_t width, Strip strip, Part part) {
  std::size_t c = 0;
  for (; c + kRowVectors * kLanes<Real> <= width; c += kRowVectors * kLanes<Real>) strip(c);
  for (; c < width; c += kLanes<Real>) part(c, width - c < kLanes<Real> ? width - c : kLanes<Real>);
}

template <class Real>
void sum_rows(std::size_t width, const Real* table, std::size_t stride, const std::int32_t* ids, std::size_t count,
              Real* out) {
  constexpr std::size_t kLineElements = 64 / sizeof(Real);
  by_strips<Real>(
      width,
      [&](std::size_t c) {
        Vector<Real> sums[kRowVectors] = {};
#pragma GCC unroll 1
        for (std::size_t i = 0; i < count; ++i) {
          if (i + kPrefetchAhead < count) {
            const Real* ahead = table + static_cast<std::size_t>(ids[i + kPrefetchAhead]) * stride + c;
            for (std::size_t e = 0; e < kRowVectors * kLanes<Real>; e += kLineElements) __builtin_prefetch(ahead + e);
          }
          const Real* row = table + static_cast<std::size_t>(ids[i]) * stride + c;
#pragma GCC unroll 16
          for (std::size_t v = 0; v < kRowVectors; ++v) sums[v] += load(row + v * kLanes<Real>);
        }
#pragma GCC unroll 16
        for (std::size_t v = 0; v < kRowVectors; ++v) store<Real>(out + c + v * kLanes<Real>, sums[v]);
      },
      [&](std::size_t c, std::size_t part) {
        Vector<Real> sum{};
        for (std::size_t i = 0; i < count; ++i)
          sum += load_part(table + static_cast<std::size_t>(ids[i]) * stride + c, part);
        store_part<Real>(out + c, sum, part);
      });
}

/// The summed gradient of one row, strip by strip, each handed to apply(column, lanes, gradient).
template <class Real, class Apply>
inline void for_row_gradient(std::size_t width, const Real* const* gradients, const std::uint32_t* samples,
                             std::size_t count, Real scale, Apply apply) {
  by_strips<Real>(
      width,
      [&](std::size_t c) {
        Vector<Real> sums[kRowVectors] = {};
        for (std::size_t i = 0; i < count; ++i) {
          const Real* from = gradients[samples[i]] + c;
#pragma GCC unroll 16
          for (std::size_t v = 0; v < kRowVectors; ++v) sums[v] += load(from + v * kLanes<Real>);
        }
#pragma GCC unroll 16
        for (std::size_t v = 0; v < kRowVectors; ++v) apply(c + v * kLanes<Real>, kLanes<Real>, sums[v] * scale);
      },
      [&](std::size_t c, std::size_t part) {
        Vector<Real> sum{};
        for (std::size_t i = 0; i < count; ++i) sum += load_part(gradients[samples[i]] + c, part);
        apply(c, part, sum * scale);
      });
}

template <class Real>
void row_adam(std::size_t width, std::size_t plane, const AdamStep<Real>& step, const Real* const* gradients,
              const std::uint32_t* samples, std::size_t count, Real* row, const Real* ahead) {
  const AdamStep<Real> s = step;
  for_row_gradient<Real>(width, gradients, samples, count, s.gradient_scale,
                         [&](std::size_t c, std::size_t part, Vector<Real> gradient) {
                           Real *w = row + c, *m = w + plane, *v = m + plane;
                           for (std::size_t p = 0; p < 3; ++p) __builtin_prefetch(ahead + p * plane + c, 1);
                           Vector<Real> mv = load_part(m, part), vv = load_part(v, part);
                           store_part<Real>(w, adam_update<Real>(s, gradient, load_part(w, part), mv, vv), part);
                           store_part<Real>(m, mv, part);
                           store_part<Real>(v, vv, part);
                         });
}

template <class Real>
void row_adagrad(std::size_t width, std::size_t plane, const AdagradStep<Real>& step, const Real* const* gradients,
                 const std::uint32_t* samples, std::size_t count, Real* row, const Real* ahead) {
  const AdagradStep<Real> s = step;
  for_row_gradient<Real>(width, gradients, samples, count, s.gradient_scale,
                         [&](std::size_t c, std::size_t part, Vector<Real> gradient) {
                           Real *w = row + c, *squares = w + plane;
                           for (std::size_t p = 0; p < 2; ++p) __builtin_prefetch(ahead + p * plane + c, 1);
                           const Vector<Real> sum = load_part(squares, part) + gradient * gradient;
                           store_part<Real>(squares, sum, part);
                           const Vector<Real> move = gradient * s.rate / (square_root(sum) + s.epsilon);
                           store_part<Real>(w, load_part(w, part) - move, part);
                         });
}

}  // namespace trident::tensor::TRIDENT_TENSOR_LEVEL
