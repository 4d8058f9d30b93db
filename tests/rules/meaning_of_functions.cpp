// Functions by their addition theorems, and by the functions that they invert.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "tests/rules/meaning.h"

namespace trident::testing {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;

std::string Meaning::text(const Pattern& side, std::size_t index) {
  const PatternTerm& t = side.terms[index];
  if (t.kind == PatternTerm::Kind::variable) return "?" + rule_.variables[t.variable];
  if (t.kind == PatternTerm::Kind::number) return std::to_string(t.number);
  const expr::OpInfo& row = expr::info(static_cast<Op>(t.op));
  std::string made = "(" + std::string(row.text);
  for (std::size_t i = 0; i < row.arity; ++i) made += " " + text(side, t.child[i]);
  return made + (t.has_payload ? " " + std::to_string(t.number) : "") + ")";
}

namespace {

LinearForm combined(LinearForm a, const LinearForm& b, double factor) {
  for (const auto& [atom, f] : b)
    if ((a[atom] += factor * f) == 0) a.erase(atom);
  return a;
}

// Products of atoms are atoms: factors sorted, so that each product has one name.
constexpr std::string_view kTimes = " * ";
std::string times(const std::string& a, const std::string& b) {
  if (a == "1") return b;
  if (b == "1") return a;
  std::vector<std::string> factors;
  for (std::string rest : {a, b}) {
    for (std::size_t cut; (cut = rest.find(kTimes)) != std::string::npos; rest = rest.substr(cut + kTimes.size()))
      factors.push_back(rest.substr(0, cut));
    factors.push_back(rest);
  }
  std::sort(factors.begin(), factors.end());
  std::string made = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i) made.append(kTimes).append(factors[i]);
  return made;
}

LinearForm product(const LinearForm& a, const LinearForm& b) {
  LinearForm made;
  for (const auto& [atom, f] : a)
    for (const auto& [other, g] : b) made = combined(made, {{times(atom, other), f * g}}, 1);
  return made;
}

}  // namespace

LinearForm Meaning::form_of(const Pattern& side, std::size_t index) {
  const PatternTerm& t = side.terms[index];
  if (t.kind == PatternTerm::Kind::number) {
    const double quarters = std::round(t.number / (kPi / 2));
    if (t.number == 0) return {};
    return quarters != 0 && t.number == quarters * (kPi / 2) ? LinearForm{{"pi", quarters / 2}}
                                                             : LinearForm{{"1", t.number}};
  }
  if (t.kind == PatternTerm::Kind::node) {
    const auto operand = [&](std::size_t i) { return form_of(side, t.child[i]); };
    switch (static_cast<Op>(t.op)) {
      case Op::Add: return combined(operand(0), operand(1), 1);
      case Op::Sub: return combined(operand(0), operand(1), -1);
      case Op::Neg: return combined({}, operand(0), -1);
      case Op::Mul: return product(operand(0), operand(1));
      default: break;
    }
  }
  const std::string atom = text(side, index);
  atoms_[atom] = {&side, index};
  return {{atom, 1}};
}

// The logarithm of a term above zero; of a product, that of its factors, if they are above zero too.
LinearForm Meaning::logarithm_of(const Pattern& side, std::size_t index) {
  obligations.push_back(number(side, index).value > 0);
  const PatternTerm& t = side.terms[index];
  if (t.kind == PatternTerm::Kind::node) {
    const auto operand = [&](std::size_t i) { return logarithm_of(side, t.child[i]); };
    switch (static_cast<Op>(t.op)) {
      case Op::Exp: return form_of(side, t.child[0]);
      case Op::Pow: return product(form_of(side, t.child[1]), operand(0));
      case Op::Mul: return combined(operand(0), operand(1), 1);
      case Op::Div: return combined(operand(0), operand(1), -1);
      default: break;
    }
  }
  const std::string atom = "(log " + text(side, index) + ")";
  logarithms_[atom] = {&side, index};
  return {{atom, 1}};
}

