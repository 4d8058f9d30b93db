// The promises of the built-in rules' tags, in f64 and f32. Oracle: tests/support/strict_evaluator.h.
//
//   exact, zero  the same bits, at special values too
//   nan          the same bits but for signs of zeros, at special values that are finite
//   round        where no term is near overflow or underflow, NaN is where it was (rules_test.cpp has the real
//   identity) domain       NaN does change somewhere, else the rule is to be `round`
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/rules.h"
#include "tests/rules/elements.h"
#include "tests/rules/rule_points.h"
#include "tests/support/strict_evaluator.h"

namespace trident::expr::rewrite {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using testing::has_op;
using testing::of_type;
using testing::RuleSampler;
using testing::side;
using testing::true_at;
using testing::type_of;

class Tags : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Rule& rule() const { return builtin_rules().rules[GetParam()]; }
  const RuleSet::Tags& tags() const { return builtin_rules().tags[GetParam()]; }
};

// The bits of both sides under tags: NaN equals NaN; zeros of either sign are equal under `zero` and `nan`, and under
// `nan` and `partial` a side that is no number is equal to any.
bool same_bits(Type type, std::uint64_t a, std::uint64_t b, const RuleSet::Tags& tags) {
  const double x = value_of(type, a), y = value_of(type, b);
  if (tags.ieee == Ieee::nan && tags.real == Real::partial && !(std::isfinite(x) && std::isfinite(y))) return true;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return a == b || (tags.ieee != Ieee::exact && x == 0 && y == 0);
}

// The last elements of `inputs`, up to five of them, in one call.
void expect_same_totals_of(const Rule& rule, const RuleSet::Tags& tags, const Expr& left, const Expr& right, Type type,
                           const std::vector<std::vector<std::uint64_t>>& inputs, std::size_t last) {
  const std::size_t n = std::min(last + 1, last % 6);
  std::vector<std::vector<std::uint64_t>> call;
  for (std::size_t v = 0; v < inputs.size(); ++v) {
    const auto end = inputs[v].end();
    call.emplace_back(left.variables[v].is_scalar() ? end - 1 : end - static_cast<std::ptrdiff_t>(n), end);
  }
  const std::uint64_t l = testing::evaluate_strict(left, call, n)[left.outputs[0].node.index][0];
  const std::uint64_t r = testing::evaluate_strict(right, call, n)[right.outputs[0].node.index][0];
  ASSERT_TRUE(same_bits(type, l, r, tags)) << rule.name << " " << ir::name_of(type) << " of " << n
                                           << " elements: " << value_of(type, l) << " and " << value_of(type, r);
}

// Tags that promise bits keep them in strict arithmetic, at special values too, which are finite under `nan`. Functions
// are exact only up to their own symmetry, which libm has.
TEST_P(Tags, ThatPromiseBitsKeepThem) {
  if (rule().mixed) return;  // memory_rules_test.cpp
  if (tags().ieee > Ieee::nan) return;
  if (has_op(rule().left, Op::Diff)) return;
  const bool reduces = testing::reduces(rule());
  for (const Type type : {Type::f64, Type::f32}) {
    const double kSpecials[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                3,
                                -0.1,
                                0.49999999999999994,
                                2.5,
                                4503599627370497,
                                2147483648,
                                1e-310,
                                1e300,
                                -1e300,
                                type == Type::f32 ? 1e38 : 1.7e308,
                                type == Type::f32 ? 1e-45 : 5e-324};
    const Expr left = side(rule().left, rule(), type), right = side(rule().right, rule(), type);
    RuleSampler sampler(GetParam() + 7);
    constexpr std::size_t kCount = 4000;
    std::vector<std::vector<std::uint64_t>> inputs(rule().variables.size());
    std::vector<double> at;
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(sampler.point(rule(), at));
      // Special values instead, where the conditions still hold.
      for (std::size_t v = 0; v < at.size(); ++v) {
        const double before = at[v];
        const double special = of_type(type, kSpecials[sampler.number() % std::size(kSpecials)]);
        if (sampler.number() % 2 == 0 && (tags().ieee != Ieee::nan || std::isfinite(special)))
          at[v] = of_type(type_of(rule(), v, type), special);
        for (const Condition& c : rule().conditions) {
          const bool number = c.kind == ConditionKind::integral && !std::isfinite(at[v]);
          if (!true_at(c, at) || number) at[v] = before;
        }
      }
      for (std::size_t v = 0; v < at.size(); ++v) inputs[v].push_back(bits_of(left.variables[v].type, at[v]));
      if (reduces) {
        ASSERT_NO_FATAL_FAILURE(expect_same_totals_of(rule(), tags(), left, right, type, inputs, i));
      }
    }
    if (reduces) continue;
    const auto l = testing::evaluate_strict(left, inputs, kCount), r = testing::evaluate_strict(right, inputs, kCount);
    const auto& a = l[left.outputs[0].node.index];
    const auto& b = r[right.outputs[0].node.index];
    for (std::size_t i = 0; i < kCount; ++i) {
      std::string where;
      for (std::size_t v = 0; v < at.size(); ++v)
        where += " " + rule().variables[v] + "=" +
                 std::to_string(value_of(left.variables[v].type, inputs[v][inputs[v].size() == 1 ? 0 : i]));
      const std::uint64_t x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
      const Type made = left.at(left.outputs[0].node).type;
      ASSERT_EQ(made, right.at(right.outputs[0].node).type);
      ASSERT_TRUE(same_bits(made, x, y, tags())) << rule().name << " " << ir::name_of(type) << where << ": "
                                                 << value_of(made, x) << " and " << value_of(made, y);
    }
  }
}

