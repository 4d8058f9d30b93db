// Points at which a kernel is compared with its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// One call of a kernel: the elements [first, first + n).
struct Call {
  std::uint64_t first = 0;
  std::uint64_t n = 0;
  bool in_place = false;  ///< outputs take the place of inputs
};

/// Values for every variable of an expression. Scalar variables are constant within each call.
struct Samples {
  std::string name;  ///< "uniform", "corners", ...: for messages
  std::uint64_t n = 0;
  std::vector<std::vector<std::byte>> columns;  ///< columns[variable]: n elements of the variable's type
  std::vector<Call> calls;                      ///< in order and without overlap, together [0, n)
};

}  // namespace trident::equiv
