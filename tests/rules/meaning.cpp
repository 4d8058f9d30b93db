#include "tests/rules/meaning.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace trident::testing {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;

z3::expr Meaning::real(double value) {
  constexpr double kDenominator = 0x1p50;
  if (value * kDenominator != std::round(value * kDenominator) || std::fabs(value) >= 4096) throw Beyond{"a constant"};
  return c_.real_val(static_cast<std::int64_t>(value * kDenominator)) /
         c_.real_val(static_cast<std::int64_t>(kDenominator));
}

Number Meaning::named(const NamedConstant& row) {
  const Number made{c_.real_const(row.name), real("0"), yes(), yes()};
  constraints.push_back(made.value > real(row.below) && made.value < real(row.above));
  return made;
}

Number Meaning::variable(std::uint8_t v) {
  const std::string name = "?" + rule_.variables[v];
  bool whole = false;
  for (const Condition& c : rule_.conditions)
    whole = whole || (c.variable[0] == v && c.kind == ConditionKind::of_i32) ||
            (c.variable[0] == v && (c.kind == ConditionKind::integral || c.kind == ConditionKind::integer_two_up));
  integers = integers || whole;
  return {whole ? to_real(c_.int_const(name.c_str())) : c_.real_const(name.c_str()),
          slopes_ ? c_.real_const(("slope of " + name).c_str()) : real("0"), yes(), yes()};
}

Number Meaning::once(const std::string& what, const Number& a, const Number& b, const std::function<Number()>& make) {
  const std::string key =
      what + " " + std::to_string(Z3_get_ast_id(c_, a.value)) + " " + std::to_string(Z3_get_ast_id(c_, b.value));
  const auto found = once_.find(key);
  if (found != once_.end()) return found->second;
  kept_.insert(kept_.end(), {a.value, b.value});
  return once_.emplace(key, make()).first->second;
}

Number Meaning::power(const Number& a, std::int64_t n) {
  if (std::abs(n) > 8) throw Beyond{"a high power"};
  Number made = constant(1);
  made.defined = a.defined, made.smooth = a.smooth;
  for (std::int64_t i = 0; i < std::abs(n); ++i) made = i == 0 ? a : mul(made, a);
  return n < 0 ? quotient(constant(1), made) : made;
}

Number Meaning::quotient(const Number& a, const Number& b) {
  Number y = once("quotient", a, b, [&] {
    const Number made = unknown("quotient");
    constraints.push_back(implies(b.value != 0, equal(mul(made, b), a)));
    return made;
  });
  y.defined = a.defined && b.defined && b.value != 0;
  y.smooth = a.smooth && b.smooth;
  return y;
}

Number Meaning::root(const Number& a) {
  Number y = once("root", a, a, [&] {
    const Number made = unknown("root");
    constraints.push_back(implies(a.value >= 0, made.value >= 0 && made.value * made.value == a.value));
    if (slopes_) constraints.push_back(implies(a.value > 0, equal(mul(made, made), a)));
    return made;
  });
  y.defined = a.defined && a.value >= 0;
  y.smooth = a.smooth && a.value > 0;
  return y;
}

Number Meaning::cube_root(const Number& a) {
  Number y = once("cube root", a, a, [&] {
    const Number made = unknown("cube_root");
    constraints.push_back(made.value * made.value * made.value == a.value);
    if (slopes_) constraints.push_back(implies(a.value != 0, equal(mul(made, mul(made, made)), a)));
    return made;
  });
  y.defined = a.defined;
  y.smooth = a.smooth && a.value != 0;
  return y;
}

Number Meaning::norm(const Number& a, const Number& b) {
  return root(add(mul(a, a), mul(b, b)));
}

Number Meaning::absolute(const Number& a) {
  Number y = once("abs", a, a, [&] {
    const Number made = unknown("abs");
    constraints.push_back((a.value >= 0 && equal(made, a)) || (a.value < 0 && equal(made, neg(a))));
    return made;
  });
  y.defined = a.defined;
  y.smooth = a.smooth && a.value != 0;
  return y;
}

// When an operand of min is no number, the result is the other one. Rules have no such operands, which is proved
// rather than modelled.
Number Meaning::lesser(const Number& a, const Number& b) {
  obligations.insert(obligations.end(), {a.defined, b.defined});
  Number y = once("min", a, b, [&] {
    const Number made = unknown("min");
    constraints.push_back((a.value <= b.value && equal(made, a)) || (b.value < a.value && equal(made, b)));
    return made;
  });
  y.defined = a.defined && b.defined;
  y.smooth = a.smooth && b.smooth && a.value != b.value;
  return y;
}