// Far from overflow and underflow, which makes the only zeros that exponentials have.
bool in_range(const Expr& e, const std::vector<std::vector<std::uint64_t>>& values, std::size_t i, bool narrow) {
  const double greatest = narrow ? 0x1p60 : 0x1p500;
  for (std::size_t n = 0; n < values.size(); ++n) {
    const Node& node = e.nodes[n];
    if (!ir::is_float(node.type)) continue;
    const double size = std::fabs(value_of(node.type, values[n][values[n].size() == 1 ? 0 : i]));
    const bool exponential =
        node.op == Op::Exp || node.op == Op::Exp2 || node.op == Op::Pow || node.op == Op::Powi || node.op == Op::Erfc;
    if (size == 0 ? exponential : size > greatest || size < 1 / greatest) return false;
  }
  return true;
}

// Rules of one variable, at values of every exponent of f32 and every thirteenth of f64: those next to powers of two,
// sums of two of them, those with few zeros, and some others. (`make campaign NAME=sweep-rules` tries every f32.)
TEST_P(Tags, ThatPromiseBitsKeepThemAtAllExponents) {
  if (rule().mixed || rule().variables.size() != 1 || tags().ieee > Ieee::nan) return;
  if (has_op(rule().left, Op::Diff) || testing::reduces(rule()) || testing::truth_values(rule())[0]) return;
  for (const Type untyped : {Type::f32, Type::f64}) {
    const Type type = type_of(rule(), 0, untyped);
    if (!ir::is_float(type) || (type != untyped && rule().typed)) continue;
    const int digits = type == Type::f32 ? 23 : 52, exponents = type == Type::f32 ? 9 : 12;
    const Expr left = side(rule().left, rule(), type), right = side(rule().right, rule(), type);
    RuleSampler sampler(GetParam() + 23);
    std::vector<std::vector<std::uint64_t>> inputs(1);
    const auto add = [&](std::uint64_t exponent, std::uint64_t fraction) {
      const std::uint64_t bits = exponent << digits | (fraction & ((std::uint64_t{1} << digits) - 1));
      const double value = value_of(type, bits);
      if (std::isnan(value) && (bits >> (digits - 1) & 1) == 0) return;  // signalling: libm's pow(NaN, 0) is no 1 then
      if (tags().ieee == Ieee::nan && !std::isfinite(value)) return;
      for (const Condition& c : rule().conditions)
        if (!true_at(c, {value, value}) || (c.kind == ConditionKind::integral && !std::isfinite(value))) return;
      inputs[0].push_back(bits);
    };
    for (std::uint64_t exponent = 0; exponent < std::uint64_t{1} << exponents; exponent += type == Type::f32 ? 1 : 13) {
      for (int k = 0; k < digits; ++k) {
        const std::uint64_t power = std::uint64_t{1} << k;
        for (const std::uint64_t fraction : {power, power - 1, power + 1, ~power, ~(power - 1), sampler.number()})
          add(exponent, fraction);
        if (type == Type::f32)
          for (int j = 0; j < k; ++j) add(exponent, power | std::uint64_t{1} << j);
      }
    }
    const std::size_t n = inputs[0].size();
    if (n == 0) continue;
    const auto l = testing::evaluate_strict(left, inputs, n), r = testing::evaluate_strict(right, inputs, n);
    const auto &a = l[left.outputs[0].node.index], &b = r[right.outputs[0].node.index];
    const Type made = left.at(left.outputs[0].node).type;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
      ASSERT_TRUE(same_bits(made, x, y, tags()))
          << rule().name << " " << ir::name_of(type) << " at " << value_of(type, inputs[0][i]) << ": "
          << value_of(made, x) << " and " << value_of(made, y);
    }
  }
}

