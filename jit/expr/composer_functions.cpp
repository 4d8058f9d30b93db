// Functions: ops by name, reads of tables, and forms that are built from several ops.
#include <algorithm>
#include <array>
#include <limits>

#include "jit/expr/composer.h"
#include "runtime/base/check.h"

namespace trident::expr {

Value Composer::fold(Op op, std::span<const Value> arguments, std::size_t offset) {
  Value value = arguments[0];
  for (const Value& next : arguments.subspan(1)) value = binary(op, value, next, offset);
  return value;
}

Value Composer::call(const Function& function, std::span<const Value> arguments, std::size_t offset) {
  if (failed_) return {};
  const std::size_t count = arguments.size();
  const bool folds = function.form == Form::Op && has(function.op, kAssociative);
  const std::size_t arity = function.form == Form::Op && function.op == Op::Powi ? 2 : arity_of(function);
  if (function.form == Form::Op && count == 1 && (function.op == Op::Min || function.op == Op::Max)) {
    return unary(function.op == Op::Min ? Op::MinOf : Op::MaxOf, arguments[0], offset);
  }
  const bool takes_ddof = function.form == Form::Var || function.form == Form::Std;
  if (folds ? count < 2 : takes_ddof ? count != 1 && count != 2 : count != arity) {
    return fail(offset, ErrorCode::kSyntaxError, "%.*s takes %zu argument%s%s, here %zu",
                static_cast<int>(function.name.size()), function.name.data(), arity, arity == 1 ? "" : "s",
                folds        ? " or more"
                : takes_ddof ? " or two"
                             : "",
                count);
  }
  if (function.form != Form::Op) return form(function.form, arguments, offset);
  if (function.op == Op::Powi) {
    if (!arguments[1].bare || !arguments[1].integral) {
      return fail(arguments[1].offset, ErrorCode::kTypeError, "powi takes a literal integer as its exponent");
    }
    return power(arguments[0], arguments[1], offset);
  }
  if (function.op == Op::Diff) return diff(arguments[0], arguments[1], offset);
  if (info(function.op).signature == Signature::Read) return read(function.op, arguments, offset);
  if (folds) return fold(function.op, arguments, offset);
  if (arity == 1) return unary(function.op, arguments[0], offset);
  if (arity == 2) return binary(function.op, arguments[0], arguments[1], offset);
  return ternary(function.op, arguments[0], arguments[1], arguments[2], offset);
}

Value Composer::read(Op op, std::span<const Value> arguments, std::size_t offset) {
  if (failed_) return {};
  const Value table = arguments[0];
  if (!is_table(table.id)) {
    return fail(table.offset, ErrorCode::kTypeError, "%s reads a table, which this is not: declare it as 'table t'",
                info(op).text.data());
  }
  std::array<Value, 2> numbers;
  std::copy(arguments.begin() + 1, arguments.end(), numbers.begin());
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    Value& v = numbers[i];
    if (v.literal_depth > 0 && v.integral) v = convert(v, Type::i64);
    if (failed_) return {};
    if (!ir::is_int(type_of(v))) {
      return fail(v.offset, ErrorCode::kTypeError,
                  "the number of an element is an integer, here %s; cast with i64(...)",
                  ir::is_mask(type_of(v)) ? "a comparison" : ir::name_of(type_of(v)).data());
    }
    if (op == Op::Strided) v = convert(v, Type::i64);
  }
  if (op == Op::Strided && !failed_) {
    const Node& stride = builder_.at(numbers[0].id);
    const std::int64_t size = stride.op == Op::Constant ? int_of_bits(Type::i64, stride.imm) : 0;
    if (size == 0 || size < -kir::kStrideMax || size > kir::kStrideMax) {
      return fail(
          numbers[0].offset, ErrorCode::kTypeError,
          "a stride is a literal other than 0, from -%lld to %lld; gather(t, stride * index + offset) takes any",
          static_cast<long long>(kir::kStrideMax), static_cast<long long>(kir::kStrideMax));
    }
    follows_places_ = true;
    if (!update_places() || places_[numbers[1].id.index].shape != Shape::uniform) {
      return fail(numbers[1].offset, ErrorCode::kTypeError,
                  "an offset is the same for all elements; gather(t, stride * index + offset) takes any");
    }
  }
  return add({op, type_of(table), table.id, numbers[0].id, numbers[1].id, 0}, offset);
}

