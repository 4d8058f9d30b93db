// Rounding is monotone, so the operation itself, in its type, maps the ends of an interval: no widening is needed.
// Values that may be infinite or NaN get no interval: they seldom decide anything.
#include "jit/kir/value_facts.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "jit/kir/interpreter.h"

namespace trident::kir {
namespace {

Known magnitude_of(const Known& a) {
  return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(std::fabs(a.lo), std::fabs(a.hi)), a.may_be_nan};
}

// Facts of a < b ? a : b. A NaN in either operand gives b.
Known least_of(const Known& a, const Known& b) {
  const bool always_number = !a.may_be_nan && !b.may_be_nan;
  return {std::min(a.lo, b.lo), always_number ? std::min(a.hi, b.hi) : b.hi, b.may_be_nan};
}

/// Returns the magic constant: adding it rounds a float to an integer, which its low bits then hold.
double magic(Type type) {
  return type == Type::f32 ? 0x1.8p23 : 0x1.8p52;
}

bool is_low_bits(std::int64_t k) {
  const auto bits = static_cast<std::uint64_t>(k);
  return k >= 0 && (bits & (bits + 1)) == 0;
}

}  // namespace

Known ValueFacts::scaled(Type type, const Known& a, const Known& b) {
  constexpr double kExponentMax = 4096;
  if (!finite(a) || !finite(b) || b.lo < -kExponentMax || b.hi > kExponentMax) return {};
  const auto corner = [&](double x, double exponent) {
    return load(type, store(type, std::scalbn(x, static_cast<int>(exponent))));
  };
  const double least = std::floor(b.lo), greatest = std::ceil(b.hi);
  return {std::min(corner(a.lo, least), corner(a.lo, greatest)), std::max(corner(a.hi, least), corner(a.hi, greatest)),
          false};
}

bool ValueFacts::dominates(Value a, Value b) const {
  const Known &x = fact(a).known, &y = fact(b).known;
  return nonzero(a) && finite(x) && finite(y) &&
         std::min(std::fabs(x.lo), std::fabs(x.hi)) >= std::max(std::fabs(y.lo), std::fabs(y.hi));
}

bool ValueFacts::is_error_of(Value x, Value y) const {
  const Inst &error = to_.at(x), &product = to_.at(y);
  if (error.op != Op::Fms || product.op != Op::Mul || error.c != y) return false;
  const bool same = (error.a == product.a && error.b == product.b) || (error.a == product.b && error.b == product.a);
  const Known& k = fact(y).known;
  // Large enough that no part of it underflows.
  const double least = std::min(std::fabs(k.lo), std::fabs(k.hi));
  return same && finite(k) && least > (product.type == Type::f32 ? 0x1p-60 : 0x1p-900);
}

Known ValueFacts::ends(const Inst& inst, std::initializer_list<std::array<double, 3>> corners) const {
  Known k{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), false};
  for (const auto& [a, b, c] : corners) {
    const double value = load(inst.type, eval_lane(inst.op, inst.type, inst.type, store(inst.type, a),
                                                   store(inst.type, b), store(inst.type, c)));
    if (std::isnan(value)) return {};
    k.lo = std::min(k.lo, value);
    k.hi = std::max(k.hi, value);
  }
  return k;
}

Value ValueFacts::magic_sum_of(Value n) const {
  const Inst& taken = to_.at(n);
  if (taken.op != Op::Sub || !is(taken.b, store(taken.type, magic(taken.type)))) return {};
  return taken.a;
}

ValueFacts::Integers ValueFacts::bits_of_float(Value v) const {
  const Type type = to_.at(v).type;
  if (!ir::is_float(type)) return kAnyInteger;
  const Fact& f = fact(v);
  const Known& k = f.known;
  const auto bits = [&](double value) { return static_cast<std::int64_t>(store(type, value)); };
  if (k.may_be_nan) return kAnyInteger;
  if (k.hi < 0) return {INT64_MIN, -1};  // the sign bit is set
  if (k.lo > 0 || (k.lo == 0 && !f.may_be_minus_zero)) return {bits(std::fabs(k.lo)), bits(k.hi)};
  return kAnyInteger;
}

