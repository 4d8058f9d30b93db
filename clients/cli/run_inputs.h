// Where the values of `trident run` come from: --input, or what is assumed without it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::cli {

/// The values of one input as given: one value, a list, a range of evenly spaced values, or a file of numbers.
struct InputValues {
  std::string name;
  std::vector<double> values;  ///< empty: lo..hi evenly spaced
  double lo = 0, hi = 0;
};

/// name=value, name=v1,v2,..., name=lo:hi or name=FILE.
Result<InputValues> parse_input(const std::string& text);
/// What a variable without an --input gets, and the --input that says the same: evenly spaced values of its declared
/// range, of [0, 1] where it has none; whole numbers from 0 for integers; for a scalar the middle of its range, else 1.
struct AssumedInput {
  InputValues values;
  std::string option;
};
AssumedInput assumed_input(const expr::Variable& variable, std::uint64_t n);
/// Element i of n.
double value_at(const InputValues& input, std::uint64_t i, std::uint64_t n);

}  // namespace trident::cli
