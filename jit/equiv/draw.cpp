#include "jit/equiv/draw.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "runtime/base/check.h"

namespace trident::equiv {
namespace {

using expr::Type;
using expr::Variable;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A range that comes nearer to zero than this has small values.
constexpr double kSmall = 0x1p-6;
/// Half the width of uniform draws where no range is declared.
constexpr double kModerate = 8;

struct Ends {
  double lo, hi;
};

// Returns the range, with finite ends for floats that are drawn uniformly.
Ends uniform_ends(const Variable& v) {
  const bool has_lo = std::isfinite(v.lo);
  const bool has_hi = std::isfinite(v.hi);
  if (has_lo && has_hi) return {v.lo, v.hi};
  if (has_lo) return {v.lo, v.lo + 2 * kModerate};
  if (has_hi) return {v.hi - 2 * kModerate, v.hi};
  return {-kModerate, kModerate};
}

// Returns the least or greatest integer of the type inside the range.
std::int64_t integer_end(const Variable& v, bool greatest) {
  const bool narrow = v.type != Type::i64;
  const std::int64_t least =
      narrow ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
  const std::int64_t most =
      narrow ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
  const double end = greatest ? std::floor(v.hi) : std::ceil(v.lo);
  if (greatest) return end >= static_cast<double>(most) ? most : static_cast<std::int64_t>(end);
  return end <= static_cast<double>(least) ? least : static_cast<std::int64_t>(end);
}

Bits integer_bits(Type type, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return ir::bytes_of(type) == 4 ? bits & 0xFFFF'FFFFu : bits;
}

std::int64_t integer_of(Type type, Bits bits) {
  return ir::bytes_of(type) == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))
                                 : static_cast<std::int64_t>(bits);
}

// Rounds `x` of the range to the type without leaving the range (whose ends need not be values of the type).
Bits fit(const Variable& v, double x) {
  Bits bits = bits_of(v.type, x);
  if (v.type != Type::f32 || allowed(v, bits)) return bits;
  const float inwards = value_of(v.type, bits) > v.hi ? -INFINITY : INFINITY;
  const Bits moved =
      bits_of(v.type, static_cast<double>(std::nextafter(static_cast<float>(value_of(v.type, bits)), inwards)));
  return allowed(v, moved) ? moved : bits;
}

double greatest_finite(Type type) {
  return type == Type::f32 ? static_cast<double>(FLT_MAX) : DBL_MAX;
}

double least_positive(Type type) {
  return type == Type::f32 ? 0x1p-149 : 0x1p-1074;
}

// Magnitudes whose products and squares stay finite: the limit of `spread` where the range does not end.
double far_of(Type type) {
  return type == Type::f32 ? 0x1p30 : 0x1p200;
}

// Returns the limit of `small` near zero.
double near_of(Type type) {
  return type == Type::f32 ? 0x1p-36 : 0x1p-72;
}

// Returns the least and greatest magnitude in the range.
Ends magnitudes(const Variable& v) {
  const double far = far_of(v.type);
  const double lo = std::isfinite(v.lo) ? v.lo : std::min(-far, v.hi);
  const double hi = std::isfinite(v.hi) ? v.hi : std::max(far, v.lo);
  const double nearest = lo > 0 ? lo : hi < 0 ? -hi : 0;
  return {nearest, std::max(std::fabs(lo), std::fabs(hi))};
}

// Returns the least and greatest magnitude that is drawn by its exponent; {0, 0} where there is only zero.
Ends exponent_ends(const Variable& v, Way way) {
  const bool narrow = v.type == Type::f32;
  const Ends all = magnitudes(v);
  if (way == Way::vast) return {std::max(all.lo, far_of(v.type)), greatest_finite(v.type)};
  const double near = near_of(v.type);
  if (way == Way::small) return {std::max(all.lo, near), std::min(all.hi, 1.0)};
  if (way == Way::tiny) return {std::max(all.lo, least_positive(v.type)), std::min(all.hi, near)};
  const double least = std::min(all.hi * (narrow ? 0x1p-40 : 0x1p-120), all.hi > 1 ? 1.0 : all.hi);
  return {std::max(all.lo, least), all.hi};
}

Bits uniform_at(const Variable& v, double place) {
  const Ends ends = uniform_ends(v);
  // Halved, so that the width of the greatest range does not overflow.
  const double x = 2 * ((ends.hi / 2 - ends.lo / 2) * place) + ends.lo;
  return fit(v, std::clamp(x, ends.lo, ends.hi));
}