Fact ValueFacts::fact_of(const Inst& inst) const {
  Fact f;
  if (inst.op == Op::Constant) {
    if (ir::is_float(inst.type)) {
      const double value = load(inst.type, inst.imm);
      if (!std::isnan(value)) f.known = {value, value, false};
      f.may_be_minus_zero = value == 0 && std::signbit(value);
    } else if (ir::is_int(inst.type)) {
      f.least = f.greatest = load_int(inst.type, inst.imm);
    }
    return f;
  }
  if (ir::is_float(inst.type)) {
    f.known = known_of(inst);
    f.may_be_minus_zero = may_be_minus_zero(inst, f.known);
  }
  if (ir::is_int(inst.type)) std::tie(f.least, f.greatest) = integers_of(inst);
  return f;
}

bool ValueFacts::may_be_minus_zero(const Inst& inst, const Known& known) const {
  if (known.lo > 0 || known.hi < 0) return false;
  const auto may = [&](Value v) { return fact(v).may_be_minus_zero; };
  if (inst.op == Op::Add) return may(inst.a) && may(inst.b);
  if (inst.op == Op::Sub) return may(inst.a);
  if (inst.op == Op::Mul) {  // a factor of at least one makes nothing underflow
    const Known &a = fact(inst.a).known, &b = fact(inst.b).known;
    return !((a.lo >= 1 && !a.may_be_nan && !may(inst.b)) || (b.lo >= 1 && !b.may_be_nan && !may(inst.a)));
  }
  if (inst.op == Op::Select) return may(inst.b) || may(inst.c);
  return inst.op != Op::Abs;
}

Known ValueFacts::known_of(const Inst& inst) const {
  const auto known = [&](Value v) -> Known { return v.valid() ? fact(v).known : Known{}; };
  const Known a = known(inst.a), b = known(inst.b), c = known(inst.c);
  const bool one = finite(a), two = one && finite(b), three = two && finite(c);
  const bool fused = inst.op == Op::Fma || inst.op == Op::Fms || inst.op == Op::Fnma || inst.op == Op::Fnms;
  const bool step = inst.op == Op::Rint || inst.op == Op::Floor || inst.op == Op::Ceil || inst.op == Op::Trunc;
  const bool quotient = inst.op == Op::Div && (b.lo > 0 || b.hi < 0);
  if (inst.op == Op::Add && two) return ends(inst, {{a.lo, b.lo, 0}, {a.hi, b.hi, 0}});
  if (const std::optional<Known> k = remainder_of(inst)) return *k;
  if (inst.op == Op::Sub && two) return ends(inst, {{a.lo, b.hi, 0}, {a.hi, b.lo, 0}});
  if ((inst.op == Op::Mul || quotient) && two)
    return ends(inst, {{a.lo, b.lo, 0}, {a.lo, b.hi, 0}, {a.hi, b.lo, 0}, {a.hi, b.hi, 0}});
  if (fused && three)
    return ends(inst, {{a.lo, b.lo, c.lo},
                       {a.lo, b.hi, c.lo},
                       {a.hi, b.lo, c.lo},
                       {a.hi, b.hi, c.lo},
                       {a.lo, b.lo, c.hi},
                       {a.lo, b.hi, c.hi},
                       {a.hi, b.lo, c.hi},
                       {a.hi, b.hi, c.hi}});
  if ((step || inst.op == Op::Neg || (inst.op == Op::Sqrt && a.lo >= 0)) && one)
    return ends(inst, {{a.lo, 0, 0}, {a.hi, 0, 0}});
  if (inst.op == Op::Abs) return magnitude_of(a);
  if (inst.op == Op::Min) return least_of(a, b);
  if (inst.op == Op::Max) {  // the negative of the least of the negatives
    const Known k = least_of({-a.hi, -a.lo, a.may_be_nan}, {-b.hi, -b.lo, b.may_be_nan});
    return {-k.hi, -k.lo, k.may_be_nan};
  }
  if (inst.op == Op::Select) return {std::min(b.lo, c.lo), std::max(b.hi, c.hi), b.may_be_nan || c.may_be_nan};
  if (inst.op == Op::Scalef) return scaled(inst.type, a, b);
  if (inst.op == Op::Bitcast || inst.op == Op::Convert) return converted(inst);
  return {};
}