Number Meaning::sign(const Number& a) {
  Number y = once("sign", a, a, [&] {
    const Number made{fresh("sign"), real("0"), yes(), yes()};
    constraints.push_back((a.value > 0 && made.value == 1) || (a.value < 0 && made.value == -1) ||
                          (a.value == 0 && made.value == 0));
    return made;
  });
  y.defined = a.defined;
  y.smooth = a.smooth && a.value != 0;
  return y;
}

Number Meaning::step(Op op, const Number& a) {
  integers = true;
  Number y = once(op == Op::Floor ? "floor" : "ceil", a, a, [&] {
    const z3::expr whole = to_real(c_.int_const(("whole" + std::to_string(++made_)).c_str()));
    constraints.push_back(op == Op::Floor ? whole <= a.value && a.value < whole + 1
                                          : whole - 1 < a.value && a.value <= whole);
    return Number{whole, real("0"), yes(), yes()};
  });
  y.defined = a.defined;
  y.smooth = a.smooth && a.value != y.value;
  return y;
}

// The nearest integer; of two the even one, or the one that is farther from zero.
Number Meaning::nearest(Op op, const Number& a) {
  integers = true;
  Number y = once(op == Op::Rint ? "rint" : "round", a, a, [&] {
    const z3::expr whole = to_real(c_.int_const(("nearest" + std::to_string(++made_)).c_str()));
    const z3::expr twice = 2 * a.value - 2 * whole;
    const z3::expr tie = twice == 1 || twice == -1;
    constraints.push_back(twice >= -1 && twice <= 1);
    if (op == Op::Rint) {
      const z3::expr half = to_real(c_.int_const(("half" + std::to_string(++made_)).c_str()));
      constraints.push_back(!tie || whole == 2 * half);
    } else {
      constraints.push_back(!tie || (a.value > 0 && whole > a.value) || (a.value < 0 && whole < a.value));
    }
    return Number{whole, real("0"), yes(), yes()};
  });
  y.defined = a.defined;
  const z3::expr twice = 2 * a.value - 2 * y.value;
  y.smooth = a.smooth && twice != 1 && twice != -1;
  return y;
}

// Truncation: the floor of numbers from zero on, the ceiling of numbers below.
Number Meaning::truncated(const Number& a) {
  integers = true;
  Number y = once("trunc", a, a, [&] {
    const z3::expr whole = to_real(c_.int_const(("whole" + std::to_string(++made_)).c_str()));
    constraints.push_back((a.value >= 0 && whole <= a.value && a.value < whole + 1) ||
                          (a.value < 0 && whole - 1 < a.value && a.value <= whole));
    return Number{whole, real("0"), yes(), yes()};
  });
  y.defined = a.defined;
  y.smooth = a.smooth && (a.value != y.value || a.value == 0);
  return y;
}

// A zero has a sign that no real tells: either.
Number Meaning::copysign(const Number& a, const Number& b) {
  obligations.push_back(b.defined);
  const Number size = absolute(a);
  const Number factor = once("sign bit", b, b, [&] {
    const Number made{fresh("sign_bit"), real("0"), yes(), yes()};
    constraints.push_back((b.value >= 0 && made.value == 1) || (b.value <= 0 && made.value == -1));
    return made;
  });
  Number y = mul(size, factor);
  y.defined = a.defined && b.defined;
  y.smooth = size.smooth && b.smooth && b.value != 0;
  return y;
}

Number Meaning::select(const Truth& condition, const Number& a, const Number& b) {
  Number y = unknown("select");
  constraints.push_back((condition.value && equal(y, a)) || (!condition.value && equal(y, b)));
  y.defined = (condition.value && a.defined) || (!condition.value && b.defined);
  y.smooth = condition.smooth && ((condition.value && a.smooth) || (!condition.value && b.smooth));
  return y;
}

// Exponents that name a root or a product; nothing for others.
std::optional<Number> Meaning::pow(const Number& a, const PatternTerm& exponent) {
  constexpr double kThird = 1.0 / 3;
  if (exponent.kind != PatternTerm::Kind::number) return std::nullopt;
  const double n = exponent.number;
  if (n == std::round(n)) return power(a, static_cast<std::int64_t>(n));
  if (n == kThird) {
    Number y = cube_root(a);
    y.defined = y.defined && a.value >= 0;
    return y;
  }
  if (2 * n != std::round(2 * n)) return std::nullopt;
  return power(root(a), static_cast<std::int64_t>(2 * n));
}

