#include <algorithm>
#include <limits>

#include "jit/function/flow.h"
#include "jit/function/formula.h"
#include "jit/function/lowering.h"
#include "runtime/base/check.h"

namespace trident::function {
namespace {

using EK = Expression::Kind;
using region::Op;
using region::Value;
using RegionType = region::Type;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Op op_of(Operator op) {
  switch (op) {
    case Operator::Or:
    case Operator::BitOr: return Op::Or;
    case Operator::And:
    case Operator::BitAnd: return Op::And;
    case Operator::Equal: return Op::Eq;
    case Operator::NotEqual: return Op::Ne;
    case Operator::Less:
    case Operator::Greater: return Op::SLt;  // the operands change places
    case Operator::LessEqual:
    case Operator::GreaterEqual: return Op::SLe;
    case Operator::BitXor: return Op::Xor;
    case Operator::ShiftLeft: return Op::Shl;
    case Operator::ShiftRight: return Op::Sar;
    case Operator::ShiftLogical: return Op::Shr;
    case Operator::Add: return Op::Add;
    case Operator::Subtract: return Op::Sub;
    case Operator::Multiply: return Op::Mul;
    case Operator::Divide:
    case Operator::Remainder: return Op::SDiv;
    case Operator::Negate: return Op::Neg;
    case Operator::Complement: return Op::Not;
    case Operator::Not: return Op::Xor;  // with 1
    case Operator::Plus:
    case Operator::Power: break;
  }
  CHECK(false);
}

Op float_op_of(Operator op) {
  switch (op) {
    case Operator::Equal: return Op::FEq;
    case Operator::NotEqual: return Op::FNe;
    case Operator::Less:
    case Operator::Greater: return Op::FLt;  // the operands change places
    case Operator::LessEqual:
    case Operator::GreaterEqual: return Op::FLe;
    case Operator::Add: return Op::FAdd;
    case Operator::Subtract: return Op::FSub;
    case Operator::Multiply: return Op::FMul;
    case Operator::Divide: return Op::FDiv;
    case Operator::Negate: return Op::FNeg;
    case Operator::Or:
    case Operator::And:
    case Operator::BitOr:
    case Operator::BitXor:
    case Operator::BitAnd:
    case Operator::ShiftLeft:
    case Operator::ShiftRight:
    case Operator::ShiftLogical:
    case Operator::Remainder:
    case Operator::Complement:
    case Operator::Plus:
    case Operator::Power:
    case Operator::Not: break;
  }
  CHECK(false);
}

}  // namespace

Result<std::pair<Value, Value>> Lowering::both(const Expression& a, const Expression& b) {
  TRY(Value left, value(a));
  if (!b.has_flow) {
    TRY(const Value right, value(b));
    return std::pair(left, right);
  }
  const std::uint32_t kept = variable(build_.type_of(left));
  set(kept, left);
  TRY(const Value right, value(b));
  left = build_.get(kept);
  release(kept);
  return std::pair(left, right);
}

Result<Value> Lowering::value(const Expression& e) {
  switch (e.kind) {
    case EK::number:
      if (e.type == Type::f64) return real(static_cast<double>(e.number));
      return build_.constant(RegionType::i64, static_cast<std::uint64_t>(e.number));
    case EK::real: return build_.constant(RegionType::f64, static_cast<std::uint64_t>(e.number));
    case EK::truth: return build_.constant(RegionType::i32, static_cast<std::uint64_t>(e.number));
    case EK::name: {
      const Local& local = frame_->names.find(e.name)->second;
      if (local.number) return build_.constant(RegionType::i64, static_cast<std::uint64_t>(*local.number));
      const Value got = build_.get(local.variable);
      const bool is_truth = e.type == Type::boolean && build_.type_of(got) == RegionType::i64;  // a parameter
      return is_truth ? build_.op_with(Op::Ne, got, 0) : got;
    }
    case EK::length: return build_.get(frame_->names.find(e.name)->second.variable);
    case EK::element: return element(e);
    case EK::unary: return unary(e);
    case EK::binary: return binary(e);
    case EK::choice: return choice(e);
    case EK::call: break;
  }
  const IntrinsicRow* const row = intrinsic_of(e);
  return row != nullptr ? intrinsic_call(e, row->id) : call(e, *library_.find(e.name));
}

Value Lowering::place_of(const Local& array, Value index) {
  return build_.element(index, element_bytes(array.type), array.window, failure(Failure::index));
}

Result<Value> Lowering::element(const Expression& e) {
  TRY(const Value index, value(e.operands[0]));
  const Local& array = frame_->names.find(e.name)->second;
  const Value place = place_of(array, index);
  return build_.load(home_type(array.type), element_bytes(array.type), false, place);
}

Result<Value> Lowering::unary(const Expression& e) {
  TRY(const Value a, value(e.operands[0]));
  if (e.op == Operator::Plus) return a;
  if (e.op == Operator::Not) return build_.op_with(Op::Xor, a, 1);
  return build_.op(e.type == Type::f64 ? float_op_of(e.op) : op_of(e.op), a);
}

Result<Value> Lowering::binary(const Expression& e) {
  const bool is_logic = e.op == Operator::And || e.op == Operator::Or;
  if (is_logic && !e.operands[1].is_plain) return logic(e);
  if (const auto limits = between(e)) {
    TRY(const Value x, value(*limits->name));
    return in_range(x, limits->lo, limits->hi);
  }
  if (divides(e)) return divided(e, Op::SDiv, e.op == Operator::Remainder);
  if (e.op == Operator::Power) return formula(e);
  TRY(const auto operands, both(e.operands[0], e.operands[1]));
  auto [a, b] = operands;
  if (const auto sum = constant_sum(e, a, b)) return *sum;
  if (e.op == Operator::Greater || e.op == Operator::GreaterEqual) std::swap(a, b);
  return build_.op(e.operands[0].type == Type::f64 ? float_op_of(e.op) : op_of(e.op), a, b);
}

std::optional<Value> Lowering::constant_sum(const Expression& e, Value a, Value b) {
  const region::Inst &x = out_.region.insts[a.index], &y = out_.region.insts[b.index];
  const bool is_sum = e.type == Type::i64 && (e.op == Operator::Add || e.op == Operator::Subtract);
  if (!is_sum || x.op != Op::Constant || y.op != Op::Constant) return {};
  return build_.constant(RegionType::i64, e.op == Operator::Add ? x.imm + y.imm : x.imm - y.imm);
}

/// One comparison: numbers below `lo` wrap around to great ones.
Value Lowering::in_range(Value x, std::int64_t lo, std::int64_t hi) {
  const Value above = lo == 0 ? x : build_.op_with(Op::Sub, x, static_cast<std::uint64_t>(lo));
  return build_.op_with(Op::ULe, above, static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo));
}