// Powers of numbers above zero, and of two.
Number Meaning::power_of(const Pattern& side, std::size_t base, std::size_t exponent) {
  const Number a = number(side, base), b = number(side, exponent);
  const PatternTerm& t = side.terms[base];
  if (t.kind == PatternTerm::Kind::number && t.number == 2) {
    const z3::expr two = exponential("exp2", form_of(side, exponent));
    return {two, slopes_ ? two * named(kNamed[1]).value * b.slope : real("0"), b.defined, b.smooth};
  }
  const z3::expr y = exponential("exp", product(form_of(side, exponent), logarithm_of(side, base)));
  Number made{y, real("0"), a.defined && b.defined, a.smooth && b.smooth};
  if (slopes_) made.slope = y * mul(b, inverse(Op::Log, a)).slope;
  return made;
}

// Into how many parts an atom is cut so that `factor` of it is a whole number of them.
int Meaning::parts_of(const std::string& family, const std::string& atom, double factor) {
  constexpr int kPartsMax = 4;
  int& parts = parts_.try_emplace(family + " " + atom, 1).first->second;
  if (factor * parts == std::round(factor * parts)) return parts;
  if (parts == kPartsMax) throw Beyond{"an argument with a factor of many digits"};
  parts *= 2;
  throw Finer{};
}

// Adds the known facts about exp or exp2 of a whole atom.
void Meaning::define_exponential(const std::string& family, const std::string& atom, const z3::expr& whole) {
  const bool natural = family == "exp";
  if (const auto log = logarithms_.find(atom); log != logarithms_.end() && natural) {
    const z3::expr a = number(*log->second.first, log->second.second).value;
    constraints.push_back(implies(a > 0, whole == a));
  }
  const auto known = atoms_.find(atom);
  if (known == atoms_.end()) return;
  const auto& [side, index] = known->second;
  const PatternTerm& t = side->terms[index];
  if (t.kind == PatternTerm::Kind::variable) {
    const z3::expr v = variable(t.variable).value;
    constraints.push_back((v > 0) == (whole > 1) && (v < 0) == (whole < 1));
    for (const auto& [other, other_whole] : increasing_[family])
      constraints.push_back((v < other) == (whole < other_whole) && (v > other) == (whole > other_whole));
    increasing_[family].emplace_back(v, whole);
    return;
  }
  const auto exp_of = [&](std::size_t i, double factor) {
    return exponential(family, combined({}, form_of(*side, t.child[i]), factor));
  };
  const Op op = static_cast<Op>(t.op);
  const z3::expr a = number(*side, t.child[0]).value;
  if (op == Op::Max || op == Op::Min) {
    const z3::expr b = number(*side, t.child[1]).value;
    const z3::expr first = op == Op::Max ? a >= b : a <= b;
    constraints.push_back((first && whole == exp_of(0, 1)) || (!first && whole == exp_of(1, 1)));
  }
  if (op == Op::Abs) constraints.push_back((a >= 0 && whole == exp_of(0, 1)) || (a < 0 && whole == exp_of(0, -1)));
  if (op == (natural ? Op::Log : Op::Log2)) constraints.push_back(implies(a > 0, whole == a));
  if (!natural) return;
  if (op == Op::Log1p) constraints.push_back(implies(a > -1, whole == 1 + a));
  if (op == Op::Asinh) constraints.push_back(whole * whole - 1 == 2 * a * whole);
  if (op == Op::Acosh) constraints.push_back(implies(a >= 1, whole >= 1 && whole * whole + 1 == 2 * a * whole));
  if (op == Op::Atanh) constraints.push_back(implies(a > -1 && a < 1, whole * whole * (1 - a) == 1 + a));
}

// exp or exp2 of one part of an atom, and its reciprocal.
std::pair<z3::expr, z3::expr> Meaning::exponential_atom(const std::string& family, const std::string& atom, int parts) {
  const std::string key = family + " " + atom;
  const auto found = exponentials_.find(key);
  if (found != exponentials_.end()) return found->second;
  const z3::expr e = fresh("exp"), inverse = fresh("exp_of_minus");
  constraints.push_back(e > 0 && inverse > 0 && e * inverse == 1);
  exponentials_.emplace(key, std::pair{e, inverse});
  z3::expr whole = e;
  for (int i = 1; i < parts; ++i) whole = whole * e;
  define_exponential(family, atom, whole);
  return {e, inverse};
}

