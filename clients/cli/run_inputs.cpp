#include "clients/cli/run_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <sstream>

namespace trident::cli {
namespace {

Result<double> parse_value(const std::string& text, const std::string& whole) {
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0')
    return make_error(ErrorCode::kInvalidArgument, "--input %s: '%s' is neither a number nor a readable file",
                      whole.c_str(), text.c_str());
  return v;
}

Result<std::vector<double>> read_numbers(const std::string& path) {
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == ';'; }, ' ');
  std::istringstream words(text);
  std::vector<double> values;
  for (std::string word; words >> word;) {
    TRY(const double v, parse_value(word, path));
    values.push_back(v);
  }
  if (values.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: no numbers", path.c_str());
  return values;
}

std::string shortest(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", v);
  if (std::strtod(text, nullptr) != v) std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}

}  // namespace

Result<InputValues> parse_input(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return make_error(ErrorCode::kInvalidArgument,
                      "--input %s: expected name=value, name=v1,v2,..., name=lo:hi or name=file", text.c_str());
  InputValues input;
  input.name = text.substr(0, equals);
  const std::string rest = text.substr(equals + 1);
  if (std::ifstream(rest).good()) {
    TRY(input.values, read_numbers(rest));
    return input;
  }
  if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
    TRY(input.lo, parse_value(rest.substr(0, colon), text));
    TRY(input.hi, parse_value(rest.substr(colon + 1), text));
    return input;
  }
  std::istringstream parts(rest);
  for (std::string part; std::getline(parts, part, ',');) {
    TRY(const double v, parse_value(part, text));
    input.values.push_back(v);
  }
  if (input.values.empty()) return make_error(ErrorCode::kInvalidArgument, "--input %s: no value", text.c_str());
  return input;
}

double value_at(const InputValues& input, std::uint64_t i, std::uint64_t n) {
  if (!input.values.empty()) return input.values[input.values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
  return n < 2 ? input.lo : std::lerp(input.lo, input.hi, static_cast<double>(i) / static_cast<double>(n - 1));
}

AssumedInput assumed_input(const expr::Variable& variable, std::uint64_t n) {
  const bool integer = !ir::is_float(variable.type);
  const double wide = integer ? static_cast<double>(n == 0 ? 0 : n - 1) : 1;
  AssumedInput assumed;
  InputValues& v = assumed.values;
  v.name = variable.name;
  const bool below = std::isfinite(variable.lo), above = std::isfinite(variable.hi);
  v.lo = below ? variable.lo : above ? variable.hi - wide : 0;
  v.hi = above ? variable.hi : v.lo + wide;
  // A range may say more than its type holds.
  const double most = variable.type == ir::Type::f32   ? std::numeric_limits<float>::max()
                      : variable.type == ir::Type::f64 ? std::numeric_limits<double>::max()
                      : variable.type == ir::Type::i32 ? 0x7FFFFFFFp0
                                                       : 0x1p62;
  v.lo = std::clamp(v.lo, -most, most);
  v.hi = std::clamp(v.hi, -most, most);
  if (variable.scalar) {
    v.values = {below && above ? std::midpoint(v.lo, v.hi) : below ? v.lo : above ? v.hi : 1};
    if (integer) v.values[0] = std::trunc(v.values[0]);
    assumed.option = v.name + "=" + shortest(v.values[0]);
  } else {
    assumed.option = v.name + "=" + shortest(v.lo) + ":" + shortest(v.hi);
  }
  return assumed;
}

}  // namespace trident::cli
