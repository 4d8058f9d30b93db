// Random programs to time: what people write in kernels - polynomials, sums of products, norms, quotients, bells and
// sigmoids, clamps and choices, bits of integers - put together to any size, with values that stay tame, so that what
// is timed is the usual case. (tests/support/random_expr.h is the other generator: it looks for the unusual.)
#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::learn {

struct ProgramOptions {
  std::uint32_t nodes_min = 5, nodes_max = 500;  ///< roughly; sizes are drawn evenly on a logarithmic scale
};

/// Passes expr::check(); every variable has a range. The same for the same seed.
expr::Expr random_program(std::uint64_t seed, const ProgramOptions& options = {});

}  // namespace trident::learn