Value Composer::form(Form form, std::span<const Value> arguments, std::size_t offset) {
  const Value x = arguments[0];
  const auto infinity = [&] { return literal(std::numeric_limits<double>::infinity(), offset); };
  switch (form) {
    case Form::Square: {
      Number two;
      two.value = 2;
      two.integer = 2;
      two.integral = true;
      return power(x, number(two, offset), offset);
    }
    case Form::Clamp: return binary(Op::Min, binary(Op::Max, x, arguments[1], offset), arguments[2], offset);
    case Form::Fdim:  // NaN when either is: the comparison is false then and the difference NaN
      return ternary(Op::Select, binary(Op::Le, x, arguments[1], offset), number({.integral = true}, offset),
                     binary(Op::Sub, x, arguments[1], offset), offset);
    case Form::Remainder: return remainder(x, arguments[1], offset);
    case Form::IsNan: return binary(Op::Ne, x, x, offset);
    case Form::IsInf: return binary(Op::Eq, unary(Op::Abs, x, offset), infinity(), offset);
    case Form::IsFinite: return binary(Op::Lt, unary(Op::Abs, x, offset), infinity(), offset);
    case Form::IsNormal: {
      if (failed_) return {};
      const Value size = unary(Op::Abs, x, offset);
      if (failed_) return {};
      const bool narrow = type_of(size) == Type::f32;
      const double least = narrow ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
      return logical(Op::And, binary(Op::Ge, size, literal(least, offset), offset),
                     binary(Op::Lt, size, infinity(), offset), offset);
    }
    case Form::SignBit:
      return binary(Op::Lt, binary(Op::Copysign, literal(1, offset), x, offset), literal(0, offset), offset);
    case Form::Any: return truth_of_all(Op::MaxOf, x, offset);
    case Form::All: return truth_of_all(Op::MinOf, x, offset);
    case Form::First: return first_of_all(x, offset);
    case Form::Var: return variance(arguments, offset);
    case Form::Std: return unary(Op::Sqrt, variance(arguments, offset), offset);
    case Form::Missing:
      return fail(offset, ErrorCode::kUnsupported,
                  "there is no kernel code for this function; compute it outside and pass it in as an array");
    case Form::Op: break;
  }
  CHECK(false);
}

// Counts truth values as 0 and 1. Of no elements the greatest is below 0 and the least above 1: none is true, and all
// are.
Value Composer::truth_of_all(Op extreme, Value a, std::size_t offset) {
  a = as_bool(a);
  if (failed_) return {};
  return binary(Op::Gt, unary(extreme, convert(a, Type::i32), offset), number({.integral = true}, offset), offset);
}

Value Composer::count_of_all(std::size_t offset) {
  const Value one = cast(Type::i64, number({.value = 1, .integer = 1, .integral = true}, offset), offset);
  return unary(Op::Sum, one, offset);
}

// Gives the least number of an element for which `a` holds, or their count. Others get a number that is greater than
// any count, so that elements need not know the count: one pass does.
Value Composer::first_of_all(Value a, std::size_t offset) {
  a = as_bool(a);
  if (failed_) return {};
  const Value place = add({Op::Index, Type::i64, {}, {}, {}, 0}, offset);
  const std::int64_t none = std::numeric_limits<std::int64_t>::max();
  const Value beyond{.id = builder_.constant_int(Type::i64, none), .offset = static_cast<std::uint32_t>(offset)};
  const Value least = unary(Op::MinOf, ternary(Op::Select, a, place, beyond, offset), offset);
  return binary(Op::Min, least, count_of_all(offset), offset);
}

