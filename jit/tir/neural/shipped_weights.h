// Weights that a program begins with: weights/shipped.tirn, trained by `make weights NAME=tir-network`.
#pragma once

#include "jit/tir/neural/weights.h"

namespace trident::tir::neural {

/// Returns the shipped weights, read once from the program's own data.
const Weights& shipped_weights();

}  // namespace trident::tir::neural
