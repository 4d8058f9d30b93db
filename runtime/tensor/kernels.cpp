// One level's kernels; cmake/levels.cmake compiles this file once per level.
#include "runtime/tensor/kernels.h"

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

}  // namespace trident::tensor::TRIDENT_TENSOR_LEVEL

namespace trident::tensor {

#if defined(TRIDENT_LEVEL_AVX512)
extern const KernelTables kAvx512Kernels = {avx512::kTable<float>, avx512::kTable<double>};
#elif defined(TRIDENT_LEVEL_AVX2)
extern const KernelTables kAvx2Kernels = {avx2::kTable<float>, avx2::kTable<double>};
#else
extern const KernelTables kPortableKernels = {portable::kTable<float>, portable::kTable<double>};
#endif

}  // namespace trident::tensor
