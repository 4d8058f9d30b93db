// States in which whole programs are run: inputs that lead through them.
#pragma once

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

/// `given`, here and there with other elements.
State changed(const State& given, States& source, Random& random);
/// As many inputs as most programs read, of one kind of element, in many states with some words equal to others or
/// next to them; the stack is that of `given`.
State made(const State& given, States& source, Random& random);
/// The same with inputs of small words that programs branch by, many of them 0.
State of_switches(const State& given, States& source, Random& random);

}  // namespace trident::tir::equiv
