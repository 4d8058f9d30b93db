// One float result at one point against the policy's bound (compare.h).
#pragma once

#include <cstddef>
#include <limits>

#include "jit/equiv/reference.h"

namespace trident::equiv {

inline constexpr double kBoundedSlackUlp = 2;
inline constexpr double kFastUnits = 16;
inline constexpr double kFastSlackUlp = 64;

/// A policy's room around the correct value: the running error of so many units, and so many ulp.
struct Allowance {
  double units = 1;
  double slack_ulp = 0;
};
Allowance allowance_of(const expr::Policy& policy);

/// How a result stands.
struct Judged {
  double share = 0;   ///< its error as a share of the bound; infinite where its class is wrong
  double ulp = 0;     ///< its error in ulp of the correct value
  bool open = false;  ///< nothing tells whether it is right: it may stand
  bool class_wrong = false;
  [[nodiscard]] bool holds() const { return share <= 1; }
  static Judged wrong_class() { return {.share = std::numeric_limits<double>::infinity(), .class_wrong = true}; }
};

/// Judges results of one float output.
class Judge {
 public:
  /// `reference` was made with the policy's units. MPFR is asked at most `refined_max` times; where it would be needed
  /// more often, points are left out.
  Judge(Reference& reference, std::size_t output, const Allowance& allowance, std::size_t refined_max)
      : reference_(reference),
        output_(output),
        allowance_(allowance),
        refined_end_(reference.refined() + refined_max) {}

  Judged judge(std::size_t i, double got);
  /// Returns the greatest error allowed at the point.
  [[nodiscard]] long double allowed(std::size_t i) const;
  /// Returns whether a result is the source's own, but for the policy's slack. The bound holds such a result however
  /// near it comes: it reaches from the correct value to all that an evaluation of the source may give.
  [[nodiscard]] bool is_own(std::size_t i, double got) const;
  /// Asks MPFR for the point, unless it was asked too often.
  void refine(std::size_t i);

 private:
  [[nodiscard]] const OutputValues& values() const { return reference_.outputs()[output_]; }
  [[nodiscard]] long double slack(long double magnitude) const;
  Judged judge_finite(std::size_t i, double got);
  Judged judge_class(std::size_t i, double got);
  [[nodiscard]] bool class_holds(std::size_t i, double got) const;
  [[nodiscard]] bool near_strict(std::size_t i, double got, long double reach) const;
  [[nodiscard]] bool strict_is_elsewhere(std::size_t i) const;
  [[nodiscard]] long double reach_of_strict(std::size_t i) const;
  [[nodiscard]] bool unknown(std::size_t i) const;

  Reference& reference_;
  std::size_t output_;
  Allowance allowance_;
  std::size_t refined_end_;
};

}  // namespace trident::equiv
