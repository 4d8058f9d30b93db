// Facts known of every value before the kernel runs: an interval that holds it, whether it may be NaN, whether it is
// integral. One forward pass of interval arithmetic finds them from the declared ranges of the variables.
//
// The facts hold for values *as computed*: operations that kir rounds correctly map the ends of intervals by the same
// operation in the same type (rounding is monotone, so no widening is needed), functions widen by more than the stated
// error of their expansion. Infinite ends mean that infinities may occur. Zero stands for both zeros.
#pragma once

#include <optional>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

struct Fact {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool may_be_nan = true;
  bool integral = false;  ///< every value that is finite is an integer

  [[nodiscard]] bool finite() const {
    return !may_be_nan && lo > -std::numeric_limits<double>::infinity() && hi < std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] bool nonzero() const { return lo > 0 || hi < 0; }
  [[nodiscard]] bool positive() const { return lo > 0; }
  [[nodiscard]] bool nonnegative() const { return lo >= 0; }
  /// Comparisons: lo and hi are 0 or 1.
  [[nodiscard]] bool always() const { return lo == 1; }
  [[nodiscard]] bool never() const { return hi == 0; }
  [[nodiscard]] kir::math::Range range() const { return {lo, hi, may_be_nan}; }
};

/// Returns the fact of one node, not a variable, from its operands' facts; the first operand has type `operand`. The
/// operand numbers of `node` only say which operands are the same value.
Fact fact_of(const Node& node, Type operand, const Fact& a, const Fact& b, const Fact& c, kir::math::Accuracy accuracy);

/// Facts of the nodes of an expression that may still grow: at() catches up with nodes appended meanwhile.
class Ranges {
 public:
  /// `expr` must have passed check() up to its last node and must outlive this.
  explicit Ranges(const Expr& expr) : expr_(expr) {}
  /// Uses functions as accurate as the options say, and finite inputs under the fast policy.
  /// Uses estimates where the options say so, too.
  Ranges(const Expr& expr, const LowerOptions& options)
      : expr_(expr),
        accuracy_(options.accuracy),
        finite_inputs_(options.policy.kind == PolicyKind::fast),
        estimates_(options.estimates.any()) {}

  Fact at(NodeId id) {
    if (facts_.capacity() == 0) facts_.reserve(expr_.nodes.size());
    while (facts_.size() <= id.index) facts_.push_back(analyse(expr_.nodes[facts_.size()]));
    return facts_[id.index];
  }

 private:
  [[nodiscard]] Fact analyse(const Node& node) const;
  [[nodiscard]] bool is_unknown(const Node& node) const;
  [[nodiscard]] std::optional<Fact> fraction(const Node& node) const;

  const Expr& expr_;
  kir::math::Accuracy accuracy_ = kir::math::Accuracy::ulp4;
  bool finite_inputs_ = false;
  bool estimates_ = false;
  std::vector<Fact> facts_;
};

/// Returns whether kir::kNormal may be set on a / b (or on sqrt(a)): operands, result and 1 / b (1 / sqrt) are normal,
/// finite and within 3/4 of the type's exponents.
bool division_is_normal(Type type, const Fact& a, const Fact& b);
bool sqrt_is_normal(Type type, const Fact& a);

/// Returns the kir flag that a / b, or sqrt(a), may carry: kNormal, kBounded or none.
std::uint8_t division_flags(Type type, const Fact& a, const Fact& b);
std::uint8_t sqrt_flags(Type type, const Fact& a);
/// Returns likewise the flag of an estimated a / b of f32: kNormal where both the divisor and the quotient are far from
/// the ends of what is middle (kir/estimates.h), or none.
std::uint8_t estimated_division_flags(const Fact& a, const Fact& b);

}  // namespace trident::expr
