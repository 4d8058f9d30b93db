// gelu and e^-x at 64 points to the unit, made by the compiler from series in double: the same integers everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::tir::neural {

inline constexpr int kTableSteps = 64;
/// Range of gelu's table, in both directions: beyond it gelu(x) is 0 or x.
inline constexpr int kGeluRange = 8;
/// Range of the table of e^-x; beyond it e^-x counts as 0.
inline constexpr int kExpRange = 16;
inline constexpr int kExpBits = 24;

template <std::size_t N>
struct Table {
  std::int32_t at[N];
};

constexpr std::int32_t table_entry(double x) {
  return static_cast<std::int32_t>(x < 0 ? x - 0.5 : x + 0.5);
}

/// Computes x Phi(x), Phi by the series of the error function. It alternates, and loses digits as x grows: beyond 5,
/// where Phi is less than 3e-7 from its limit, the limit is taken.
constexpr double gelu_by_series(double x) {
  if (x >= 5) return x;
  if (x <= -5) return 0;
  const double z = x * 0.70710678118654752440;
  double term = z, sum = z;
  for (int n = 1; n < 120; ++n) {
    term *= -z * z / n;
    sum += term / (2 * n + 1);
  }
  return x * (0.5 + sum * 0.56418958354775628695);  // 1 / sqrt(pi), half of the error function's 2 / sqrt(pi)
}

/// Computes e^-x, 0 <= x <= 16, as (e^(-x / 16))^16.
constexpr double exp_minus_by_series(double x) {
  double term = 1, sum = 1;
  for (int n = 1; n < 24; ++n) {
    term *= -x / 16 / n;
    sum += term;
  }
  for (int i = 0; i < 4; ++i) sum *= sum;
  return sum;
}

/// Table of gelu: entry i is 2^16 gelu(i / 64 - 8).
inline constexpr auto kGeluTable = [] {
  Table<2 * kGeluRange * kTableSteps + 1> table{};
  for (std::size_t i = 0; i < 2 * kGeluRange * kTableSteps + 1; ++i)
    table.at[i] = table_entry(65536 * gelu_by_series(static_cast<double>(i) / kTableSteps - kGeluRange));
  return table;
}();
/// Table of e^-x: entry i is 2^24 e^(-i / 64).
inline constexpr auto kExpTable = [] {
  Table<kExpRange * kTableSteps + 1> table{};
  for (std::size_t i = 0; i < kExpRange * kTableSteps + 1; ++i)
    table.at[i] = table_entry((1 << kExpBits) * exp_minus_by_series(static_cast<double>(i) / kTableSteps));
  return table;
}();

/// Returns 2^24 e^(-distance / 2^16), distance >= 0. Always inlined: files compiled for one level may use it.
[[gnu::always_inline]] inline std::int32_t exp_minus(std::int64_t distance) {
  if (distance >= std::int64_t{kExpRange} << 16) return 0;
  const auto d = static_cast<std::int32_t>(distance);
  const std::int32_t at = d >> 10, first = kExpTable.at[at], slope = kExpTable.at[at + 1] - first;
  return first + ((slope * (d & 1023) + 512) >> 10);
}
static_assert((1 << 16) / kTableSteps == 1 << 10);

}  // namespace trident::tir::neural
