// Random programs to time, as people write kernels: polynomials, sums of products, norms, quotients, bells and
// sigmoids, clamps and choices, bits of integers, combined to any size, with values that stay tame, so that
// the timed cases are usual ones. (tests/support/random_expr.h is the other generator: it looks for the unusual.)
#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::learn {

struct ProgramOptions {
  std::uint32_t nodes_min = 5, nodes_max = 500;  ///< roughly; sizes are drawn evenly on a logarithmic scale
};

/// Makes a program that passes expr::check(); every variable has a range. Equal seeds give equal programs.
expr::Expr random_program(std::uint64_t seed, const ProgramOptions& options = {});

}  // namespace trident::learn
