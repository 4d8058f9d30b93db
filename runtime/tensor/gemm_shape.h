// One matrix product of fixed shape, as a tape records it.
#pragma once

#include <cstddef>

#include "runtime/tensor/kernels.h"

namespace trident::tensor {

/// The steps that follow a product in the same pass: y = activation(y + bias).
enum class Epilogue : std::uint8_t { none, bias, relu, bias_relu, clipped_relu, bias_clipped_relu };
constexpr bool adds_bias(Epilogue e) {
  return e == Epilogue::bias || e == Epilogue::bias_relu || e == Epilogue::bias_clipped_relu;
}
constexpr bool cuts_below(Epilogue e) {
  return e != Epilogue::none && e != Epilogue::bias;
}
constexpr bool cuts_above(Epilogue e) {
  return e == Epilogue::clipped_relu || e == Epilogue::bias_clipped_relu;
}

/// c = alpha op(a) op(b) + beta c as in Kernels::gemm, then the epilogue.
template <class Real>
struct GemmShape {
  bool trans_a = false, trans_b = false;
  std::size_t m = 0, n = 0, k = 0;
  Real alpha = 1;
  std::size_t lda = 0, ldb = 0;
  Real beta = 0;
  std::size_t ldc = 0;
  Epilogue epilogue = Epilogue::none;
  bool operator==(const GemmShape&) const = default;

  /// Returns this shape with the leading dimensions of matrices whose rows follow each other without a gap.
  [[nodiscard]] constexpr GemmShape dense() const {
    GemmShape shape = *this;
    shape.lda = trans_a ? m : k;
    shape.ldb = trans_b ? k : n;
    shape.ldc = n;
    return shape;
  }
};

}  // namespace trident::tensor
