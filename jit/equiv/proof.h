// A bound of the rounding errors of a form that holds at every point of the declared ranges, not only at points drawn.
//
// Every operation i that rounds computes its value plus some e_i, |e_i| <= d_i; with all e_i = 0 the form is the source
// over the reals. By the mean value theorem the result is off by the sum of (derivative by e_i somewhere between) times
// e_i, so by no more than the sum of |derivative| d_i over all values between (as FPTaylor does, Solovyev et al., ACM
// TOPLAS 41, 2018, but without a second-order term, because the derivatives are bounded for perturbed values). The
// derivatives come from the plain pass, their bounds and d_i from interval arithmetic over boxes, which are halved
// where the bound is greatest.
//
// A cast to f32 rounds by its meaning: of what has no error it is exact; of what has one it may fall to either side of
// the middle between two floats, and counts as an ulp.
//
// What it rests on: the rules' being true over the reals; the stated errors of math functions
// (jit/kir/math/errors.def).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::equiv {

struct ErrorProofOptions {
  std::size_t boxes_max = 2048;  ///< parts that the ranges are cut into
  std::function<bool()> cancelled{};
};

struct ErrorBound {
  std::string output;
  bool proven = false;
  std::string why;      ///< not proven: the reason, with what would mend it
  double absolute = 0;  ///< |computed - correct| is at most this
  /// In the policy's unit: ulp of max(|correct|, 1e-6 times the greatest |correct|) (compare.h).
  double ulp = 0;
  std::size_t boxes = 0;
};

/// A bound for every output of `form`, lowered by `how` without simplifying, against `source` over the reals. None where
/// the form has constants that the source does not have, and that folding may have rounded. Errors: Cancelled; those of eliminate_derivatives().
Result<std::vector<ErrorBound>> prove_error(const expr::Expr& source, const expr::Expr& form,
                                            const expr::LowerOptions& how, const ErrorProofOptions& options);

/// One line per output.
std::string print(const ErrorBound& bound);

}  // namespace trident::equiv