// Counts points at which one side alone is NaN: `near` where no term is near overflow or underflow, `of_nan` where
// operands are NaN among such, `far` where operands are infinite or NaN too.
struct OneSided {
  std::size_t near = 0, of_nan = 0, far = 0;
  std::string where;
};
OneSided one_sided(const Rule& rule, Type type, std::uint64_t seed, std::size_t count, bool often_nan = false) {
  const bool narrow = type == Type::f32 || rule.typed;
  const double kSpecials[] = {0.0, -0.0, 1, -1, 0.5, 2, 1e-5, 0.1, 40, INFINITY, -INFINITY, NAN};
  const Expr left = side(rule.left, rule, type), right = side(rule.right, rule, type);
  RuleSampler sampler(seed);
  std::vector<std::vector<std::uint64_t>> inputs(rule.variables.size());
  std::vector<bool> finite, infinite;
  std::vector<double> at;
  for (std::size_t i = 0; i < count && sampler.point(rule, at); ++i) {
    for (std::size_t v = 0; v < at.size(); ++v) {
      const double before = at[v];
      double special = kSpecials[sampler.number() % (i % 2 == 0 ? 9 : std::size(kSpecials))];
      if (often_nan && sampler.number() % 2 == 0) special = NAN;
      if (sampler.number() % 4 == 0) at[v] = of_type(type_of(rule, v, type), special);
      for (const Condition& c : rule.conditions)
        if (!true_at(c, at) || (c.kind == ConditionKind::integral && !std::isfinite(at[v]))) at[v] = before;
    }
    finite.push_back(std::all_of(at.begin(), at.end(), [](double x) { return std::isfinite(x); }));
    infinite.push_back(std::any_of(at.begin(), at.end(), [](double x) { return std::isinf(x); }));
    for (std::size_t v = 0; v < at.size(); ++v)
      if (!left.variables[v].is_scalar() || i == 0) inputs[v].push_back(bits_of(left.variables[v].type, at[v]));
  }
  const auto l = testing::evaluate_strict(left, inputs, count), r = testing::evaluate_strict(right, inputs, count);
  const auto nan = [](const Expr& e, const auto& values, std::size_t i) {
    const auto& root = values[e.outputs[0].node.index];
    return std::isnan(value_of(e.at(e.outputs[0].node).type, root[root.size() == 1 ? 0 : i]));
  };
  OneSided found;
  for (std::size_t i = 0; i < finite.size(); ++i) {
    if (nan(left, l, i) == nan(right, r, i)) continue;
    ++found.far;
    if (infinite[i] || !in_range(left, l, i, narrow) || !in_range(right, r, i, narrow)) continue;
    ++(finite[i] ? found.near : found.of_nan);
    found.where = rule.name + " " + std::string(ir::name_of(type)) + " at";
    for (std::size_t v = 0; v < at.size(); ++v)
      found.where += " " + std::to_string(value_of(left.variables[v].type, inputs[v][inputs[v].size() == 1 ? 0 : i]));
  }
  return found;
}

// `round` changes last bits, not where the result is NaN. Reductions are written out.
TEST_P(Tags, ThatRoundKeepNaNWhereItWas) {
  if (rule().mixed || has_op(rule().left, Op::Diff)) return;
  if (tags().ieee != Ieee::round || tags().real == Real::partial) return;
  const bool reduces = testing::reduces(rule());
  for (const Type type : {Type::f64, Type::f32}) {
    const Rule plain = reduces ? testing::of_elements(rule(), 1 + GetParam() % 4) : rule();
    const OneSided found = one_sided(plain, type, GetParam() + 13, 1000);
    EXPECT_EQ(found.near, 0u) << found.where;
  }
}

