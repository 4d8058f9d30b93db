// Weights shipped with the program: weights/shipped.nnue, trained by `make weights NAME=tir-superopt`.
#pragma once

#include "runtime/nn/accumulator/weights.h"

namespace trident::tir::superopt {

/// Returns the shipped network over feature_space(), for SearchOptions::network.
const nn::AccumulatorWeights& shipped_ordering();

}  // namespace trident::tir::superopt
