#include "jit/rulecheck/points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "jit/equiv/rounded.h"
#include "jit/rulecheck/corners.h"
#include "jit/rulecheck/orders.h"

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using expr::Op;
using expr::Type;

constexpr int kTriesMax = 2000;

double rounded_to(Type type, double value) {
  return type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

// Returns special values, half of them ends of a range, where rounding and overflow show most.
std::vector<double> specials_among(const std::vector<double>& corners, Type type) {
  const bool narrow = type == Type::f32;
  std::vector<double> made = corners;
  const double ends[] = {0.0,
                         -0.0,
                         1,
                         -1,
                         HUGE_VAL,
                         -HUGE_VAL,
                         std::nan(""),
                         0.1,
                         -0.1,
                         narrow ? 3e38 : 1.7e308,
                         narrow ? -3e38 : -1.7e308,
                         narrow ? 1e-45 : 5e-324,
                         narrow ? -1e-40 : -1e-310,
                         narrow ? 1e25 : 1e200};
  for (std::size_t i = 0; i < corners.size(); ++i) made.push_back(rounded_to(type, ends[i % std::size(ends)]));
  return made;
}

}  // namespace

double Function::at(double x) const {
  for (const Step& s : steps) x = equiv::apply_rounded(s.op, Type::f64, s.exponent, x, s.operand, 0);
  return x;
}

std::string Function::text() const {
  if (constant) return fmt::format("{}", at(0));
  std::string text = "x";
  for (const Step& s : steps) {
    if (s.op == Op::Add)
      text = fmt::format("{} {} {}", text, s.operand < 0 ? "-" : "+", std::fabs(s.operand));
    else if (s.op == Op::Mul)
      text = fmt::format("{}*{}", s.operand, text == "x" || text.ends_with(')') ? text : "(" + text + ")");
    else if (s.op == Op::Powi)
      text = fmt::format("({})^{}", text, s.exponent);
    else
      text = fmt::format("{}({})", expr::info(s.op).text, text);
  }
  return text;
}

bool holds_at(const Condition& c, const std::vector<double>& values, bool nan_too) {
  const double a = values[c.variable[0]];
  const double b = values[c.variable[1]];
  const bool about_nan = c.kind == ConditionKind::finite || c.kind == ConditionKind::number;
  if (nan_too && !about_nan && (std::isnan(a) || (c.kind == ConditionKind::le && std::isnan(b)))) return true;
  switch (c.kind) {
    case ConditionKind::nonzero: return a != 0;
    case ConditionKind::positive: return a > 0;
    case ConditionKind::nonnegative: return a >= 0;
    case ConditionKind::negative: return a < 0;
    case ConditionKind::nonpositive: return a <= 0;
    case ConditionKind::finite: return std::isfinite(a);
    case ConditionKind::number: return !std::isnan(a);
    case ConditionKind::integral: return a == std::floor(a);
    case ConditionKind::integer_two_up: return a >= 2 && a == std::floor(a) && std::isfinite(a);
    case ConditionKind::within_one: return std::fabs(a) <= 1;
    case ConditionKind::at_least_one: return a >= 1;
    case ConditionKind::within_half_pi: return std::fabs(a) <= kHalfPi;
    case ConditionKind::le: return a <= b;
    // Dependence on variables shows in derivatives alone; draw_functions() handles it.
    case ConditionKind::constant:
    case ConditionKind::symbolic:
    case ConditionKind::uniform:
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_i32:
    case ConditionKind::of_b32:
    case ConditionKind::independent: return true;
    case ConditionKind::stride: return a != 0 && a == std::floor(a) && std::fabs(a) <= 0x1p16;
  }
  CHECK(false);
}

PointSampler::PointSampler(const egraph::Rule& rule, const Sorts& sorts, std::uint64_t seed)
    : rule_(rule),
      sorts_(sorts),
      corners_(corners_of(rule, sorts, Type::f64)),
      constants_(constants_of(rule, sorts)),
      specials_of_f64_(specials_among(corners_, Type::f64)),
      specials_of_f32_(specials_among(corners_of(rule, sorts, Type::f32), Type::f32)),
      random_(seed) {
  std::erase_if(corners_, [](double v) { return !std::isfinite(v); });
}

double PointSampler::number() {
  const auto kind = random_() % 32;
  if (kind < 4) {
    static constexpr double kCorners[] = {0,   1,    -1,    2,     -2,   0.5,     -0.5,     3,   -3,  0.25,
                                          1.5, -1.5, 0.999, 1.001, 1e-4, kHalfPi, -kHalfPi, 100, 4.0, -0.75};
    return kCorners[random_() % std::size(kCorners)];
  }
  if (kind < 8) return static_cast<double>(random_() % 21) - 10;
  if (kind < 12) return corners_[random_() % corners_.size()];
  // Most within 0.03 and 30, some within 10^-6 and 10^6, a few anywhere.
  const double decades = kind < 14 ? 6 : kind == 14 ? 305 : 1.5;
  const double magnitude = std::pow(10.0, decades * (2 * unit() - 1));
  return random_() % 2 == 0 ? magnitude : -magnitude;
}