// An operand such as min(min(a, b), c) is NaN where no single variable of the source is, and points that are drawn meet
// that seldom. So rules that bounded allows keep NaN of any operands unless their conditions exclude it.
TEST_P(Tags, ThatBoundedAllowsKeepNaNOfOperands) {
  if (rule().mixed || has_op(rule().left, Op::Diff) || !allowed(builtin_rules(), {})[GetParam()]) return;
  const bool reduces = testing::reduces(rule());
  for (const Type type : {Type::f64, Type::f32}) {
    const Rule plain = reduces ? testing::of_elements(rule(), 1 + GetParam() % 4) : rule();
    const OneSided found = one_sided(plain, type, GetParam() + 15, 2000, true);
    EXPECT_EQ(found.of_nan, 0u) << found.where;
  }
}

// `domain` says that it does change somewhere: else a rule has the stronger `round`.
TEST_P(Tags, ThatChangeDomainsDoSo) {
  if (tags().ieee != Ieee::domain || has_op(rule().left, Op::Diff)) return;
  EXPECT_GT(one_sided(rule(), Type::f64, GetParam() + 17, 4000).far, 0u) << rule().name;
}

// Both sides in calls of many elements, strictly: equal bits where the tags promise them, else equal up to rounding.
TEST_P(Tags, HoldInCallsOfManyElements) {
  if (!testing::reduces(rule())) return;
  const Expr left = side(rule().left, rule(), Type::f64), right = side(rule().right, rule(), Type::f64);
  struct Calls {
    std::size_t elements, count;
  };
  for (const auto& [n, count] : {Calls{0, 20}, {1, 100}, {2, 100}, {3, 100}, {7, 100}, {64, 20}, {1000, 4}}) {
    RuleSampler sampler(GetParam() + 19 + n);
    std::size_t compared = 0;
    for (std::size_t call = 0; call < count; ++call) {
      std::vector<std::vector<std::uint64_t>> inputs(rule().variables.size());
      std::vector<double> at;
      for (std::size_t i = 0; i < std::max<std::size_t>(n, 1); ++i) {
        ASSERT_TRUE(sampler.point(rule(), at));
        for (std::size_t v = 0; v < at.size(); ++v) {
          if (left.variables[v].is_scalar() && i > 0) continue;
          if (left.variables[v].is_scalar() || n > 0) inputs[v].push_back(bits_of(Type::f64, at[v]));
        }
      }
      const auto l = testing::evaluate_strict(left, inputs, n), r = testing::evaluate_strict(right, inputs, n);
      const std::uint64_t a = l[left.outputs[0].node.index][0], b = r[right.outputs[0].node.index][0];
      const double x = value_of(Type::f64, a), y = value_of(Type::f64, b);
      const std::string what =
          rule().name + " of " + std::to_string(n) + " elements: " + std::to_string(x) + " and " + std::to_string(y);
      if (tags().real == Real::partial && !(std::isfinite(x) && std::isfinite(y))) continue;
      if (tags().ieee <= Ieee::nan) {
        ASSERT_TRUE(same_bits(Type::f64, a, b, tags())) << what;
      } else if (std::isfinite(x) || std::isfinite(y)) {
        // The sum of rounding errors is in proportion to the sum of all terms.
        double scale = 1;
        for (const auto* values : {&l, &r}) {
          for (const auto& terms : *values) {
            double sum = 0;
            for (const std::uint64_t bits : terms) sum += std::fabs(value_of(Type::f64, bits));
            if (std::isfinite(sum)) scale = std::max(scale, sum);
          }
        }
        ASSERT_LE(std::fabs(x - y), 1e-11 * scale) << what;
      }
      ++compared;
    }
    // A call of no elements may have nothing to compare.
    EXPECT_TRUE(compared > count / 10 || n == 0) << rule().name << " of " << n << " elements was hardly ever defined";
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, Tags, ::testing::Range(std::size_t{0}, builtin_rules().rules.size()),
                         [](const auto& info) {
                           std::string name = builtin_rules().rules[info.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace trident::expr::rewrite