// Floats of every precision are the same reals, and an integer as a float is what it was.
Number Meaning::cast(const Pattern& side, const PatternTerm& t) {
  const PatternTerm& of = side.terms[t.child[0]];
  const bool truth_variable = of.kind == PatternTerm::Kind::variable &&
                              std::any_of(rule_.conditions.begin(), rule_.conditions.end(), [&](const Condition& c) {
                                return c.kind == ConditionKind::of_b32 && c.variable[0] == of.variable;
                              });
  const bool compares =
      of.kind == PatternTerm::Kind::node && expr::info(static_cast<Op>(of.op)).signature == expr::Signature::Compare;
  if (truth_variable || compares) return select(truth(side, t.child[0]), constant(1), constant(0));
  const bool from_integer = (of.kind == PatternTerm::Kind::variable &&
                             std::any_of(rule_.conditions.begin(), rule_.conditions.end(), [&](const Condition& c) {
                               return c.kind == ConditionKind::of_i32 && c.variable[0] == of.variable;
                             }));
  const Number a = number(side, t.child[0]);
  if (!ir::is_int(static_cast<ir::Type>(t.sort)) || from_integer) return a;
  // A number outside the integer's type becomes the least number of the type.
  const Number whole = truncated(a);
  const char* const beyond = t.sort == static_cast<std::uint8_t>(ir::Type::i32) ? "2147483648" : "9223372036854775808";
  const z3::expr limit = real(beyond);
  Number y = whole;
  y.value = ite(whole.value >= -limit && whole.value < limit, whole.value, -limit);
  return y;
}

Number Meaning::number(const Pattern& side, std::size_t index) {
  const PatternTerm& t = side.terms[index];
  if (t.kind == PatternTerm::Kind::variable) return variable(t.variable);
  if (t.kind == PatternTerm::Kind::number) {
    for (const NamedConstant& row : kNamed)
      if (row.rounded == t.number) return named(row);
    if (t.number == kPi / 2) {
      const Number pi = named(kNamed[0]);
      return {pi.value / 2, pi.slope, yes(), yes()};
    }
    return constant(t.number);
  }
  const Op op = static_cast<Op>(t.op);
  const auto operand = [&](std::size_t i) { return number(side, t.child[i]); };
  switch (op) {
    case Op::Add: return add(operand(0), operand(1));
    case Op::Sub: return sub(operand(0), operand(1));
    case Op::Mul: return mul(operand(0), operand(1));
    case Op::Neg: return neg(operand(0));
    case Op::Fma: return add(mul(operand(0), operand(1)), operand(2));
    case Op::Div: return quotient(operand(0), operand(1));
    case Op::Recip: return quotient(constant(1), operand(0));
    case Op::Sqrt: return root(operand(0));
    case Op::Rsqrt: return quotient(constant(1), root(operand(0)));
    case Op::Cbrt: return cube_root(operand(0));
    case Op::Hypot: return norm(operand(0), operand(1));
    case Op::Powi: return power(operand(0), static_cast<std::int64_t>(t.number));
    case Op::Pow:
      if (const std::optional<Number> made = pow(operand(0), side.terms[t.child[1]])) return *made;
      return power_of(side, t.child[0], t.child[1]);
    case Op::Abs: return absolute(operand(0));
    case Op::Min: return lesser(operand(0), operand(1));
    case Op::Max: return neg(lesser(neg(operand(0)), neg(operand(1))));
    case Op::Sign: return sign(operand(0));
    case Op::Floor:
    case Op::Ceil: return step(op, operand(0));
    case Op::Trunc: return truncated(operand(0));
    case Op::Rint:
    case Op::Round: return nearest(op, operand(0));
    case Op::Copysign: return copysign(operand(0), operand(1));
    case Op::Select: return select(truth(side, t.child[0]), operand(1), operand(2));
    case Op::Cast: return cast(side, t);
    case Op::Atan2: return arc_tangent(operand(0), operand(1));
    case Op::Diff: {
      const Number a = operand(0);
      return {a.slope, real("0"), a.defined && a.smooth, c_.bool_val(false)};
    }
    default: break;
  }
  if (expr::info(op).arity == 1)
    if (std::optional<Number> made = function(op, side, t.child[0])) return *made;
  throw Beyond{std::string(expr::info(op).text)};
}

