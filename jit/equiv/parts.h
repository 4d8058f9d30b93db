// Is a form as careful as its source in regions that no drawn point reaches? A part that works in a rare region only
// (behind a mask, beyond a clamp, near the common zero of many squares) shows nothing at points drawn in all variables
// at once. So the form is also compared part by part. A value that both compute alike becomes a variable, drawn from
// its known interval, and the part above it must keep the policy there too.
//
//   source   (k == 7) * (expm1(x) / x) + y * exp(x)        ->   p1 * (expm1(x) / x) + y * exp(x)
//   form     (k == 7) * ((exp(x) - 1) / x) + y * exp(x)    ->   p1 * ((exp(x) - 1) / x) + y * exp(x), which differs
//
// A value of the form is "alike" one of the source when it is made in the same way from alike values, or when both are
// equal at drawn points and the check of that part alone calls them the same. A value that is equal but less careful
// does not become a variable: it stays in the part above it, where it may not matter.
//
// The parts' running errors add up to the whole's, since the source carries an error that a part may have in the same
// way (running_error.h). The policy's 2 ulp do not: every part may take them at its end, the whole once. So parts that
// each keep the policy may break it together. For outputs of elements the check of the whole form at drawn points and
// beyond (tail.h) sees that, however large the form is; for outputs that depend on a reduction, and for operands of
// one, this check does.
//
// This asks more than the policy: a guard that keeps a careless part from ever being computed does not excuse it.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "jit/equiv/checker.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

/// Verdicts of parts, by all that they follow from: both sides as one expression with the types, ranges and names of
/// its variables, how the form is lowered, the points' kinds and seed, and the demand. The forms of a search have many
/// parts in common, and a check draws the same points for the same part. So each is checked once in a search.
class PartVerdicts {
 public:
  using Key = std::vector<std::byte>;
  /// Returns the verdict of a part that was checked; nullptr if there is none.
  [[nodiscard]] const Verdict* find(const Key& key) const {
    const auto known = verdicts_.find(key);
    return known == verdicts_.end() ? nullptr : &known->second;
  }
  const Verdict& add(Key key, Verdict verdict) {
    return verdicts_.emplace(std::move(key), std::move(verdict)).first->second;
  }

 private:
  std::map<Key, Verdict> verdicts_;
};

/// Checks whether `form`, lowered as `how` says, is as careful as `source` in all its parts. Both have passed check(),
/// have no Diff, and the same variables and outputs; another check covers drawn points. Ignores the number of points in
/// `options`. Answers only "sampled" or "differs"; under the exact policy, where forms have the source's bits, always
/// "sampled". Takes verdicts that are in `known` and adds the others; the answer is the same with and without.
Result<Verdict> check_parts(const expr::Expr& source, const expr::Expr& form, const expr::LowerOptions& how,
                            const CheckOptions& options, PartVerdicts& known);
/// Does so for one form.
inline Result<Verdict> check_parts(const expr::Expr& source, const expr::Expr& form, const expr::LowerOptions& how,
                                   const CheckOptions& options) {
  PartVerdicts none;
  return check_parts(source, form, how, options, none);
}

}  // namespace trident::equiv