/// The right operand is evaluated only where it decides.
Result<Value> Lowering::logic(const Expression& e) {
  const std::uint32_t result = variable(RegionType::i32);
  const Label yes = label(), no = label(), end = label();
  TRY_VOID(decide(e, yes, no));
  bind(yes);
  set(result, build_.constant(RegionType::i32, 1));
  jump(end);
  bind(no);
  set(result, build_.constant(RegionType::i32, 0));
  bind(end);
  release(result);
  return build_.get(result);
}

Result<void> Lowering::decide(const Expression& e, Label then, Label otherwise) {
  if (e.kind == EK::truth) return jump(e.number != 0 ? then : otherwise), Result<void>();
  if (e.kind == EK::unary) return decide(e.operands[0], otherwise, then);
  const bool is_and = e.kind == EK::binary && e.op == Operator::And;
  if (!between(e) && (is_and || (e.kind == EK::binary && e.op == Operator::Or))) {
    const Label more = label();
    TRY_VOID(is_and ? decide(e.operands[0], more, otherwise) : decide(e.operands[0], then, more));
    join(more);
    return decide(e.operands[1], then, otherwise);
  }
  TRY(const Value condition, value(e));
  branch(condition, then, otherwise);
  return {};
}

Result<Value> Lowering::choice(const Expression& e) {
  if (e.operands[1].is_plain && e.operands[2].is_plain && !e.operands[0].has_flow) {
    TRY(const Value condition, value(e.operands[0]));
    TRY(const Value yes, value(e.operands[1]));
    TRY(const Value no, value(e.operands[2]));
    return build_.op(Op::Select, condition, yes, no);
  }
  const std::uint32_t result = variable(region_type(e.type));
  const Label then = label(), otherwise = label(), end = label();
  TRY_VOID(decide(e.operands[0], then, otherwise));
  join(then);
  TRY_VOID(into(result, e.operands[1]));
  jump(end);
  join(otherwise);
  TRY_VOID(into(result, e.operands[2]));
  join(end);
  release(result);
  return build_.get(result);
}

