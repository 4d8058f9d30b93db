#include "jit/kir/narrow.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "jit/kir/value_facts.h"
#include "runtime/base/check.h"

namespace trident::kir {
namespace {

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};

/// A double next to which lie the integers: the low bits of 1.5 * 2^52 + n hold n, for |n| up to 2^51.
constexpr double kMagic = 0x1.8p52;
constexpr std::int64_t kLongMax = std::int64_t{1} << 50;

void meet(Known& k, const Known& other) {
  if (other.lo > k.hi || other.hi < k.lo) return;  // one select operand is never computed
  k.lo = std::max(k.lo, other.lo);
  k.hi = std::min(k.hi, other.hi);
  k.may_be_nan = k.may_be_nan && other.may_be_nan;
}

/// Narrows the bounds of an integer to whole numbers of `known`, as far as doubles hold them exactly.
void meet(Fact& f, const Known& known) {
  constexpr double kExact = 0x1p53;
  const auto exact = [](double end) { return std::fabs(end) <= kExact; };
  const std::int64_t least = exact(known.lo) ? static_cast<std::int64_t>(std::ceil(known.lo)) : INT64_MIN;
  const std::int64_t greatest = exact(known.hi) ? static_cast<std::int64_t>(std::floor(known.hi)) : INT64_MAX;
  if (std::max(f.least, least) > std::min(f.greatest, greatest)) return;  // never computed
  f.least = std::max(f.least, least);
  f.greatest = std::min(f.greatest, greatest);
}

// Rebuilds a kernel, each instruction in the simplest form that the facts of its operands allow.
class Narrowing : private ValueFacts {
 public:
  Narrowing(const Kernel& from, const std::vector<Known>& known, bool converts_longs)
      : from_(from), known_(known), converts_longs_(converts_longs) {
    to_.inputs = from.inputs;
    to_.params = from.params;
    to_.before = from.before;
  }

  Kernel run() {
    for (std::uint32_t i = 0; i < from_.insts.size(); ++i) {
      const Inst& inst = from_.insts[i];
      Value made = make(inst);
      analyse();
      if (i < known_.size() && ir::is_float(inst.type)) meet(facts_[made.index].known, known_[i]);
      if (i < known_.size() && ir::is_int(inst.type)) meet(facts_[made.index], known_[i]);
      made = as_constant(made);
      analyse();
      value_.push_back(made);
    }
    for (const Output& o : from_.outputs) to_.outputs.push_back({o.name, value_[o.value.index], o.kind, o.storage});
    to_.exit = at(from_.exit);
    return std::move(to_);
  }

 private:
  [[nodiscard]] Value at(Value old) const { return old.valid() ? value_[old.index] : Value{}; }
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
    if (signature == Signature::Convert) return convert(inst, a);
    if (signature == Signature::Reduce) return b_.reduce(inst.op, a, b);
    if (signature == Signature::Compare) return compare(inst.op, a, b);
    if (inst.op == Op::Min || inst.op == Op::Max) return extremum(inst.op, a, b);
    if (inst.op == Op::Abs) return magnitude(a);
    if (inst.op == Op::Mul) return product(a, b);
    if (inst.op == Op::Scalef) return scale(a, b, inst.flags);
    if (inst.op == Op::Add) return sum(a, b);
    if (inst.op == Op::Sub) return subtract(a, b);
    if (inst.op == Op::Sar) return shift(a, b);
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

  Value convert(const Inst& inst, Value a);
  Value from_small_long(Type to, Value a);
  Value to_small_long(Op op, Value a);

  Value lookup(const Table& table, Value index) {
    const Fact& f = fact(index);
    const bool one = f.least == f.greatest && f.least >= 0 && f.least < static_cast<std::int64_t>(table.entries.size());
    if (one) return b_.constant_bits(table.type, table.entries[static_cast<std::size_t>(f.least)]);
    return b_.lookup(b_.add_table(table), index);
  }

  Value compare(Op op, Value a, Value b) {
    const Type type = b_.type_of(a);
    if (ir::is_int(type)) return compare_integers(op, a, b);
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
    if (ir::is_int(b_.type_of(a))) {
      const Fact &x = fact(a), &y = fact(b);
      if (x.greatest <= y.least) return op == Op::Min ? a : b;
      if (y.greatest <= x.least) return op == Op::Min ? b : a;
    }
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
    if (ir::is_int(b_.type_of(a)) && fact(a).least >= 0) return a;
    return b_.op(Op::Abs, a);
  }

