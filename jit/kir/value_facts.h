// Facts of the values of a kernel, as a rebuilt kernel is put together.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "jit/kir/builder.h"
#include "jit/kir/narrow.h"
#include "runtime/base/check.h"

namespace trident::kir {

/// A float's known interval and whether it may be -0; an integer's least and greatest value.
struct Fact {
  Known known{};
  bool may_be_minus_zero = true;
  std::int64_t least = INT64_MIN, greatest = INT64_MAX;
};

/// Finds the facts of the instructions of a kernel that is being built.
class ValueFacts {
 protected:
  ValueFacts() = default;
  ValueFacts(const ValueFacts&) = delete;  // b_ points to to_

  // --- lanes as numbers ---

  static double load(Type type, std::uint64_t bits) {
    return type == Type::f32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                             : std::bit_cast<double>(bits);
  }
  static std::uint64_t store(Type type, double value) {
    return type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                             : std::bit_cast<std::uint64_t>(value);
  }
  static std::int64_t load_int(Type type, std::uint64_t bits) {
    return type == Type::i32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))
                             : static_cast<std::int64_t>(bits);
  }
  static bool finite(const Known& k) { return !k.may_be_nan && std::isfinite(k.lo) && std::isfinite(k.hi); }
  // Bounds a 2^b. The intervals' ends may be outside the op's contract, which its actual operands meet.
  static Known scaled(Type type, const Known& a, const Known& b);

  // --- facts ---

  [[nodiscard]] const Fact& fact(Value v) const {
    CHECK(v.index < facts_.size());  // none for instructions appended since analyse()
    return facts_[v.index];
  }
  [[nodiscard]] bool is(Value v, std::uint64_t bits) const { return b_.is_constant(v) && b_.bits_of(v) == bits; }

  [[nodiscard]] bool nonzero(Value v) const {
    const Known& k = fact(v).known;
    return !k.may_be_nan && (k.lo > 0 || k.hi < 0);
  }
  [[nodiscard]] bool is_zero(Value v) const { return is(v, 0); }
  [[nodiscard]] bool is_some_zero(Value v) const {
    const Known& k = fact(v).known;
    return k.lo == 0 && k.hi == 0 && !k.may_be_nan;
  }
  /// Returns whether v + 0, v + -0 and v - 0 have the bits of v.
  [[nodiscard]] bool keeps_when_zero_is_added(Value v) const {
    return nonzero(v) || (finite(fact(v).known) && !fact(v).may_be_minus_zero);
  }
  /// Returns whether |a| >= |b| always holds and a is nonzero.
  [[nodiscard]] bool dominates(Value a, Value b) const;

  // Returns whether x is the rounding error of the product y, so that x + y rounds to y again.
  [[nodiscard]] bool is_error_of(Value x, Value y) const;

  /// Finds the facts of the instructions appended since.
  void analyse() {
    while (facts_.size() < to_.insts.size()) facts_.push_back(fact_of(to_.insts[facts_.size()]));
  }

  // Returns the least and the greatest result of `op` at the given operands.
  [[nodiscard]] Known ends(const Inst& inst, std::initializer_list<std::array<double, 3>> corners) const;
  [[nodiscard]] Fact fact_of(const Inst& inst) const;

  // Ignores NaN, whose sign is unspecified.
  [[nodiscard]] bool may_be_minus_zero(const Inst& inst, const Known& known) const;
  [[nodiscard]] Known known_of(const Inst& inst) const;
  [[nodiscard]] Known converted(const Inst& inst) const;

  /// Returns the sum that `n` is the difference of with the magic constant: n is the sum's other operand, rounded.
  /// Invalid if there is none.
  [[nodiscard]] Value magic_sum_of(Value n) const;

  // Bounds x - n / l with n = x l rounded to an integer: half a unit, plus the errors of the constants and of the
  // rounding of the difference.
  [[nodiscard]] std::optional<Known> remainder_of(const Inst& inst) const;

  using Integers = std::pair<std::int64_t, std::int64_t>;  ///< the least and the greatest
  static constexpr Integers kAnyInteger{INT64_MIN, INT64_MAX};

  [[nodiscard]] Integers integers_of(const Inst& inst) const;
  /// Returns the values that an operand may have, none beyond its type.
  [[nodiscard]] Integers integers(Value v) const;
  /// Bounds sums, products and what only moves or compares integers; anything where a result may wrap.
  [[nodiscard]] Integers arithmetic(const Inst& inst) const;
  [[nodiscard]] Integers bits_of_float(Value v) const;

  // Finds a - ((a - c) & ~m) = c + ((a - c) & m), m low bits: the form that functions extract the mantissa with.
  [[nodiscard]] Integers difference(const Inst& inst) const;

  Kernel to_;
  Builder b_{to_};
  std::vector<Fact> facts_;  ///< of each instruction of to_
};

}  // namespace trident::kir
