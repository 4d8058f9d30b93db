#include "tests/library/drawing.h"

#include <cmath>

namespace trident::test {
namespace {

using function::Argument;
using function::Parameter;

/// Draws a number: near zero, near a power of two, an end of its range, or anything.
std::int64_t draw(std::int64_t lo, std::int64_t hi, Random& random) {
  const std::uint64_t width = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  std::uint64_t x = random();
  switch (random() % 5) {
    case 0: x = random() % 21 - 10; break;
    case 1: x = (std::uint64_t{1} << random() % 64) + random() % 3 - 1; break;
    case 2: x = 0 - (std::uint64_t{1} << random() % 64) + random() % 3 - 1; break;
    case 3: x = static_cast<std::uint64_t>(random() % 2 == 0 ? lo : hi); break;
    default: break;
  }
  const auto value = static_cast<std::int64_t>(x);
  if (value >= lo && value <= hi) return value;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + (width == UINT64_MAX ? x : x % (width + 1)));
}

/// Draws a number of f64: a corner, a small one, any bits, or one of the declared range.
std::int64_t draw_real(const Parameter& p, Random& random) {
  constexpr double kCorners[] = {0.0, 0.5, 0.49999999999999994, 1.0, 0x1p52 + 1, 0x1p63, INFINITY, NAN, 5e-324, 1e308};
  const double sign = random() % 2 == 0 ? 1 : -1;
  double value = sign * kCorners[random() % std::size(kCorners)];
  switch (random() % 4) {
    case 0: break;
    case 1: value = sign * static_cast<double>(random() % 64) / 4; break;
    case 2: value = function::real_of(static_cast<std::int64_t>(random())); break;
    default: value = sign * static_cast<double>(random()) * std::exp2(static_cast<double>(random() % 128) - 128); break;
  }
  if (!p.lo || (value >= function::real_of(*p.lo) && value <= function::real_of(*p.hi)))
    return function::bits_of(value);
  const double lo = function::real_of(*p.lo), hi = function::real_of(*p.hi);
  return function::bits_of(lo + (hi - lo) * static_cast<double>(random() >> 11) * 0x1p-53);
}

/// Short lengths, because much happens near the ends. Long ones are for code that takes up to 64 elements at once.
std::size_t draw_length(Random& random) {
  constexpr unsigned kLongOneIn = 24, kLongLeast = 64, kLongMost = 300;
  if (random() % kLongOneIn == 0) return kLongLeast + random() % (kLongMost - kLongLeast + 1);
  return random() % 4 == 0 ? random() % 3 : random() % 24;
}

Argument draw(const Parameter& p, std::size_t length, Random& random) {
  const bool is_real = p.type == function::Type::f64;
  if (is_real && !p.is_array()) return {.is_real = true, .number = draw_real(p, random)};
  if (!p.is_array()) {
    if (p.type == function::Type::boolean) return {.number = static_cast<std::int64_t>(random() % 2), .is_truth = true};
    if (p.type == function::Type::u8) return {.number = static_cast<std::int64_t>(random() % 256)};
    return {.number = draw(p.lo.value_or(INT64_MIN), p.hi.value_or(INT64_MAX), random)};
  }
  Argument array{.is_array = true, .is_real = is_real};
  array.elements.resize(length);
  constexpr std::string_view kLetters = "aabbAZ09 \t-./:@[`{~";
  const bool few = random() % 2 == 0;
  for (std::int64_t& x : array.elements) {
    if (is_real)
      x = draw_real(p, random);
    else if (p.type == function::Type::u8)
      x = random() % 16 == 0 ? static_cast<std::int64_t>(random() % 256)
                             : static_cast<unsigned char>(kLetters[random() % kLetters.size()]);
    else
      x = few ? static_cast<std::int64_t>(random() % 5) : draw(INT64_MIN, INT64_MAX, random);
  }
  return array;
}

}  // namespace

Arguments draw(const function::Function& function, const Oracle& oracle, Random& random,
               std::optional<std::size_t> length) {
  Arguments arguments;
  for (const Parameter& p : function.parameters)
    arguments.push_back(draw(p, length ? *length : draw_length(random), random));
  if (oracle.shape != nullptr) oracle.shape(arguments, random);
  return arguments;
}

}  // namespace trident::test
