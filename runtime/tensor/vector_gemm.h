// C = alpha op(A) op(B) + beta C, row-major, for the small and middling shapes of training. A tile of kRows x one or
// two vectors of C stays in registers while k runs. Neither operand is packed where its memory already runs along the
// vectors: A is read by broadcast through strides, B in place unless it is transposed or its last columns are not a
// whole vector; then its panel is copied to the stack, zero-padded. No heap, no threads, no code generated at run time
// (so it works under PR_SET_MDWE), and the order of every sum depends on k alone: the same call gives the same bits.
#pragma once

#include "runtime/tensor/depth_block.h"
#include "runtime/tensor/vector_types.h"

namespace trident::tensor::TRIDENT_TENSOR_LEVEL {

// Rows x 2 accumulators and two vectors of B: 18 of the 32 registers of AVX-512, 10 of 16 below. A third vector made
// g++ 12 spill.
#if defined(TRIDENT_LEVEL_AVX512)
inline constexpr std::size_t kTileRows = 8;
#else
inline constexpr std::size_t kTileRows = 4;
#endif
inline constexpr std::size_t kPanelVectors = 2;
inline constexpr std::size_t kRowBlock = 128;  // of A: with a depth block 128 KB, which the second-level cache holds

/// x, as a product that is rounded before it takes part in a sum. Of the two products in c * beta + sum * alpha either
/// could be fused into the sum; the code of gemm_emitter.cpp fuses the first, and so does this.
template <class T>
inline T rounded(T x) {
#if defined(TRIDENT_LEVEL_AVX512)
  asm("" : "+v"(x));
#elif defined(TRIDENT_LEVEL_AVX2)
  asm("" : "+x"(x));
#endif
  return x;
}

/// Rows x Vectors of C += A B, where element (i, k) of A is a[i * row_stride + k * depth_stride].
template <class Real, std::size_t Rows, std::size_t Vectors, bool DepthIsContiguous>
[[gnu::always_inline]] inline void gemm_tile(std::size_t depth, Real alpha, const Real* a, std::size_t stride,
                                             const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc,
                                             std::size_t columns) {
  Vector<Real> sums[Rows][Vectors] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    Vector<Real> row[Vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) row[v] = load(b + k * ldb + v * kLanes<Real>);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Rows; ++i) {
      const Real x = DepthIsContiguous ? a[i * stride + k] : a[k * stride + i];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) sums[i][v] += row[v] * x;
    }
  }
  if (columns == Vectors * kLanes<Real>) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        Real* at = c + i * ldc + v * kLanes<Real>;
        store(at, beta == 0 ? sums[i][v] * alpha : load(at) * beta + rounded(sums[i][v] * alpha));
      }
    }
    return;
  }
  for (std::size_t i = 0; i < Rows; ++i) {
    Real lanes[Vectors * kLanes<Real>];
    for (std::size_t v = 0; v < Vectors; ++v) store(lanes + v * kLanes<Real>, sums[i][v]);
    Real* at = c + i * ldc;
    for (std::size_t j = 0; j < columns; ++j) {
      at[j] = beta == 0 ? lanes[j] * alpha : at[j] * beta + rounded(lanes[j] * alpha);
    }
  }
}

/// All rows of one panel of at most `Vectors` vectors.
template <class Real, std::size_t Vectors, bool DepthIsContiguous>
void gemm_panel(std::size_t m, std::size_t depth, Real alpha, const Real* a, std::size_t lda, const Real* b,
                std::size_t ldb, Real beta, Real* c, std::size_t ldc, std::size_t columns) {
  const auto row_of_a = [&](std::size_t i) { return DepthIsContiguous ? a + i * lda : a + i; };
  std::size_t i = 0;
  for (; i + kTileRows <= m; i += kTileRows) {
    gemm_tile<Real, kTileRows, Vectors, DepthIsContiguous>(depth, alpha, row_of_a(i), lda, b, ldb, beta, c + i * ldc,
                                                           ldc, columns);
  }
  if constexpr (kTileRows == 8) {
    if (i + 4 <= m) {
      gemm_tile<Real, 4, Vectors, DepthIsContiguous>(depth, alpha, row_of_a(i), lda, b, ldb, beta, c + i * ldc, ldc,
                                                     columns);
      i += 4;
    }
  }
  if (i + 2 <= m) {
    gemm_tile<Real, 2, Vectors, DepthIsContiguous>(depth, alpha, row_of_a(i), lda, b, ldb, beta, c + i * ldc, ldc,
                                                   columns);
    i += 2;
  }
  if (i < m) {
    gemm_tile<Real, 1, Vectors, DepthIsContiguous>(depth, alpha, row_of_a(i), lda, b, ldb, beta, c + i * ldc, ldc,
                                                   columns);
  }
}

