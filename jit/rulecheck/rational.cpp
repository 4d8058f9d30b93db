#include "jit/rulecheck/rational.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;
using Kind = RationalValue::Kind;

constexpr int kPowerMax = 16;

constexpr Op kRational[] = {Op::Add,  Op::Sub, Op::Mul,  Op::Div,    Op::Neg,  Op::Recip,   Op::Fma,  Op::Min,
                            Op::Max,  Op::Abs, Op::Sign, Op::Floor,  Op::Ceil, Op::Trunc,   Op::Rint, Op::Round,
                            Op::Fmod, Op::Lt,  Op::Le,   Op::Gt,     Op::Ge,   Op::Eq,      Op::Ne,   Op::And,
                            Op::Or,   Op::Xor, Op::Not,  Op::Select, Op::Powi, Op::Copysign};

RationalValue number(mpq_class value) {
  return {Kind::number, std::move(value), false};
}
RationalValue truth(bool value) {
  return {Kind::truth, 0, value};
}

mpq_class rounded(Op op, const mpq_class& a) {
  const mpz_class down = floor_of(a);
  if (op == Op::Floor) return down;
  if (op == Op::Ceil) return -floor_of(-a);
  if (op == Op::Trunc) return a < 0 ? mpq_class(-floor_of(-a)) : mpq_class(down);
  const mpq_class half(1, 2);
  if (op == Op::Round) return a < 0 ? mpq_class(-floor_of(-a + half)) : mpq_class(floor_of(a + half));
  const mpq_class rest = a - down;
  const bool up = rest > half || (rest == half && down % 2 != 0);
  return up ? mpq_class(down + 1) : mpq_class(down);
}

RationalValue divided(const mpq_class& a, const mpq_class& b) {
  if (b == 0) return {};
  return number(a / b);
}

RationalValue power(const mpq_class& a, int n) {
  mpq_class made = 1;
  for (int i = 0; i < std::abs(n); ++i) made *= a;
  return n < 0 ? divided(1, made) : number(made);
}

bool compared(Op op, const mpq_class& a, const mpq_class& b) {
  if (op == Op::Lt) return a < b;
  if (op == Op::Le) return a <= b;
  if (op == Op::Gt) return a > b;
  if (op == Op::Ge) return a >= b;
  return (a == b) == (op == Op::Eq);
}

RationalValue of_truths(Op op, bool a, bool b) {
  if (op == Op::Not) return truth(!a);
  if (op == Op::And) return truth(a && b);
  return truth(op == Op::Or ? a || b : a != b);
}

RationalValue applied(const PatternTerm& t, const mpq_class& a, const mpq_class& b, const mpq_class& c) {
  const Op op = static_cast<Op>(t.op);
  if (expr::info(op).signature == expr::Signature::Compare) return truth(compared(op, a, b));
  if (op == Op::Add) return number(a + b);
  if (op == Op::Sub) return number(a - b);
  if (op == Op::Mul) return number(a * b);
  if (op == Op::Fma) return number(a * b + c);
  if (op == Op::Neg) return number(-a);
  if (op == Op::Abs) return number(abs(a));
  if (op == Op::Sign) return number(sgn(a));
  if (op == Op::Div) return divided(a, b);
  if (op == Op::Recip) return divided(1, a);
  if (op == Op::Min) return number(mpq_class(a < b ? a : b));
  if (op == Op::Max) return number(mpq_class(a < b ? b : a));
  if (op == Op::Powi) return power(a, static_cast<int>(t.number));
  if (op == Op::Copysign)
    return b == 0 ? RationalValue{Kind::open, 0, false} : number(b < 0 ? mpq_class(-abs(a)) : mpq_class(abs(a)));
  if (op == Op::Fmod) return b == 0 ? RationalValue{} : number(a - b * rounded(Op::Trunc, a / b));
  return number(rounded(op, a));
}