// The mean of the squared distances from the mean, in two passes; with a second argument their sum divided by n less
// that, or by 0 where nothing is left, as NumPy does.
Value Composer::variance(std::span<const Value> arguments, std::size_t offset) {
  std::array<Value, 1> v = {arguments[0]};
  if (failed_ || !to_float(v, Op::Mean, offset)) return {};
  const Value x = settle(v[0]);
  const Value off = binary(Op::Sub, x, unary(Op::Mean, x, offset), offset);
  const std::array<Value, 1> distance = {off};
  const Value square = form(Form::Square, distance, offset);
  if (arguments.size() == 1) return unary(Op::Mean, square, offset);
  const Value left = binary(Op::Max, binary(Op::Sub, count_of_all(offset), arguments[1], offset),
                            number({.integral = true}, offset), offset);
  if (failed_) return {};
  return binary(Op::Div, unary(Op::Sum, square, offset), cast(type_of(x), left, offset), offset);
}

// Gives |x| with the sign of y, for integers, which have no -0.
Value Composer::copysign(Value x, Value y, std::size_t offset) {
  const Value size = unary(Op::Abs, x, offset);
  const Value below = binary(Op::Lt, y, number({.integral = true}, offset), offset);
  return ternary(Op::Select, below, unary(Op::Neg, size, offset), size, offset);
}

// IEEE remainder: x - n y with n the integer nearest to x / y (even when halfway), exact, with the sign of x when zero.
// After r = fmod(|x|, 2|y|) at most one or two exact subtractions of |y| remain; tiny |y| is compared by doubling r and
// huge |y| by halving, so that nothing overflows or loses a bit.
Value Composer::remainder(Value x, Value y, std::size_t offset) {
  std::array<Value, 2> v = {x, y};
  if (!to_float(v, Op::Fmod, offset)) return {};
  const Value ax = unary(Op::Abs, v[0], offset);
  const Value ay = unary(Op::Abs, v[1], offset);
  const Value twice = binary(Op::Add, ay, ay, offset);
  const bool narrow = !failed_ && type_of(ay) == Type::f32;
  const double half_max = narrow ? 0x1p127 : 0x1p1023;
  // |y| so large that 2|y| would overflow: |x| is below 2|y| then, and fmod by it would change nothing.
  const Value big = binary(Op::Ge, ay, literal(half_max, offset), offset);
  const Value reduced = ternary(Op::Select, big, ax, binary(Op::Fmod, ax, twice, offset), offset);
  const auto above_half = [&](Op compare, Value r) {  // compare(r, |y| / 2), exactly
    const Value doubled = binary(compare, binary(Op::Add, r, r, offset), ay, offset);
    const Value halved = binary(compare, r, binary(Op::Mul, ay, literal(0.5, offset), offset), offset);
    return ternary(Op::Select, big, halved, doubled, offset);
  };
  const Value once =
      ternary(Op::Select, above_half(Op::Gt, reduced), binary(Op::Sub, reduced, ay, offset), reduced, offset);
  const Value result =
      ternary(Op::Select, logical(Op::And, above_half(Op::Gt, reduced), above_half(Op::Ge, once), offset),
              binary(Op::Sub, once, ay, offset), once, offset);
  const Value finite = binary(Op::Lt, ax, literal(std::numeric_limits<double>::infinity(), offset), offset);
  const Value valid = logical(Op::And, finite, binary(Op::Gt, ay, literal(0, offset), offset), offset);
  const Value magnitude =
      ternary(Op::Select, valid, result, literal(std::numeric_limits<double>::quiet_NaN(), offset), offset);
  // The sign of x is put on by a product with 1 or -1, which is exact and keeps -0 and NaN.
  const Value sign = binary(Op::Copysign, literal(1, offset), v[0], offset);
  return binary(Op::Mul, magnitude, sign, offset);
}

}  // namespace trident::expr
