#include "jit/pipeline/speculative_points.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/equiv/draw.h"
#include "jit/equiv/samples.h"
#include "runtime/base/check.h"

namespace trident::pipeline {
namespace {

constexpr std::size_t kPoints = 4096;  ///< of each set

std::vector<Point> points_of(const expr::Expr& expr, std::uint64_t seed) {
  std::vector<Point> points;
  for (const equiv::Samples& set : equiv::make_samples(expr, {.points = kPoints, .seed = seed, .cancelled = {}}))
    for (std::uint64_t i = 0; i < set.n; ++i) {
      Point& point = points.emplace_back(expr.variables.size());
      for (std::size_t v = 0; v < point.size(); ++v) {
        const std::size_t bytes = ir::bytes_of(expr.variables[v].type);
        std::memcpy(&point[v], set.columns[v].data() + i * bytes, bytes);
      }
    }
  return points;
}

/// Returns both neighbours of each number, the number itself, zeros, NaN and what is farthest out.
template <class Float, class Bits>
std::vector<std::uint64_t> floats_around(double lo, double hi) {
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  std::vector<Float> values = {Float{0},
                               -Float{0},
                               kInfinity,
                               -kInfinity,
                               std::numeric_limits<Float>::quiet_NaN(),
                               -std::numeric_limits<Float>::quiet_NaN(),
                               std::numeric_limits<Float>::signaling_NaN(),
                               std::numeric_limits<Float>::max(),
                               std::numeric_limits<Float>::lowest(),
                               std::numeric_limits<Float>::denorm_min()};
  for (const double end : {lo, hi}) {
    const auto near = static_cast<Float>(end);
    values.insert(values.end(), {near, std::nextafter(near, kInfinity), std::nextafter(near, -kInfinity), -near});
  }
  std::vector<std::uint64_t> bits;
  for (const Float value : values) bits.push_back(std::bit_cast<Bits>(value));
  return bits;
}

template <class Int>
std::vector<std::uint64_t> integers_around(double lo, double hi) {
  using Limits = std::numeric_limits<Int>;
  std::vector<std::uint64_t> bits;
  const auto add = [&](Int value) { bits.push_back(static_cast<std::make_unsigned_t<Int>>(value)); };
  add(Limits::min()), add(Limits::max()), add(0);
  for (const double end : {lo, hi}) {
    if (end <= static_cast<double>(Limits::min()) || end >= static_cast<double>(Limits::max())) continue;
    const auto near = static_cast<Int>(end);
    add(near);
    if (near != Limits::max()) add(near + 1);
    if (near != Limits::min()) add(near - 1);
  }
  return bits;
}

std::vector<std::uint64_t> values_around(const expr::Variable& v) {
  switch (v.type) {
    case ir::Type::i32: return integers_around<std::int32_t>(v.lo, v.hi);
    case ir::Type::i64: return integers_around<std::int64_t>(v.lo, v.hi);
    case ir::Type::f32: return floats_around<float, std::uint32_t>(v.lo, v.hi);
    case ir::Type::f64: return floats_around<double, std::uint64_t>(v.lo, v.hi);
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  CHECK(false);
}

bool is_nan(ir::Type type, std::uint64_t bits) {
  return ir::is_float(type) && std::isnan(equiv::value_of(type, bits));
}

}  // namespace

bool same_range(const expr::Variable& a, const expr::Variable& b) {
  return a.lo == b.lo && a.hi == b.hi;
}

bool lies_in(const expr::Variable& variable, std::uint64_t bits) {
  if (!variable.has_range()) return true;
  const auto within = [&](auto x) {
    if (variable.or_nan && x != x) return true;
    return x >= static_cast<decltype(x)>(variable.lo) && x <= static_cast<decltype(x)>(variable.hi);
  };
  switch (variable.type) {
    case ir::Type::i32: return within(static_cast<double>(static_cast<std::int32_t>(bits)));
    case ir::Type::i64: return within(static_cast<long double>(static_cast<std::int64_t>(bits)));
    case ir::Type::f32: return within(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
    case ir::Type::f64: return within(std::bit_cast<double>(bits));
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  CHECK(false);
}

SpeculativePoints::SpeculativePoints(const expr::Expr& source, const expr::Expr& narrowed, std::uint64_t seed)
    : inside_(points_of(narrowed, seed)) {
  std::erase_if(inside_, [&](const Point& point) {
    bool any = false;
    for (std::size_t v = 0; v < point.size(); ++v)
      any |= narrowed.variables[v].or_nan && is_nan(narrowed.variables[v].type, point[v]);
    return any;
  });
  CHECK(!inside_.empty());
  for (const Point& point : points_of(source, seed + 1)) {
    bool any = false;
    for (std::size_t v = 0; v < point.size(); ++v)
      any |= !source.variables[v].is_scalar() && !lies_in(narrowed.variables[v], point[v]);
    if (any) outside_.push_back(point);
  }
  for (std::size_t v = 0; v < source.variables.size(); ++v)
    if (!same_range(source.variables[v], narrowed.variables[v])) add_values(source, narrowed, v);
}

void SpeculativePoints::add_values(const expr::Expr& source, const expr::Expr& narrowed, std::size_t v) {
  const bool scalar = source.variables[v].is_scalar();
  bool in = false, out = false;
  for (const std::uint64_t bits : values_around(narrowed.variables[v])) {
    if (!lies_in(source.variables[v], bits)) continue;
    const bool is_in = lies_in(narrowed.variables[v], bits);
    (is_in ? in : out) = true;
    auto& of_arrays = is_in && is_nan(source.variables[v].type, bits) ? nan_in_one_ : is_in ? ends_ : outside_in_one_;
    auto& of_scalars = is_in ? scalar_ends_ : scalars_outside_;
    (scalar ? of_scalars : of_arrays).push_back({v, bits});
  }
  if (!in || !out) gap_ = source.variables[v].name;
}

Point SpeculativePoints::inside(std::uint64_t number) const {
  Point point = inside_[mixed(number) % inside_.size()];
  if (number % 4 != 0 || ends_.empty()) return point;
  const OneValue& end = ends_[number / 4 % ends_.size()];
  point[end.variable] = end.bits;
  return point;
}

Point SpeculativePoints::outside(std::uint64_t number) const {
  if (number % 2 == 0 && !outside_.empty()) return outside_[mixed(number) % outside_.size()];
  Point point = inside(number);
  if (outside_in_one_.empty()) return point;
  const OneValue& one = outside_in_one_[mixed(number) % outside_in_one_.size()];
  point[one.variable] = one.bits;
  return point;
}

}  // namespace trident::pipeline
