// Arithmetic of Triton VM as sequences of kir ops on i64 lanes: the field, its extension, u32.
//
// A word is an element's integer in [0, p), as in runtime/field/element.h. Comparisons of kir are signed, so words are
// compared as x ^ 2^63. Where that costs something, sums and products are arranged so that only one side
// needs it; AVX-512 compares both sides as they are. Each value has a greatest integer that it can be: values known to
// be small need no reduction and no check.
//
// A failing operation marks its lane as failed and goes on with an arbitrary value: in such a lane the bounds that the
// check promised do not hold, and the mark stays.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jit/kir/builder.h"
#include "jit/tir/native/translate.h"
#include "runtime/field/element.h"

namespace trident::tir::native {

using field::Element;
using kir::Value;

class Arithmetic {
 public:
  using Extension = std::array<Value, 3>;  ///< coefficients of 1, x, x^2

  /// Appends to `kernel`, which must outlive this object.
  Arithmetic(kir::Kernel& kernel, Target target) : b_(kernel), target_(target) {}

  /// Adds input number `index` of the kernel, a word.
  Value input(std::uint32_t index) { return b_.input(index); }
  Value constant(std::uint64_t word);

  // The field.
  Value sum(Value x, Value y);
  Value difference(Value x, Value y);
  Value negated(Value x);
  Value product(Value x, Value y);
  Value inverse(Value x);                   ///< fails for 0
  Value power(Value base, Value exponent);  ///< 0^0 = 1; fails unless the exponent is u32
  Value equal(Value x, Value y);            ///< 1 or 0

  // u32; each operation fails if an operand is not below 2^32.
  Value less(Value x, Value y);
  Value bitwise(kir::Op op, Value x, Value y);  ///< And, Xor
  Value log_2_floor(Value x);                   ///< fails for 0
  Value pop_count(Value x);
  struct Quotient {
    Value quotient, remainder;
  };
  Quotient divide(Value n, Value d);  ///< fails if d = 0

  /// Halves of any word.
  struct Halves {
    Value high, low;
  };
  Halves split(Value x);

  // The extension, as in runtime/field/extension.h.
  Extension sum(const Extension& x, const Extension& y);
  Extension product(const Extension& x, const Extension& y);
  Extension product(Value factor, const Extension& x);
  Extension inverse(const Extension& x);  ///< fails for 0
  /// Inverse as column / norm; the norm is 0 only for 0.
  struct Adjugate {
    Extension column;
    Value norm;
  };
  Adjugate adjugate(const Extension& x);

  [[nodiscard]] bool is_constant(Value v) const { return b_.is_constant(v); }
  void fail_unless_equal(Value x, Value y);
  /// Fails lanes in which the word is not 0.
  void fail_where_set(Value word) { fail_if(b_.ne(word, integer(0))); }
  /// Returns 1 in lanes that failed, else 0.
  Value failed();

 private:
  [[nodiscard]] std::uint64_t max(Value v) const;
  [[nodiscard]] bool is_u32(Value v) const { return max(v) <= field::kEpsilon; }
  /// Returns `v` with `bound` noted as its greatest value.
  Value bounded(Value v, std::uint64_t bound);
  Value need_u32(Value v);
  void fail_if(Value mask);

  Value integer(std::uint64_t bits) { return b_.constant_bits(kir::Type::i64, bits); }
  Value low(Value v) { return b_.op(kir::Op::And, v, integer(field::kEpsilon)); }
  Value high(Value v) { return b_.op(kir::Op::Shr, v, integer(32)); }
  Value flipped(Value v) { return b_.op(kir::Op::Xor, v, integer(std::uint64_t{1} << 63)); }
  /// Returns `value` where the mask is set, else 0.
  Value where(Value mask, std::uint64_t value) { return b_.select(mask, integer(value), integer(0)); }
  /// Multiplies the low halves to 64 bits.
  Value product_of_lows(Value x, Value y) { return b_.mul(low(x), low(y)); }
  /// Compares unsigned integers.
  Value below(Value x, Value y) { return b_.lt(flipped(x), flipped(y)); }
  Value canonical_sum(Value x, Value y, std::uint64_t constant = 0);
  Value any_sum(Value x, Value y);
  Value sum_with_flipped(Value x_flipped, Value room_flipped);
  struct Wide {
    Value low, high;
  };
  Value reduced(Wide x, bool high_is_u32);
  Value low_half_and(Value low_half, Value upper_half);
  /// Product x y = low + 2^32 middle + 2^64 high, where low and middle count by their lower halves only.
  struct Thirds {
    Value low, middle, high;
  };
  Thirds thirds(Value x, Value y);
  /// Sum low + 2^32 high of signed integers far from 2^63: they are added without carries.
  struct Loose {
    Value low, high;
  };
  Loose loose_product(Value x, Value y);
  Loose plus(const Loose& x, const Loose& y) { return {b_.add(x.low, y.low), b_.add(x.high, y.high)}; }
  Loose minus(const Loose& x, const Loose& y) { return {b_.sub(x.low, y.low), b_.sub(x.high, y.high)}; }
  Value tightened(const Loose& x);
  Value squared(Value x, int times);
  Value power(Value base, std::uint64_t exponent);
  Value power_by_bits(Value base, Value exponent);
  Value power_by_windows(Value base, Value exponent);

  kir::Builder b_;
  Target target_;
  std::vector<std::uint64_t> max_;  ///< by value; beyond its end, p - 1
  Value out_of_u32_{};              ///< bitwise or of all words that must be u32
  Value failed_{};                  ///< mask of failed lanes
};

}  // namespace trident::tir::native
