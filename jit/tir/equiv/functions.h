// What an instruction computes that no polynomial says, and what it requires, on values: the machine's comparisons,
// bits and quotients, in a form that is the same for as many ways to write them as are known here.
//
// Bits of u32 are sums of bitwise ands: of masks, of exclusive ors (a + b - 2 (a & b)), of what was shifted (a quotient
// by 2^k is what is left without the lower bits). Anything that is said of a value holds in every run that does not
// fail, as far as has been assumed.
#pragma once

#include <optional>
#include <vector>

#include "jit/tir/equiv/symbolic.h"

namespace trident::tir::equiv {

class Functions {
 public:
  /// Conditions, and that a block always fails, are written to `end`. Both must outlive this.
  Functions(Values& values, End& end) : v_(values), end_(end) {}

  Value integer(std::uint64_t n) { return v_.constant(Element(n)); }
  Value plus(Value a, std::uint64_t n) { return v_.add(a, integer(n)); }
  /// 1 - a.
  Value opposite(Value a) { return v_.subtract(integer(1), a); }

  // What a block requires.
  void require_u32(Value a);
  void require_not_zero(Value a);
  void require_zero(Value a);

  // What no polynomial is.
  Value is_zero(Value a);
  Value low_word(Value a);
  /// a = 2^32 high + low; an upper half made of the lower one, so that the two give the whole again.
  Value high_word(Value a, Value low);
  /// a < b of u32.
  Value less(Value a, Value b);
  /// a & b of u32, and whether that is an atom that has all that they are made of.
  Value both_bits(Value a, Value b, bool& is_atom);
  /// Says what a quotient by 2^by is the quotient of.
  void mark_quotient(Value quotient, Value whole, unsigned by);
  /// The exclusive or: constants by themselves, last.
  Value different_bits(Value a, Value b);
  Value remainder(Value n, Value d, bool& is_atom);
  Value logarithm(Value a);
  Value bit_count(Value a);
  Value power(Value base, Value exponent);

 private:
  struct BitPart {
    Element coefficient;
    std::vector<Value> operands;
  };
  void require(Condition::Kind kind, Value value);
  void require_factor(const Values::Power& power);
  /// A product of bits is 1 if all of them are.
  bool require_all_bits(Value a);
  /// The bitwise and of sorted operands that are required to be u32; an atom if it is nothing simpler. With a constant
  /// of one or two runs of bits it is that with the bits below a run's end less that with the bits below its start, so
  /// that runs which meet are one.
  Value all_bits(std::vector<Value> operands);
  /// `least`: of the greatest that each operand can be.
  Value masked(std::vector<Value> operands, std::uint64_t mask, std::uint64_t least);
  /// A value as a sum of bitwise ands: of itself alone, unless it is one or was made of some bit by bit. A sum of
  /// products of bits, which is what a bitwise function is in each bit, is and-ed part by part.
  std::vector<BitPart> bit_parts(Value a);
  /// (whole >> by) & mask as (whole & (mask << by)) >> by, for a `whole` that is known to be u32.
  std::optional<Value> bits_of_shifted(Value a, std::uint64_t mask, bool& is_atom);
  /// Of a value without bits below 2^by.
  Value shifted(Value a, unsigned by);
  /// An atom, as far as bits go.
  bool is_part(Value v);
  /// Marks and bounds what is bit by bit a sum of its parts. Parts that stand alone must be below 2^32 wherever the
  /// value can be computed: in one of the ands, or by themselves.
  void mark_if_bitwise(Value a, std::uint64_t max);
  /// What `a` is with some bits exchanged, if that is known to be u32.
  std::optional<Values::Exchange> exchange_of(Value a);
  /// a + b - 2 (a & b).
  Value different_words(Value a, Value b);

  Values& v_;
  End& end_;
};

}  // namespace trident::tir::equiv
