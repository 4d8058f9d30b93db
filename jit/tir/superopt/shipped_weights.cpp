#include "jit/tir/superopt/shipped_weights.h"

#include "jit/tir/superopt/features.h"
#include "jit/tir/superopt/shipped_weight_files.h"
#include "runtime/base/check.h"

namespace trident::tir::superopt {

const nn::AccumulatorWeights& shipped_ordering() {
  static const nn::AccumulatorWeights weights = [] {
    auto viewed = nn::AccumulatorWeights::view(kShippedWeightFiles[0].bytes(), feature_space());
    CHECK(viewed.ok());  // fails if it was built from another op table or other features: train it again
    return *std::move(viewed);
  }();
  return weights;
}

}  // namespace trident::tir::superopt
