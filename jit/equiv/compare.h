// The policies as arithmetic on results.
//
//   exact       the bits of the interpreter on the unrewritten kernel; any NaN equals any NaN
//   bounded(k)  at every point |ours - correct| <= B + 2 ulp of |correct|, where B is the running error of the source
//               with k units an operation (running_error.h)
//   fast        as bounded with kFastUnits and kFastSlackUlp, at points where inputs and the strict result are finite
//
// The bound of a point depends on that point alone. Where B reaches a step (a comparison, a selection, a floor, a
// cast), results of either side are right, integers and bools too; elsewhere integers and bools agree exactly. Where
// rounding decides whether a compared or cast value is NaN, that counts as a step too. Where B is infinite, ours has
// the class of the strict result (NaN, +inf, -inf, finite). Where the strict result is finite, ours is, unless the
// bound around the correct value reaches beyond the type; where it is not, ours is the strict one or within the bound
// of the correct value. Where a value on the way overflows, ours may also be within the bound of the strict result,
// which is unknown where the correct value is 0 and functions are on the way; where rounding decides whether one
// overflows, a result of another class is undecided; likewise where a function's error may make a divisor zero, or what
// is divided by a zero that an overflow has made. Where the bound of an operand reaches the end of an op's domain,
// either side of that end counts as a step; but ours is a number where the kernel that it replaces gives one.
//
// Where the bound says nothing of a result, as it is infinite or the reference knows no value, the point is undecided.
// Such points are counted, and a set with too many of them on which the candidate differs is no evidence (`Tally`). No
// others are drawn in place of those with an infinite bound. It allows any number there, but no infinity: where a
// candidate differs much near a pole of the source, it has a pole of its own nearby, which points seldom meet.
#pragma once

#include <functional>

#include "jit/equiv/judge.h"
#include "jit/equiv/reference.h"
#include "jit/equiv/samples.h"
#include "jit/equiv/verdict.h"

namespace trident::equiv {

/// Results of the calls of a sample set: [call][output], n elements of the output's type (one for scalar outputs).
using CallOutputs = std::vector<std::vector<std::byte>>;
using Outputs = std::vector<CallOutputs>;

/// Counts of the points of one output over one set. At `open` points, which are undecided, the candidate differs from
/// the strict evaluation or from its fallback.
struct Tally {
  std::uint64_t decided = 0, undecided = 0, open = 0;
  std::uint64_t left_out = 0;     ///< to save time
  std::uint64_t either_side = 0;  ///< at which the running error reaches a step
  [[nodiscard]] std::uint64_t all() const { return decided + undecided + left_out; }
  /// Returns whether the judgement says too little of the candidate to pass it.
  [[nodiscard]] bool inconclusive() const;
};
/// The greatest share of open points.
inline constexpr double kOpenShareMax = 0.05;

/// Errors in one output over one set.
struct Errors {
  Tally tally;
  double share = 0;            ///< of the bound, the greatest
  double risk = 0;             ///< the same of results that are not the source's own (Judge::is_own)
  double ulp = 0;              ///< of the correct value, the greatest
  std::vector<double> shares;  ///< one by one, for tail.h
};

/// Options of a comparison.
struct Comparing {
  /// Results that ours would replace. A point where both are equal counts as neither open nor worse.
  const Outputs* fallback = nullptr;
  /// MPFR evaluations for each output.
  std::size_t refined_max = 512;
  /// In place of the policy's, with the reference's units: for results that no policy is promised for.
  std::optional<Allowance> allowance{};
};

/// Judges one set, whose reference was made with the policy's units. Fills `errors` per output. The caller must refuse
/// an inconclusive set.
std::optional<Counterexample> compare_values(const expr::Expr& expr, const Samples& samples, Reference& reference,
                                             const Outputs& ours, const expr::Policy& policy,
                                             std::vector<Errors>& errors, const Comparing& comparing = {});
/// Refuses a set that says too little: "of N points M cannot be decided".
Counterexample inconclusive(const std::string& output, const Tally& tally);

/// Returns the first difference between two sets of results in bits, NaN equal to NaN. `calls` are the calls that gave
/// them. Under `fast`, results that come from an infinite input or NaN are arbitrary, and hosts may differ: a kernel
/// that assumes its operands are numbers may show the sign of a NaN, which is unspecified (jit/kir/README.md).
std::optional<Counterexample> compare_bits(const expr::Expr& expr, const Samples& samples,
                                           const std::vector<Call>& calls, const Outputs& wanted, const Outputs& got,
                                           expr::PolicyKind policy = expr::PolicyKind::exact);

/// Prints one lane in decimal and hexadecimal.
std::string print_lane(expr::Type type, const std::byte* bytes);

}  // namespace trident::equiv