void PointSampler::relate(std::vector<double>& values) {
  if (values.size() < 2) return;
  const auto v = random_() % values.size(), w = random_() % values.size();
  if (v == w || sorts_.truth[v] || sorts_.truth[w]) return;
  switch (random_() % 4) {
    case 0: values[v] = values[w]; break;
    case 1: values[v] = -values[w]; break;
    case 2: values[v] = std::nextafter(values[w], random_() % 2 == 0 ? HUGE_VAL : -HUGE_VAL); break;
    default: values[v] = 1 / values[w]; break;
  }
  if (std::isinf(values[v])) values[v] = values[w];
}

// Moves a value towards a condition that few values meet.
void PointSampler::aim(const Condition& c, std::vector<double>& values) {
  double& a = values[c.variable[0]];
  if (sorts_.truth[c.variable[0]]) {
    if (c.kind == ConditionKind::positive) a = 1;
    if (c.kind == ConditionKind::nonpositive) a = 0;
    return;
  }
  const bool corner = random_() % 16 == 0;
  switch (c.kind) {
    case ConditionKind::positive:
    case ConditionKind::nonnegative: a = std::fabs(a); break;
    case ConditionKind::negative:
    case ConditionKind::nonpositive: a = -std::fabs(a); break;
    case ConditionKind::within_one: a = corner ? std::round(2 * unit() - 1) : std::remainder(a, 2); break;
    case ConditionKind::stride: a = 1 + static_cast<double>(random_() % 7); break;
    case ConditionKind::within_half_pi: a = corner ? std::copysign(kHalfPi, a) : std::remainder(a, 2 * kHalfPi); break;
    case ConditionKind::integral: a = std::round(a); break;
    case ConditionKind::integer_two_up: a = 2 + static_cast<double>(random_() % 7); break;
    case ConditionKind::at_least_one: a = corner ? 1 : a >= 1 ? a : 1 + std::fabs(a); break;
    case ConditionKind::le:
      if (a > values[c.variable[1]]) std::swap(a, values[c.variable[1]]);
      break;
    case ConditionKind::nonzero:
    case ConditionKind::finite:
    case ConditionKind::number:
    case ConditionKind::constant:
    case ConditionKind::symbolic:
    case ConditionKind::uniform:
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_i32:
    case ConditionKind::of_b32:
    case ConditionKind::independent: break;
  }
}

void PointSampler::draw_numbers(std::vector<double>& values) {
  values.resize(rule_.variables.size());
  for (std::size_t v = 0; v < values.size(); ++v)
    values[v] = sorts_.truth[v] ? static_cast<double>(random_() % 2) : number();
  if (random_() % 8 == 0) relate(values);
  for (const Condition& c : rule_.conditions) aim(c, values);
  for (std::size_t v = 0; v < values.size(); ++v) values[v] = typed(values[v], v);
}

double PointSampler::typed(double value, std::size_t variable) const {
  if (sorts_.types.empty()) return value;
  const Type type = sorts_.types[variable];
  if (type == Type::f32) return static_cast<double>(static_cast<float>(value));
  if (type != Type::i32) return value;
  if (std::isnan(value)) return -0x1p31;
  return std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1) + 0.0;
}

Function PointSampler::function() {
  // Makes x*scale + shift, and applies an op to that.
  const double scales[] = {1, 1, -1, 0.5, 2, 3};
  Function f;
  const double scale = scales[random_() % std::size(scales)];
  const double shift = random_() % 2 == 0 ? 0 : std::round(8 * (2 * unit() - 1)) / 4;
  if (scale != 1) f.steps.push_back({Op::Mul, scale});
  if (shift != 0) f.steps.push_back({Op::Add, shift});
  switch (random_() % 10) {
    case 0:
    case 1: break;
    case 2: f.steps.push_back({Op::Powi, 0, 2}); break;
    case 3: f.steps.insert(f.steps.end(), {{Op::Sin}, {Op::Add, 2}}); break;
    case 4: f.steps.push_back({Op::Exp}); break;
    case 5: f.steps.insert(f.steps.end(), {{Op::Powi, 0, 2}, {Op::Add, 1}, {Op::Recip}}); break;
    case 6: f.steps.insert(f.steps.end(), {{Op::Sin}, {Op::Mul, 0.9}}); break;
    case 7: f.steps.push_back({Op::Powi, 0, 3}); break;
    case 8: f.steps.push_back({Op::Cosh}); break;
    default: f.steps.push_back({Op::Tanh}); break;
  }
  return f;
}

