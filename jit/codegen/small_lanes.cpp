#include "jit/codegen/small_lanes.h"

#include <algorithm>
#include <bit>

namespace trident::codegen {

using ir::Type;
using kir::Op;
using kir::Value;

namespace {

/// The least and the greatest value.
struct Interval {
  std::int64_t lo = INT32_MIN, hi = INT32_MAX;
};

Interval checked(std::int64_t lo, std::int64_t hi) {
  return lo < INT32_MIN || hi > INT32_MAX ? Interval{} : Interval{lo, hi};
}

/// Returns the interval of a bitwise op on integers that are not negative.
Interval bits_up_to(std::int64_t greatest) {
  return {0, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(greatest) + 1)) - 1};
}

/// Finds the intervals of the values of i32.
class Intervals {
 public:
  explicit Intervals(const kir::Kernel& kernel) : kernel_(kernel) {
    known_.reserve(kernel.insts.size());
    for (const kir::Inst& inst : kernel.insts)
      known_.push_back(inst.type == Type::i32 ? interval_of(inst) : Interval{});
  }
  [[nodiscard]] const Interval& of(Value v) const { return known_[v.index]; }

 private:
  [[nodiscard]] Interval interval_of(const kir::Inst& inst) const {
    const auto known = [&](Value v) { return v.valid() && kernel_.type_of(v) == Type::i32 ? of(v) : Interval{}; };
    const Interval a = known(inst.a), b = known(inst.b), c = known(inst.c);
    const Op op = inst.op;
    if (op == Op::Constant) {
      const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(inst.imm));
      return {value, value};
    }
    if (op == Op::Input) return stored(kernel_.inputs[inst.imm].storage);
    if (op == Op::Add) return checked(a.lo + b.lo, a.hi + b.hi);
    if (op == Op::Sub) return checked(a.lo - b.hi, a.hi - b.lo);
    if (op == Op::Mul) return product(a, b);
    if (op == Op::Neg) return checked(-a.hi, -a.lo);
    if (op == Op::Abs) return checked(a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(-a.lo, a.hi));
    if (op == Op::Min) return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    if (op == Op::Max) return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    if (op == Op::Select) return {std::min(b.lo, c.lo), std::max(b.hi, c.hi)};
    if (op == Op::Not) return {-1 - a.hi, -1 - a.lo};
    if (op == Op::And || op == Op::Or || op == Op::Xor) return bitwise(op, a, b);
    if (op == Op::Shl || op == Op::Shr || op == Op::Sar) return shifted(inst, a);
    return {};
  }

  /// Bytes that stand for truths may have any value.
  static Interval stored(ir::Storage storage) {
    if (!ir::is_integer(storage) || !ir::converts(storage)) return {};
    if (storage == ir::Storage::boolean) return {0, 255};
    const ir::StorageFacts& row = ir::facts_of(storage);
    return checked(static_cast<std::int64_t>(row.lo), static_cast<std::int64_t>(row.hi));
  }

  static Interval product(const Interval& a, const Interval& b) {
    const auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
    return checked(lo, hi);
  }

  static Interval bitwise(Op op, const Interval& a, const Interval& b) {
    if (op == Op::And && (a.lo >= 0 || b.lo >= 0)) return {0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : std::min(a.hi, b.hi)};
    return a.lo >= 0 && b.lo >= 0 ? bits_up_to(std::max(a.hi, b.hi)) : Interval{};
  }

  [[nodiscard]] Interval shifted(const kir::Inst& inst, const Interval& a) const {
    const kir::Inst& by = kernel_.at(inst.b);
    if (by.op != Op::Constant || by.imm > 31) return {};
    const auto count = static_cast<int>(by.imm);
    if (inst.op == Op::Shl) return checked(a.lo * (std::int64_t{1} << count), a.hi * (std::int64_t{1} << count));
    if (inst.op == Op::Shr && a.lo < 0)
      return count == 0 ? Interval{} : Interval{0, (std::int64_t{1} << (32 - count)) - 1};
    return {a.lo >> count, a.hi >> count};
  }

  const kir::Kernel& kernel_;
  std::vector<Interval> known_;
};

/// Knows what the lanes that are planned so far hold.
class LaneContents {
 public:
  LaneContents(const kir::Kernel& kernel, const Intervals& intervals, std::uint32_t bytes)
      : kernel_(kernel), intervals_(intervals), bits_(8 * bytes) {
    plan_.bytes = bytes;
    plan_.values.resize(kernel.insts.size());
  }

