// The policies as arithmetic on results.
//
//   exact       the bits of the interpreter on the unrewritten kernel; any NaN equals any NaN
//   bounded(k)  max err(ours) <= k * max err(strict) + 2, where err counts ulp of max(|correct|, 1e-6 * the greatest
//               |correct| of the set)
//   fast        as bounded with kFastFactor and kFastSlack, at points where inputs and the strict result are finite
//
// Integers and bools agree exactly under every policy (under fast at those points too). Where the strict result is not
// finite, or ours is not, it must be of the strict result's class (NaN, +inf, -inf) or what the correct value rounds
// to. Points that reference.h cannot decide count for neither side, and not as checked; they are counted, and a set
// that has too many of them on which the candidate says something of its own is no evidence (`Tally`). Errors of
// reductions count on the scale of the sums of absolute values that they are made of: that is the documented tolerance
// of sums whose terms cancel.
#pragma once

#include <functional>

#include "jit/equiv/reference.h"
#include "jit/equiv/samples.h"
#include "jit/equiv/tail.h"
#include "jit/equiv/verdict.h"

namespace trident::equiv {

inline constexpr double kBoundedSlackUlp = 2;
inline constexpr double kFastFactor = 16;
inline constexpr double kFastSlackUlp = 64;

/// Results of the calls of a sample set: [call][output], n elements of the output's type (one for scalar outputs).
using CallOutputs = std::vector<std::vector<std::byte>>;
using Outputs = std::vector<CallOutputs>;

/// What became of the points of one output over one set. `open` ones are undecided, and the candidate differs there
/// from the strict evaluation, or from the fallback that it is compared with.
struct Tally {
  std::uint64_t decided = 0, undecided = 0, open = 0;
  std::uint64_t left_out = 0;  ///< for cost
  std::uint64_t excused = 0;   ///< of the decided ones: see Standing
  [[nodiscard]] std::uint64_t all() const { return decided + undecided + left_out; }
  /// Whether the judgement says too little of the candidate to pass it.
  [[nodiscard]] bool inconclusive() const;
};
/// The share of the points looked at that may be open.
inline constexpr double kOpenShareMax = 0.05;

/// Errors in one output over one set.
struct Errors {
  Tally tally;
  double ours_ulp = 0;              ///< the greatest
  double strict_ulp = 0;            ///< the greatest
  long double greatest = 0;         ///< of the correct values
  std::vector<PointErrors> points;  ///< one by one, as tail.h wants them
};

/// Whose results are judged, beside the policy.
struct Standing {
  /// Scales what bounded(k) allows beyond the strict error itself in outputs that depend on a reduction: k becomes
  /// 1 + (k - 1) * per_call_allowance.
  double per_call_allowance = 1;
  /// Results in whose place ours would come: where they are the same, nothing is open and nothing is worse.
  const Outputs* fallback = nullptr;
  /// Ours are of the source's own steps, by functions good to an ulp: what steps off by an ulp explain is no
  /// difference. (What would come in their place has the same steps.)
  bool unrewritten = false;
  /// Few points of the set are like one another, so that both maxima come from one or two of them, and the strict one
  /// may come from a lucky one: what breaks the policy is judged by how far off the strict evaluation may be at that
  /// point.
  bool point_by_point = false;
  /// The points lie at overflow: errors count in ulp of |correct| itself, however great other values are, and are
  /// judged as point_by_point says. A step off by an ulp may overflow where the strict one does not.
  bool at_edges = false;
};

/// Judges one set. `strict_elsewhere_ulp` holds, per output, a strict error seen in other sets of the same expression
/// that counts here too, or 0. Fills `errors` per output; a set that is inconclusive is the caller's to refuse.
std::optional<Counterexample> compare_values(const expr::Expr& expr, const Samples& samples, Reference& reference,
                                             const Outputs& ours, const expr::Policy& policy,
                                             const std::vector<double>& strict_elsewhere_ulp,
                                             std::vector<Errors>& errors, const Standing& standing = {});
/// Refuses a set that says too little: "of N points M cannot be decided".
Counterexample inconclusive(const std::string& output, const Tally& tally);
/// The greatest strict error per output, by the same measure. Makes the reference ready for compare_values: points
/// whose quick value is not good enough are settled (meter.h), by at most `refined_max` MPFR evaluations per output.
std::vector<double> strict_errors(const expr::Expr& expr, Reference& reference, std::size_t refined_max);

/// The first difference between two sets of results in bits, NaN equal to NaN. `calls` are the calls that gave them.
/// Under `fast`, results that come from an infinite input or NaN are anything, and hosts need not agree on them: a
/// kernel that takes its operands for numbers may show the sign of a NaN, which is open (jit/kir/README.md).
std::optional<Counterexample> compare_bits(const expr::Expr& expr, const Samples& samples,
                                           const std::vector<Call>& calls, const Outputs& wanted, const Outputs& got,
                                           expr::PolicyKind policy = expr::PolicyKind::exact);

/// Decimal and hexadecimal text of one lane.
std::string print_lane(expr::Type type, const std::byte* bytes);

}  // namespace trident::equiv
