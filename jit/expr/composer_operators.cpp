// Types of operands, and the nodes of operators.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "jit/expr/composer.h"
#include "jit/expr/integer_power.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr Type promote(Type a, Type b) {
  if (a == b) return a;
  if (ir::is_mask(a)) return b;
  if (ir::is_mask(b)) return a;
  if (ir::is_int(a) && ir::is_int(b)) return Type::i64;
  return Type::f64;  // f32 with f64, or an integer with a float
}

}  // namespace

// --- types of operands ---------------------------------------------------------------------------------------------

bool Composer::unify(std::span<Value> operands, Op op, std::size_t offset) {
  if (failed_) return false;
  if (operands.size() == 2 && operands[0].literal_depth == 0 && operands[1].literal_depth == 0) {  // nearly always
    const Type type = type_of(operands[0]);
    if (type == type_of(operands[1]) && !ir::is_mask(type)) return true;
  } else if (operands.size() == 2 && (operands[0].literal_depth == 0) != (operands[1].literal_depth == 0)) {
    // A float and literals, which take its type.
    const bool first_is_open = operands[0].literal_depth > 0;
    const Type type = type_of(operands[first_is_open ? 1 : 0]);
    if (ir::is_float(type)) {
      Value& open = operands[first_is_open ? 0 : 1];
      open = convert(open, type);
      return !failed_;
    }
  }
  bool settled = false;
  bool all_bool = true;
  // Literals stay open in f64. Integers that it does not hold stay open in i64, where no function of reals takes them.
  bool all_integral = info(op).types != Types::F, any_long = false;
  Type type = Type::f64;
  for (const Value& v : operands) {
    const Type t = type_of(v);
    all_bool = all_bool && ir::is_mask(t);
    all_integral = all_integral && v.literal_depth > 0 && v.integral;
    any_long = any_long || (t == Type::i64 && !(v.bare && std::fabs(number_of(v)) < 0x1p53));
    if (v.literal_depth > 0) continue;
    type = settled ? promote(type, t) : t;
    settled = true;
  }
  if (all_bool) {
    fail(offset, ErrorCode::kTypeError, "'%s' needs numbers, here comparisons; cast them with f64(...) or i64(...)",
         info(op).text.data());
    return false;
  }
  if (all_integral && any_long) type = Type::i64;
  for (const Value& v : operands) {
    if (v.literal_depth == 0) continue;
    if (ir::is_mask(type)) type = default_type_;
    if (ir::is_int(type) && !v.integral) type = Type::f64;
  }
  for (Value& v : operands) {
    if (type_of(v) != type || (settled && v.literal_depth > 0)) v = convert(v, type);
  }
  return !failed_;
}

bool Composer::to_float(std::span<Value> operands, Op op, std::size_t offset) {
  if (failed_) return false;
  if (operands.size() > 1) {
    if (!unify(operands, op, offset)) return false;
  }
  const Type type = type_of(operands[0]);
  if (ir::is_float(type)) return true;
  // After unify() an integer type means: integers and integral literals.
  if (ir::is_int(type) && (op == Op::Div || op == Op::Fmod)) {
    fail(offset, ErrorCode::kTypeError, "integers have no %s: cast an operand with f64(...) first",
         op == Op::Div ? "division" : "remainder");
    return false;
  }
  for (Value& v : operands) v = convert(v, ir::is_mask(type) ? default_type_ : Type::f64);
  return !failed_;
}

bool Composer::to_integer(std::span<Value> operands, Op op) {
  if (failed_) return false;
  bool settled = false;
  Type type = Type::i64;
  for (const Value& v : operands) {
    const Type t = type_of(v);
    if (v.literal_depth > 0 && v.integral) continue;
    if (!ir::is_int(t)) {
      fail(v.offset, ErrorCode::kTypeError, "'%s' needs integers, here %s; cast with i64(...)", info(op).text.data(),
           ir::is_mask(t) ? "a comparison" : ir::name_of(t).data());
      return false;
    }
    type = settled ? promote(type, t) : t;
    settled = true;
  }
  for (Value& v : operands) v = convert(v, type);
  return !failed_;
}

