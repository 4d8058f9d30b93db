// The policies of expr.md as arithmetic on results.
//
//   exact       the bits of the interpreter on the unrewritten kernel; any NaN equals any NaN
//   bounded(k)  max err(ours) <= k * max err(strict) + 2, where err counts ulp of max(|correct|, 1e-6 * the greatest
//               |correct| of the set)
//   fast        as bounded with kFastFactor and kFastSlack, at points where inputs and the strict result are finite
//
// Integers and bools agree exactly under every policy. Where the strict result is not finite, or ours is not, it must
// be of the strict result's class (NaN, +inf, -inf) or what the correct value rounds to. Points that reference.h calls
// unsure count for neither side. Errors of reductions count on the scale of the sums of absolute values that they are
// made of: that is the documented tolerance of sums whose terms cancel.
#pragma once

#include <functional>

#include "jit/equiv/reference.h"
#include "jit/equiv/samples.h"
#include "jit/equiv/verdict.h"

namespace trident::equiv {

inline constexpr double kBoundedSlackUlp = 2;
inline constexpr double kFastFactor = 16;
inline constexpr double kFastSlackUlp = 64;
/// Values far below the greatest of their set are measured on this share of it.
inline constexpr long double kFloorShare = 1e-6L;

/// Results of the calls of a sample set: [call][output], n elements of the output's type (one for scalar outputs).
using CallOutputs = std::vector<std::vector<std::byte>>;
using Outputs = std::vector<CallOutputs>;

/// Greatest errors in one output over one set.
struct Errors {
  double ours_ulp = 0;
  double strict_ulp = 0;
};

/// Judges one set. `strict_elsewhere_ulp` holds, per output, the greatest strict error seen in other sets of the same
/// expression: the bound is made of the greatest of all. Fills `errors` per output.
std::optional<Counterexample> compare_values(const expr::Expr& expr, const Samples& samples, Reference& reference,
                                             const Outputs& ours, const expr::Policy& policy,
                                             const std::vector<double>& strict_elsewhere_ulp,
                                             std::vector<Errors>& errors);

/// The greatest strict error per output, by the same measure. Makes the reference ready for compare_values: points
/// whose quick value is not good enough are refined, at most `refined_max` evenly chosen ones per output; the others
/// become unsure.
std::vector<double> strict_errors(const expr::Expr& expr, Reference& reference, std::size_t refined_max);

/// The first difference between two sets of results in bits, NaN equal to NaN. `calls` are the calls that gave them.
std::optional<Counterexample> compare_bits(const expr::Expr& expr, const Samples& samples,
                                           const std::vector<Call>& calls, const Outputs& wanted, const Outputs& got);

/// Decimal and hexadecimal text of one lane.
std::string print_lane(expr::Type type, const std::byte* bytes);

}  // namespace trident::equiv
