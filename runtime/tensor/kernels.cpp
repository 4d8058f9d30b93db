// One level's kernels; runtime/CMakeLists.txt compiles this file once per level.
#include "runtime/tensor/kernels.h"

#include "runtime/tensor/kernel_levels.h"
#include "runtime/tensor/vector_elementwise.h"
#include "runtime/tensor/vector_gemm.h"
#include "runtime/tensor/vector_rows.h"

namespace trident::tensor::TRIDENT_TENSOR_LEVEL {

template <class Real>
constexpr Kernels<Real> kTable = {gemm<Real>,
                                  pack_transposed<Real>,
                                  bias_activate<Real>,
                                  activation_backward<Real>,
                                  column_sums<Real>,
                                  add<Real>,
                                  multiply<Real>,
                                  multiply_add<Real>,
                                  axpy<Real>,
                                  scale<Real>,
                                  lerp<Real>,
                                  sum_of_squares<Real>,
                                  layer_norm<Real>,
                                  layer_norm_backward<Real>,
                                  adam<Real>,
                                  sgd<Real>,
                                  sum_rows<Real>,
                                  row_adam<Real>,
                                  row_adagrad<Real>};

const Kernels<float>& float_kernels() {
  return kTable<float>;
}
const Kernels<double>& double_kernels() {
  return kTable<double>;
}

}  // namespace trident::tensor::TRIDENT_TENSOR_LEVEL
