#include "jit/tir/neural/shipped_weights.h"

#include "jit/tir/neural/shipped_weight_files.h"

namespace trident::tir::neural {

const Weights& shipped_weights() {
  static const Weights weights = [] {
    auto read = weights_in(kShippedWeightFiles[0].bytes());
    CHECK(read.ok());  // fails if it was built from another layout: train it again
    return *std::move(read);
  }();
  return weights;
}

}  // namespace trident::tir::neural
