// The meaning of an expression at given points, in two versions:
//
// correct   the value over the reals, from the inputs as they are: a quick path with an error bound (tracked.h), or
// MPFR with one (big.h) at 200 bits, and where these do not settle the value at 800 and 3,200; a cast to a float that
// cannot hold its operand rounds it, for that is what was written
//   strict    the source evaluated op by op, each op correctly rounded in its type; reductions in the order of kir.h
//
// Steps (floor, comparisons, the edge of a domain, a cast from f64 to f32) on computed operands are the one place where
// a good implementation may rightly differ: where the true operand is so near the step that rounding decides. Such
// points are not decided (`Doubt`), nor are those whose value 3,200 bits leave open. A step on exact operands is always
// decided.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "jit/equiv/running_error.h"
#include "jit/equiv/samples.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::equiv {

/// Why a point cannot be judged: the values of OutputValues::unsure.
enum Doubt : std::uint8_t {
  kDecided = 0,
  kRoundingDecides = 1,  ///< of a step, as far as known: refine() decides
  kBeyondPrecision = 2,  ///< the value is unknown even at the greatest precision
  kLeftOut = 3,          ///< it would have to be refined, and there are too many such points: a smaller sample
};

/// One output at every point (per_call false) or call (per_call true). Floats fill `strict` and `correct`, integers and
/// bools `integer`.
struct OutputValues {
  expr::Type type = expr::Type::f64;
  bool per_call = false;  ///< it depends on a reduction
  std::vector<double> strict;
  std::vector<long double> correct;
  std::vector<long double> error;  ///< bound of |correct - true value|; not finite: unknown, ask refine()
  std::vector<long double> bound;  ///< the running error around `correct`, of k units (running_error.h)
  std::vector<std::int64_t> integer;
  std::vector<Whole> whole;              ///< with running errors
  std::vector<std::uint8_t> unsure;      ///< a Doubt each
  std::vector<std::uint8_t> on_the_way;  ///< the bits of kOnTheWay (lanes.h)
};

class Stop;

/// Frees what MPFR keeps for this thread. It leaks when a thread that has refined ends without this call, or without
/// that of a reference's destructor.
void free_thread_constants();

class Reference {
 public:
  /// Makes the reference. Unsupported for an expression with Diff nodes. `expr` has passed expr::check(); it and
  /// `samples` must outlive the reference. Asks `cancelled` every few dozen operations; once it is true, make() ends as
  /// Error Cancelled, and refine() does nothing any more. `k`: the units of the running error.
  static Result<Reference> make(const expr::Expr& expr, const Samples& samples, std::function<bool()> cancelled = {},
                                double k = 1);

  /// Computes the values of the samples anew, whose columns have changed since: as many points, in the same calls.
  /// Takes less time than make(). For expressions of one pass. Errors: Cancelled.
  Result<void> renew();

  [[nodiscard]] const std::vector<OutputValues>& outputs() const { return outputs_; }
  /// Replaces the quick value of one output at one index by MPFR's, known to a hundredth of an ulp or of `tolerance`,
  /// or else given up as kBeyondPrecision. Other outputs there that it shows so well, with their bound for a tolerance,
  /// are too.
  void refine(std::size_t output, std::size_t index, long double tolerance = 0);
  /// Marks one output at one index: its correct value is not looked for.
  void leave_out(std::size_t output, std::size_t index) { outputs_[output].unsure[index] = kLeftOut; }
  /// Returns the number of MPFR evaluations so far; those at higher precision count for more.
  [[nodiscard]] std::size_t refined() const { return refined_; }
  /// Returns whether `cancelled` was true: later results mean nothing.
  [[nodiscard]] bool stopped() const;

  Reference(Reference&&) noexcept;
  Reference& operator=(Reference&&) noexcept;
  ~Reference();

 private:
  struct Quick;
  explicit Reference(std::function<bool()> cancelled);
  [[nodiscard]] std::unique_ptr<Quick> make_quick() const;
  Result<void> evaluate(Quick& quick);
  void settle_others(std::size_t level, std::size_t output, std::size_t index, bool tolerant);
  const expr::Expr* expr_ = nullptr;
  const Samples* samples_ = nullptr;
  std::vector<OutputValues> outputs_;
  std::size_t refined_ = 0;
  std::unique_ptr<Stop> stop_;
  double k_ = 1;
  std::unique_ptr<Quick> quick_;  ///< kept by renew()
  struct Slow;
  std::unique_ptr<Slow> slow_;
};

}  // namespace trident::equiv