// Returns the binary logarithm of a range's end: without the library for powers of two, which most are, by the
// exponent's bits alone where there are no others.
double log2_of(double end) {
  constexpr int kBias = 1023, kFractionBits = 52;
  const auto bits = std::bit_cast<std::uint64_t>(end);
  const auto biased = static_cast<int>(bits >> kFractionBits);
  if (bits << (64 - kFractionBits) == 0 && biased > 0 && biased <= 2 * kBias) return biased - kBias;
  int exponent = 0;
  return std::frexp(end, &exponent) == 0.5 ? exponent - 1 : std::log2(end);
}

Bits exponent_at(const Variable& v, Way way, double place, bool negative) {
  const Ends ends = exponent_ends(v, way);
  if (ends.hi == 0) return bits_of(v.type, 0);
  const double far = std::numeric_limits<double>::infinity();
  const double lo = std::isfinite(v.lo) ? v.lo : -far;
  const double hi = std::isfinite(v.hi) ? v.hi : far;
  const double first = log2_of(ends.lo), exponent = first + (log2_of(ends.hi) - first) * place;
  double x = std::clamp(std::exp2(exponent), ends.lo, ends.hi);
  if (x > hi || (negative && -x >= lo)) x = -x;
  return fit(v, std::clamp(x, lo, hi));
}

// Small values of a variable that has none are drawn uniformly.
bool by_exponent(const Variable& v, Way way) {
  return way == Way::spread || way == Way::vast || way == Way::tiny || (way == Way::small && has_small(v));
}

Bits draw_mask(Type type, Random& random) {
  return random.next() % 2 == 0 ? 0 : integer_bits(type, -1);
}

Bits draw_integer(const Variable& v, Random& random, bool spread) {
  const std::int64_t lo = integer_end(v, false);
  const std::int64_t hi = integer_end(v, true);
  const auto span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
  const std::uint64_t raw = spread ? random.next() >> random.below(64) : random.next();
  const std::uint64_t step = span == UINT64_MAX ? raw : raw % (span + 1);
  if (!spread || lo > 0 || hi < 0)
    return integer_bits(v.type, static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + step));
  // Around zero, both signs.
  const auto magnitude = static_cast<std::int64_t>(raw >> 1);
  const std::int64_t value = random.next() % 2 == 0 ? magnitude : -magnitude;
  return integer_bits(v.type, std::clamp(value, lo, hi));
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) {
    seed += 0x9E3779B97F4A7C15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Bits bits_of(Type type, double value) {
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) return 0;
  if (ir::is_mask(type)) return value != 0 ? integer_bits(type, -1) : 0;
  Variable whole;
  whole.type = type;
  const double least = static_cast<double>(integer_end(whole, false));
  const double most = static_cast<double>(integer_end(whole, true));
  if (value >= most) return integer_bits(type, integer_end(whole, true));
  return integer_bits(type, static_cast<std::int64_t>(std::max(value, least)));
}

double value_of(Type type, Bits bits) {
  if (type == Type::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == Type::f64) return std::bit_cast<double>(bits);
  return static_cast<double>(integer_of(type, bits));
}

bool allowed(const Variable& v, Bits bits) {
  if (!v.has_range()) return true;
  const double x = value_of(v.type, bits);
  return (v.lo <= x && x <= v.hi) || (v.or_nan && std::isnan(x));
}

bool has_small(const Variable& v) {
  return ir::is_float(v.type) && magnitudes(v).lo < kSmall && magnitudes(v).hi > 0;
}

bool has_vast(const Variable& v) {
  return ir::is_float(v.type) && (std::isinf(v.lo) || std::isinf(v.hi));
}

bool has_tiny(const Variable& v) {
  return ir::is_float(v.type) && magnitudes(v).lo < near_of(v.type) && magnitudes(v).hi > 0;
}

Bits draw(const Variable& v, Way way, Random& random) {
  // Mixes some ordinary values into vast and tiny, for expressions that need just one variable far out.
  if (way == Way::vast && random.below(4) == 0) way = Way::spread;
  if (way == Way::tiny && random.below(4) == 0) way = Way::small;
  return draw_at(v, way, random.unit(), random);
}

Bits draw_at(const Variable& v, Way way, double place, Random& random) {
  if (way == Way::vast && !has_vast(v)) way = Way::spread;
  if (way == Way::tiny && !has_tiny(v)) way = Way::small;
  if (ir::is_mask(v.type)) return draw_mask(v.type, random);
  if (ir::is_int(v.type)) return draw_integer(v, random, way != Way::uniform);
  if (!by_exponent(v, way)) return uniform_at(v, place);
  return exponent_at(v, way, place, random.next() % 2 == 0);
}

Bits value_at(const Variable& v, Way way, const Coordinate& at) {
  if (!ir::is_float(v.type)) {
    Random random(at.raw);
    return draw(v, way, random);
  }
  return by_exponent(v, way) ? exponent_at(v, way, at.place, at.negative) : uniform_at(v, at.place);
}