double PointSampler::wide_number() {
  const double sign = random_() % 2 == 0 ? 1 : -1;
  if (constants_.empty() || random_() % 2 == 0) return sign * std::pow(10.0, 6 * (2 * unit() - 1));
  return sign * constants_[random_() % constants_.size()] * std::pow(10.0, 0.6 * (2 * unit() - 1));
}

void PointSampler::bring_near_constant(Function& f, double x) {
  if (constants_.empty()) return;
  const double scale = constants_[random_() % constants_.size()] / f.at(x) * std::pow(10.0, 2 * unit() - 1);
  const bool usable = std::isfinite(scale) && std::fabs(scale) > 1e-200 && std::fabs(scale) < 1e200;
  if (usable) f.steps.push_back({Op::Mul, random_() % 4 == 0 ? -scale : scale});
}

void PointSampler::draw_functions(Point& point) {
  // Half of them near zero, where most functions are neither huge nor flat. No round numbers: kinks and steps lie
  // there.
  const bool wide = random_() % 2 == 0;
  point.x = wide ? wide_number() : (0.1 + 2.4 * unit()) * (random_() % 2 == 0 ? 1 : -1);
  point.functions.assign(rule_.variables.size(), {});
  point.values.resize(rule_.variables.size());
  for (std::uint8_t v = 0; v < point.functions.size(); ++v) {
    bool constant = sorts_.truth[v], whole = false;
    for (const Condition& c : rule_.conditions) {
      if (c.variable[0] != v) continue;
      whole = whole || c.kind == ConditionKind::integral || c.kind == ConditionKind::integer_two_up;
      constant = constant || whole || c.kind == ConditionKind::constant || c.kind == ConditionKind::independent;
    }
    Function& f = point.functions[v];
    if (v == sorts_.slopes) continue;
    if (constant) {
      const double quarters = std::round(4 * std::remainder(number(), 20.0)) / 4;
      const double truth = static_cast<double>(random_() % 2);
      const double number =
          wide ? (random_() % 4 == 0 && !constants_.empty() ? constants_[random_() % constants_.size()] : wide_number())
               : quarters;
      const double value = sorts_.truth[v] ? truth : whole ? std::round(number) : number;
      f = {{{Op::Mul, 0}, {Op::Add, value}}, true};
    } else {
      // A difference quotient of a steeper function would step over many integers at once.
      do f = function();
      while (wide && !(std::fabs(f.at(point.x)) < 1e40));
      if (wide && random_() % 2 == 0) bring_near_constant(f, point.x);
    }
  }
  for (std::size_t v = 0; v < point.values.size(); ++v) point.values[v] = point.functions[v].at(point.x);
}

std::optional<Point> PointSampler::draw() {
  Point point;
  for (int i = 0; i < kTriesMax; ++i) {
    if (sorts_.slopes)
      draw_functions(point);
    else
      draw_numbers(point.values);
    if (holds(point.values, false)) return point;
  }
  return std::nullopt;
}

bool PointSampler::holds(const std::vector<double>& values, bool nan_too) const {
  return std::all_of(rule_.conditions.begin(), rule_.conditions.end(),
                     [&](const Condition& c) { return holds_at(c, values, nan_too); });
}

double PointSampler::target(const Targets& targets) {
  const bool equal = !targets.equal.empty() && (targets.beside.empty() || random_() % 2 == 0);
  const std::vector<double>& among = equal ? targets.equal : targets.beside;
  return among[random_() % among.size()];
}

