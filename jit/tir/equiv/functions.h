// Conditions and non-polynomial results of instructions, on values: the machine's comparisons, bits and quotients, in
// one form for all the ways to write them that are known here.
//
// Bits of u32 are sums of bitwise ands: of masks, of exclusive ors (a + b - 2 (a & b)), of shifts (a quotient by 2^k
// is the value without its lower bits). Facts about a value hold in every run that does not fail, under the current
// assumptions.
#pragma once

#include <optional>
#include <vector>

#include "jit/tir/equiv/symbolic.h"

namespace trident::tir::equiv {

class Functions {
 public:
  /// Writes conditions to `end`, and sets end.fails if a block always fails. Both must outlive this.
  Functions(Values& values, End& end) : v_(values), end_(end) {}

  Value integer(std::uint64_t n) { return v_.constant(Element(n)); }
  Value plus(Value a, std::uint64_t n) { return v_.add(a, integer(n)); }
  /// Returns 1 - a.
  Value opposite(Value a) { return v_.subtract(integer(1), a); }

  // Conditions of a block.
  void require_u32(Value a);
  void require_not_zero(Value a);
  void require_zero(Value a);

  // Functions that are not polynomials.
  Value is_zero(Value a);
  Value low_word(Value a);
  /// Returns the high word, as a = 2^32 high + low. It is built from `low`, so that the two sum to `a` again.
  Value high_word(Value a, Value low);
  /// Returns a < b of u32.
  Value less(Value a, Value b);
  /// Returns a & b of u32. Sets `is_atom` if the result is an atom that has all that both are made of.
  Value both_bits(Value a, Value b, bool& is_atom);
  /// Records which value a quotient by 2^by was made from.
  void mark_quotient(Value quotient, Value whole, unsigned by);
  /// Returns the exclusive or; constants stand by themselves, last.
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
  /// Requires a product of bits to be 1, that is, each of its bits.
  bool require_all_bits(Value a);
  /// Returns the bitwise and of sorted operands that are required to be u32; an atom if nothing simpler. A constant
  /// of one or two runs of bits becomes, per run, the bits below its end minus the bits below its start, so that
  /// adjacent runs join.
  Value all_bits(std::vector<Value> operands);
  /// Ands the operands with `mask`. `least`: the smallest of the operands' greatest values.
  Value masked(std::vector<Value> operands, std::uint64_t mask, std::uint64_t least);
  /// Splits a value into bitwise ands: itself alone, unless it is one or was made of some bit by bit. A sum of
  /// products of bits (a bitwise function, in each bit) is and-ed part by part.
  std::vector<BitPart> bit_parts(Value a);
  /// Returns (whole >> by) & mask as (whole & (mask << by)) >> by, for a `whole` that is known to be u32.
  std::optional<Value> bits_of_shifted(Value a, std::uint64_t mask, bool& is_atom);
  /// Shifts a value right that has no bits below 2^by.
  Value shifted(Value a, unsigned by);
  /// True if bit operations treat `v` as an atom.
  bool is_part(Value v);
  /// Marks and bounds a value that is bit by bit a sum of its parts. Parts that stand alone must be below 2^32 wherever
  /// the value can be computed: in one of the ands, or by themselves.
  void mark_if_bitwise(Value a, std::uint64_t max);
  /// Returns `a` as a value with some bits exchanged, if it is known to be u32.
  std::optional<Values::Exchange> exchange_of(Value a);
  /// Returns a + b - 2 (a & b).
  Value different_words(Value a, Value b);

  Values& v_;
  End& end_;
};

}  // namespace trident::tir::equiv