bool Composer::bits_operands(std::span<Value> operands, Op op, std::size_t offset) {
  if (failed_) return false;
  if (std::all_of(operands.begin(), operands.end(), [&](const Value& v) { return ir::is_mask(type_of(v)); }))
    return true;
  for (const Value& v : operands) {
    if (!ir::is_mask(type_of(v))) continue;
    fail(offset, ErrorCode::kTypeError, "'%s' takes two comparisons or two integers, here one of each; use && or ||",
         info(op).text.data());
    return false;
  }
  return to_integer(operands, op);
}

// --- operators -----------------------------------------------------------------------------------------------------

Value Composer::unary(Op op, Value a, std::size_t offset) {
  if (failed_) return {};
  if (rounds_to_integer(op) && ir::is_int(type_of(a))) return a;
  std::array<Value, 1> v = {a};
  const OpInfo& row = info(op);
  if (row.types == Types::F && !to_float(v, op, offset)) return {};
  if (row.types == Types::B && !bits_operands(v, op, offset)) return {};
  if (row.types == Types::N && ir::is_mask(type_of(a))) v[0] = convert(a, default_type_);
  if (row.signature == Signature::Reduce || row.signature == Signature::Locate) v[0] = settle(v[0]);
  return build(op, v[0], {}, {}, offset);
}

Value Composer::negate(Value a, std::size_t offset) {
  if (failed_) return {};
  if (!a.bare || wraps(a.id)) return unary(Op::Neg, a, offset);
  Number n;
  n.value = -number_of(a);
  n.integral = a.integral || n.value == -0x1p63;
  const Node& node = builder_.at(a.id);
  n.integer = node.type == Type::i64 ? static_cast<std::int64_t>(-node.imm)
              : n.value == -0x1p63   ? std::numeric_limits<std::int64_t>::min()
                                     : static_cast<std::int64_t>(n.integral ? n.value : 0);
  return number(n, offset);
}

Value Composer::binary(Op op, Value a, Value b, std::size_t offset) {
  if (failed_) return {};
  const OpInfo& row = info(op);
  if (row.signature == Signature::Same && a.literal_depth == 0 && b.literal_depth == 0 &&
      (row.types == Types::N || row.types == Types::F) && a.storage != Storage::f16 && b.storage != Storage::f16) {
    const Type type = type_of(a);  // nearly always: two floats of one type, which nothing has to be done to
    if (ir::is_float(type) && type == type_of(b)) return add({op, type, a.id, b.id, {}, 0}, offset);
  }
  std::array<Value, 2> v = {a, b};
  if (row.signature == Signature::Compare && ir::is_mask(type_of(a)) && ir::is_mask(type_of(b)) &&
      (op == Op::Eq || op == Op::Ne)) {
    const Value differ = build(Op::Xor, a, b, {}, offset);
    return op == Op::Ne ? differ : build(Op::Not, differ, {}, {}, offset);
  }
  bool fits = false;
  switch (row.types) {
    case Types::F:
      if (op == Op::Copysign && unify(v, op, offset) && ir::is_int(type_of(v[0]))) return copysign(v[0], v[1], offset);
      if (op == Op::Pow && unify(v, op, offset) && ir::is_int(type_of(v[0])))
        return b.bare && number_of(b) <= static_cast<double>(kPowiMax) ? power(v[0], b, offset)
                                                                       : integer_power(*this, v[0], v[1], offset);
      fits = to_float(v, op, offset);
      break;
    case Types::I: fits = to_integer(v, op); break;
    case Types::B: fits = bits_operands(v, op, offset); break;
    case Types::N:
    case Types::A: fits = unify(v, op, offset); break;
  }
  if (!fits) return {};
  return build(op, v[0], v[1], {}, offset);
}

