// The values of one node at the points of a block, strict and correct side by side, and how sure they are.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/equiv/integers.h"
#include "jit/equiv/numbers.h"
#include "jit/equiv/rounded.h"
#include "jit/equiv/running_error.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

/// Bits of `unsure`.
inline constexpr std::uint8_t kOpen = 1;              ///< rounding decides a step on the way
inline constexpr std::uint8_t kMayBeNextInteger = 2;  ///< by one unit, no more than a rounding
inline constexpr std::uint8_t kEitherSide = 4;        ///< the running error reaches a step on the way
inline constexpr std::uint8_t kOverflows = 8;         ///< a value on the way is beyond its type
inline constexpr std::uint8_t kMayOverflow = 16;      ///< the running error decides whether one is
inline constexpr std::uint8_t kApproximate = 32;      ///< a function on the way, which kernels do not round correctly
inline constexpr std::uint8_t kMayBeNan = 64;         ///< the running error decides whether it is a number
inline constexpr std::uint8_t kEitherInfinity = 128;  ///< a function's error or a zero decides an infinity's sign
inline constexpr std::uint8_t kUnknownSize = kOverflows | kMayOverflow;
/// The bits that a judge asks for.
inline constexpr std::uint8_t kOnTheWay =
    kEitherSide | kOverflows | kMayOverflow | kApproximate | kMayBeNan | kEitherInfinity;

/// The values of one node at the points of a block. Floats use s and c; integers and bools si and ci (bools 0 or -1).
/// With running errors floats have d, and integers and bools the interval `whole`.
template <class N>
struct Lanes {
  std::vector<double> s;
  std::vector<N> c;
  std::vector<long double> d;
  std::vector<std::int64_t> si, ci;
  std::vector<Whole> whole;
  std::vector<std::uint8_t> unsure;

  void resize(expr::Type type, std::size_t width) {
    if (ir::is_float(type)) {
      s.resize(width);
      c.resize(width);
      d.resize(width);
    } else {
      si.resize(width);
      ci.resize(width);
      whole.resize(width);
    }
    unsure.resize(width);
  }

  /// Copies lane 0 to all others.
  void repeat_first() {
    const auto repeat = [](auto& list) {
      for (std::size_t i = 1; i < list.size(); ++i) list[i] = list[0];
    };
    repeat(s), repeat(c), repeat(d), repeat(si), repeat(ci), repeat(whole), repeat(unsure);
  }
};

/// Loads a float, integer or bool from memory: an exact value.
template <class N>
void load_lane(expr::Type type, const std::byte* bytes, Lanes<N>& r, std::size_t i) {
  r.unsure[i] = 0;
  if (ir::is_float(type)) {
    r.s[i] = load_float(type, bytes);
    set_exact(r.c[i], r.s[i]);
    r.d[i] = 0;
  } else {
    r.si[i] = r.ci[i] = load_integer(type, bytes);
    r.whole[i] = {r.ci[i], r.ci[i]};
  }
}

/// Joins the unsure bits of a node's operands.
template <class N>
std::uint8_t any_unsure(const expr::Node& node, const std::vector<Lanes<N>>& lanes, std::size_t i) {
  std::uint8_t unsure = 0;
  for (const expr::NodeId id : {node.a, node.b, node.c})
    if (id.valid()) unsure |= lanes[id.index].unsure[i];
  return unsure;
}

/// Returns whether a value is exact. An integer chosen by rounding may be the correct one, but is not exact.
template <class N>
bool exactly(const Lanes<N>& a, std::size_t i) {
  return is_exactly(a.c[i], a.s[i]) && (a.unsure[i] & kMayBeNextInteger) == 0;
}

/// Returns whether the strict value is the true one.
template <class N>
bool known_exactly(const Lanes<N>& a, std::size_t i) {
  return error_of(a.c[i]) == 0 && is_exactly(a.c[i], a.s[i]);
}

/// Takes a lane of `b` where the condition holds, else of `c`.
template <class N>
void select_lane(expr::Type type, const Lanes<N>& condition, const Lanes<N>& b, const Lanes<N>& c, Lanes<N>& r,
                 std::size_t i) {
  const Lanes<N>& taken_s = condition.si[i] != 0 ? b : c;
  const Lanes<N>& taken_c = condition.ci[i] != 0 ? b : c;
  if (ir::is_float(type)) {
    r.s[i] = taken_s.s[i];
    r.c[i] = taken_c.c[i];
  } else {
    r.si[i] = taken_s.si[i];
    r.ci[i] = taken_c.ci[i];
  }
  // Where what overflows on the way to the condition makes the source take the other branch.
  const bool other_way = (condition.si[i] != 0) != (condition.ci[i] != 0);
  const std::uint8_t kept = other_way ? kOpen | kOverflows | kMayOverflow : kOpen;
  r.unsure[i] = (condition.unsure[i] & kept) | taken_s.unsure[i] | taken_c.unsure[i];
}

}  // namespace trident::equiv
