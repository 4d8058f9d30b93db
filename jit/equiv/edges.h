// Points on both sides of each place where a value of a kernel overflows, becomes NaN or underflows.
//
// Drawn points miss such a place where it is narrow: (e^x + e^-x) / 2 overflows from 709.79 on, cosh(x) from 710.48 on.
// So it is found by construction. Along a line one variable, or all of them, pass through every magnitude of the type.
// Between two points of the line at which some value has different classes, bisection leads to the two neighbours where
// it changes. Every value of the kernel is watched, those inside the expansions of functions too, so that each
// rewriting and each expansion shows its own edges. Cost: a bounded number of lanes (kLanesMax).
//
// At overflow errors count in ulp of the correct value itself, and a result that is not finite where the strict one is
// finite passes only if steps off by an ulp explain it (Standing::at_edges).
#pragma once

#include <functional>
#include <vector>

#include "jit/equiv/probe.h"
#include "jit/kir/kir.h"

namespace trident::equiv {

struct Edges {
  std::vector<Point> overflow;   ///< where a value stops being finite, or becomes NaN
  std::vector<Point> underflow;  ///< where a value becomes denormal or zero
};

/// Finds the edges of `kernel`, which has the signature of `expr`. Points lie inside the declared ranges. Finds nothing
/// where tables are read. Deterministic; incomplete once `cancelled` says so.
Edges edges_of(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed,
               const std::function<bool()>& cancelled);

}  // namespace trident::equiv
