#include "jit/function/formula.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/kir/kir.h"
#include "runtime/base/check.h"

namespace trident::function {
namespace {

using KOp = kir::Op;
using region::Op;
using region::Value;
using RegionType = region::Type;

using Pair = std::pair<KOp, Op>;
constexpr Pair kOfFloats[] = {
    {KOp::Add, Op::FAdd},     {KOp::Sub, Op::FSub},   {KOp::Mul, Op::FMul},     {KOp::Div, Op::FDiv},
    {KOp::Neg, Op::FNeg},     {KOp::Abs, Op::FAbs},   {KOp::Sqrt, Op::FSqrt},   {KOp::Fma, Op::FFma},
    {KOp::Fms, Op::FFma},     {KOp::Fnma, Op::FFma},  {KOp::Fnms, Op::FFma},    {KOp::Rint, Op::FRint},
    {KOp::Floor, Op::FFloor}, {KOp::Ceil, Op::FCeil}, {KOp::Trunc, Op::FTrunc}, {KOp::Lt, Op::FLt},
    {KOp::Le, Op::FLe},       {KOp::Eq, Op::FEq},     {KOp::Ne, Op::FNe}};
constexpr Pair kOfIntegers[] = {{KOp::Add, Op::Add}, {KOp::Sub, Op::Sub}, {KOp::Mul, Op::Mul}, {KOp::Neg, Op::Neg},
                                {KOp::And, Op::And}, {KOp::Or, Op::Or},   {KOp::Xor, Op::Xor}, {KOp::Not, Op::Not},
                                {KOp::Lt, Op::SLt},  {KOp::Le, Op::SLe},  {KOp::Eq, Op::Eq},   {KOp::Ne, Op::Ne}};

Op op_in(std::span<const Pair> pairs, KOp op) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair.first == op; });
  CHECK(found != pairs.end());
  return found->second;
}

/// Writes the ops of a kernel for one element. Floats are f64, integers i64, and masks truths of i32.
class Writer {
 public:
  Writer(region::Builder& build, const kir::Kernel& kernel, std::span<const Value> operands)
      : build_(build), kernel_(kernel), operands_(operands) {}

  Value run() {
    for (const kir::Inst& inst : kernel_.insts) values_.push_back(value(inst));
    return values_[kernel_.outputs[0].value.index];
  }

 private:
  Value value(const kir::Inst& inst);
  Value of_floats(KOp op, Value a, Value b, Value c);
  Value of_integers(KOp op, Value a, Value b);
  Value of_truths(KOp op, Value a, Value b);
  Value conversion(const kir::Inst& inst, Value a);
  Value constant(const kir::Inst& inst);
  Value shifted(KOp op, Value a, Value b);
  Value scaled(Value a, Value b);
  Value power_of_two(Value exponent);
  Value entry_of(const kir::Table& table, Value number);

  Value real(double value) { return build_.constant(RegionType::f64, static_cast<std::uint64_t>(bits_of(value))); }
  Value chosen(Value condition, Value a, Value b) { return build_.op(Op::Select, condition, a, b); }
  Value negated(Value v) { return build_.op(Op::FNeg, v); }

  region::Builder& build_;
  const kir::Kernel& kernel_;
  std::span<const Value> operands_;
  std::vector<Value> values_;
};

Value Writer::value(const kir::Inst& inst) {
  const auto operand = [&](kir::Value v) { return v.valid() ? values_[v.index] : Value{}; };
  const Value a = operand(inst.a), b = operand(inst.b), c = operand(inst.c);
  const ir::Type type = inst.a.valid() ? kernel_.type_of(inst.a) : inst.type;
  if (inst.op == KOp::Input) return operands_[inst.imm];
  if (inst.op == KOp::Constant) return constant(inst);
  if (inst.op == KOp::Select) return chosen(a, b, c);
  if (inst.op == KOp::Lookup) return entry_of(kernel_.tables[inst.imm], a);
  if (kir::info(inst.op).signature == kir::Signature::Convert) return conversion(inst, a);
  if (ir::is_mask(type)) return of_truths(inst.op, a, b);
  return type == ir::Type::f64 ? of_floats(inst.op, a, b, c) : of_integers(inst.op, a, b);
}

Value Writer::constant(const kir::Inst& inst) {
  if (ir::is_mask(inst.type)) return build_.constant(RegionType::i32, inst.imm != 0 ? 1 : 0);
  return build_.constant(inst.type == ir::Type::f64 ? RegionType::f64 : RegionType::i64, inst.imm);
}

Value Writer::of_floats(KOp op, Value a, Value b, Value c) {
  if (op == KOp::Scalef) return scaled(a, b);
  if (op == KOp::Min) return chosen(build_.op(Op::FLt, a, b), a, b);
  if (op == KOp::Max) return chosen(build_.op(Op::FLt, b, a), a, b);
  if (op == KOp::Fnma || op == KOp::Fnms) a = negated(a);
  if (op == KOp::Fms || op == KOp::Fnms) c = negated(c);
  return build_.op(op_in(kOfFloats, op), a, b, c);
}

