// A language for the tests of this folder: leaves, a commutative and an ordered op of two operands, one op of one.
// Values are numbers, so that equalities of the graph can be computed.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "jit/egraph/egraph.h"

namespace trident::egraph::toy {

enum Op : std::uint8_t { kNumber, kLeaf, kAdd, kSub, kMul, kNeg, kFma };
inline constexpr OpRow kOps[] = {{"number", 0, false}, {"leaf", 0, false}, {"add", 2, true}, {"sub", 2, false},
                                 {"mul", 2, true},     {"neg", 1, false},  {"fma", 3, true}};

inline ENode number(double value) {
  return {.op = kNumber, .child = {static_cast<std::uint32_t>(static_cast<std::int32_t>(value)), 0, 0}};
}
inline ENode leaf(std::uint32_t index) {
  return {.op = kLeaf, .child = {index, 0, 0}};
}
inline ENode node(Op op, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
  return {.op = op, .child = {a, b, c}};
}

/// Constants are integers and fold; leaves are anything.
inline Semantics semantics() {
  Semantics s;
  s.facts = [](const void*, const ENode& n, const std::array<const Facts*, 3>& c) {
    Facts f;
    f.may_be_nan = false;
    if (n.op == kLeaf) f.variables = 1u << n.child[0];
    f.variables |= c[0]->variables | c[1]->variables | c[2]->variables;
    const double a = c[0]->lo, b = c[1]->lo;
    const bool both = c[0]->constant && c[1]->constant;
    double value = 0;
    if (n.op == kNumber)
      value = static_cast<std::int32_t>(n.child[0]);
    else if (n.op == kNeg && c[0]->constant)
      value = -a;
    else if (n.op == kAdd && both)
      value = a + b;
    else if (n.op == kSub && both)
      value = a - b;
    else if (n.op == kMul && both)
      value = a * b;
    else if (n.op == kFma && both && c[2]->constant)
      value = a * b + c[2]->lo;
    else
      return f;
    f.lo = f.hi = value;
    f.constant = std::fabs(value) < 1e6;
    return f;
  };
  s.constant = [](const void*, std::uint8_t, double value) { return number(value); };
  return s;
}

/// No folding, no facts: for tests of congruence alone.
inline Semantics plain() {
  Semantics s = semantics();
  s.facts = [](const void*, const ENode&, const std::array<const Facts*, 3>&) { return Facts{}; };
  return s;
}

}  // namespace trident::egraph::toy
