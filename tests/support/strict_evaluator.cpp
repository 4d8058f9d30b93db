#include "tests/support/strict_evaluator.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "jit/expr/shape.h"
#include "tests/support/reduction_order.h"

namespace trident::testing {
namespace {

using expr::Expr;
using expr::Node;
using expr::Op;
using expr::Shape;
using expr::Type;

template <class T>
T load(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<T>(bits);
}

template <class T>
std::uint64_t store(T value) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<std::uint64_t>(value);
}

std::uint64_t store_bool(bool value) {
  return value ? 0xFFFF'FFFFu : 0;
}

template <class T>
T power(T a, std::int64_t exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(exponent)));
  } else {
    std::make_unsigned_t<T> product = 1;
    for (std::int64_t i = 0; i < exponent; ++i) product *= static_cast<std::make_unsigned_t<T>>(a);
    return static_cast<T>(product);
  }
}

double function(Op op, double a, double b) {
  switch (op) {
    case Op::Rsqrt: return 1 / std::sqrt(a);
    case Op::Cbrt: return std::cbrt(a);
    case Op::Hypot: return std::hypot(a, b);
    case Op::Exp: return std::exp(a);
    case Op::Exp2: return std::exp2(a);
    case Op::Expm1: return std::expm1(a);
    case Op::Log: return std::log(a);
    case Op::Log2: return std::log2(a);
    case Op::Log10: return std::log10(a);
    case Op::Log1p: return std::log1p(a);
    case Op::Pow: return std::pow(a, b);
    case Op::Sin: return std::sin(a);
    case Op::Cos: return std::cos(a);
    case Op::Tan: return std::tan(a);
    case Op::Asin: return std::asin(a);
    case Op::Acos: return std::acos(a);
    case Op::Atan: return std::atan(a);
    case Op::Atan2: return std::atan2(a, b);
    case Op::Sinh: return std::sinh(a);
    case Op::Cosh: return std::cosh(a);
    case Op::Tanh: return std::tanh(a);
    case Op::Asinh: return std::asinh(a);
    case Op::Acosh: return std::acosh(a);
    case Op::Atanh: return std::atanh(a);
    case Op::Erf: return std::erf(a);
    case Op::Erfc: return std::erfc(a);
    case Op::Floor: return std::floor(a);
    case Op::Ceil: return std::ceil(a);
    case Op::Round: return std::round(a);
    case Op::Rint: return std::nearbyint(a);
    case Op::Trunc: return std::trunc(a);
    case Op::Fmod: return std::fmod(a, b);
    default: break;
  }
  CHECK(false);
}

template <class T>
T float_op(const Node& n, T a, T b, T c) {
  switch (n.op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::Neg: return -a;
    case Op::Abs: return std::fabs(a);
    case Op::Min: return std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a;
    case Op::Max: return std::isnan(a) ? b : std::isnan(b) ? a : b > a ? b : a;
    case Op::Fma: return std::fma(a, b, c);
    case Op::Recip: return 1 / a;
    case Op::Sqrt: return std::sqrt(a);
    case Op::Powi: return power(a, static_cast<std::int64_t>(n.imm));
    case Op::Copysign: return std::isnan(b) ? std::fabs(a) : std::copysign(a, b);
    case Op::Sign: return a > 0 ? T{1} : a < 0 ? T{-1} : a;
    default: return static_cast<T>(function(n.op, static_cast<double>(a), static_cast<double>(b)));
  }
}

template <class T>
T int_op(const Node& n, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const U x = static_cast<U>(a);
  const U y = static_cast<U>(b);
  const U shift = y % (8 * sizeof(T));
  switch (n.op) {
    case Op::Add: return static_cast<T>(x + y);
    case Op::Sub: return static_cast<T>(x - y);
    case Op::Mul: return static_cast<T>(x * y);
    case Op::Neg: return static_cast<T>(U{0} - x);
    case Op::Abs: return a < 0 ? static_cast<T>(U{0} - x) : a;
    case Op::Min: return a < b ? a : b;
    case Op::Max: return a > b ? a : b;
    case Op::Powi: return power(a, static_cast<std::int64_t>(n.imm));
    case Op::Sign: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Not: return ~a;
    case Op::Shl: return static_cast<T>(x << shift);
    case Op::Shr: return static_cast<T>(x >> shift);
    case Op::Sar: return a >> shift;
    default: break;
  }
  CHECK(false);
}

template <class T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    default: break;
  }
  CHECK(false);
}

bool bool_op(Op op, bool a, bool b) {
  switch (op) {
    case Op::And: return a && b;
    case Op::Or: return a || b;
    case Op::Xor: return a != b;
    case Op::Not: return !a;
    default: break;
  }
  CHECK(false);
}

// Calls f with a value of the C++ type for `type`.
template <class F>
auto with_type(Type type, F f) {
  switch (type) {
    case Type::f32: return f(float{});
    case Type::f64: return f(double{});
    case Type::i32: return f(std::int32_t{});
    case Type::i64: return f(std::int64_t{});
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

template <class To, class From>
To converted(From a) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double limit = sizeof(To) == 4 ? 0x1p31 : 0x1p63;
    const double t = std::trunc(static_cast<double>(a));
    return t >= -limit && t < limit ? static_cast<To>(t) : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(a);
  }
}

