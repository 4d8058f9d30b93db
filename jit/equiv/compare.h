// The policies as arithmetic on results.
//
//   exact       the bits of the interpreter on the unrewritten kernel; any NaN equals any NaN
//   bounded(k)  max err(ours) <= k * max err(strict) + 2, where err counts ulp of max(|correct|, 1e-6 * the greatest
//               |correct| of the set)
//   fast        as bounded with kFastFactor and kFastSlack, at points where inputs and the strict result are finite
//
// Integers and bools agree exactly under every policy (under fast at those points too). Where the strict result
// or ours is not finite, ours must be of the strict result's class (NaN, +inf, -inf) or equal the rounded
// correct value. Points that reference.h cannot decide count for neither side, and not as checked. They are
// counted, and a set with too many of them on which the candidate differs is no evidence (`Tally`). Errors of
// reductions count on the scale of the sums of absolute values: that is the documented tolerance of sums whose
// terms cancel.
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

/// Counts of the points of one output over one set. At `open` points, which are undecided, the candidate differs from
/// the strict evaluation or from its fallback.
struct Tally {
  std::uint64_t decided = 0, undecided = 0, open = 0;
  std::uint64_t left_out = 0;  ///< to save time
  std::uint64_t excused = 0;   ///< of the decided ones: see Standing
  [[nodiscard]] std::uint64_t all() const { return decided + undecided + left_out; }
  /// Returns whether the judgement says too little of the candidate to pass it.
  [[nodiscard]] bool inconclusive() const;
};
/// The greatest share of open points.
inline constexpr double kOpenShareMax = 0.05;

/// Errors in one output over one set.
struct Errors {
  Tally tally;
  double ours_ulp = 0;              ///< the greatest
  double strict_ulp = 0;            ///< the greatest
  long double greatest = 0;         ///< of the correct values
  std::vector<PointErrors> points;  ///< one by one, for tail.h
};

/// How the judged results stand to others, beside the policy.
struct Standing {
  /// Scales the part of bounded(k) beyond the strict error itself, in outputs that depend on a reduction: k becomes 1 +
  /// (k - 1) * per_call_allowance.
  double per_call_allowance = 1;
  /// Results that ours would replace. A point where both are equal counts as neither open nor worse.
  const Outputs* fallback = nullptr;
  /// Ours come from the source's own steps, with functions good to an ulp: a difference that steps off by an ulp
  /// explain is none. (Any replacement has the same steps.)
  bool unrewritten = false;
  /// Few points of the set are alike. So one or two of them give both maxima, and the strict one may be lucky
  /// there: a result that breaks the policy is judged by how far off the strict evaluation may be at that
  /// point.
  bool point_by_point = false;
  /// The points lie at overflow. Errors count in ulp of |correct| itself, however great other values are, and are
  /// judged as point_by_point says. A step off by an ulp may overflow where the strict one does not.
  bool at_edges = false;
};

/// Judges one set. `strict_elsewhere_ulp` holds, per output, a strict error from other sets of the same expression that
/// counts here too, or 0. Fills `errors` per output. The caller must refuse an inconclusive set.
std::optional<Counterexample> compare_values(const expr::Expr& expr, const Samples& samples, Reference& reference,
                                             const Outputs& ours, const expr::Policy& policy,
                                             const std::vector<double>& strict_elsewhere_ulp,
                                             std::vector<Errors>& errors, const Standing& standing = {});
/// Refuses a set that says too little: "of N points M cannot be decided".
Counterexample inconclusive(const std::string& output, const Tally& tally);
/// Returns the greatest strict error per output, by the same measure. Prepares the reference for compare_values:
/// settles points whose quick value is not good enough (meter.h), by at most `refined_max` MPFR evaluations per output.
std::vector<double> strict_errors(const expr::Expr& expr, Reference& reference, std::size_t refined_max);

/// Returns the first difference between two sets of results in bits, NaN equal to NaN. `calls` are the calls that gave
/// them. Under `fast`, results that come from an infinite input or NaN are arbitrary, and hosts may differ: a kernel
/// that assumes its operands are numbers may show the sign of a NaN, which is unspecified (jit/kir/README.md).
std::optional<Counterexample> compare_bits(const expr::Expr& expr, const Samples& samples,
                                           const std::vector<Call>& calls, const Outputs& wanted, const Outputs& got,
                                           expr::PolicyKind policy = expr::PolicyKind::exact);

/// Prints one lane in decimal and hexadecimal.
std::string print_lane(expr::Type type, const std::byte* bytes);

}  // namespace trident::equiv
