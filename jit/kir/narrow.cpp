// Rounding is monotone, so the operation itself, in its type, maps the ends of an interval: no widening is needed.
// Values that may be infinite or NaN get no interval: they seldom decide anything.
#include "jit/kir/narrow.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "runtime/base/check.h"

namespace trident::kir {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};

/// A float's known interval and whether it may be -0; an integer's least and greatest value.
struct Fact {
  Known known{};
  bool may_be_minus_zero = true;
  std::int64_t least = INT64_MIN, greatest = INT64_MAX;
};

double load(Type type, std::uint64_t bits) {
  return type == Type::f32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                           : std::bit_cast<double>(bits);
}
std::uint64_t store(Type type, double value) {
  return type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                           : std::bit_cast<std::uint64_t>(value);
}
std::int64_t load_int(Type type, std::uint64_t bits) {
  return type == Type::i32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))
                           : static_cast<std::int64_t>(bits);
}

bool finite(const Known& k) {
  return !k.may_be_nan && std::isfinite(k.lo) && std::isfinite(k.hi);
}

class Narrowing {
 public:
  Narrowing(const Kernel& from, const std::vector<Known>& known) : from_(from), known_(known), b_(to_) {
    to_.inputs = from.inputs;
    to_.params = from.params;
  }

  Kernel run() {
    for (std::uint32_t i = 0; i < from_.insts.size(); ++i) {
      const Inst& inst = from_.insts[i];
      Value made = make(inst);
      analyse();
      if (i < known_.size() && ir::is_float(inst.type)) meet(facts_[made.index].known, known_[i]);
      made = as_constant(made);
      analyse();
      value_.push_back(made);
    }
    for (const Output& o : from_.outputs) to_.outputs.push_back({o.name, value_[o.value.index], o.kind});
    return std::move(to_);
  }

 private:
  static void meet(Known& k, const Known& other) {
    if (other.lo > k.hi || other.hi < k.lo) return;  // one select operand is never computed
    k.lo = std::max(k.lo, other.lo);
    k.hi = std::min(k.hi, other.hi);
    k.may_be_nan = k.may_be_nan && other.may_be_nan;
  }

  [[nodiscard]] Value at(Value old) const { return old.valid() ? value_[old.index] : Value{}; }
  [[nodiscard]] const Fact& fact(Value v) const {
    CHECK(v.index < facts_.size());  // none for instructions appended since analyse()
    return facts_[v.index];
  }
  [[nodiscard]] bool is(Value v, std::uint64_t bits) const { return b_.is_constant(v) && b_.bits_of(v) == bits; }
  Value mask(Type type, bool set) {
    return b_.constant_bits(type, set ? (ir::bytes_of(type) == 4 ? kAllOnes >> 32 : kAllOnes) : 0);
  }

  Value make(const Inst& inst) {
    const Value a = at(inst.a), b = at(inst.b), c = at(inst.c);
    const auto number = static_cast<std::uint32_t>(inst.imm);
    const Signature signature = info(inst.op).signature;
    if (inst.op == Op::Lookup) return lookup(from_.tables[number], a);
    if (inst.op == Op::Gather) return b_.gather(number, a);
    if (inst.op == Op::Strided) return b_.strided(number, load_int(Type::i64, b_.bits_of(a)), b);
    if (signature == Signature::Leaf) return leaf(inst, number);
    if (signature == Signature::Convert) return b_.convert(inst.op, inst.type, a);
    if (signature == Signature::Reduce) return b_.reduce(inst.op, a);
    if (signature == Signature::Compare) return compare(inst.op, a, b);
    if (inst.op == Op::Min || inst.op == Op::Max) return extremum(inst.op, a, b);
    if (inst.op == Op::Abs) return magnitude(a);
    if (inst.op == Op::Mul) return product(a, b);
    if (inst.op == Op::Scalef) return scale(a, b);
    if (inst.op == Op::Add) return sum(a, b);
    if (inst.op == Op::Sub) return subtract(a, b);
    if (inst.op == Op::And || inst.op == Op::Or || inst.op == Op::Xor || inst.op == Op::AndNot)
      return bitwise(inst.op, inst.type, a, b);
    return b_.op(inst.op, a, b, c, inst.flags);
  }