std::vector<Point> PointSampler::corner_points(Type type, bool finite, std::size_t most) {
  std::vector<Point> found;
  if (sorts_.slopes) return found;
  std::vector<double> corners = corners_of(rule_, sorts_, type);
  if (finite) std::erase_if(corners, [](double v) { return !std::isfinite(v); });
  const std::size_t count = rule_.variables.size();
  const auto keep = [&](const std::vector<double>& values) {
    Point point;
    for (std::size_t v = 0; v < count; ++v) point.values.push_back(typed(rounded_to(type, values[v]), v));
    if (found.size() < most && holds(point.values, !finite)) found.push_back(std::move(point));
  };

  // A quarter of the points: all variables with targets at one of theirs, each by chance, or only one; others drawn.
  if (!targets_) targets_ = targets_of(rule_, sorts_);
  const bool any = std::any_of(targets_->begin(), targets_->end(), [](const Targets& t) { return !t.empty(); });
  std::vector<double> aimed(count);
  for (std::size_t i = 0; any && i < most / 4; ++i) {
    draw_numbers(aimed);
    const std::size_t only = random_() % count;
    for (std::size_t v = 0; v < count; ++v) {
      const bool takes = i % 4 == 0 ? v == only : i % 4 == 1 || random_() % 2 == 0;
      if (takes && !(*targets_)[v].empty()) aimed[v] = target((*targets_)[v]);
    }
    keep(aimed);
  }

  // Half of the points: the first corners in all combinations.
  const auto combinations = [&](std::size_t first) {
    std::size_t product = 1;
    for (std::size_t v = 0; v < count && product <= most; ++v) product *= sorts_.truth[v] ? 2 : first;
    return product;
  };
  std::size_t first = 1;
  while (first < corners.size() && combinations(first + 1) <= std::max<std::size_t>(most / 2, 16)) ++first;
  std::vector<double> values(count);
  for (std::size_t i = 0; first > 1 && i < combinations(first); ++i) {
    std::size_t rest = i;
    for (std::size_t v = 0; v < count; ++v) {
      const std::size_t base = sorts_.truth[v] ? 2 : first;
      values[v] = sorts_.truth[v] ? static_cast<double>(rest % base) : corners[rest % base];
      rest /= base;
    }
    keep(values);
  }

  // Each corner with others drawn; all variables equal; then random points.
  std::vector<std::size_t> order(corners.size() * (count + 1));
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() > most / 4) std::shuffle(order.begin(), order.end(), random_);
  const std::size_t each = found.size() + most / 4;
  for (std::size_t i = 0; count > 1 && i < order.size() && found.size() < each; ++i) {
    draw_numbers(values);
    const std::size_t v = order[i] % (count + 1);
    for (std::size_t w = 0; w < count; ++w)
      if ((w == v || v == count) && !sorts_.truth[w]) values[w] = corners[order[i] / (count + 1)];
    keep(values);
  }
  for (std::size_t tries = 0; count > 1 && found.size() < most && tries < 2 * most; ++tries) {
    for (std::size_t v = 0; v < count; ++v)
      values[v] = sorts_.truth[v] ? static_cast<double>(random_() % 2) : corners[random_() % corners.size()];
    if (random_() % 2 == 0) relate(values);
    for (const Condition& c : rule_.conditions)
      if (random_() % 2 == 0) aim(c, values);
    keep(values);
  }
  return found;
}

std::vector<Point> PointSampler::ordered_points(Type type, bool finite, std::size_t most) {
  std::vector<Point> found;
  for (std::vector<double>& values : ordered_values(rule_, sorts_, most)) {
    for (std::size_t v = 0; v < values.size(); ++v) values[v] = typed(rounded_to(type, values[v]), v);
    if (!holds(values, !finite)) {
      for (const Condition& c : rule_.conditions) aim(c, values);
      for (std::size_t v = 0; v < values.size(); ++v) values[v] = typed(rounded_to(type, values[v]), v);
    }
    if (holds(values, !finite)) found.push_back({std::move(values), {}, 0});
  }
  return found;
}

std::vector<Point> PointSampler::small_points(std::size_t most) {
  std::vector<Point> found;
  if (sorts_.slopes || !sorts_.types.empty()) return found;
  std::vector<double> scales = {1e-5, 1e-8, 1e-12, 1e-20, 1e-100};
  for (const double c : constants_) scales.insert(scales.end(), {std::fabs(c) / 16, std::fabs(c) / 1000});
  for (std::size_t i = 0; i < most; ++i) {
    Point point;
    draw_numbers(point.values);
    for (std::size_t v = 0; v < point.values.size(); ++v) {
      if (sorts_.truth[v]) continue;
      point.values[v] = scales[i % scales.size()] * (random_() % 2 == 0 ? 1 : -1) * (0.1 + 0.9 * unit());
      if (random_() % 8 == 0) point.values[v] = 0;
    }
    for (const Condition& c : rule_.conditions) aim(c, point.values);
    if (holds(point.values, false)) found.push_back(std::move(point));
  }
  return found;
}

std::optional<Point> PointSampler::draw_special(Type type) {
  const std::vector<double>& specials = type == Type::f32 ? specials_of_f32_ : specials_of_f64_;
  for (int i = 0; i < kTriesMax; ++i) {
    std::optional<Point> point = draw();
    if (!point) return std::nullopt;
    for (double& value : point->values) value = rounded_to(type, value);
    if (!holds(point->values, true)) continue;
    for (std::size_t v = 0; v < point->values.size(); ++v) {
      if (sorts_.truth[v] || random_() % 2 == 0) continue;
      const double before = std::exchange(point->values[v], typed(specials[random_() % specials.size()], v));
      if (!holds(point->values, true)) point->values[v] = before;
    }
    return point;
  }
  return std::nullopt;
}

}  // namespace trident::rulecheck