 protected:
  [[nodiscard]] bool made(Value v) const { return plan_.values[v.index].form != LaneForm::none; }
  /// Returns whether lanes without a sign hold all of a value.
  [[nodiscard]] bool is_unsigned(Value v) const {
    const Interval& known = intervals_.of(v);
    return made(v) && known.lo >= 0 && known.hi <= greatest(false);
  }
  [[nodiscard]] bool is_signed(Value v) const {
    const Interval& known = intervals_.of(v);
    return made(v) && known.lo >= least() && known.hi <= greatest(true);
  }
  [[nodiscard]] std::int64_t greatest(bool with_sign) const {
    return (std::int64_t{1} << (bits_ - (with_sign ? 1 : 0))) - 1;
  }
  [[nodiscard]] std::int64_t least() const { return -(std::int64_t{1} << (bits_ - 1)); }
  /// Returns whether all of both fit, and with a sign or without; nothing if not in the same way.
  [[nodiscard]] std::optional<bool> sign_of(Value a, Value b) const {
    if (is_unsigned(a) && is_unsigned(b)) return false;
    return is_signed(a) && is_signed(b) ? std::optional(true) : std::nullopt;
  }
  [[nodiscard]] bool is_constant(Value v, std::int64_t value) const {
    return kernel_.at(v).op == Op::Constant && intervals_.of(v).lo == value && kernel_.type_of(v) == Type::i32;
  }
  [[nodiscard]] std::optional<std::uint32_t> count_of(Value v) const {
    const kir::Inst& inst = kernel_.at(v);
    return inst.op == Op::Constant && inst.imm < 32 ? std::optional(static_cast<std::uint32_t>(inst.imm))
                                                    : std::nullopt;
  }

  /// Returns the value that `v` always equals: an extreme may be one of its operands.
  [[nodiscard]] Value same_as(Value v) const {
    for (;;) {
      const kir::Inst& inst = kernel_.at(v);
      if (inst.op != Op::Min && inst.op != Op::Max) return v;
      const Value a = inst.op == Op::Min ? inst.a : inst.b, b = inst.op == Op::Min ? inst.b : inst.a;
      if (intervals_.of(inst.a).hi <= intervals_.of(inst.b).lo)
        v = a;
      else if (intervals_.of(inst.b).hi <= intervals_.of(inst.a).lo)
        v = b;
      else
        return v;
    }
  }

  const kir::Kernel& kernel_;
  const Intervals& intervals_;
  const std::uint32_t bits_;
  SmallLanes plan_;
};

class LanePlanner : LaneContents {
 public:
  using LaneContents::LaneContents;

