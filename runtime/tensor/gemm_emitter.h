// Machine code for one matrix product of known shape, through asmjit's Assembler. Every extent, stride and factor is in
// the code, so that nothing is left to decide when it runs:
//
//   for each panel of columns (up to four vectors wide, the last one masked)
//     for each tile of rows: as many as the registers hold beside the panel's vectors
//       zero the sums;  for k: load the panel's row of B, for each row of A: broadcast, fuse into the sums
//       sums *= alpha;  + beta C;  + bias;  activation;  store
//
// A is read by broadcast, along rows or columns alike; B along rows, in place. A transposed B comes packed
// (panel_vectors()), because an element's sum must run through k in one chain: the compiled kernel of the same level
// (vector_gemm.h) sums so, by the same blocks of k, and both must give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tensor/gemm_shape.h"
#include "runtime/tensor/kernels.h"

namespace trident::tensor {

/// A panel of columns: where it starts and its vectors.
struct Panel {
  std::size_t column, vectors;
};
/// How the code for `shape` divides the columns.
template <class Real>
std::vector<Panel> panels_of(const GemmShape<Real>& shape, os::SimdLevel level);

/// Position-independent code of a function (const Real* a, const Real* b, Real* c, const Real* bias) by the System V
/// convention. With trans_b, b is packed instead: panel p starts at element k * panels_of()[p].column and has `vectors`
/// whole vectors a row of B, zero-padded. Empty where `level` has no code or the shape is out of reach (an offset
/// beyond 31 bits, m, n or k of 0).
template <class Real>
std::vector<std::byte> emit_gemm(const GemmShape<Real>& shape, os::SimdLevel level);

}  // namespace trident::tensor
