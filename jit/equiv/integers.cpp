#include "jit/equiv/integers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace trident::equiv {
namespace {

using expr::IntegerOp;
using expr::Op;
using expr::Type;

std::uint64_t bits(std::int64_t v) {
  return static_cast<std::uint64_t>(v);
}

std::uint64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::uint64_t result = 1;
  std::uint64_t square = bits(base);
  for (std::uint64_t e = bits(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= square;
    square *= square;
  }
  return result;
}

}  // namespace

double load_float(Type type, const std::byte* bytes) {
  if (type == Type::f32) {
    float f = 0;
    std::memcpy(&f, bytes, sizeof f);
    return static_cast<double>(f);
  }
  double d = 0;
  std::memcpy(&d, bytes, sizeof d);
  return d;
}

std::int64_t load_integer(Type type, const std::byte* bytes) {
  if (ir::bytes_of(type) == 4) {
    std::int32_t i = 0;
    std::memcpy(&i, bytes, sizeof i);
    return wrap(type, i);
  }
  std::int64_t i = 0;
  std::memcpy(&i, bytes, sizeof i);
  return wrap(type, i);
}

std::int64_t wrap(Type type, std::int64_t value) {
  if (ir::is_mask(type)) return value != 0 ? -1 : 0;
  return type == Type::i32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bits(value))) : value;
}

std::int64_t cast_integer(Type to, Type from, std::int64_t value) {
  if (ir::is_mask(to)) return value != 0 ? -1 : 0;
  return wrap(to, ir::is_mask(from) ? -value : value);
}

std::int64_t truncate(Type to, long double value) {
  const long double t = std::trunc(value);
  const std::int64_t least = end_of_range(to, false);
  const long double limit = -static_cast<long double>(least);  // one above the greatest
  if (!(t >= -limit) || !(t < limit)) return least;
  return static_cast<std::int64_t>(t);
}

double int_to_float(Type type, std::int64_t value) {
  return type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
}

std::int64_t end_of_range(Type type, bool greatest) {
  if (type == Type::i32)
    return greatest ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int32_t>::min();
  return greatest ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

Wide unwrapped(const expr::Node& node, std::int64_t a, std::int64_t b) {
  const unsigned width = ir::bytes_of(node.type) * 8;
  const auto shift = static_cast<unsigned>(bits(b) % width);
  const std::uint64_t narrow = width == 32 ? bits(a) & 0xFFFF'FFFFu : bits(a);  // without the sign's extension
  switch (expr::integer_op(node.op)) {
    case IntegerOp::Add: return Wide{a} + b;
    case IntegerOp::Sub: return Wide{a} - b;
    case IntegerOp::Mul: return Wide{a} * b;
    case IntegerOp::Neg: return -Wide{a};
    case IntegerOp::Abs: return a < 0 ? -Wide{a} : Wide{a};
    case IntegerOp::Min: return std::min(a, b);
    case IntegerOp::Max: return std::max(a, b);
    case IntegerOp::Powi: return integer_power(a, static_cast<std::int64_t>(node.imm));
    case IntegerOp::Sign: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case IntegerOp::And: return a & b;
    case IntegerOp::Or: return a | b;
    case IntegerOp::Xor: return a ^ b;
    case IntegerOp::Not: return ~a;
    case IntegerOp::Shl: return bits(a) << shift;
    case IntegerOp::Shr: return narrow >> shift;
    case IntegerOp::Sar: return a >> shift;
  }
  CHECK(false);
}

std::int64_t apply_integer(const expr::Node& node, std::int64_t a, std::int64_t b) {
  return wrap(node.type, static_cast<std::int64_t>(unwrapped(node, a, b)));
}

std::int64_t combine_integer(const expr::Node& reduction, std::int64_t partial, std::int64_t a, std::int64_t b) {
  if (reduction.op == Op::Dot)
    return wrap(reduction.type, static_cast<std::int64_t>(bits(partial) + bits(a) * bits(b)));
  return join_integer(reduction, partial, a);
}

std::int64_t join_integer(const expr::Node& reduction, std::int64_t x, std::int64_t y) {
  if (reduction.op == Op::MinOf) return std::min(x, y);
  if (reduction.op == Op::MaxOf) return std::max(x, y);
  if (reduction.op == Op::Prod) return wrap(reduction.type, static_cast<std::int64_t>(bits(x) * bits(y)));
  return wrap(reduction.type, static_cast<std::int64_t>(bits(x) + bits(y)));
}

}  // namespace trident::equiv