template <class Real, std::size_t Vectors>
void gemm_panel(bool trans_a, std::size_t m, std::size_t depth, Real alpha, const Real* a, std::size_t lda,
                const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc, std::size_t columns) {
  if (trans_a) {
    gemm_panel<Real, Vectors, false>(m, depth, alpha, a, lda, b, ldb, beta, c, ldc, columns);
  } else {
    gemm_panel<Real, Vectors, true>(m, depth, alpha, a, lda, b, ldb, beta, c, ldc, columns);
  }
}

/// packed[d * width + col] = from[col * ldb + d], zero where col >= columns.
template <class Real>
void pack_transposed(const Real* from, std::size_t ldb, std::size_t depth, std::size_t columns, std::size_t width,
                     Real* packed) {
  typedef Real Four __attribute__((vector_size(4 * sizeof(Real))));
  std::size_t col = 0;
  for (; col + 4 <= columns; col += 4) {
    const Real* rows = from + col * ldb;
    std::size_t d = 0;
    for (; d + 4 <= depth; d += 4) {
      Four r[4];
      for (std::size_t i = 0; i < 4; ++i) __builtin_memcpy(&r[i], rows + i * ldb + d, sizeof(Four));
      const Four low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
      const Four low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
      const Four high01 = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
      const Four high23 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
      const Four columns4[4] = {
          __builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
          __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
      for (std::size_t i = 0; i < 4; ++i) __builtin_memcpy(packed + (d + i) * width + col, &columns4[i], sizeof(Four));
    }
    for (; d < depth; ++d) {
      for (std::size_t i = 0; i < 4; ++i) packed[d * width + col + i] = rows[i * ldb + d];
    }
  }
  for (; col < width; ++col) {
    for (std::size_t d = 0; d < depth; ++d) packed[d * width + col] = col < columns ? from[col * ldb + d] : Real{0};
  }
}

template <class Real>
void gemm(bool trans_a, bool trans_b, std::size_t m, std::size_t n, std::size_t k, Real alpha, const Real* a,
          std::size_t lda, const Real* b, std::size_t ldb, Real beta, Real* c, std::size_t ldc) {
  constexpr std::size_t kWidest = kPanelVectors * kLanes<Real>;
  alignas(64) Real packed[kDepthBlock * kWidest];
  if (k == 0) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? Real{0} : c[i * ldc + j] * beta;
    }
    return;
  }
  for (std::size_t k0 = 0; k0 < k; k0 += kDepthBlock) {
    const std::size_t depth = k - k0 < kDepthBlock ? k - k0 : kDepthBlock;
    const Real block_beta = k0 == 0 ? beta : Real{1};
    for (std::size_t i0 = 0; i0 < m; i0 += kRowBlock) {
      const std::size_t rows = m - i0 < kRowBlock ? m - i0 : kRowBlock;
      const Real* block_a = trans_a ? a + k0 * lda + i0 : a + i0 * lda + k0;
      for (std::size_t j = 0; j < n;) {
        const std::size_t vectors = n - j > kLanes<Real> ? 2 : 1;
        const std::size_t width = vectors * kLanes<Real>;
        const std::size_t columns = n - j < width ? n - j : width;
        const Real* panel = b + k0 * ldb + j;
        std::size_t panel_stride = ldb;
        if (trans_b || columns < width) {
          if (trans_b) {
            pack_transposed(b + j * ldb + k0, ldb, depth, columns, width, packed);
          } else {
            for (std::size_t d = 0; d < depth; ++d) {
              for (std::size_t col = 0; col < width; ++col) {
                packed[d * width + col] = col < columns ? panel[d * ldb + col] : Real{0};
              }
            }
          }
          panel = packed;
          panel_stride = width;
        }
        Real* block_c = c + i0 * ldc + j;
        const auto run = vectors == 2 ? gemm_panel<Real, 2> : gemm_panel<Real, 1>;
        run(trans_a, rows, depth, alpha, block_a, lda, panel, panel_stride, block_beta, block_c, ldc, columns);
        j += width;
      }
    }
  }
}

}  // namespace trident::tensor::TRIDENT_TENSOR_LEVEL