Truth Meaning::truth(const Pattern& side, std::size_t index) {
  const PatternTerm& t = side.terms[index];
  CHECK(t.kind != PatternTerm::Kind::number);
  if (t.kind == PatternTerm::Kind::variable) return {c_.bool_const(("?" + rule_.variables[t.variable]).c_str()), yes()};
  const Op op = static_cast<Op>(t.op);
  if (expr::info(op).signature == expr::Signature::Compare) {
    const Number a = number(side, t.child[0]), b = number(side, t.child[1]);
    obligations.insert(obligations.end(), {a.defined, b.defined});
    const z3::expr smooth = a.smooth && b.smooth && a.value != b.value;
    switch (op) {
      case Op::Lt: return {a.value < b.value, smooth};
      case Op::Le: return {a.value <= b.value, smooth};
      case Op::Gt: return {a.value > b.value, smooth};
      case Op::Ge: return {a.value >= b.value, smooth};
      case Op::Eq: return {a.value == b.value, smooth};
      default: return {a.value != b.value, smooth};
    }
  }
  const Truth a = truth(side, t.child[0]);
  if (op == Op::Not) return {!a.value, a.smooth};
  const Truth b = truth(side, t.child[1]);
  if (op == Op::And) return {a.value && b.value, a.smooth && b.smooth};
  if (op == Op::Or) return {a.value || b.value, a.smooth && b.smooth};
  if (op == Op::Xor) return {a.value != b.value, a.smooth && b.smooth};
  throw Beyond{std::string(expr::info(op).text)};
}

// Assumes that a truth value is true, or that it is not.
bool Meaning::assume_truth(const Condition& condition) {
  const auto is_it = [&](const Pattern& side) {
    return std::any_of(side.terms.begin(), side.terms.end(), [&](const PatternTerm& t) {
      if (t.kind != PatternTerm::Kind::node) return false;
      const Op op = static_cast<Op>(t.op);
      const bool logic = op == Op::And || op == Op::Or || op == Op::Xor || op == Op::Not;
      for (std::uint8_t i = 0; i < (logic ? expr::info(op).arity : op == Op::Select ? 1 : 0); ++i) {
        const PatternTerm& operand = side.terms[t.child[i]];
        if (operand.kind == PatternTerm::Kind::variable && operand.variable == condition.variable[0]) return true;
      }
      return false;
    });
  };
  if (!is_it(rule_.left)) return false;
  const z3::expr value = c_.bool_const(("?" + rule_.variables[condition.variable[0]]).c_str());
  if (condition.kind == ConditionKind::positive) constraints.push_back(value);
  if (condition.kind == ConditionKind::nonpositive) constraints.push_back(!value);
  return true;
}

void Meaning::assume(const Condition& condition) {
  if (assume_truth(condition)) return;
  const Number a = variable(condition.variable[0]);
  const auto steady = [&] {
    if (slopes_) constraints.push_back(a.slope == 0);
  };
  switch (condition.kind) {
    case ConditionKind::nonzero: constraints.push_back(a.value != 0); break;
    case ConditionKind::positive: constraints.push_back(a.value > 0); break;
    case ConditionKind::nonnegative: constraints.push_back(a.value >= 0); break;
    case ConditionKind::negative: constraints.push_back(a.value < 0); break;
    case ConditionKind::nonpositive: constraints.push_back(a.value <= 0); break;
    case ConditionKind::integer_two_up:
      steady();
      constraints.push_back(a.value >= 2);
      break;
    case ConditionKind::within_one: constraints.push_back(a.value >= -1 && a.value <= 1); break;
    case ConditionKind::at_least_one: constraints.push_back(a.value >= 1); break;
    case ConditionKind::within_half_pi: {
      const Number pi = named(kNamed[0]);
      constraints.push_back(2 * a.value >= -pi.value && 2 * a.value <= pi.value);
      break;
    }
    case ConditionKind::le: constraints.push_back(a.value <= variable(condition.variable[1]).value); break;
    case ConditionKind::constant:
    case ConditionKind::independent: steady(); break;
    case ConditionKind::integral:  // variable() makes it one
    // Every real is a finite number; what depends on a variable may be any.
    case ConditionKind::finite:
    case ConditionKind::number:
    case ConditionKind::symbolic:
    case ConditionKind::uniform:
    case ConditionKind::of_f32:
    case ConditionKind::of_f64:
    case ConditionKind::of_b32:
    case ConditionKind::stride: break;
    case ConditionKind::of_i32:
      constraints.push_back(a.value >= real("-2147483648") && a.value <= real("2147483647"));
      break;
  }
}

}  // namespace trident::testing
