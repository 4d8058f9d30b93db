// What an expression means at given points, twice over:
//
//   correct   the value over the reals, from the inputs as they are (MPFR at 200 bits, or a quick path with an error
//             bound: tracked.h)
//   strict    the source evaluated op by op, each op correctly rounded in its type; reductions in the order of kir.h
//
// Steps (floor, comparisons, the edge of a domain) on computed operands are the one place where a good implementation
// may rightly answer something else: where the true operand is so near the step that rounding decides. Such points are
// `unsure`. A step on exact operands is never unsure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jit/equiv/samples.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::equiv {

/// One output at every point (per_call false) or call (per_call true). Floats fill `strict` and `correct`, integers and
/// bools `integer`.
struct OutputValues {
  expr::Type type = expr::Type::f64;
  bool per_call = false;  ///< it depends on a reduction
  std::vector<double> strict;
  std::vector<long double> correct;
  std::vector<long double> error;  ///< bound of |correct - true value|; not finite: unknown, ask refine()
  std::vector<long double>
      magnitude;  ///< per_call only: how much the output changes per relative change of sums of |x|
  std::vector<std::int64_t> integer;
  std::vector<std::uint8_t> unsure;
};

class Reference {
 public:
  /// Unsupported for an expression with Diff nodes. `expr` has passed expr::check(); it and `samples` must outlive the
  /// reference.
  static Result<Reference> make(const expr::Expr& expr, const Samples& samples);

  [[nodiscard]] const std::vector<OutputValues>& outputs() const { return outputs_; }
  /// Replaces the quick value of one output at one index by MPFR's.
  void refine(std::size_t output, std::size_t index);
  /// Says of one output at one index that its correct value is not known.
  void give_up(std::size_t output, std::size_t index) { outputs_[output].unsure[index] = 1; }
  /// Points refined so far.
  [[nodiscard]] std::size_t refined() const { return refined_; }

  Reference(Reference&&) noexcept;
  Reference& operator=(Reference&&) noexcept;
  ~Reference();

 private:
  Reference();
  const expr::Expr* expr_ = nullptr;
  const Samples* samples_ = nullptr;
  std::vector<OutputValues> outputs_;
  std::size_t refined_ = 0;
  struct Slow;
  std::unique_ptr<Slow> slow_;
};

/// 2^(exponent of `magnitude` in `type`): the distance of neighbours there; that of denormals near zero.
long double ulp_at(expr::Type type, long double magnitude);

}  // namespace trident::equiv
