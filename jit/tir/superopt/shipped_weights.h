// The weights that come with the program: weights/shipped.nnue, taught by `make tir-superopt-weights`.
#pragma once

#include "runtime/nn/accumulator/weights.h"

namespace trident::tir::superopt {

/// Of feature_space(), for SearchOptions::network.
const nn::AccumulatorWeights& shipped_ordering();

}  // namespace trident::tir::superopt