  bool run() {
    for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) plan_.values[i] = planned(Value(i));
    for (const kir::Output& output : kernel_.outputs) {
      if (!made(output.value)) return false;
      plan_.values[output.value.index].needed = true;
    }
    for (std::size_t i = plan_.values.size(); i-- > 0;) {
      if (!plan_.values[i].needed) continue;
      for (const Value operand : {plan_.values[i].a, plan_.values[i].b, plan_.values[i].c})
        if (operand.valid()) plan_.values[operand.index].needed = true;
    }
    return true;
  }

  SmallLanes take() { return std::move(plan_); }

 private:
  [[nodiscard]] LaneValue planned(Value v) const {
    const kir::Inst& inst = kernel_.at(v);
    if (inst.section == kir::Section::epilogue) return {};
    if (ir::is_mask(inst.type)) return planned_mask(inst);
    if (inst.type != Type::i32) return {};
    constexpr Op kLowBits[] = {Op::Add, Op::Sub, Op::Neg, Op::Or, Op::Xor, Op::Not, Op::AndNot, Op::Select};
    const Op op = inst.op;
    if (op == Op::Constant || op == Op::Param) return {.form = LaneForm::leaf};
    if (op == Op::Input) return {.form = fits_lane(kernel_.inputs[inst.imm].storage) ? LaneForm::leaf : LaneForm::none};
    if (op == Op::And) return masked(inst);
    if (op == Op::Min || op == Op::Max) return extreme(v, inst);
    if (op == Op::Abs) return magnitude(inst);
    if (op == Op::Shl) return shifted_left(inst);
    if (op == Op::Shr || op == Op::Sar) return shifted_right(inst);
    const bool is_product = op == Op::Mul && bits_ == 16;
    const bool has_low_bits = std::find(std::begin(kLowBits), std::end(kLowBits), op) != std::end(kLowBits);
    return is_product || has_low_bits ? low_bits(inst) : LaneValue{};
  }

  [[nodiscard]] bool fits_lane(ir::Storage storage) const {
    return ir::is_integer(storage) && ir::converts(storage) && 8 * ir::facts_of(storage).bytes <= bits_;
  }

  [[nodiscard]] LaneValue planned_mask(const kir::Inst& inst) const {
    if (inst.type != Type::b32 || inst.op == Op::Convert || inst.op == Op::Constant) return {};
    if (kir::info(inst.op).signature != kir::Signature::Compare) return low_bits(inst);
    if (kernel_.type_of(inst.a) != Type::i32 || !made(inst.a) || !made(inst.b)) return {};
    const std::optional<bool> sign = sign_of(inst.a, inst.b);
    const Interval &a = intervals_.of(inst.a), &b = intervals_.of(inst.b);
    const bool is_equality = inst.op == Op::Eq || inst.op == Op::Ne;
    const bool are_near = a.hi - b.lo <= greatest(false) && b.hi - a.lo <= greatest(false);
    if (!sign && !(is_equality && are_near)) return {};
    return {.form = LaneForm::op, .is_signed = sign.value_or(false), .a = inst.a, .b = inst.b};
  }

  /// Plans an op whose low bits depend on those of its operands alone.
  [[nodiscard]] LaneValue low_bits(const kir::Inst& inst) const {
    for (const Value operand : {inst.a, inst.b, inst.c})
      if (operand.valid() && !made(operand)) return {};
    return {.form = LaneForm::op, .a = inst.a, .b = inst.b, .c = inst.c};
  }

  [[nodiscard]] static LaneValue copy_of(Value v) { return {.form = LaneForm::copy, .a = v}; }

  [[nodiscard]] LaneValue masked(const kir::Inst& inst) const {
    const auto keeps_all = [&](Value v) {
      return kernel_.at(v).op == Op::Constant && (~intervals_.of(v).lo & greatest(false)) == 0;
    };
    if (keeps_all(inst.a) && made(inst.b)) return copy_of(inst.b);
    if (keeps_all(inst.b) && made(inst.a)) return copy_of(inst.a);
    return low_bits(inst);
  }

  [[nodiscard]] LaneValue extreme(Value v, const kir::Inst& inst) const {
    if (const Value same = same_as(v); same != v) return made(same) ? copy_of(same) : LaneValue{};
    if (const std::optional<bool> sign = sign_of(inst.a, inst.b))
      return {.form = LaneForm::op, .is_signed = *sign, .a = inst.a, .b = inst.b};
    for (const auto& [a, b] : {std::pair(inst.a, inst.b), std::pair(inst.b, inst.a)})
      if (const LaneValue saturated = saturating(inst.op, same_as(a), b); saturated.form != LaneForm::none)
        return saturated;
    return {};
  }

  /// Plans min(x, bound) or max(x, bound) where x is a sum or a difference that lanes do not hold.
  [[nodiscard]] LaneValue saturating(Op op, Value x, Value bound) const {
    const kir::Inst& inst = kernel_.at(x);
    if (const LaneValue clamped = clamping(op, inst, bound); clamped.form != LaneForm::none) return clamped;
    const bool adds = inst.op == Op::Add && op == Op::Min;
    if ((!adds && (inst.op != Op::Sub || op != Op::Max)) || !is_unsigned(inst.a) || !is_unsigned(inst.b)) return {};
    if (!is_unsigned(bound)) return {};
    const bool at_end = is_constant(bound, adds ? greatest(false) : 0);
    return {.form = adds ? LaneForm::add_saturated : LaneForm::sub_saturated,
            .a = inst.a,
            .b = inst.b,
            .c = at_end ? Value{} : bound};
  }

  /// Plans a sum or a difference that is clamped to what a lane with a sign holds.
  [[nodiscard]] LaneValue clamping(Op op, const kir::Inst& inner, Value bound) const {
    const std::int64_t end = op == Op::Min ? greatest(true) : least();
    const std::int64_t other_end = op == Op::Min ? least() : greatest(true);
    if (inner.op != (op == Op::Min ? Op::Max : Op::Min) || !is_constant(bound, end)) return {};
    const bool is_second = is_constant(inner.b, other_end);
    if (!is_second && !is_constant(inner.a, other_end)) return {};
    const kir::Inst& sum = kernel_.at(is_second ? inner.a : inner.b);
    if ((sum.op != Op::Add && sum.op != Op::Sub) || !is_signed(sum.a) || !is_signed(sum.b)) return {};
    return {.form = sum.op == Op::Add ? LaneForm::add_saturated : LaneForm::sub_saturated,
            .is_signed = true,
            .a = sum.a,
            .b = sum.b};
  }

  [[nodiscard]] LaneValue magnitude(const kir::Inst& inst) const {
    if (made(inst.a) && intervals_.of(inst.a).lo >= 0) return copy_of(inst.a);
    if (is_signed(inst.a)) return {.form = LaneForm::op, .a = inst.a};
    const kir::Inst& made = kernel_.at(inst.a);
    if (made.op != Op::Sub) return {};
    const std::optional<bool> sign = sign_of(made.a, made.b);
    if (!sign) return {};
    return {.form = LaneForm::difference, .is_signed = *sign, .a = made.a, .b = made.b};
  }

  [[nodiscard]] LaneValue shifted_left(const kir::Inst& inst) const {
    const auto count = count_of(inst.b);
    if (!count || *count >= bits_ || !made(inst.a)) return {};
    return {.form = LaneForm::op, .count = static_cast<std::uint8_t>(*count), .a = inst.a};
  }

  [[nodiscard]] LaneValue shifted_right(const kir::Inst& inst) const {
    const auto count = count_of(inst.b);
    if (!count) return {};
    if (const LaneValue extended = extending(inst, *count); extended.form != LaneForm::none) return extended;
    if (const LaneValue mean = averaging(inst, *count); mean.form != LaneForm::none) return mean;
    if (const LaneValue high = high_half(inst, *count); high.form != LaneForm::none) return high;
    const bool with_sign = !is_unsigned(inst.a);
    if (*count >= bits_ || (with_sign && (inst.op == Op::Shr || bits_ == 8 || !is_signed(inst.a))))
      return halving(inst, *count);
    return {.form = LaneForm::op, .is_signed = with_sign, .count = static_cast<std::uint8_t>(*count), .a = inst.a};
  }

  /// Plans (x << k) >> k: the low 32 - k bits with their sign.
  [[nodiscard]] LaneValue extending(const kir::Inst& inst, std::uint32_t count) const {
    const kir::Inst& up = kernel_.at(inst.a);
    if (inst.op != Op::Sar || up.op != Op::Shl || count_of(up.b) != count || !made(up.a)) return {};
    const std::uint32_t kept = 32 - count;
    if (kept >= bits_) return copy_of(up.a);
    if (bits_ == 8) return {};
    return {.form = LaneForm::sign_extended, .count = static_cast<std::uint8_t>(bits_ - kept), .a = up.a};
  }

  /// Plans (a + b) >> 1 where lanes do not hold the sum.
  [[nodiscard]] LaneValue halving(const kir::Inst& inst, std::uint32_t count) const {
    const kir::Inst& sum = kernel_.at(inst.a);
    if (count != 1 || sum.op != Op::Add || !is_unsigned(sum.a) || !is_unsigned(sum.b)) return {};
    return {.form = LaneForm::average_down, .a = sum.a, .b = sum.b};
  }

  [[nodiscard]] LaneValue averaging(const kir::Inst& inst, std::uint32_t count) const {
    const kir::Inst& whole = kernel_.at(inst.a);
    if (count != 1 || whole.op != Op::Add) return {};
    Value terms[3] = {};
    for (const auto& [one, sum] : {std::pair(whole.a, whole.b), std::pair(whole.b, whole.a)}) {
      const kir::Inst& inner = kernel_.at(sum);
      if (inner.op != Op::Add) continue;
      terms[0] = one, terms[1] = inner.a, terms[2] = inner.b;
      std::stable_partition(std::begin(terms), std::end(terms), [&](Value v) { return !is_constant(v, 1); });
      if (is_constant(terms[2], 1) && is_unsigned(terms[0]) && is_unsigned(terms[1]))
        return {.form = LaneForm::average, .a = terms[0], .b = terms[1]};
    }
    return {};
  }

  /// Plans the upper half of a product of two lanes. The whole of it must fit into 32 bits.
  [[nodiscard]] LaneValue high_half(const kir::Inst& inst, std::uint32_t count) const {
    const kir::Inst& product = kernel_.at(inst.a);
    if (bits_ != 16 || count != 16 || product.op != Op::Mul) return {};
    const std::optional<bool> sign = sign_of(product.a, product.b);
    const bool is_logical = inst.op == Op::Shr;
    if (!sign || (is_logical && *sign)) return {};
    if (!is_logical && !*sign && intervals_.of(inst.a).lo < 0) return {};
    return {.form = LaneForm::product_high, .is_signed = *sign, .a = product.a, .b = product.b};
  }
};

/// Returns the bytes of the widest element; 0 where an output is no array of small integers.
std::uint32_t widest_output(const kir::Kernel& kernel) {
  std::uint32_t widest = 0;
  for (const kir::Output& output : kernel.outputs) {
    if (output.kind != kir::OutputKind::array || !ir::is_integer(output.storage) || !ir::converts(output.storage))
      return 0;
    widest = std::max(widest, ir::facts_of(output.storage).bytes);
  }
  return widest;
}

}  // namespace

std::optional<SmallLanes> small_lanes(const kir::Kernel& kernel) {
  const std::uint32_t widest = widest_output(kernel);
  if (widest == 0 || widest > 2 || kernel.exit.valid()) return {};
  const Intervals intervals(kernel);
  for (std::uint32_t bytes = widest; bytes <= 2; ++bytes) {
    LanePlanner planner(kernel, intervals, bytes);
    if (planner.run()) return planner.take();
  }
  return {};
}

}  // namespace trident::codegen
