// The weights that a program begins with: weights/shipped.tirn, taught by `make tir-network-weights`.
#pragma once

#include "jit/tir/neural/weights.h"

namespace trident::tir::neural {

/// Read once; the file is a part of the program.
const Weights& shipped_weights();

}  // namespace trident::tir::neural
