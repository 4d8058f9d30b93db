// The points that a speculative image is checked at (speculative_check.h): inside the assumed ranges, and outside them
// in all variables or in one. The ends of each range and their neighbours on both sides are among them. NaN that may
// come beside a range is a value of its own: among all points it would be the result of every reduction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::pipeline {

using Point = std::vector<std::uint64_t>;  ///< bits by variable

/// Returns whether two variables have the same range, declared or assumed.
bool same_range(const expr::Variable& a, const expr::Variable& b);
/// Returns whether the bits of a value lie in the range of `variable`, as declarations and guards see it.
bool lies_in(const expr::Variable& variable, std::uint64_t bits);

/// A value of one variable.
struct OneValue {
  std::size_t variable = 0;
  std::uint64_t bits = 0;
};

class SpeculativePoints {
 public:
  /// `narrowed` is `source` with narrower ranges. Neither holds a Diff.
  SpeculativePoints(const expr::Expr& source, const expr::Expr& narrowed, std::uint64_t seed);

  /// Names a variable whose range has no known value on one side, so that its guard cannot be checked; empty: none.
  [[nodiscard]] const std::string& gap() const { return gap_; }

  /// Return points; every number gives one. Inside, no variable is NaN that has a range.
  [[nodiscard]] Point inside(std::uint64_t number) const;
  [[nodiscard]] Point outside(std::uint64_t number) const;

  /// Values outside the ranges of arrays. Empty if all that is guarded is scalar.
  [[nodiscard]] const std::vector<OneValue>& outside_in_one() const { return outside_in_one_; }
  /// NaNs of arrays that may come beside a range, so that a point inside with one of these is still inside.
  [[nodiscard]] const std::vector<OneValue>& nan_in_one() const { return nan_in_one_; }
  /// Values of scalars at the ends of their ranges, with NaN where it may come, and outside.
  [[nodiscard]] const std::vector<OneValue>& scalar_ends() const { return scalar_ends_; }
  [[nodiscard]] const std::vector<OneValue>& scalars_outside() const { return scalars_outside_; }

 private:
  void add_values(const expr::Expr& source, const expr::Expr& narrowed, std::size_t v);

  std::vector<Point> inside_, outside_;
  std::vector<OneValue> ends_;  ///< of arrays, inside
  std::vector<OneValue> nan_in_one_, outside_in_one_, scalar_ends_, scalars_outside_;
  std::string gap_;
};

/// Spreads numbers: neighbours get unlike ones.
inline std::uint64_t mixed(std::uint64_t number) {
  return (number + 1) * 0x9E37'79B9'7F4A'7C15u >> 32;
}

}  // namespace trident::pipeline
