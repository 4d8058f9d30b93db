// Bounds the rounding errors of a form at every point of the declared ranges, not only at drawn points.
//
// Every operation i that rounds computes its value plus some e_i, |e_i| <= d_i; with all e_i = 0 the form is the source
// over the reals. By the mean value theorem the result is off by the sum of (derivative by e_i somewhere between) times
// e_i, so by no more than the sum of |derivative| d_i over all values between (as FPTaylor does, Solovyev et al., ACM
// TOPLAS 41, 2018, but without a second-order term, because the derivatives are bounded for perturbed values). The
// derivatives come from the plain pass, their bounds and d_i from interval arithmetic over boxes, which are halved
// where the bound is greatest.
//
// A cast to f32 rounds by its meaning. Its result is exact for an exact operand; else the operand may be on either side
// of the middle between two floats, and the cast counts as an ulp.
//
// The proof rests on the truth of the rules over the reals and on the stated errors of math functions
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
  std::string why;      ///< not proven: the reason, with a remedy
  double absolute = 0;  ///< |computed - correct| is at most this
  /// The bound in ulp of max(|correct|, 1e-6 times the greatest |correct|).
  double ulp = 0;
  std::size_t boxes = 0;
};

/// Bounds every output of `form`, lowered by `how` without simplifying, against `source` over the reals. No bound where
/// the form has constants that the source lacks: folding may have rounded them. Errors: Cancelled; those of
/// eliminate_derivatives().
Result<std::vector<ErrorBound>> prove_error(const expr::Expr& source, const expr::Expr& form,
                                            const expr::LowerOptions& how, const ErrorProofOptions& options);

/// Prints one line per output.
std::string print(const ErrorBound& bound);

}  // namespace trident::equiv
