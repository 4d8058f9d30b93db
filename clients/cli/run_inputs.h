// Values for the inputs of `trident run`: from --input, or assumed without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::cli {

/// A number as it was written: `whole` where it is an integer of 64 bits, which a double may not hold.
struct Number {
  double real = 0;
  std::optional<std::int64_t> whole;
  static Number of(double value);
};

/// The values of one input as given: one value, a list, a range of evenly spaced values, or a file of numbers.
struct InputValues {
  std::string name;
  std::vector<Number> values;  ///< empty: lo..hi evenly spaced
  Number lo, hi;
};

/// name=value, name=v1,v2,..., name=lo:hi or name=FILE.
Result<InputValues> parse_input(const std::string& text);
/// Values of a variable without --input, and the --input that would give them: evenly spaced in its declared range,
/// else in [0, 1]; whole numbers from 0 for integers; for a scalar the middle of its range, else 1.
struct AssumedInput {
  InputValues values;
  std::string option;
};
AssumedInput assumed_input(const expr::Variable& variable, std::uint64_t n);
/// InvalidArgument where a variable of this type cannot have all these values: integers take whole numbers that fit.
Result<void> check_fits(const InputValues& input, ir::Type type);
/// Element i of n as bits of `type`, a type that it fits. Evenly spaced integers are rounded towards lo.
std::uint64_t bits_at(const InputValues& input, ir::Type type, std::uint64_t i, std::uint64_t n);

}  // namespace trident::cli