z3::expr Meaning::exponential(const std::string& family, const LinearForm& form) {
  theorems.insert(family);
  z3::expr made = real("1");
  bool first = true;
  for (const auto& [atom, factor] : form) {
    const int parts = parts_of(family, atom, factor);
    const auto [e, inverse] = exponential_atom(family, atom, parts);
    for (int i = 0; i < std::fabs(factor * parts); ++i) {
      const z3::expr& next = factor > 0 ? e : inverse;
      made = first ? next : made * next;
      first = false;
    }
  }
  return made;
}

Meaning::Angle Meaning::multiple(const Angle& a, int n) {
  if (n == 0) return {real("0"), real("1")};
  const Angle once = n < 0 ? Angle{-a.sine, a.cosine} : a;
  Angle made = once;
  for (int i = 1; i < std::abs(n); ++i) made = sum(made, once);
  return made;
}

Meaning::Angle Meaning::angle_atom(const std::string& atom, int parts) {
  const auto found = angles_.find(atom);
  if (found != angles_.end()) return found->second;
  if (atom == "pi") {
    if (parts > 2) throw Beyond{"a small part of pi"};
    return parts == 1 ? Angle{real("0"), real("-1")} : Angle{real("1"), real("0")};
  }
  const Angle made{fresh("sin"), fresh("cos")};
  constraints.push_back(made.sine * made.sine + made.cosine * made.cosine == 1);
  angles_.emplace(atom, made);
  const auto known = atoms_.find(atom);
  if (known == atoms_.end()) return made;
  const PatternTerm& t = known->second.first->terms[known->second.second];
  if (t.kind != PatternTerm::Kind::node) return made;
  const Op op = static_cast<Op>(t.op);
  if (op != Op::Asin && op != Op::Acos && op != Op::Atan) return made;
  const z3::expr a = number(*known->second.first, t.child[0]).value;
  const Angle whole = multiple(made, parts);
  const z3::expr inside = a >= -1 && a <= 1;
  if (op == Op::Asin) constraints.push_back(implies(inside, whole.sine == a && whole.cosine >= 0));
  if (op == Op::Acos) constraints.push_back(implies(inside, whole.cosine == a && whole.sine >= 0));
  if (op == Op::Atan) constraints.push_back(whole.sine == a * whole.cosine && whole.cosine > 0);
  return made;
}

Meaning::Angle Meaning::angle(const LinearForm& form) {
  theorems.insert("sin and cos");
  std::optional<Angle> made;
  for (const auto& [atom, factor] : form) {
    const int parts = parts_of("angle", atom, factor);
    const Angle next = multiple(angle_atom(atom, parts), static_cast<int>(factor * parts));
    made = made ? sum(*made, next) : next;
  }
  return made ? *made : multiple({real("0"), real("1")}, 0);
}

// Functions by exp, sin and cos, and inverse functions; nothing for others.
std::optional<Number> Meaning::function(Op op, const Pattern& side, std::size_t operand) {
  const Number a = number(side, operand);
  const auto along = [&](const z3::expr& value, const z3::expr& rate) {
    return Number{value, slopes_ ? rate * a.slope : real("0"), a.defined, a.smooth};
  };
  if (op == Op::Sin || op == Op::Cos || op == Op::Tan) {
    const Angle t = angle(form_of(side, operand));
    const Number sine = along(t.sine, t.cosine), cosine = along(t.cosine, -t.sine);
    return op == Op::Sin ? sine : op == Op::Cos ? cosine : quotient(sine, cosine);
  }
  if (op == Op::Exp2) {
    const z3::expr e = exponential("exp2", form_of(side, operand));
    return slopes_ ? along(e, e * named(kNamed[1]).value) : along(e, e);
  }
  if (op == Op::Exp || op == Op::Expm1 || op == Op::Sinh || op == Op::Cosh || op == Op::Tanh) {
    const LinearForm form = form_of(side, operand);
    const z3::expr e = exponential("exp", form);
    const Number up = along(e, e);
    if (op == Op::Exp) return up;
    if (op == Op::Expm1) return sub(up, constant(1));
    LinearForm negative;
    for (const auto& [atom, factor] : form) negative[atom] = -factor;
    const z3::expr d = exponential("exp", negative);
    const Number down = along(d, -d);
    if (op == Op::Tanh) return quotient(sub(up, down), add(up, down));
    return mul(constant(0.5), op == Op::Sinh ? sub(up, down) : add(up, down));
  }
  static constexpr Op kInverses[] = {Op::Log,  Op::Log2, Op::Log10, Op::Log1p, Op::Asin,
                                     Op::Acos, Op::Atan, Op::Asinh, Op::Acosh, Op::Atanh};
  if (std::find(std::begin(kInverses), std::end(kInverses), op) == std::end(kInverses)) return std::nullopt;
  return inverse(op, a);
}

