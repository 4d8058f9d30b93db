// The value of an op on floats of a type T: the column Value of ops.def, computed in T by the C library.
#pragma once

#include <cmath>
#include <cstdint>

#include "jit/expr/ops.h"

namespace trident::expr {

/// The op on the operands that it has; `n` is the exponent of Powi. Every operation is rounded in T.
template <class T>
T evaluate(RealOp op, [[maybe_unused]] std::int64_t n, T a, T b, T c) {
  switch (static_cast<Op>(op)) {
#define C1(f) return std::f(a);
#define C2(f) return std::f(a, b);
#define C3(f) return std::f(a, b, c);
#define Formula(...) return __VA_ARGS__;
#define None break;
#define X(id, Name, text, arity, signature, types, kind, value, ...) \
  case Op::Name:                                                     \
    value
#include "jit/expr/ops.def"
#undef X
#undef C1
#undef C2
#undef C3
#undef Formula
#undef None
  }
  CHECK(false);
}

}  // namespace trident::expr
