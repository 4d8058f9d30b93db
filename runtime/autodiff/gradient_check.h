// Compares the gradients of a tape with central differences of its loss, in f64; for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/autodiff/ops.h"
#include "runtime/tensor/generator.h"

namespace trident::autodiff {

inline constexpr double kGradientTolerance = 1e-3;  // relative

/// Random values that keep away from the kinks of relu and clipped relu by the size of the step.
inline void fill_random(std::span<double> values, std::uint64_t stream, double scale = 1) {
  tensor::Generator generator(11, stream);
  for (double& value : values) value = (2 * generator.uniform() - 1) * scale;
}

/// Moves each of `values` (sampled evenly, at most 150) and compares the change of the loss with `gradients`.
inline void expect_gradient(Tape<double>& tape, const Value<double>& loss, std::span<double> values,
                            std::span<const double> gradients, const std::string& what) {
  ASSERT_EQ(values.size(), gradients.size()) << what;
  tape.forward();
  tape.backward();
  const std::vector<double> analytic(gradients.begin(), gradients.end());
  double largest = 0;
  for (const double g : analytic) largest = std::max(largest, std::fabs(g));
  EXPECT_GT(largest, 0) << what << ": every gradient is zero, so there is nothing to compare";
  const std::size_t stride = std::max<std::size_t>(1, values.size() / 150);
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    const double kept = values[i];
    values[i] = kept + kStep;
    tape.forward();
    const double above = loss.data[0];
    values[i] = kept - kStep;
    tape.forward();
    const double below = loss.data[0];
    values[i] = kept;
    const double numeric = (above - below) / (2 * kStep);
    // The loss's own rounding leaves about 1e-16 / 1e-6 in the difference.
    const double tolerance = kGradientTolerance * std::max(std::fabs(numeric), std::fabs(analytic[i])) + 2e-9;
    ASSERT_NEAR(analytic[i], numeric, tolerance) << what << ", element " << i;
  }
  tape.forward();
  tape.backward();
}

/// All slices that `tape` uses.
inline void expect_parameter_gradients(Tape<double>& tape, const Value<double>& loss) {
  for (const auto& slice : tape.store().slices()) {
    if (slice.kind == tensor::SliceKind::statistic) continue;
    expect_gradient(tape, loss, tape.store().values(slice),
                    std::span<const double>(tape.gradient()).subspan(slice.offset, slice.shape.count()), slice.name);
  }
}

}  // namespace trident::autodiff