std::uint64_t cast(Type to, Type from, std::uint64_t bits) {
  if (from == Type::b32) {
    return with_type(to, [&](auto t) { return store(static_cast<decltype(t)>(bits != 0 ? 1 : 0)); });
  }
  return with_type(from, [&](auto f) {
    const auto a = load<decltype(f)>(bits);
    if (to == Type::b32) return store_bool(a != 0);
    return with_type(to, [&](auto t) { return store(converted<decltype(t)>(a)); });
  });
}

template <class T, class F>
T reduce(const std::vector<std::uint64_t>& values, std::size_t n, T start, F f) {
  return reduced_in_order([&](std::size_t i) { return load<T>(values[values.size() == 1 ? 0 : i]); }, n, sizeof(T),
                          start, f);
}

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}

template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
  else
    return a * b;
}

std::uint64_t evaluate_reduction(const Node& node, const std::vector<std::uint64_t>& values, std::size_t n) {
  return with_type(node.type, [&](auto t) -> std::uint64_t {
    using T = decltype(t);
    using L = std::numeric_limits<T>;
    const T greatest = L::has_infinity ? L::infinity() : L::max();
    const T least = L::has_infinity ? -L::infinity() : L::lowest();
    if (node.op == Op::MinOf) return store(reduce<T>(values, n, greatest, [](T p, T v) { return v < p ? v : p; }));
    if (node.op == Op::MaxOf) return store(reduce<T>(values, n, least, [](T p, T v) { return v > p ? v : p; }));
    if (node.op == Op::Prod) return store(reduce<T>(values, n, T{1}, [](T p, T v) { return multiply(p, v); }));
    const T sum = reduce<T>(values, n, T{0}, [](T p, T v) { return add(p, v); });
    if constexpr (std::is_floating_point_v<T>) {
      if (node.op == Op::Mean) return store(static_cast<T>(sum / static_cast<T>(n)));
    }
    return store(sum);
  });
}

// As numpy.argmin and numpy.argmax: the first NaN, else the first of the least or greatest; -1 for no element.
std::uint64_t evaluate_location(Op op, Type type, const std::vector<std::uint64_t>& values, std::size_t n) {
  return with_type(type, [&](auto t) -> std::uint64_t {
    using T = decltype(t);
    const auto at = [&](std::size_t i) { return load<T>(values[values.size() == 1 ? 0 : i]); };
    for (std::size_t i = 0; i < n; ++i)
      if (at(i) != at(i)) return i;
    std::int64_t found = n == 0 ? -1 : 0;
    for (std::size_t i = 1; i < n; ++i) {
      const T here = at(i), best = at(static_cast<std::size_t>(found));
      if (op == Op::ArgMin ? here < best : here > best) found = static_cast<std::int64_t>(i);
    }
    return static_cast<std::uint64_t>(found);
  });
}

}  // namespace

std::uint64_t evaluate_op(const Expr& expr, const Node& node, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const Type operand = expr.at(node.a).type;
  if (node.op == Op::Select) return a != 0 ? b : c;
  if (node.op == Op::Cast) return cast(node.type, operand, a);
  if (operand == Type::b32) return store_bool(bool_op(node.op, a != 0, b != 0));
  return with_type(operand, [&](auto t) -> std::uint64_t {
    using T = decltype(t);
    if (node.type == Type::b32) return store_bool(compare(node.op, load<T>(a), load<T>(b)));
    if constexpr (std::is_floating_point_v<T>)
      return store(float_op(node, load<T>(a), load<T>(b), load<T>(c)));
    else
      return store(int_op(node, load<T>(a), load<T>(b)));
  });
}

std::vector<std::vector<std::uint64_t>> evaluate_strict(const Expr& expr,
                                                        const std::vector<std::vector<std::uint64_t>>& inputs,
                                                        std::size_t n) {
  const std::vector<Shape> shapes = expr::shapes_of(expr);
  std::vector<std::vector<std::uint64_t>> values;
  const auto get = [&](expr::NodeId id, std::size_t i) -> std::uint64_t {
    if (!id.valid()) return 0;
    const auto& v = values[id.index];
    return v[v.size() == 1 ? 0 : i];
  };
  for (std::size_t k = 0; k < expr.nodes.size(); ++k) {
    const Node& node = expr.nodes[k];
    std::vector<std::uint64_t> result;
    const expr::Signature signature = expr::info(node.op).signature;
    if (node.op == Op::Constant) {
      result = {node.imm};
    } else if (node.op == Op::Variable) {
      result = inputs[node.imm];
    } else if (signature == expr::Signature::Reduce) {
      result = {evaluate_reduction(node, values[node.a.index], n)};
    } else if (signature == expr::Signature::Locate) {
      result = {evaluate_location(node.op, expr.at(node.a).type, values[node.a.index], n)};
    } else if (signature == expr::Signature::Reduce2) {
      std::vector<std::uint64_t> products;
      Node product = node;
      product.op = Op::Mul;
      for (std::size_t i = 0; i < n; ++i) {
        products.push_back(evaluate_op(expr, product, get(node.a, i), get(node.b, i), 0));
      }
      result = {evaluate_reduction(node, products, n)};
    } else {
      const std::size_t count = shapes[k] == Shape::element ? n : 1;
      for (std::size_t i = 0; i < count; ++i) {
        result.push_back(evaluate_op(expr, node, get(node.a, i), get(node.b, i), get(node.c, i)));
      }
    }
    values.push_back(std::move(result));
  }
  return values;
}

}  // namespace trident::testing
