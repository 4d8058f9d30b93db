// Compiled three times on x86-64 (see cmake/levels.cmake): portable, -DTRIDENT_LEVEL_AVX2 and -DTRIDENT_LEVEL_AVX512
// with the flags of these sets; the compiler makes the loops into vectors. Everything but the table of pointers has
// internal linkage, and nothing of the standard library is called, so that no function compiled for one level can be
// linked into another.
#include "jit/tir/neural/arithmetic.h"

#include "jit/tir/neural/arithmetic_tables.h"

namespace trident::tir::neural {
namespace {

constexpr double kUnit = 0x1p-16;
constexpr double kLargest = static_cast<double>(kActivationMax);
/// Smallest size at which doubles are integers: adding and subtracting it rounds to the nearest integer.
constexpr double kRounder = 0x1.8p52;

/// Returns round(x * step), half up, for integers x and a power of two 1 / step: half a step is added, so no ties are
/// left. |x| <= 2^52, and x * step + step / 2 has at most 53 bits.
inline double round_times(double x, double step) {
  return (x * step + step / 2 + kRounder) - kRounder;
}
inline double bounded(double x) {
  const double below = x > kLargest ? kLargest : x;
  return below < -kLargest ? -kLargest : below;
}

std::uint64_t finish_row(std::size_t columns, double* y) {
  std::int64_t beyond = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    const double rounded = round_times(y[c], kUnit), kept = bounded(rounded);
    beyond += rounded != kept ? 1 : 0;
    y[c] = kept;
  }
  return static_cast<std::uint64_t>(beyond);
}

std::uint64_t finish(std::size_t rows, std::size_t columns, const double* bias, double* y) {
  std::uint64_t beyond = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = y + r * columns;
    for (std::size_t c = 0; c < columns && bias; ++c) row[c] += bias[c];
    beyond += finish_row(columns, row);
  }
  return beyond;
}

void gelu(std::size_t count, double* x) {
  constexpr std::int32_t kEnd = kGeluRange << 16, kStep = (1 << 16) / kTableSteps;
  constexpr std::int32_t kLast = 2 * kGeluRange * kTableSteps - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto whole = static_cast<std::int32_t>(x[i]);
    const std::int32_t low = whole > kEnd ? kEnd : whole;
    const std::int32_t from_start = (low < -kEnd ? -kEnd : low) + kEnd;
    const std::int32_t at = from_start / kStep, entry = at > kLast ? kLast : at;
    const std::int32_t first = kGeluTable.at[entry], slope = kGeluTable.at[entry + 1] - first;
    const std::int32_t between = first + ((slope * (from_start - entry * kStep) + kStep / 2) >> 10);
    static_assert(kStep == 1 << 10);
    x[i] = static_cast<double>(whole > kEnd ? whole : between);
  }
}

/// Returns the largest r with r^2 v <= 2^72: the estimate in double is at most one off, and corrected in integers.
double inverse_root(std::int64_t v) {
  __extension__ using Wide = unsigned __int128;
  const auto fits = [v](std::uint64_t r) {
    return static_cast<Wide>(r) * r * static_cast<std::uint64_t>(v) <= Wide{1} << 72;
  };
  auto r = static_cast<std::uint64_t>(0x1p36 / __builtin_sqrt(static_cast<double>(v)));
  while (!fits(r)) --r;
  while (fits(r + 1)) ++r;
  return static_cast<double>(r);
}

void norm_row(const double* y, const double* gain, const double* bias, double* x) {
  std::int64_t sum = 0, squares = 0;
  for (std::size_t c = 0; c < kWidth; ++c) {
    x[c] += y[c];
    sum += static_cast<std::int64_t>(x[c]);
  }
  const double mean = round_times(static_cast<double>(sum), 1.0 / kWidth);
  for (std::size_t c = 0; c < kWidth; ++c) {
    x[c] -= mean;
    const auto d = static_cast<std::int64_t>(x[c]);  // below 2^25: the sum of squares is below 2^56
    squares += d * d;
  }
  const double r = inverse_root(squares / static_cast<std::int64_t>(kWidth) + kNormEpsilon);
  for (std::size_t c = 0; c < kWidth; ++c) x[c] = round_times(x[c] * r, 0x1p-20) * gain[c] + bias[c];
}

std::uint64_t add_norm(std::size_t rows, const double* y, const double* gain, const double* bias, double* x) {
  std::uint64_t beyond = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    norm_row(y + r * kWidth, gain, bias, x + r * kWidth);
    beyond += finish_row(kWidth, x + r * kWidth);
  }
  return beyond;
}

void softmax(std::size_t rows, std::size_t columns, const std::uint32_t* mask, std::int64_t scale, double* x) {
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = x + r * columns;
    const auto counts = [&](std::size_t c) { return (mask[r] >> c & 1) != 0; };
    double largest = -0x1p60;
    for (std::size_t c = 0; c < columns; ++c) {
      row[c] = round_times(round_times(row[c], kUnit) * static_cast<double>(scale), kUnit);
      if (counts(c) && row[c] > largest) largest = row[c];
    }
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::int32_t e = counts(c) ? exp_minus(static_cast<std::int64_t>(largest - row[c])) : 0;
      sum += e;
      row[c] = static_cast<double>(e);
    }
    if (sum == 0) continue;
    // 2^16 e / sum is a half or at least 2^-30 from one, and the quotient's error is below 2^-36: so it rounds as the
    // exact quotient does.
    for (std::size_t c = 0; c < columns; ++c)
      row[c] = static_cast<double>(static_cast<std::int64_t>(row[c] * 0x1p16 / static_cast<double>(sum) + 0.5));
  }
}

}  // namespace

#if defined(TRIDENT_LEVEL_AVX512)
extern const Arithmetic kAvx512Arithmetic = {finish, gelu, add_norm, softmax};
#elif defined(TRIDENT_LEVEL_AVX2)
extern const Arithmetic kAvx2Arithmetic = {finish, gelu, add_norm, softmax};
#else
extern const Arithmetic kPortableArithmetic = {finish, gelu, add_norm, softmax};
#endif

}  // namespace trident::tir::neural
