// Makes a state that shows a difference shorter, for people to read.
#pragma once

#include <functional>

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

/// Drops parts of the inputs and of RAM, halves first and single words last, as long as `differs` stays true. It asks
/// some hundred times at most, and leaves the stack as it is.
State shrunk(State state, const std::function<bool(const State&)>& differs);

}  // namespace trident::tir::equiv