Known ValueFacts::converted(const Inst& inst) const {
  const Type from = to_.at(inst.a).type;
  const Fact& f = fact(inst.a);
  if (inst.op == Op::Bitcast) {
    const double greatest = load(inst.type, static_cast<std::uint64_t>(f.greatest));
    if (!ir::is_int(from) || f.least < 0 || !std::isfinite(greatest)) return {};
    return {load(inst.type, static_cast<std::uint64_t>(f.least)), greatest, false};
  }
  const auto end = [&](std::uint64_t bits) { return load(inst.type, eval_lane(inst.op, inst.type, from, bits, 0, 0)); };
  if (ir::is_int(from)) {
    const std::int64_t limit = from == Type::i32 ? INT32_MAX : INT64_MAX;
    const std::int64_t least = std::max(f.least, -limit - 1), greatest = std::min(f.greatest, limit);
    return {end(static_cast<std::uint64_t>(least)), end(static_cast<std::uint64_t>(greatest)), false};
  }
  if (!ir::is_float(from) || !finite(f.known)) return {};
  return {end(store(from, f.known.lo)), end(store(from, f.known.hi)), false};
}

std::optional<Known> ValueFacts::remainder_of(const Inst& inst) const {
  const bool whole = inst.op == Op::Sub;
  if (!whole && inst.op != Op::Fnma) return std::nullopt;
  const Value x = whole ? inst.a : inst.c;
  Value n = whole ? inst.b : inst.a, step = whole ? Value{} : inst.b;
  if (!whole && b_.is_constant(n)) std::swap(n, step);
  const Value sum = magic_sum_of(n);
  if (!sum.valid() || (!whole && !b_.is_constant(step))) return std::nullopt;
  const Inst& t = to_.at(sum);
  const auto is_magic = [&](Value v) { return is(v, store(inst.type, magic(inst.type))); };
  double rate = 1;
  if (whole) {
    if (t.op != Op::Add || !((t.a == x && is_magic(t.b)) || (t.b == x && is_magic(t.a)))) return std::nullopt;
  } else {
    const Value factor = t.a == x ? t.b : t.a;
    if (t.op != Op::Fma || (t.a != x && t.b != x) || !is_magic(t.c) || !b_.is_constant(factor)) return std::nullopt;
    rate = load(inst.type, b_.bits_of(factor));
  }
  const double size = whole ? 1 : load(inst.type, b_.bits_of(step));
  const Known& k = fact(x).known;
  const double most = std::max(std::fabs(k.lo), std::fabs(k.hi));
  if (!finite(k) || !(most * std::fabs(rate) < (inst.type == Type::f32 ? 0x1p21 : 0x1p50))) return std::nullopt;
  const double reach = std::fabs(size) / 2 + most * std::fabs(1 - rate * size);
  const double bound = load(inst.type, store(inst.type, reach * (1 + 0x1p-20) + most * 0x1p-50));
  return Known{-bound, bound, false};
}

ValueFacts::Integers ValueFacts::integers_of(const Inst& inst) const {
  if (inst.op == Op::Bitcast) return bits_of_float(inst.a);
  if (inst.op == Op::Input && ir::is_integer(to_.inputs[inst.imm].storage) &&
      ir::converts(to_.inputs[inst.imm].storage)) {
    const ir::Storage storage = to_.inputs[inst.imm].storage;
    return {static_cast<std::int64_t>(ir::facts_of(storage).lo), static_cast<std::int64_t>(ir::most_loaded(storage))};
  }
  if (inst.op == Op::Sub) return difference(inst);
  if (inst.op == Op::Shr && b_.is_constant(inst.b)) {
    const std::int64_t count = load_int(inst.type, b_.bits_of(inst.b));
    const Fact& f = fact(inst.a);
    if (f.least < 0 || count < 0 || count >= 8 * static_cast<std::int64_t>(ir::bytes_of(inst.type))) return kAnyInteger;
    return {f.least >> count, f.greatest >> count};
  }
  if (inst.op != Op::And) return arithmetic(inst);
  const Value constant = b_.is_constant(inst.a) ? inst.a : inst.b;
  const Fact& f = fact(b_.is_constant(inst.a) ? inst.b : inst.a);
  if (!b_.is_constant(constant)) return kAnyInteger;
  const std::int64_t k = load_int(inst.type, b_.bits_of(constant));
  if (is_low_bits(~k)) return {f.least & k, f.greatest & k};  // rounded down to a multiple
  if (!is_low_bits(k)) return kAnyInteger;
  if (f.least >= 0 && (f.least & ~k) == (f.greatest & ~k)) return {f.least & k, f.greatest & k};
  return {0, k};
}

