// Makes states to run whole programs in: inputs that lead through them.
#pragma once

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

/// Returns `given` with some elements changed.
State changed(const State& given, States& source, Random& random);
/// Makes as many inputs as most programs read, of one kind of element; in many states some words equal others or
/// are next to them. The stack is that of `given`.
State made(const State& given, States& source, Random& random);
/// Makes inputs of small words that programs branch by, many of them 0. The stack is that of `given`.
State of_switches(const State& given, States& source, Random& random);

}  // namespace trident::tir::equiv
