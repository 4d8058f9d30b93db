// Errors of one float output, in the policy's unit: ulp of max(|correct|, kFloorShare * the greatest |correct|).
#pragma once

#include <cmath>
#include <cstddef>

#include "jit/equiv/reference.h"

namespace trident::equiv {

/// Values far below the greatest of their set are measured on this share of it.
inline constexpr long double kFloorShare = 1e-6L;
/// A correct value known to better than this many ulp is good enough to measure errors with.
inline constexpr long double kTrustedUlp = 0.125L;

long double greatest_finite(expr::Type type);

class Meter {
 public:
  /// Uses the greatest value of the reference's own points, or of the set that `greatest` was taken from.
  Meter(Reference& reference, std::size_t output);
  Meter(Reference& reference, std::size_t output, long double greatest);

  [[nodiscard]] const OutputValues& values() const { return reference_.outputs()[output_]; }
  [[nodiscard]] long double greatest() const { return greatest_; }
  /// Returns whether the point can be measured: a finite correct value, and no step decided by rounding.
  [[nodiscard]] bool usable(std::size_t i) const {
    return values().unsure[i] == 0 && std::isfinite(values().correct[i]);
  }
  [[nodiscard]] long double unit(std::size_t i) const;
  /// Returns the least magnitude that errors at the point are measured on.
  [[nodiscard]] long double scale(std::size_t i) const;
  [[nodiscard]] double error_ulp(std::size_t i, double value) const {
    return static_cast<double>(std::fabs(static_cast<long double>(value) - values().correct[i]) / unit(i));
  }
  /// True if the quick correct value is good enough to measure errors of `error_ulp` or more with: to a hundredth.
  [[nodiscard]] bool trusted(std::size_t i, double error_ulp = 0) const {
    return values().error[i] <= std::max(kTrustedUlp, 0.01L * static_cast<long double>(error_ulp)) * unit(i);
  }
  void refine(std::size_t i) { reference_.refine(output_, i, scale(i)); }
  /// Returns the greatest error of the strict evaluation, from refined values where it matters.
  double strict_ulp();

 private:
  Reference& reference_;
  std::size_t output_;
  long double greatest_ = 0;
};

/// Refines points of an output of any type that the quick path could not decide, at evenly chosen points, with fewer
/// than `refined_max` MPFR evaluations. The others are left out if their value is not good enough; those with an open
/// step stay open.
void settle(Reference& reference, std::size_t output, std::size_t refined_max);

}  // namespace trident::equiv