RationalValue node(const PatternTerm& t, const std::vector<RationalValue>& made) {
  const Op op = static_cast<Op>(t.op);
  const RationalValue& a = made[t.child[0]];
  if (op == Op::Select) return a.kind == Kind::truth ? made[t.child[a.truth ? 1 : 2]] : a;
  const std::uint8_t arity = expr::info(op).arity;
  const RationalValue& b = arity > 1 ? made[t.child[1]] : a;
  const RationalValue& c = arity > 2 ? made[t.child[2]] : a;
  for (const RationalValue* operand : {&a, &b, &c})
    if (operand->kind == Kind::open) return *operand;
  for (const RationalValue* operand : {&a, &b, &c}) {
    // What comparisons and extrema make of NaN is not for reals to say.
    const bool says = expr::info(op).signature == expr::Signature::Compare || op == Op::Min || op == Op::Max;
    if (operand->kind == Kind::none) return {says ? Kind::open : Kind::none, 0, false};
  }
  if (a.kind == Kind::truth) return of_truths(op, a.truth, b.truth);
  return applied(t, a.number, b.number, c.number);
}

// A fraction of small terms that rounds to the constant, by continued fractions.
std::optional<mpq_class> small_fraction(double constant) {
  constexpr long kDenominatorMax = 1000;
  const mpq_class exact(constant);
  mpq_class rest = exact;
  mpz_class p = 1, q = 0, p_before = 0, q_before = 1;
  for (int i = 0; i < 40; ++i) {
    const mpz_class whole = floor_of(rest);
    const mpz_class p_next = whole * p + p_before, q_next = whole * q + q_before;
    p_before = p, q_before = q, p = p_next, q = q_next;
    if (q > kDenominatorMax) return std::nullopt;
    const mpq_class fraction(p, q);
    // get_d() truncates: the nearest double is this or the next.
    const double near = fraction.get_d();
    if (near == constant || abs(fraction - exact) * 2 <= mpq_class(std::nextafter(std::fabs(constant), HUGE_VAL)) -
                                                             mpq_class(std::fabs(constant)))
      return fraction;
    rest -= whole;
    if (rest == 0) return std::nullopt;
    rest = 1 / rest;
  }
  return std::nullopt;
}

}  // namespace

mpz_class floor_of(const mpq_class& x) {
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return whole;
}

std::optional<mpq_class> meant_by(double constant) {
  if (!std::isfinite(constant)) return std::nullopt;
  if (constant * 1024 == std::round(constant * 1024)) return mpq_class(constant);
  if (const auto fraction = small_fraction(constant)) return fraction;
  // A decimal of few digits.
  char text[40];
  std::snprintf(text, sizeof text, "%.11e", constant);
  if (std::strtod(text, nullptr) != constant) return std::nullopt;
  std::string digits(text);
  const std::size_t e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1) - 11;
  digits.erase(e);
  std::erase(digits, '.');
  mpz_class scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  const mpz_class whole(digits);
  mpq_class made = exponent < 0 ? mpq_class(whole, scale) : mpq_class(whole * scale);
  made.canonicalize();
  return made;
}

bool is_rational(const Pattern& side) {
  for (const PatternTerm& t : side.terms) {
    if (t.kind == PatternTerm::Kind::number && !meant_by(t.number)) return false;
    if (t.kind != PatternTerm::Kind::node) continue;
    const Op op = static_cast<Op>(t.op);
    if (std::find(std::begin(kRational), std::end(kRational), op) == std::end(kRational)) return false;
    if (op == Op::Powi && std::fabs(t.number) > kPowerMax) return false;
  }
  return true;
}

std::vector<RationalValue> rational_values(const Pattern& side, const std::vector<mpq_class>& values,
                                           const Sorts& sorts) {
  std::vector<RationalValue> made;
  made.reserve(side.terms.size());
  for (const PatternTerm& t : side.terms) {
    if (t.kind == PatternTerm::Kind::variable)
      made.push_back(sorts.truth[t.variable] ? truth(values[t.variable] != 0) : number(values[t.variable]));
    else if (t.kind == PatternTerm::Kind::number)
      made.push_back(number(*meant_by(t.number)));
    else
      made.push_back(node(t, made));
  }
  return made;
}

}  // namespace trident::rulecheck