  Value leaf(const Inst& inst, std::uint32_t number) {
    if (inst.op == Op::Input) return b_.input(number);
    if (inst.op == Op::Param) return b_.param(number);
    if (inst.op == Op::Count) return b_.count(inst.type);
    if (inst.op == Op::Index) return b_.index(inst.type);
    CHECK(inst.op == Op::Constant);
    return b_.constant_bits(inst.type, inst.imm);
  }

  Value lookup(const Table& table, Value index) {
    const Fact& f = fact(index);
    const bool one = f.least == f.greatest && f.least >= 0 && f.least < static_cast<std::int64_t>(table.entries.size());
    if (one) return b_.constant_bits(table.type, table.entries[static_cast<std::size_t>(f.least)]);
    return b_.lookup(b_.add_table(table), index);
  }

  Value compare(Op op, Value a, Value b) {
    const Type type = b_.type_of(a);
    if (!ir::is_float(type)) return b_.op(op, a, b);
    const Known &x = fact(a).known, &y = fact(b).known;
    const bool numbers = !x.may_be_nan && !y.may_be_nan;
    const bool below = x.hi<y.lo, above = x.lo> y.hi;  // where both are numbers
    const Type result = ir::mask_of(type);
    if (op == Op::Lt && numbers && below) return mask(result, true);
    if (op == Op::Lt && x.lo >= y.hi) return mask(result, false);  // and false for a NaN
    if (op == Op::Le && numbers && x.hi <= y.lo) return mask(result, true);
    if (op == Op::Le && above) return mask(result, false);
    if (op != Op::Eq && op != Op::Ne) return b_.op(op, a, b);
    if (below || above) return mask(result, op == Op::Ne);
    if (a == b && numbers) return mask(result, op == Op::Eq);
    return b_.op(op, a, b);
  }

  // a < b ? a : b, resp. a > b ? a : b: b where either is NaN.
  Value extremum(Op op, Value a, Value b) {
    if (!ir::is_float(b_.type_of(a))) return b_.op(op, a, b);
    const Known &x = fact(a).known, &y = fact(b).known;
    const bool never_a = op == Op::Min ? x.lo >= y.hi : x.hi <= y.lo;
    if (never_a) return b;
    const bool always_a = op == Op::Min ? x.hi < y.lo : x.lo > y.hi;
    if (always_a && !x.may_be_nan && !y.may_be_nan) return a;
    return b_.op(op, a, b);
  }

  Value magnitude(Value a) {
    const Known& x = fact(a).known;
    if (ir::is_float(b_.type_of(a)) && !x.may_be_nan && x.lo > 0) return a;
    return b_.op(Op::Abs, a);
  }

  [[nodiscard]] bool nonzero(Value v) const {
    const Known& k = fact(v).known;
    return !k.may_be_nan && (k.lo > 0 || k.hi < 0);
  }
  [[nodiscard]] bool is_zero(Value v) const { return is(v, 0); }
  [[nodiscard]] bool is_some_zero(Value v) const {
    const Known& k = fact(v).known;
    return k.lo == 0 && k.hi == 0 && !k.may_be_nan;
  }
  /// Returns whether v + 0, v + -0 and v - 0 have the bits of v.
  [[nodiscard]] bool keeps_when_zero_is_added(Value v) const {
    return nonzero(v) || (finite(fact(v).known) && !fact(v).may_be_minus_zero);
  }
  /// Returns whether |a| >= |b| always holds and a is nonzero.
  [[nodiscard]] bool dominates(Value a, Value b) const {
    const Known &x = fact(a).known, &y = fact(b).known;
    return nonzero(a) && finite(x) && finite(y) &&
           std::min(std::fabs(x.lo), std::fabs(x.hi)) >= std::max(std::fabs(y.lo), std::fabs(y.hi));
  }

  Value product(Value a, Value b) {
    const Type type = b_.type_of(a);
    if (ir::is_float(type)) {
      if (is(a, store(type, 1))) return b;
      if (is(b, store(type, 1))) return a;
    }
    return b_.op(Op::Mul, a, b);
  }

