#include "jit/rulecheck/rational.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;
using RationalKind = RationalValue::Kind;

constexpr int kPowerMax = 16;

constexpr Op kRational[] = {Op::Add,  Op::Sub, Op::Mul,  Op::Div,    Op::Neg,  Op::Recip,   Op::Fma,  Op::Min,
                            Op::Max,  Op::Abs, Op::Sign, Op::Floor,  Op::Ceil, Op::Trunc,   Op::Rint, Op::Round,
                            Op::Fmod, Op::Lt,  Op::Le,   Op::Gt,     Op::Ge,   Op::Eq,      Op::Ne,   Op::And,
                            Op::Or,   Op::Xor, Op::Not,  Op::Select, Op::Powi, Op::Copysign};

RationalValue number(mpq_class value) {
  return {RationalKind::number, std::move(value), false};
}
RationalValue truth(bool value) {
  return {RationalKind::truth, 0, value};
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
    return b == 0 ? RationalValue{RationalKind::open, 0, false}
                  : number(b < 0 ? mpq_class(-abs(a)) : mpq_class(abs(a)));
  if (op == Op::Fmod) return b == 0 ? RationalValue{} : number(a - b * rounded(Op::Trunc, a / b));
  return number(rounded(op, a));
}

RationalValue node(const PatternTerm& t, const std::vector<RationalValue>& made) {
  const Op op = static_cast<Op>(t.op);
  const RationalValue& a = made[t.child[0]];
  if (op == Op::Select) return a.kind == RationalKind::truth ? made[t.child[a.truth ? 1 : 2]] : a;
  const std::uint8_t arity = expr::info(op).arity;
  const RationalValue& b = arity > 1 ? made[t.child[1]] : a;
  const RationalValue& c = arity > 2 ? made[t.child[2]] : a;
  for (const RationalValue* operand : {&a, &b, &c})
    if (operand->kind == RationalKind::open) return *operand;
  for (const RationalValue* operand : {&a, &b, &c}) {
    // The reals do not define comparisons and extrema with NaN.
    const bool says = expr::info(op).signature == expr::Signature::Compare || op == Op::Min || op == Op::Max;
    if (operand->kind == RationalKind::none) return {says ? RationalKind::open : RationalKind::none, 0, false};
  }
  if (a.kind == RationalKind::truth) return of_truths(op, a.truth, b.truth);
  return applied(t, a.number, b.number, c.number);
}

}  // namespace

mpq_class fraction_of(double constant, const Sorts& sorts) {
  const auto found = sorts.meant.find(constant);
  return found != sorts.meant.end() ? found->second : mpq_class(constant);
}

bool is_rational(const Pattern& side, const Sorts& sorts) {
  for (const PatternTerm& t : side.terms) {
    if (t.kind == PatternTerm::Kind::number && !is_dyadic(t.number) && !sorts.meant.contains(t.number)) return false;
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
      made.push_back(number(fraction_of(t.number, sorts)));
    else
      made.push_back(node(t, made));
  }
  return made;
}

}  // namespace trident::rulecheck
