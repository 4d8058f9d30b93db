// Mutants of a function: its text with one operation changed.
#pragma once

#include <functional>
#include <string>

#include "jit/function/function.h"

namespace trident::test {

struct Mutant {
  function::Function function;  ///< checked
  std::size_t line = 0;         ///< in the text of the function that it comes from
  std::string text{};           ///< the line as the mutant has it, without indentation
};

/// Calls `visit` with each mutant of a function of the shipped library: an operator or intrinsic changed for another of
/// its kind, a constant moved by one, a truth, a condition or a choice negated, a unary operator left out. Mutants that
/// the checker refuses and those that print alike are left out.
void each_mutant(const function::Function& function, const std::function<void(const Mutant&)>& visit);

}  // namespace trident::test