  Value sum(Value a, Value b) {
    const Type type = b_.type_of(a);
    if (!ir::is_float(type)) return b_.op(Op::Add, a, b);
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      if (is_some_zero(x) && keeps_when_zero_is_added(y)) return y;
      if (!nonzero(y)) continue;
      if (is_error_of(x, y)) return y;
      // x + 0 differs from x in the sign of a zero alone.
      const Inst& inner = to_.at(x);
      if (inner.op == Op::Add && is_zero(inner.a)) return sum(inner.b, y);
      if (inner.op == Op::Add && is_zero(inner.b)) return sum(inner.a, y);
    }
    return b_.op(Op::Add, a, b);
  }

  // Returns whether x is the rounding error of the product y, so that x + y rounds to y again.
  [[nodiscard]] bool is_error_of(Value x, Value y) const {
    const Inst &error = to_.at(x), &product = to_.at(y);
    if (error.op != Op::Fms || product.op != Op::Mul || error.c != y) return false;
    const bool same = (error.a == product.a && error.b == product.b) || (error.a == product.b && error.b == product.a);
    const Known& k = fact(y).known;
    // Large enough that no part of it underflows.
    const double least = std::min(std::fabs(k.lo), std::fabs(k.hi));
    return same && finite(k) && least > (product.type == Type::f32 ? 0x1p-60 : 0x1p-900);
  }

  // Simplifies x - rint(x) where rint(x) is zero: -0 - -0 is +0, as the sum gives too.
  Value subtract(Value a, Value b) {
    const Type type = b_.type_of(a);
    if (!ir::is_float(type)) return b_.op(Op::Sub, a, b);
    const Known& x = fact(a).known;
    if (is_zero(b) || (is_some_zero(b) && keeps_when_zero_is_added(a))) return a;
    if (a == b && finite(x)) return b_.constant(type, 0);
    const Inst& rounded = to_.at(b);
    // Simplifies (x + y) - ((x + y) - x) to x, where x is no smaller than y (Dekker).
    if (rounded.op == Op::Sub && rounded.a == a && to_.at(a).op == Op::Add) {
      const Value part = rounded.b;
      const Inst& whole = to_.at(a);
      const bool greater =
          (whole.a == part && dominates(part, whole.b)) || (whole.b == part && dominates(part, whole.a));
      if (greater && finite(fact(a).known)) return part;  // a sum that overflows leaves a NaN
    }
    if (rounded.op == Op::Rint && rounded.a == a && finite(x) && x.lo > -0.5 && x.hi < 0.5)
      return b_.op(Op::Add, a, b_.constant(type, 0));
    return b_.op(Op::Sub, a, b);
  }

  // Scales normal numbers by one shift and one addition of integers, which raise the exponent.
  Value scale(Value a, Value n) {
    const Type type = b_.type_of(a);
    const Value magic_sum = magic_sum_of(n);
    const Known &x = fact(a).known, to = scaled(type, x, fact(n).known);
    const double least = type == Type::f32 ? 0x1p-126 : 0x1p-1022;
    const bool normal = finite(x) && finite(to) && x.lo >= least && to.lo >= least;
    if (!magic_sum.valid() || !normal) return b_.op(Op::Scalef, a, n);
    const Value count = b_.constant_int(ir::int_of(type), type == Type::f32 ? 23 : 52);
    return b_.as_float(b_.op(Op::Add, b_.as_int(a), b_.op(Op::Shl, b_.as_int(magic_sum), count)));
  }

  Value bitwise(Op op, Type type, Value a, Value b) {
    const std::uint64_t ones = ir::bytes_of(type) == 4 ? kAllOnes >> 32 : kAllOnes;
    if (op == Op::And && ir::is_int(type)) {
      if (b_.is_constant(a)) std::swap(a, b);
      if (b_.is_constant(b)) {
        const std::uint64_t sign = ones ^ ones >> 1;
        if (b_.bits_of(b) == sign && fact(a).least >= 0) return b_.constant_bits(type, 0);
        if (b_.bits_of(b) == sign && fact(a).greatest < 0) return b;
      }
    }
    if (op == Op::AndNot) {
      if (is(a, 0)) return b;
      if (is(a, ones) || is(b, 0)) return b_.constant_bits(type, 0);
      return b_.op(op, a, b);
    }
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      if (is(x, 0)) return op == Op::And ? x : y;
      if (is(x, ones) && op != Op::Xor) return op == Op::And ? y : x;
    }
    return b_.op(op, a, b);
  }

  // Finds the facts of the instructions appended since.
  void analyse() {
    while (facts_.size() < to_.insts.size()) facts_.push_back(fact_of(to_.insts[facts_.size()]));
  }

  // Returns the only possible value as a constant. Not for a zero, which may have either sign.
  Value as_constant(Value v) {
    const Type type = b_.type_of(v);
    const Fact& f = fact(v);
    if (ir::is_float(type) && finite(f.known) && f.known.lo == f.known.hi && f.known.lo != 0)
      return b_.constant_bits(type, store(type, f.known.lo));
    if (ir::is_int(type) && f.least == f.greatest) return b_.constant_int(type, f.least);
    return v;
  }

  // Returns the least and the greatest result of `op` at the given operands.
  [[nodiscard]] Known ends(const Inst& inst, std::initializer_list<std::array<double, 3>> corners) const {
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

  [[nodiscard]] Fact fact_of(const Inst& inst) const {
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

  // Ignores NaN, whose sign is unspecified.
  [[nodiscard]] bool may_be_minus_zero(const Inst& inst, const Known& known) const {
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

  [[nodiscard]] Known known_of(const Inst& inst) const {
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

  [[nodiscard]] Known converted(const Inst& inst) const {
    const Type from = to_.at(inst.a).type;
    const Fact& f = fact(inst.a);
    if (inst.op == Op::Bitcast) {
      const double greatest = load(inst.type, static_cast<std::uint64_t>(f.greatest));
      if (!ir::is_int(from) || f.least < 0 || !std::isfinite(greatest)) return {};
      return {load(inst.type, static_cast<std::uint64_t>(f.least)), greatest, false};
    }
    const auto end = [&](std::uint64_t bits) {
      return load(inst.type, eval_lane(inst.op, inst.type, from, bits, 0, 0));
    };
    if (ir::is_int(from)) {
      const std::int64_t limit = from == Type::i32 ? INT32_MAX : INT64_MAX;
      const std::int64_t least = std::max(f.least, -limit - 1), greatest = std::min(f.greatest, limit);
      return {end(static_cast<std::uint64_t>(least)), end(static_cast<std::uint64_t>(greatest)), false};
    }
    if (!ir::is_float(from) || !finite(f.known)) return {};
    return {end(store(from, f.known.lo)), end(store(from, f.known.hi)), false};
  }

  [[nodiscard]] static Known magnitude_of(const Known& a) {
    if (a.may_be_nan) return {0, std::numeric_limits<double>::infinity(), true};
    return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(std::fabs(a.lo), std::fabs(a.hi)), false};
  }
  // Facts of a < b ? a : b. A NaN in either operand gives b.
  [[nodiscard]] static Known least_of(const Known& a, const Known& b) {
    const bool always_number = !a.may_be_nan && !b.may_be_nan;
    return {std::min(a.lo, b.lo), always_number ? std::min(a.hi, b.hi) : b.hi, b.may_be_nan};
  }

  /// Returns the magic constant: adding it rounds a float to an integer, which its low bits then hold.
  static double magic(Type type) { return type == Type::f32 ? 0x1.8p23 : 0x1.8p52; }

  /// Returns the sum that `n` is the difference of with the magic constant: n is the sum's other operand, rounded.
  /// Invalid if there is none.
  [[nodiscard]] Value magic_sum_of(Value n) const {
    const Inst& taken = to_.at(n);
    if (taken.op != Op::Sub || !is(taken.b, store(taken.type, magic(taken.type)))) return {};
    return taken.a;
  }

  // Bounds x - n / l with n = x l rounded to an integer: half a unit, plus the errors of the constants and of the
  // rounding of the difference.
  [[nodiscard]] std::optional<Known> remainder_of(const Inst& inst) const {
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

  // Bounds a 2^b. The intervals' ends may be outside the op's contract, which its actual operands meet.
  [[nodiscard]] static Known scaled(Type type, const Known& a, const Known& b) {
    constexpr double kExponentMax = 4096;
    if (!finite(a) || !finite(b) || b.lo < -kExponentMax || b.hi > kExponentMax) return {};
    const auto corner = [&](double x, double exponent) {
      return load(type, store(type, std::scalbn(x, static_cast<int>(exponent))));
    };
    const double least = std::floor(b.lo), greatest = std::ceil(b.hi);
    return {std::min(corner(a.lo, least), corner(a.lo, greatest)),
            std::max(corner(a.hi, least), corner(a.hi, greatest)), false};
  }

  using Integers = std::pair<std::int64_t, std::int64_t>;  ///< the least and the greatest
  static constexpr Integers kAnyInteger{INT64_MIN, INT64_MAX};

  [[nodiscard]] Integers integers_of(const Inst& inst) const {
    if (inst.op == Op::Bitcast) return bits_of_float(inst.a);
    if (inst.op == Op::Sub) return difference(inst);
    if (inst.op == Op::Shr && b_.is_constant(inst.b)) {
      const std::int64_t count = load_int(inst.type, b_.bits_of(inst.b));
      const Fact& f = fact(inst.a);
      if (f.least < 0 || count < 0 || count >= 8 * static_cast<std::int64_t>(ir::bytes_of(inst.type)))
        return kAnyInteger;
      return {f.least >> count, f.greatest >> count};
    }
    if (inst.op != Op::And) return kAnyInteger;
    const Value constant = b_.is_constant(inst.a) ? inst.a : inst.b;
    const Fact& f = fact(b_.is_constant(inst.a) ? inst.b : inst.a);
    if (!b_.is_constant(constant)) return kAnyInteger;
    const std::int64_t k = load_int(inst.type, b_.bits_of(constant));
    if (is_low_bits(~k)) return {f.least & k, f.greatest & k};  // rounded down to a multiple
    if (!is_low_bits(k)) return kAnyInteger;
    if (f.least >= 0 && (f.least & ~k) == (f.greatest & ~k)) return {f.least & k, f.greatest & k};
    return {0, k};
  }

  static bool is_low_bits(std::int64_t k) { return k >= 0 && (k & (k + 1)) == 0; }

  [[nodiscard]] Integers bits_of_float(Value v) const {
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

  // Finds a - ((a - c) & ~m) = c + ((a - c) & m), m low bits: the form that functions extract the mantissa with.
  [[nodiscard]] Integers difference(const Inst& inst) const {
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

  const Kernel& from_;
  const std::vector<Known>& known_;
  Kernel to_;
  Builder b_;
  std::vector<Value> value_;  ///< of each instruction of from_
  std::vector<Fact> facts_;   ///< of each instruction of to_
};

/// Drops instructions and tables that no output needs. Inputs and parameters stay: they are the signature.
Kernel without_idle(const Kernel& kernel) {
  std::vector<bool> needed(kernel.insts.size(), false);
  for (const Output& o : kernel.outputs) needed[o.value.index] = true;
  for (std::size_t i = kernel.insts.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value operand : {kernel.insts[i].a, kernel.insts[i].b, kernel.insts[i].c})
      if (operand.valid()) needed[operand.index] = true;
  }
  Kernel kept;
  kept.inputs = kernel.inputs;
  kept.params = kernel.params;
  std::vector<Value> place(kernel.insts.size());
  std::vector<std::size_t> table_place(kernel.tables.size(), kernel.tables.size());
  for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
    if (!needed[i]) continue;
    Inst inst = kernel.insts[i];
    for (Value* operand : {&inst.a, &inst.b, &inst.c})
      if (operand->valid()) *operand = place[operand->index];
    if (inst.op == Op::Lookup) {
      std::size_t& table = table_place[static_cast<std::size_t>(inst.imm)];
      if (table == kernel.tables.size()) {
        table = kept.tables.size();
        kept.tables.push_back(kernel.tables[static_cast<std::size_t>(inst.imm)]);
      }
      inst.imm = table;
    }
    place[i] = Value(static_cast<std::uint32_t>(kept.insts.size()));
    kept.insts.push_back(inst);
  }
  for (const Output& o : kernel.outputs) kept.outputs.push_back({o.name, place[o.value.index], o.kind});
  return kept;
}

}  // namespace

Kernel narrow(const Kernel& kernel, const std::vector<Known>& known) {
  return without_idle(Narrowing(kernel, known).run());
}

}  // namespace trident::kir