Value Writer::of_integers(KOp op, Value a, Value b) {
  if (op == KOp::Shl || op == KOp::Shr || op == KOp::Sar) return shifted(op, a, b);
  if (op == KOp::Abs) return chosen(build_.op_with(Op::SLt, a, 0), build_.op(Op::Neg, a), a);
  if (op == KOp::Min) return chosen(build_.op(Op::SLt, a, b), a, b);
  if (op == KOp::Max) return chosen(build_.op(Op::SLt, b, a), a, b);
  if (op == KOp::AndNot) return build_.op(Op::And, build_.op(Op::Not, a), b);
  return build_.op(op_in(kOfIntegers, op), a, b);
}

Value Writer::of_truths(KOp op, Value a, Value b) {
  if (op == KOp::Not) return build_.op_with(Op::Xor, a, 1);
  if (op == KOp::AndNot) return build_.op(Op::And, build_.op_with(Op::Xor, a, 1), b);
  return build_.op(op_in(kOfIntegers, op), a, b);
}

Value Writer::conversion(const kir::Inst& inst, Value a) {
  const ir::Type from = kernel_.type_of(inst.a);
  if (ir::is_mask(from) || from == inst.type) return a;
  CHECK(ir::bytes_of(from) == 8 && ir::bytes_of(inst.type) == 8);
  const bool to_float = inst.type == ir::Type::f64;
  if (inst.op == KOp::Bitcast) return build_.op(to_float ? Op::BitsToFloat : Op::FloatToBits, a);
  if (inst.op == KOp::ToIntRint) a = build_.op(Op::FRint, a);
  return build_.op(to_float ? Op::IntToFloat : Op::FloatToInt, a);
}

/// Amounts outside of the width give 0, or the sign.
Value Writer::shifted(KOp op, Value a, Value b) {
  constexpr std::uint64_t kWidth = 64;
  const Value fits = build_.op_with(Op::ULt, b, kWidth);
  if (op == KOp::Sar) return build_.op(Op::Sar, a, chosen(fits, b, build_.constant(RegionType::i64, kWidth - 1)));
  const Value result = build_.op(op == KOp::Shl ? Op::Shl : Op::Shr, a, b);
  return chosen(fits, result, build_.constant(RegionType::i64, 0));
}

/// 2^exponent, which is a normal number.
Value Writer::power_of_two(Value exponent) {
  constexpr std::uint64_t kBias = 1023, kMantissaBits = 52;
  const Value biased = build_.op_with(Op::Add, build_.op(Op::FloatToInt, exponent), kBias);
  return build_.op(Op::BitsToFloat, build_.op_with(Op::Shl, biased, kMantissaBits));
}

/// a 2^b in two steps as in jit/kir/lane.cpp: only the second may round.
Value Writer::scaled(Value a, Value b) {
  constexpr double kLow = -1018, kHigh = 1019, kLeast = -2040, kGreatest = 2042;
  const auto clamped = [&](Value v, double lo, double hi) {
    v = chosen(build_.op(Op::FLt, v, real(lo)), real(lo), v);
    return chosen(build_.op(Op::FLt, real(hi), v), real(hi), v);
  };
  const Value whole = clamped(b, kLeast, kGreatest), first = clamped(whole, kLow, kHigh);
  const Value near = build_.op(Op::FMul, a, power_of_two(first));
  const Value result = build_.op(Op::FMul, near, power_of_two(build_.op(Op::FSub, whole, first)));
  return chosen(build_.op(Op::FNe, b, b), b, result);
}

/// Halves the table by the bits of the number, the highest first. Regions have no tables.
Value Writer::entry_of(const kir::Table& table, Value number) {
  std::vector<Value> bits;
  for (std::size_t half = 1; half < table.entries.size(); half *= 2)
    bits.push_back(build_.op_with(Op::Ne, build_.op_with(Op::And, number, half), 0));
  const auto pick = [&](const auto& self, std::size_t begin, std::size_t level) -> Value {
    if (level == 0) return build_.constant(RegionType::i64, table.entries[begin]);
    const Value high = self(self, begin + (std::size_t{1} << (level - 1)), level - 1);
    return chosen(bits[level - 1], high, self(self, begin, level - 1));
  };
  const Value entry = pick(pick, 0, bits.size());
  return table.type == ir::Type::f64 ? build_.op(Op::BitsToFloat, entry) : entry;
}

}  // namespace

expr::Expr meaning_of(const Expression& e) {
  const auto type = e.type == Type::i64 ? expr::Type::i64 : expr::Type::f64;
  const bool is_call = e.kind == Expression::Kind::call;
  const bool has_number = !is_call && e.operands[1].kind == Expression::Kind::number;
  const bool is_pair = e.operands.size() == 2 && !has_number;
  std::string text = is_call ? e.name + (is_pair ? "(a, b)" : "(a)") : "a ^ ";
  if (!is_call) text += has_number ? std::to_string(e.operands[1].number) : "b";
  expr::ParseOptions options{.variables = {{"a", type}}};
  if (is_pair) options.variables.push_back({"b", type});
  auto meaning = expr::parse_infix(text, options);
  CHECK(meaning.ok());
  return std::move(*meaning);
}

Value append_formula(region::Builder& build, const expr::Expr& meaning, std::span<const Value> operands) {
  const auto kernel = expr::lower(meaning, {.policy = {expr::PolicyKind::exact, 0}, .simplify = false});
  CHECK(kernel.ok());
  return Writer(build, *kernel, operands).run();
}

}  // namespace trident::function