Value Composer::ternary(Op op, Value a, Value b, Value c, std::size_t offset) {
  if (failed_) return {};
  if (op != Op::Select) {
    std::array<Value, 3> v = {a, b, c};
    if (unify(v, op, offset) && ir::is_int(type_of(v[0]))) {  // a product and a sum of integers round nothing
      return build(Op::Add, build(Op::Mul, v[0], v[1], {}, offset), v[2], {}, offset);
    }
    if (!to_float(v, op, offset)) return {};
    return build(op, v[0], v[1], v[2], offset);
  }
  a = as_bool(a);
  if (failed_) return {};
  if (ir::is_mask(type_of(b)) && ir::is_mask(type_of(c))) {
    const Value yes = build(Op::And, a, b, {}, offset);
    return build(Op::Or, yes, build(Op::And, build(Op::Not, a, {}, {}, offset), c, {}, offset), {}, offset);
  }
  std::array<Value, 2> v = {b, c};
  if (!unify(v, op, offset)) return {};
  return build(op, a, v[0], v[1], offset);
}

Value Composer::power(Value a, Value b, std::size_t offset) {
  if (failed_) return {};
  if (!b.bare || !b.integral) return binary(Op::Pow, a, b, offset);
  a = whole(a);
  if (failed_) return {};
  const double exponent = number_of(b);
  if (ir::is_mask(type_of(a))) a = convert(a, default_type_);
  if (exponent < 0 && a.literal_depth > 0) a = convert(a, Type::f64);
  if (exponent < 0 && ir::is_int(type_of(a))) {
    return fail(b.offset, ErrorCode::kTypeError, "an integer has no negative powers: cast it with f64(...) first");
  }
  if (failed_ || std::fabs(exponent) > static_cast<double>(kPowiMax)) {
    return fail(b.offset, ErrorCode::kLimitExceeded, "an integer power is at most 2^31");
  }
  const auto imm = static_cast<std::uint64_t>(static_cast<std::int64_t>(exponent));
  Value value = add({Op::Powi, type_of(a), a.id, {}, {}, imm}, offset);
  if (a.literal_depth > 0) {
    value.literal_depth = static_cast<std::uint16_t>(a.literal_depth + 1);
    value.integral = a.integral && exponent >= 0;
    value.beyond_i32 = a.beyond_i32;
    if (value.literal_depth >= limits::kNestingMax) value = settle(value);
  }
  return value;
}

Value Composer::as_bool(Value a) {
  if (failed_ || ir::is_mask(type_of(a))) return a;
  return convert(a, Type::b32);
}

Value Composer::logical(Op op, Value a, Value b, std::size_t offset) {
  a = as_bool(a);
  b = as_bool(b);
  if (failed_) return {};
  return build(op, a, b, {}, offset);
}

Value Composer::logical_not(Value a, std::size_t offset) {
  a = as_bool(a);
  if (failed_) return {};
  return build(Op::Not, a, {}, {}, offset);
}

Value Composer::cast(Type type, Value a, std::size_t offset) {
  a = whole(a);
  if (failed_) return {};
  a.storage = Storage::own;
  if (a.literal_depth > 0 && (a.integral || !ir::is_int(type))) {
    // A cast wraps 32 bits, of a value that is computed before.
    const double v = a.bare ? number_of(a) : 0;
    const bool wraps =
        type == Type::i32 && !a.bare && (a.beyond_i32 || literal_values_.excess_of(retype(a.id, type)).has_value());
    a.beyond_i32 = v < -2147483648.0 || v > 4294967295.0;
    a = convert(a, wraps ? Type::i64 : type);  // the type that a cast names is settled
    a.literal_depth = 0;
    a.bare = false;
    if (!wraps || failed_) return a;
  }
  if (type_of(a) == type) return a;
  return add({Op::Cast, type, a.id, {}, {}, 0}, offset);
}

Value Composer::diff(Value e, Value x, std::size_t offset) {
  if (failed_) return {};
  if (builder_.at(x.id).op != Op::Variable) {
    return fail(x.offset, ErrorCode::kTypeError,
                "a derivative is taken with respect to a variable, not to a local value");
  }
  if (!ir::is_float(type_of(e)) || !ir::is_float(type_of(x))) {
    return fail(offset, ErrorCode::kTypeError, "a derivative needs floats, here %s with respect to %s",
                ir::name_of(type_of(e)).data(), ir::name_of(type_of(x)).data());
  }
  return build(Op::Diff, settle(e), x, {}, offset);
}

}  // namespace trident::expr
