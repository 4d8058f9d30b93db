#include "clients/cli/run_inputs.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>
#include <sstream>

#include "runtime/os/regular_file.h"
#include "runtime/os/text_file.h"

namespace trident::cli {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{256} << 20;

Result<Number> parse_value(const std::string& text, const std::string& option) {
  char* end = nullptr;
  Number number{std::strtod(text.c_str(), &end), {}};
  if (text.empty() || *end != '\0')
    return make_error(ErrorCode::kInvalidArgument, "--input %s: '%s' is neither a number nor a file that can be read",
                      option.c_str(), text.c_str());
  std::int64_t whole = 0;
  const char* const begin = text.c_str() + (text.front() == '+' ? 1 : 0);
  const auto [stop, code] = std::from_chars(begin, text.c_str() + text.size(), whole);
  if (code == std::errc() && stop == text.c_str() + text.size())
    number.whole = whole;
  else
    number.whole = Number::of(number.real).whole;  // 1e6
  if (code == std::errc::result_out_of_range) number.whole.reset();
  return number;
}

Result<std::vector<Number>> read_numbers(const std::string& path) {
  TRY(std::string text, os::read_text(path, kFileBytesMax));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == ';'; }, ' ');
  std::istringstream words(text);
  std::vector<Number> values;
  for (std::string word; words >> word;) {
    TRY(const Number v, parse_value(word, path));
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

bool fits(const Number& number, ir::Type type) {
  if (ir::is_float(type)) return true;
  if (!number.whole) return false;
  return type == ir::Type::i64 || *number.whole == static_cast<std::int32_t>(*number.whole);
}

}  // namespace

Number Number::of(double value) {
  const bool whole = value == std::trunc(value) && value >= -0x1p63 && value < 0x1p63;
  return {value, whole ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt};
}

Result<InputValues> parse_input(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return make_error(ErrorCode::kInvalidArgument,
                      "--input %s: expected name=value, name=v1,v2,..., name=lo:hi or name=file", text.c_str());
  InputValues input;
  input.name = text.substr(0, equals);
  const std::string rest = text.substr(equals + 1);
  std::error_code code;
  if (std::filesystem::is_directory(rest, code)) return os::folder_error(rest);
  if (std::filesystem::is_character_file(rest, code))  // it may have no end
    return make_error(ErrorCode::kInvalidArgument, "--input %s: this is a device, not a regular file", text.c_str());
  if (std::filesystem::exists(rest, code)) {
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
    TRY(const Number v, parse_value(part, text));
    input.values.push_back(v);
  }
  if (input.values.empty()) return make_error(ErrorCode::kInvalidArgument, "--input %s: no value", text.c_str());
  return input;
}

Result<void> check_fits(const InputValues& input, ir::Type type) {
  const auto check = [&](const Number& number) -> Result<void> {
    if (fits(number, type)) return {};
    return make_error(ErrorCode::kInvalidArgument, "--input %s: %.17g is not an %s; expected whole numbers from %s",
                      input.name.c_str(), number.real, std::string(ir::name_of(type)).c_str(),
                      type == ir::Type::i32 ? "-2147483648 to 2147483647" : "-2^63 to 2^63 - 1");
  };
  for (const Number& number : input.values) TRY_VOID(check(number));
  if (!input.values.empty()) return {};
  TRY_VOID(check(input.lo));
  return check(input.hi);
}

std::uint64_t bits_at(const InputValues& input, ir::Type type, std::uint64_t i, std::uint64_t n) {
  const bool listed = !input.values.empty();
  const Number first = listed ? input.values[input.values.size() == 1 ? 0 : static_cast<std::size_t>(i)] : input.lo;
  if (!ir::is_float(type)) {
    if (listed || n < 2) return static_cast<std::uint64_t>(*first.whole);
    __extension__ using Wide = __int128;
    const Wide lo = *input.lo.whole, width = *input.hi.whole - lo;
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(lo + width * static_cast<Wide>(i) / static_cast<Wide>(n - 1)));
  }
  const double value =
      listed || n < 2 ? first.real
                      : std::lerp(input.lo.real, input.hi.real, static_cast<double>(i) / static_cast<double>(n - 1));
  if (type == ir::Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

AssumedInput assumed_input(const expr::Variable& variable, std::uint64_t n) {
  const bool integer = !ir::is_float(variable.type);
  const double wide = integer ? static_cast<double>(n == 0 ? 0 : n - 1) : 1;
  AssumedInput assumed;
  InputValues& v = assumed.values;
  v.name = variable.name;
  const bool below = std::isfinite(variable.lo), above = std::isfinite(variable.hi);
  double lo = below ? variable.lo : above ? variable.hi - wide : 0;
  double hi = above ? variable.hi : lo + wide;
  // A range may say more than its type holds.
  const double most = variable.type == ir::Type::f32   ? std::numeric_limits<float>::max()
                      : variable.type == ir::Type::f64 ? std::numeric_limits<double>::max()
                      : variable.type == ir::Type::i32 ? 0x7FFFFFFFp0
                                                       : 0x1p62;
  lo = std::clamp(lo, -most, most);
  hi = std::clamp(hi, -most, most);
  if (integer) lo = std::ceil(lo), hi = std::floor(hi);
  if (variable.is_scalar()) {
    double value = below && above ? std::midpoint(lo, hi) : below ? lo : above ? hi : 1;
    if (integer) value = std::trunc(value);
    v.values = {Number::of(value)};
    assumed.option = v.name + "=" + shortest(value);
  } else {
    v.lo = Number::of(lo), v.hi = Number::of(hi);
    assumed.option = v.name + "=" + shortest(lo) + ":" + shortest(hi);
  }
  return assumed;
}

}  // namespace trident::cli
