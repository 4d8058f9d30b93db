// Drawing values of one variable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::equiv {

/// xoshiro256** seeded by splitmix64: the same numbers on every host and library.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  /// Returns a number in [0, 1), 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Returns a number in [0, n), n > 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_[4];
};

/// Values travel as the bits of one lane.
using Bits = std::uint64_t;
using Point = std::vector<Bits>;  ///< one value per variable

Bits bits_of(expr::Type type, double value);  ///< rounded to a float `type`; truncated and clamped to an integer one
double value_of(expr::Type type, Bits bits);  ///< nearest double

/// Returns whether the declared range allows the value: NaN and infinities only where it does.
bool allowed(const expr::Variable& variable, Bits bits);

/// Ways to draw a set's points.
///
///   uniform   uniform in the declared range; in [-8, 8], or 16 wide from its one end, where it is not bounded
///   spread    uniform in the exponent, both signs, inside the range, large magnitudes
/// small     as spread, for magnitudes up to 1 whose squares and products survive; uniform where the range has none
///   vast      uniform in the exponent up to the greatest of the type, where the range has an open end; else spread
/// tiny      as vast, down to the least of the type, where the range comes so near to zero; else small
enum class Way : std::uint8_t { uniform, spread, small, vast, tiny };
Bits draw(const expr::Variable& variable, Way way, Random& random);
/// Returns the float at a place in [0, 1] of the distribution of `way`, of a random sign; any value of another type.
Bits draw_at(const expr::Variable& variable, Way way, double place, Random& random);
/// Returns whether a float's range comes near to zero.
bool has_small(const expr::Variable& variable);
/// Returns whether a float's range has no end.
bool has_vast(const expr::Variable& variable);
/// Returns whether a float's range holds magnitudes whose squares underflow.
bool has_tiny(const expr::Variable& variable);
/// A variable's value as a place in the distribution of `way` (neither vast nor tiny): floats by `place` in [0, 1],
/// uniform when the value is drawn, and a sign; other types by the state of a generator.
struct Coordinate {
  double place = 0;
  bool negative = false;
  std::uint64_t raw = 0;
};
Bits value_at(const expr::Variable& variable, Way way, const Coordinate& at);
/// Returns the place of a float that was drawn in this way (rounding aside).
Coordinate place_of(const expr::Variable& variable, Way way, Bits bits);
/// Returns the next value upwards in the type, if the range allows it.
Bits next_up(const expr::Variable& variable, Bits bits);
/// Returns special values inside the range; `constants` of the source and their neighbours among them.
std::vector<Bits> corner_values(const expr::Variable& variable, std::span<const double> constants);
/// Counts the values of the range; UINT64_MAX when more than 2^40.
std::uint64_t count_values(const expr::Variable& variable);
/// Returns value number `index` of the range, index < count_values().
Bits nth_value(const expr::Variable& variable, std::uint64_t index);

}  // namespace trident::equiv