// y with f(y) = a, and so f'(y) y' = a', where f' is an algebraic function of a.
Number Meaning::inverse(Op op, const Number& a) {
  theorems.insert("inverse functions");
  const z3::expr one = real("1");
  const Number number_one = constant(1);
  const Number square = mul(a, a);
  z3::expr inside = yes(), smooth = yes();
  std::function<z3::expr()> rate;  // f'(y)
  switch (op) {
    case Op::Log:
      inside = smooth = a.value > 0;
      rate = [&] { return a.value; };
      break;
    case Op::Log2:
      inside = smooth = a.value > 0;
      rate = [&] { return a.value * named(kNamed[1]).value; };
      break;
    case Op::Log10:
      inside = smooth = a.value > 0;
      rate = [&] { return a.value * named(kNamed[2]).value; };
      break;
    case Op::Log1p:
      inside = smooth = a.value > -1;
      rate = [&] { return 1 + a.value; };
      break;
    case Op::Asin:
    case Op::Acos:
      inside = a.value >= -1 && a.value <= 1;
      smooth = a.value > -1 && a.value < 1;
      rate = [&] {
        const z3::expr other = root(sub(number_one, square)).value;
        return op == Op::Asin ? other : -other;
      };
      break;
    case Op::Atan: rate = [&] { return 1 + square.value; }; break;
    case Op::Asinh: rate = [&] { return root(add(number_one, square)).value; }; break;
    case Op::Acosh:
      inside = a.value >= 1;
      smooth = a.value > 1;
      rate = [&] { return root(sub(square, number_one)).value; };
      break;
    default:  // Atanh
      inside = smooth = a.value > -1 && a.value < 1;
      rate = [&] { return one - square.value; };
      break;
  }
  Number y = once(std::string(expr::info(op).text), a, a, [&] {
    const Number made = unknown("inverse");
    if (slopes_) constraints.push_back(implies(smooth, made.slope * rate() == a.slope));
    return made;
  });
  y.defined = a.defined && inside;
  y.smooth = a.smooth && smooth;
  return y;
}

// The angle of the point (b, a) = r (cos y, sin y), differentiated on both sides.
Number Meaning::arc_tangent(const Number& a, const Number& b) {
  theorems.insert("sin and cos");
  if (!slopes_) throw Beyond{"atan2"};
  Number y = unknown("angle");
  const Number r = norm(a, b);
  const z3::expr sine = fresh("sin"), cosine = fresh("cos");
  const auto turned = [&](const z3::expr& value, const z3::expr& rate) {
    return Number{value, rate * y.slope, yes(), yes()};
  };
  const z3::expr on_cut = a.value == 0 && b.value <= 0;
  constraints.push_back(sine * sine + cosine * cosine == 1);
  constraints.push_back(
      implies(!on_cut, equal(mul(r, turned(sine, cosine)), a) && equal(mul(r, turned(cosine, -sine)), b)));
  y.defined = a.defined && b.defined;
  y.smooth = a.smooth && b.smooth && !on_cut;
  return y;
}

}  // namespace trident::testing