  Value product(Value a, Value b) {
    const Type type = b_.type_of(a);
    if (!ir::is_float(type)) return integer_product(a, b);
    if (is(a, store(type, 1))) return b;
    return is(b, store(type, 1)) ? a : b_.op(Op::Mul, a, b);
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
  Value scale(Value a, Value n, std::uint8_t flags) {
    const Type type = b_.type_of(a);
    const Value magic_sum = magic_sum_of(n);
    const Known &x = fact(a).known, to = scaled(type, x, fact(n).known);
    const double least = type == Type::f32 ? 0x1p-126 : 0x1p-1022;
    const bool normal = finite(x) && finite(to) && x.lo >= least && to.lo >= least;
    if (!magic_sum.valid() || !normal) return b_.op(Op::Scalef, a, n, {}, flags);
    const Value count = b_.constant_int(ir::int_of(type), type == Type::f32 ? 23 : 52);
    return b_.as_float(b_.op(Op::Add, b_.as_int(a), b_.op(Op::Shl, b_.as_int(magic_sum), count)));
  }

  // Shifts an i64 instead of multiplying it by a power of two. Multiplies low halves, extended, where the factors are
  // no wider: hosts have one instruction for such a product (codegen/half_products.h), and several for whole lanes.
  Value integer_product(Value a, Value b);
  Value low_half(Value v, bool is_signed);
  Value compare_integers(Op op, Value a, Value b);
  Value bitwise(Op op, Type type, Value a, Value b);
  // Simplifies (x << k) >> k to x, where x fits into the bits that stay; shifts an i64 that is not negative logically.
  Value shift(Value a, Value by);

  // Returns the only possible value as a constant. Not for a zero, which may have either sign.
  Value as_constant(Value v) {
    const Type type = b_.type_of(v);
    const Fact& f = fact(v);
    if (ir::is_float(type) && finite(f.known) && f.known.lo == f.known.hi && f.known.lo != 0)
      return b_.constant_bits(type, store(type, f.known.lo));
    if (ir::is_int(type) && f.least == f.greatest) return b_.constant_int(type, f.least);
    return v;
  }

  const Kernel& from_;
  const std::vector<Known>& known_;
  bool converts_longs_;
  std::vector<Value> value_;  ///< of each instruction of from_
};

Value Narrowing::integer_product(Value a, Value b) {
  if (b_.type_of(a) != Type::i64) return b_.op(Op::Mul, a, b);
  if (b_.is_constant(a)) std::swap(a, b);
  if (b_.is_constant(b) && std::has_single_bit(b_.bits_of(b)))
    return b_.op(Op::Shl, a, b_.constant_int(Type::i64, std::countr_zero(b_.bits_of(b))));
  const auto within = [&](std::int64_t least, std::int64_t greatest) {
    const auto fits = [&](Value v) { return fact(v).least >= least && fact(v).greatest <= greatest; };
    return fits(a) && fits(b);
  };
  const auto in_body = [&](Value v) { return to_.at(v).section == Section::body; };
  const bool is_signed = within(INT32_MIN, INT32_MAX);
  if (!(in_body(a) || in_body(b)) || !(is_signed || within(0, UINT32_MAX))) return b_.op(Op::Mul, a, b);
  a = low_half(a, is_signed);
  return b_.op(Op::Mul, a, low_half(b, is_signed));
}

Value Narrowing::low_half(Value v, bool is_signed) {
  const Inst made = to_.at(v);
  if (made.op == Op::Constant) return v;
  if (!is_signed) return b_.op(Op::And, v, b_.constant_bits(Type::i64, UINT32_MAX));
  if (made.op == Op::Convert && to_.type_of(made.a) == Type::i32) return v;
  return b_.convert(Op::Convert, Type::i64, b_.convert(Op::Convert, Type::i32, v));
}

Value Narrowing::convert(const Inst& inst, Value a) {
  if (converts_longs_ || inst.op == Op::Bitcast) return b_.convert(inst.op, inst.type, a);
  const Type from = b_.type_of(a);
  const Fact& f = fact(a);
  if (from == Type::i64 && ir::is_float(inst.type) && f.least >= -kLongMax && f.greatest <= kLongMax)
    return from_small_long(inst.type, a);
  constexpr auto kMost = static_cast<double>(kLongMax);
  const bool is_small = !f.known.may_be_nan && f.known.lo >= -kMost && f.known.hi <= kMost;
  if (inst.type == Type::i64 && ir::is_float(from) && is_small) return to_small_long(inst.op, a);
  return b_.convert(inst.op, inst.type, a);
}

// The conversion to f64 is exact, so that one to f32 rounds once.
Value Narrowing::from_small_long(Type to, Value a) {
  const Value sum = b_.op(Op::Add, a, b_.constant_bits(Type::i64, store(Type::f64, kMagic)));
  const Value number = b_.op(Op::Sub, b_.as_float(sum), b_.constant(Type::f64, kMagic));
  return b_.convert(Op::Convert, to, number);
}

// The sum rounds to nearest even, as ToIntRint does; Convert truncates.
Value Narrowing::to_small_long(Op op, Value a) {
  const Op made = to_.at(a).op;
  a = b_.convert(Op::Convert, Type::f64, a);
  const bool is_whole = made == Op::Rint || made == Op::Floor || made == Op::Ceil || made == Op::Trunc;
  if (op == Op::Convert && !is_whole) a = b_.op(Op::Trunc, a);
  const Value sum = b_.op(Op::Add, a, b_.constant(Type::f64, kMagic));
  return b_.op(Op::Sub, b_.as_int(sum), b_.constant_bits(Type::i64, store(Type::f64, kMagic)));
}

Value Narrowing::compare_integers(Op op, Value a, Value b) {
  const Fact &x = fact(a), &y = fact(b);
  const Type result = ir::mask_of(b_.type_of(a));
  const bool below = x.greatest<y.least, above = x.least> y.greatest;
  if (op == Op::Lt && (below || x.least >= y.greatest)) return mask(result, below);
  if (op == Op::Le && (above || x.greatest <= y.least)) return mask(result, !above);
  if ((op == Op::Eq || op == Op::Ne) && (below || above)) return mask(result, op == Op::Ne);
  return b_.op(op, a, b);
}

Value Narrowing::bitwise(Op op, Type type, Value a, Value b) {
  const std::uint64_t ones = ir::bytes_of(type) == 4 ? kAllOnes >> 32 : kAllOnes;
  if (op == Op::And && ir::is_int(type)) {
    if (b_.is_constant(a)) std::swap(a, b);
    if (b_.is_constant(b)) {
      const std::uint64_t sign = ones ^ ones >> 1;
      if (b_.bits_of(b) == sign && fact(a).least >= 0) return b_.constant_bits(type, 0);
      if (b_.bits_of(b) == sign && fact(a).greatest < 0) return b;
      const std::int64_t kept = load_int(type, b_.bits_of(b));
      const std::uint64_t above = static_cast<std::uint64_t>(kept) + 1;
      const bool is_low_bits = kept >= 0 && (static_cast<std::uint64_t>(kept) & above) == 0;
      const bool keeps_all = is_low_bits && fact(a).least >= 0 && fact(a).greatest <= kept;
      if (keeps_all) return a;
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

Value Narrowing::shift(Value a, Value by) {
  const auto fits_above = [&](const Inst& up) {
    if (up.op != Op::Shl || up.b != by || !b_.is_constant(by)) return false;
    const std::int64_t width = 8 * static_cast<std::int64_t>(ir::bytes_of(b_.type_of(a)));
    const std::int64_t count = load_int(b_.type_of(by), b_.bits_of(by));
    if (count < 0 || count >= width) return false;
    const std::int64_t most = INT64_MAX >> (64 - width + count);
    return fact(up.a).least >= -most - 1 && fact(up.a).greatest <= most;
  };
  if (fits_above(to_.at(a))) return to_.at(a).a;
  // Zeros come in as the sign would. AVX2 has no arithmetic shift of i64.
  const bool is_logical = b_.type_of(a) == Type::i64 && fact(a).least >= 0;
  return b_.op(is_logical ? Op::Shr : Op::Sar, a, by);
}

/// Drops instructions and tables that no output needs. Inputs and parameters stay: they are the signature.
Kernel without_idle(const Kernel& kernel) {
  std::vector<bool> needed(kernel.insts.size(), false);
  for (const Output& o : kernel.outputs) needed[o.value.index] = true;
  if (kernel.exit.valid()) needed[kernel.exit.index] = true;
  for (std::size_t i = kernel.insts.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value operand : {kernel.insts[i].a, kernel.insts[i].b, kernel.insts[i].c})
      if (operand.valid()) needed[operand.index] = true;
  }
  Kernel kept;
  kept.inputs = kernel.inputs;
  kept.params = kernel.params;
  kept.before = kernel.before;
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
  for (const Output& o : kernel.outputs) kept.outputs.push_back({o.name, place[o.value.index], o.kind, o.storage});
  if (kernel.exit.valid()) kept.exit = place[kernel.exit.index];
  return kept;
}

}  // namespace

Kernel narrow(const Kernel& kernel, const std::vector<Known>& known, bool converts_longs) {
  return without_idle(Narrowing(kernel, known, converts_longs).run());
}

}  // namespace trident::kir
