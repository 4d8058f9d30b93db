// Finds points at which a kernel's results surely keep the policy, so that campaigns need no reference there. Takes a
// fraction of a reference's time, and proves what it says: a value over the reals with a bound of its error
// (tracked.h), and a lower bound of the running error (running_error.h). A point is found only if the value decides
// every step on the way, and if the result's greatest possible error is well within the least bound. A result that is
// not finite holds if the strict value is of its class; a finite one is undecided around a finite value whose bound is
// surely infinite (compare.h). All other points are left to a reference.
//
// Blocks of points are evaluated op by op. Values are double, or long double where an expression has types of 8 bytes;
// both bounds are double, in loops that vectorise. An unknown value has the error infinity or NaN. Strict values are
// not computed, nor is what tells which points lie on either side of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/equiv/compare.h"

namespace trident::equiv {

/// Findings in one set.
struct Screened {
  std::vector<std::uint8_t> findings;  ///< per point: 0 where nothing is known
  std::uint64_t decided = 0;           ///< points at which all outputs surely keep the policy
  std::uint64_t undecided = 0;         ///< points at which the policy surely says nothing of some output
  double share = 0;                    ///< greatest error at decided points as a share of the bound, at most
  double ulp = 0;                      ///< the same in ulp
  [[nodiscard]] std::uint64_t points() const { return decided + undecided; }
};

/// Returns whether a screen evaluates such expressions: floats and masks, element by element.
bool can_screen(const expr::Expr& expr);

/// Screens the results of a set's calls. `expr` must be one that can be screened.
Screened screen(const expr::Expr& expr, const Samples& samples, const Outputs& ours, const Allowance& allowance);

/// Makes a set of the points that are not found; of the first one where all are.
Samples without_screened(const expr::Expr& expr, const Samples& samples, const Screened& screened);

}  // namespace trident::equiv