Coordinate place_of(const Variable& v, Way way, Bits bits) {
  CHECK(ir::is_float(v.type));
  const double x = value_of(v.type, bits);
  const bool exponent = by_exponent(v, way);
  const Ends ends = exponent ? exponent_ends(v, way) : uniform_ends(v);
  const double place = exponent ? std::log2(std::fabs(x)) : x / 2;
  const double lo = exponent ? std::log2(ends.lo) : ends.lo / 2;
  const double hi = exponent ? std::log2(ends.hi) : ends.hi / 2;
  const double share = (place - lo) / (hi - lo);
  return {share > 0 && share <= 1 ? share : 0, std::signbit(x), 0};  // 0 also for a range of one value
}

Bits next_up(const Variable& v, Bits bits) {
  Bits up = bits;
  if (v.type == Type::f32) {
    up = bits_of(v.type, static_cast<double>(std::nextafter(static_cast<float>(value_of(v.type, bits)), INFINITY)));
  } else if (v.type == Type::f64) {
    up = bits_of(v.type, std::nextafter(value_of(v.type, bits), INFINITY));
  } else if (ir::is_int(v.type) && integer_of(v.type, bits) != integer_end(v, true)) {
    up = integer_bits(v.type, integer_of(v.type, bits) + 1);
  }
  return allowed(v, up) ? up : bits;
}

std::vector<Bits> corner_values(const Variable& v, std::span<const double> constants) {
  std::vector<double> values = {0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, 10, -10, 100, 1e6, -1e6};
  for (const double end : {v.lo, v.hi})
    if (std::isfinite(end)) values.push_back(end);
  if (std::isfinite(v.lo) && std::isfinite(v.hi)) values.push_back(v.lo / 2 + v.hi / 2);
  values.insert(values.end(), constants.begin(), constants.end());
  if (ir::is_float(v.type)) {
    const double least_normal = v.type == Type::f32 ? 0x1p-126 : 0x1p-1022;
    const double epsilon = v.type == Type::f32 ? 0x1p-23 : 0x1p-52;
    const double most = greatest_finite(v.type);
    for (const double x :
         {least_positive(v.type), 3 * least_positive(v.type), least_normal, least_normal * (1 - epsilon), epsilon,
          1 / epsilon, 2 / epsilon, std::sqrt(most), most / 2, most, kInfinity, M_PI, M_PI_2, M_LN2}) {
      values.push_back(x);
      values.push_back(-x);
    }
    values.push_back(std::numeric_limits<double>::quiet_NaN());
  } else {
    for (int shift = 4; shift < 64; shift += 7) {
      values.push_back(std::ldexp(1.0, shift));
      values.push_back(-std::ldexp(1.0, shift));
    }
  }
  std::vector<Bits> corners;
  const auto add = [&](Bits bits) {
    if (allowed(v, bits) && std::find(corners.begin(), corners.end(), bits) == corners.end()) corners.push_back(bits);
  };
  for (const double x : values) {
    const Bits bits = bits_of(v.type, x);
    add(x == v.lo || x == v.hi ? fit(v, x) : bits);
    if (!ir::is_float(v.type) || !std::isfinite(x)) continue;
    if (v.type == Type::f32) {
      const auto f = static_cast<float>(x);
      add(bits_of(v.type, static_cast<double>(std::nextafter(f, INFINITY))));
      add(bits_of(v.type, static_cast<double>(std::nextafter(f, -INFINITY))));
    } else {
      add(bits_of(v.type, std::nextafter(x, kInfinity)));
      add(bits_of(v.type, std::nextafter(x, -kInfinity)));
    }
  }
  if (corners.empty()) corners.push_back(fit(v, v.lo));
  return corners;
}

std::uint64_t count_values(const Variable& v) {
  if (ir::is_mask(v.type)) return 2;
  if (ir::is_int(v.type)) {
    const auto span =
        static_cast<std::uint64_t>(integer_end(v, true)) - static_cast<std::uint64_t>(integer_end(v, false));
    return span < (std::uint64_t{1} << 40) ? span + 1 : UINT64_MAX;
  }
  return v.lo == v.hi && !v.or_nan ? 1 : UINT64_MAX;
}

Bits nth_value(const Variable& v, std::uint64_t index) {
  if (ir::is_mask(v.type)) return index == 0 ? 0 : integer_bits(v.type, -1);
  if (ir::is_int(v.type)) return integer_bits(v.type, integer_end(v, false) + static_cast<std::int64_t>(index));
  return bits_of(v.type, v.lo);
}

}  // namespace trident::equiv