Result<Value> Lowering::divided(const Expression& e, Op divide, bool is_remainder) {
  TRY(const auto operands, both(e.operands[0], e.operands[1]));
  auto [a, b] = operands;
  const Expression& divisor = e.operands[1];
  const auto named =
      divisor.kind == EK::name ? std::optional(frame_->names.find(divisor.name)->second.variable) : std::nullopt;
  const bool is_checked = named && named == nonzero_;
  if (e.has_flow && !is_checked) {
    const std::uint32_t kept = variable(RegionType::i64), by = variable(RegionType::i64);
    const Label go = label();
    set(kept, a);
    set(by, b);
    branch(build_.op_with(Op::Eq, build_.get(by), 0), failure(Failure::division), go);
    join(go);
    a = build_.get(kept);
    b = build_.get(by);
    release(kept);
    release(by);
    nonzero_ = named;
  }
  const Value quotient = build_.op(divide, a, b);
  return is_remainder ? build_.op(Op::Sub, a, build_.op(Op::Mul, quotient, b)) : quotient;
}

Result<Value> Lowering::intrinsic_call(const Expression& e, Intrinsic id) {
  if (divides(e)) return divided(e, Op::UDiv, id == Intrinsic::UnsignedRemainder);
  if (id == Intrinsic::Formula) return formula(e);
  if (e.operands.size() == 3) return of_three(e, id);
  Value a, b;
  if (e.operands.size() == 1) {
    TRY(a, value(e.operands[0]));
  } else {
    TRY(const auto operands, both(e.operands[0], e.operands[1]));
    a = operands.first;
    b = operands.second;
  }
  switch (id) {
    case Intrinsic::Abs:
      if (e.type == Type::f64) return build_.op(Op::FAbs, a);
      return build_.op(Op::Select, build_.op_with(Op::SLt, a, 0), build_.op(Op::Neg, a), a);
    case Intrinsic::LeadingZeros: return build_.op(Op::Clz, a);
    case Intrinsic::ReversedBits: return build_.op(Op::BitSwap, a);
    case Intrinsic::ReversedBytes: return build_.op(Op::ByteSwap, a);
    case Intrinsic::RotatedRight: return build_.op(Op::Rotr, a, b);
    case Intrinsic::HighProduct: return build_.op(Op::UMulHigh, a, b);
    case Intrinsic::UnsignedLess: return build_.op(Op::ULt, a, b);
    case Intrinsic::UnsignedLessEqual: return build_.op(Op::ULe, a, b);
    case Intrinsic::Minimum: return build_.op(Op::FMin, a, b);
    case Intrinsic::Maximum: return build_.op(Op::FMax, a, b);
    case Intrinsic::Sign: return sign(a);
    case Intrinsic::SquareRoot: return build_.op(Op::FSqrt, a);
    case Intrinsic::Floor: return build_.op(Op::FFloor, a);
    case Intrinsic::Ceiling: return build_.op(Op::FCeil, a);
    case Intrinsic::Truncated: return build_.op(Op::FTrunc, a);
    case Intrinsic::Round: return rounded(a);
    case Intrinsic::RoundToEven: return build_.op(Op::FRint, a);
    case Intrinsic::Copysign:
      return build_.op(Op::Select, build_.op(Op::FEq, b, b), build_.op(Op::FCopysign, a, b), build_.op(Op::FAbs, a));
    case Intrinsic::Integer: return build_.op(e.operands[0].type == Type::f64 ? Op::FloatToInt : Op::Zext32, a);
    case Intrinsic::Real: return build_.op(Op::IntToFloat, a);
    case Intrinsic::ToBits: return build_.op(Op::FloatToBits, a);
    case Intrinsic::FromBits: return build_.op(Op::BitsToFloat, a);
    case Intrinsic::IsNan: return build_.op(Op::FNe, a, a);
    case Intrinsic::IsInfinite: return build_.op(Op::FEq, build_.op(Op::FAbs, a), real(kInfinity));
    case Intrinsic::IsFinite: return build_.op(Op::FLt, build_.op(Op::FAbs, a), real(kInfinity));
    case Intrinsic::FusedMultiply:
    case Intrinsic::Clamp:
    case Intrinsic::Choose:
    case Intrinsic::Formula:
    case Intrinsic::UnsignedDivide:
    case Intrinsic::UnsignedRemainder: break;
  }
  CHECK(false);
}

Value Lowering::real(double value) {
  return build_.constant(RegionType::f64, static_cast<std::uint64_t>(bits_of(value)));
}

Value Lowering::sign(Value a) {
  const Value zero = real(0), below = build_.op(Op::FLt, a, zero), above = build_.op(Op::FLt, zero, a);
  return build_.op(Op::Select, above, real(1), build_.op(Op::Select, below, real(-1), a));
}

/// The greatest number below a half, added to one just below a half, gives less than 1; a half with it gives 1.
Value Lowering::rounded(Value a) {
  constexpr double kBelowHalf = 0x1.fffffffffffffp-2;
  return build_.op(Op::FTrunc, build_.op(Op::FAdd, a, build_.op(Op::FCopysign, real(kBelowHalf), a)));
}

