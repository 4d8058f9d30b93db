#include "jit/rulecheck/corners.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "jit/rulecheck/strict_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Type;

constexpr std::size_t kConstantsMax = 8;

// Both signs of each are tried.
constexpr double kFirst[] = {0, 1, 2, 0.5};
constexpr double kSizes[] = {3, 1.5, 2.5, 0.25, 0.1, 0.75, 3.5, 4, 5, 7, 10, 100, 1000, kHalfPi, 2 * kHalfPi,
                             // an ulp beside one; ties and their neighbours, in f64 and f32
                             1 - 0x1p-53, 1 + 0x1p-52, 1 - 0x1p-24, 1 + 0x1p-23, 0.5 - 0x1p-54, 0.5 + 0x1p-53,
                             0.5 - 0x1p-25, 0.5 + 0x1p-24, 1.5 - 0x1p-52, 2.5 + 0x1p-51, 1.5 - 0x1p-23,
                             // around 2^p: from there on all floats of p bits are integers, then even ones
                             0x1p22 + 0.5, 0x1p22 + 1.5, 0x1p23 - 0.5, 0x1p23, 0x1p23 + 1, 0x1p24 - 1, 0x1p24,
                             0x1p24 + 1, 0x1p24 + 2, 0x1p51 + 0.5, 0x1p51 + 1.5, 0x1p52 - 0.5, 0x1p52 - 1, 0x1p52,
                             0x1p52 + 1, 0x1p53 - 1, 0x1p53, 0x1p53 + 2, 0x1p54 + 4,
                             // ends of the integers
                             0x1p15, 0x1p16, 0x1p31 - 1, 0x1p31 - 0.5, 0x1p31, 0x1p31 + 1, 0x1p31 - 128, 0x1p32,
                             0x1p32 - 1, 0x1p33 + 5, 0x1p62, 0x1p63, 0x1p63 - 1024, 0x1p63 - 0x1p39, 0x1p64,
                             // far out, and results of functions there
                             1e-4, 1e-8, 1e-20, 1e6, 1e9, 1e15, 1e17, 20, 40, 88.5, 104, 709.5, 745.5, 0x1p-52, 0x1p-53,
                             0x1p-24, 1e18, 1e19, 1e-19, 1e-23, 1e25, 1e38, 1e100, 1e-100, 1e154, 1.5e154, 1e-154,
                             1e-162, 1e200, 1e-200, 1e300, 1e-300};

class Corners {
 public:
  explicit Corners(Type type) : type_(type) {}

  void add(double value) {
    if (type_ == Type::f32) value = static_cast<double>(static_cast<float>(value));
    if (std::isfinite(value) && seen_.insert(std::bit_cast<std::uint64_t>(value)).second) values.push_back(value);
  }
  void add_both(double value) {
    add(value);
    add(-value);
  }
  void add_around(double value) {
    add(value);
    if (type_ == Type::f32) {
      add(static_cast<double>(std::nextafter(static_cast<float>(value), HUGE_VALF)));
      add(static_cast<double>(std::nextafter(static_cast<float>(value), -HUGE_VALF)));
    } else {
      add(std::nextafter(value, HUGE_VAL));
      add(std::nextafter(value, -HUGE_VAL));
    }
  }

  std::vector<double> values;

 private:
  Type type_;
  std::set<std::uint64_t> seen_;
};

}  // namespace

std::vector<double> constants_of(const egraph::Rule& rule, const Sorts& sorts) {
  std::vector<double> found;
  const std::vector<double> nothing(rule.variables.size());
  for (const Pattern* side : {&rule.left, &rule.right}) {
    std::vector<bool> constant;
    for (std::size_t i = 0; i < side->terms.size(); ++i) {
      const PatternTerm& t = side->terms[i];
      bool all = t.kind != PatternTerm::Kind::variable;
      if (t.kind == PatternTerm::Kind::node)
        for (std::uint8_t k = 0; k < expr::info(static_cast<expr::Op>(t.op)).arity; ++k)
          all = all && constant[t.child[k]];
      constant.push_back(all);
      if (!all || !sorts.types.empty()) continue;
      const Pattern term = term_alone(*side, static_cast<std::uint8_t>(i));
      const double value = strict_value(term, nothing, Type::f64, sorts);
      if (std::isfinite(value) && value != 0 && std::find(found.begin(), found.end(), value) == found.end() &&
          found.size() < kConstantsMax)
        found.push_back(value);
    }
  }
  return found;
}

std::vector<double> corners_of(const egraph::Rule& rule, const Sorts& sorts, Type type) {
  const std::vector<double> constants = sorts.slopes ? std::vector<double>{} : constants_of(rule, sorts);
  Corners made(type);
  for (const double value : kFirst) made.add_both(value);
  for (const double c : constants) made.add_both(c);
  const bool both = !sorts.types.empty(), narrow = type == Type::f32;
  if (narrow || both) {
    for (const double value : {0x1p-149, 0x1p-126, 0x1p-126 - 0x1p-149, 0x1p128 - 0x1p104, 0x1p127})
      made.add_both(value);
  }
  if (!narrow) {
    using Limits = std::numeric_limits<double>;
    for (const double value :
         {Limits::denorm_min(), Limits::max(), Limits::min(), Limits::min() - Limits::denorm_min(), 0x1p1023})
      made.add_both(value);
  }
  for (const double c : constants) {
    for (const double value : {c, -c, 1 / c, -1 / c, 2 * c, c / 2}) made.add_around(value);
    for (const double value : {c * c, std::sqrt(std::fabs(c)), std::exp(c), std::log(std::fabs(c)), c + 1, c - 1,
                               c + 0.5, c - 0.5, 1000 * c, c / 1000})
      made.add_both(value);
    for (const double other : constants)
      for (const double value : {c / other, c * other, c + other, c - other}) made.add_both(value);
  }
  for (const double value : kSizes) made.add_both(value);
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) made.values.push_back(value);
  return std::move(made.values);
}

}  // namespace trident::rulecheck