ValueFacts::Integers ValueFacts::integers(Value v) const {
  const Fact& f = fact(v);
  if (to_.type_of(v) != Type::i32) return {f.least, f.greatest};
  return {std::max<std::int64_t>(f.least, INT32_MIN), std::min<std::int64_t>(f.greatest, INT32_MAX)};
}

ValueFacts::Integers ValueFacts::arithmetic(const Inst& inst) const {
  const auto within = [&](Integers found) {
    const std::int64_t most = inst.type == Type::i32 ? INT32_MAX : INT64_MAX;
    return found.first < -most - 1 || found.second > most ? kAnyInteger : found;
  };
  const auto is_int = [&](Value v) { return v.valid() && ir::is_int(to_.type_of(v)); };
  if (inst.op == Op::Select) {
    const auto [b_least, b_greatest] = integers(inst.b);
    const auto [c_least, c_greatest] = integers(inst.c);
    return {std::min(b_least, c_least), std::max(b_greatest, c_greatest)};
  }
  if (!is_int(inst.a)) return kAnyInteger;
  const auto [a_least, a_greatest] = integers(inst.a);
  if (inst.op == Op::Convert) return within({a_least, a_greatest});
  if (a_least == INT64_MIN && (inst.op == Op::Neg || inst.op == Op::Abs)) return kAnyInteger;
  if (inst.op == Op::Neg) return within({-a_greatest, -a_least});
  if (inst.op == Op::Abs)
    return within({a_least > 0 ? a_least : a_greatest < 0 ? -a_greatest : 0, std::max(-a_least, a_greatest)});
  if (!is_int(inst.b)) return kAnyInteger;
  auto [b_least, b_greatest] = integers(inst.b);
  if (inst.op == Op::Min) return {std::min(a_least, b_least), std::min(a_greatest, b_greatest)};
  if (inst.op == Op::Max) return {std::max(a_least, b_least), std::max(a_greatest, b_greatest)};
  if (inst.op == Op::Add) {
    Integers sum;
    const bool wraps = __builtin_add_overflow(a_least, b_least, &sum.first) ||
                       __builtin_add_overflow(a_greatest, b_greatest, &sum.second);
    return wraps ? kAnyInteger : within(sum);
  }
  const bool is_scaled = inst.op == Op::Shl && b_least == b_greatest && b_least >= 0 && b_least < 62;
  if (is_scaled) b_least = b_greatest = std::int64_t{1} << b_least;
  if (inst.op != Op::Mul && !is_scaled) return kAnyInteger;
  Integers product{INT64_MAX, INT64_MIN};
  for (const std::int64_t x : {a_least, a_greatest})
    for (const std::int64_t y : {b_least, b_greatest}) {
      std::int64_t corner = 0;
      if (__builtin_mul_overflow(x, y, &corner)) return kAnyInteger;
      product = {std::min(product.first, corner), std::max(product.second, corner)};
    }
  if (inst.op == Op::Mul && inst.a == inst.b) product.first = std::max<std::int64_t>(product.first, 0);  // a square
  return within(product);
}

ValueFacts::Integers ValueFacts::difference(const Inst& inst) const {
  const std::int64_t most = inst.type == Type::i32 ? INT32_MAX : INT64_MAX;
  const Inst& high = to_.at(inst.b);
  if (high.op == Op::And) {
    const Value mask = b_.is_constant(high.a) ? high.a : high.b;
    const Inst& inner = to_.at(b_.is_constant(high.a) ? high.b : high.a);
    if (b_.is_constant(mask) && inner.op == Op::Sub && inner.a == inst.a && b_.is_constant(inner.b)) {
      const std::int64_t low = ~load_int(inst.type, b_.bits_of(mask)), c = load_int(inst.type, b_.bits_of(inner.b));
      if (is_low_bits(low) && c >= 0 && c <= most - low) return {c, c + low};
    }
  }
  const Fact &a = fact(inst.a), &b = fact(inst.b);
  std::int64_t least = 0, greatest = 0;
  if (__builtin_sub_overflow(a.least, b.greatest, &least) || __builtin_sub_overflow(a.greatest, b.least, &greatest) ||
      least < -most - 1 || greatest > most)
    return kAnyInteger;
  return {least, greatest};
}

}  // namespace trident::kir