Result<Value> Lowering::of_three(const Expression& e, Intrinsic id) {
  std::uint32_t kept[3];
  for (std::size_t i = 0; i < 3; ++i) {
    kept[i] = variable(region_type(e.operands[i].type));
    TRY_VOID(into(kept[i], e.operands[i]));
  }
  for (const std::uint32_t v : kept) release(v);
  const Value a = build_.get(kept[0]), b = build_.get(kept[1]), c = build_.get(kept[2]);
  if (id == Intrinsic::Choose) return build_.op(Op::Select, a, b, c);
  if (id == Intrinsic::Clamp) return build_.op(Op::FMin, build_.op(Op::FMax, a, b), c);
  return build_.op(Op::FFma, a, b, c);
}

Result<Value> Lowering::formula(const Expression& e) {
  TRY_VOID(within_limits(e.offset));
  Formula made{.meaning = meaning_of(e)};
  if (made.meaning.variables.size() == 1) {
    TRY(const Value a, value(e.operands[0]));
    made.operands = {a};
  } else {
    TRY(const auto operands, both(e.operands[0], e.operands[1]));
    made.operands = {operands.first, operands.second};
  }
  made.first = static_cast<std::uint32_t>(out_.region.insts.size());
  made.result = append_formula(build_, made.meaning, made.operands);
  made.last = static_cast<std::uint32_t>(out_.region.insts.size());
  if (made.first != made.last) out_.formulas.push_back(made);  // x ^ 1 is x
  return made.result;
}

/// Copies the callee in.
Result<Value> Lowering::call(const Expression& e, const Function& callee) {
  TRY_VOID(within_limits(e.offset));
  Frame frame{.function = callee};
  for (std::size_t i = 0; i < e.operands.size(); ++i) TRY_VOID(pass(e.operands[i], callee, i, frame.names));
  frame.end = label();
  frame.result = variable(region_type(callee.result));
  Frame* const caller = std::exchange(frame_, &frame);
  const auto copied = statements(callee.body);
  frame_ = caller;
  if (!copied.ok()) return copied.error();
  join(frame.end);
  for (std::size_t i = 0; i < e.operands.size(); ++i)
    if (!callee.parameters[i].is_array()) release(frame.names[callee.parameters[i].name].variable);
  release(frame.result);
  if (callee.result == Type::none) return Value{};
  if (const auto result = take_back(frame.result)) return *result;
  return build_.get(frame.result);
}

std::optional<Value> Lowering::take_back(std::uint32_t variable) {
  region::Block& block = out_.region.blocks.back();
  if (block.first == block.last) return {};
  const region::Inst last = out_.region.insts.back();
  if (last.op != Op::Set || last.imm != variable) return {};
  out_.region.insts.pop_back();
  --block.last;
  return last.a;
}

bool Lowering::is_byte(const Expression& e) const {
  if (e.kind == EK::number) return e.type == Type::i64 && e.number >= 0 && e.number <= 255;
  if (e.kind != EK::element && e.kind != EK::name) return false;
  const Local& local = frame_->names.find(e.name)->second;
  return e.kind == EK::element ? local.type == Type::u8 : local.is_byte;
}

Result<void> Lowering::pass(const Expression& e, const Function& callee, std::size_t number, Names& names) {
  const Parameter& parameter = callee.parameters[number];
  if (parameter.is_array()) {
    names[parameter.name] = frame_->names.find(e.name)->second;
    return {};
  }
  const bool is_real = parameter.type == Type::f64;
  const std::uint32_t kept = variable(home_type(parameter.type));
  TRY_VOID(into(kept, e));
  const bool stays = !assigns(callee.body, parameter.name);
  names[parameter.name] = {kept, 0, parameter.type, stays && (parameter.type == Type::u8 || is_byte(e))};
  if (parameter.lo && is_real) check_real_range(kept, *parameter.lo, *parameter.hi);
  if (parameter.lo && !is_real) check_range(kept, *parameter.lo, *parameter.hi);
  if (parameter.type == Type::u8 && !is_byte(e)) check_range(kept, 0, 255);
  return {};
}

void Lowering::check_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi) {
  const Label go = label();
  branch(in_range(build_.get(variable), lo, hi), go, failure(Failure::range));
  join(go);
}

/// NaN lies in no range.
void Lowering::check_real_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi) {
  const Label go = label();
  const Value x = build_.get(variable);
  const Value above = build_.op(Op::FLe, real(real_of(lo)), x), below = build_.op(Op::FLe, x, real(real_of(hi)));
  branch(build_.op(Op::And, above, below), go, failure(Failure::range));
  join(go);
}

}  // namespace trident::function
