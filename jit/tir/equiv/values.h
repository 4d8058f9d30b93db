// A block's results as values in normal form: polynomials over the field whose variables are atoms. An atom is a word
// that the block found (cells of the stack, words of RAM, inputs) or a result that is not a polynomial (comparisons,
// bits, hashes), named by its operands' normal forms.
//
//   value  =  sum of  coefficient * atom^exponent * ...      exponents may be negative: the atom is then not 0
//
// Every atom has a random element at each of three points; a value's fingerprint is its polynomial at these points.
// Values with one fingerprint are one value. Polynomials that would grow too large are known by their fingerprint only
// (Schwartz-Zippel): two different ones of degree at most d meet at a point with probability at most d/p (Schwartz,
// JACM 27, 1980). error_bound() sums that over all pairs that could have met, and is 0 as long as no two values were
// merged because of their fingerprints alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/split_mix.h"
#include "runtime/field/element.h"

namespace trident::tir::equiv {

using field::Element;
/// Greatest 32-bit word; many instructions fail beyond it.
inline constexpr std::uint64_t kU32Max = 0xffff'ffff;
/// Index of a value; equal indices mean equal values.
using Value = std::uint32_t;

enum class AtomKind : std::uint8_t {
  // Words that the block found: names are positions.
  cell,         ///< of the stack, counted from the top
  public_word,  ///< in the order of reading
  secret_word,
  digest_word,  ///< number of the digest, number of the word
  sponge_word,
  ram_word,  ///< at an address, which is a value
  // Computed atoms: names are values, or tuples of values.
  loaded,     ///< from RAM after stores (a tuple of addresses and words) that may be to its address
  is_zero,    ///< 1 if the value is 0, else 0
  low_word,   ///< lower 32 bits
  less,       ///< comparison of u32
  both_bits,  ///< bitwise and of u32: the tuple of its operands, sorted
  remainder,  ///< division of u32
  logarithm,
  power,  ///< base, exponent
  bit_count,
  permuted,  ///< by Tip5: the tuple of 16 words, number of the word
  inverted,  ///< base of inverses: the value itself, as an atom
  large,     ///< a polynomial known by its fingerprint only
};

class Values {
 public:
  explicit Values(std::uint64_t seed);

  Value constant(Element element);
  Value add(Value a, Value b) { return sum(a, b, field::kOne); }
  Value subtract(Value a, Value b) { return sum(a, b, field::kMinusOne); }
  Value multiply(Value a, Value b);
  Value scale(Value a, Element factor);
  /// Returns 1/a; `a` must not be 0.
  Value invert(Value a);
  /// Returns none if the power's degree would be too large.
  std::optional<Value> raise(Value a, std::uint64_t exponent);
  /// Makes an atom for a new name. `max`: the greatest integer it can be.
  Value atom(AtomKind kind, std::uint32_t first, std::uint32_t second = 0, std::uint64_t max = field::kModulus - 1);
  /// Names a list of values.
  std::uint32_t tuple(std::span<const Value> list);

  [[nodiscard]] std::optional<Element> constant_of(Value a) const;
  [[nodiscard]] bool is(Value a, std::uint64_t integer) const;
  /// Returns an upper bound of the integers that the value can be.
  [[nodiscard]] std::uint64_t max_of(Value a) const;
  /// True if the value is known not to be 0.
  [[nodiscard]] bool never_zero(Value a) const;
  /// Lowers max_of(a) from now on.
  void bound(Value a, std::uint64_t max);

  /// Divides a value by the coefficient of its last term: all its multiples but 0 become one value.
  Value normed(Value a);
  /// Parts of a = f x + g with an atom x that is 0 or 1 and constants f, g: x, f, g.
  struct Choice {
    Value atom;
    Element factor, constant;
  };
  [[nodiscard]] std::optional<Choice> choice(Value a) const;
  /// One factor of a value that is a constant times powers of atoms: the atom as a value, and its exponent.
  struct Power {
    Value atom;
    std::int64_t exponent;
  };
  [[nodiscard]] std::optional<std::vector<Power>> single_term(Value a) const;
  /// One summand of a value that is a sum of atoms without a constant: the atom as a value, and its coefficient.
  struct Part {
    Element coefficient;
    Value atom;
  };
  [[nodiscard]] std::optional<std::vector<Part>> parts(Value a) const;
  /// Returns the operands if the value is a bitwise and and nothing else; else empty.
  [[nodiscard]] std::span<const Value> operands(Value a) const;
  /// True if the value is marked as bit by bit a function of its parts.
  [[nodiscard]] bool is_bitwise(Value a) const { return values_[a].bitwise; }
  void mark_bitwise(Value a) { values_[a].bitwise = true; }
  [[nodiscard]] Element last_coefficient(Value a) const { return terms(a).back().coefficient; }
  /// Returns the value that an is_zero atom tests.
  [[nodiscard]] std::optional<Value> asked_for_zero(Value atom) const;

  /// Records that the product of two atoms that are 0 or 1 is 0; ignores other values.
  void exclude(Value a, Value b);
  /// States a = whole / 2^by, rounded down, wherever `whole` is below 2^32.
  struct Shift {
    Value whole;
    unsigned by;
  };
  void mark_shift(Value a, const Shift& shift) { shifts_.try_emplace(a, shift); }
  [[nodiscard]] std::optional<Shift> shift_of(Value a) const;
  /// States a = whole with the bits of a constant exchanged, wherever `whole` is below 2^32.
  struct Exchange {
    Value whole;
    std::uint64_t bits;
  };
  void mark_exchange(Value a, const Exchange& exchange) { exchanges_.try_emplace(a, exchange); }
  [[nodiscard]] std::optional<Exchange> exchange_of(Value a) const;

  // Zeros of values.
  /// Returns every value that an is_zero atom tests.
  [[nodiscard]] std::vector<Value> asked() const;
  /// A found word and its value for which a given value is 0 while all other words stay.
  struct Root {
    AtomKind kind;
    std::uint32_t position;
    Element word;
  };
  /// Returns a state's word of a kind (cells, public and secret words) at a position.
  using Found = std::function<std::optional<Element>(AtomKind kind, std::uint32_t position)>;
  /// Returns the roots of a value that consists of found words alone, one per word in which it is linear.
  [[nodiscard]] std::vector<Root> roots(Value a, const Found& found) const;

  // Assumptions from now on.
  void assume_not_zero(Value a);
  /// Assumes a = 0. If that expresses an atom by others, later uses get that expression instead of the atom.
  void assume_zero(Value a);

  /// Bounds the probability that any values merged so far were different.
  [[nodiscard]] double error_bound() const;

 private:
  static constexpr std::size_t kPoints = 3;
  struct Fingerprint {
    std::array<Element, kPoints> at;
    bool operator==(const Fingerprint&) const = default;
  };
  struct Factor {
    std::uint32_t atom;
    std::int64_t exponent;
    bool operator==(const Factor&) const = default;
  };
  struct Term {
    std::uint32_t monomial;
    Element coefficient;
    bool operator==(const Term&) const = default;
  };
  struct Monomial {
    std::vector<Factor> factors;  ///< sorted by atom
    Fingerprint fingerprint;
    double degree = 0;
  };
  struct Polynomial {
    std::uint32_t first, count;  ///< range of terms_, sorted by monomial
    Fingerprint fingerprint;
    double degree;
    std::uint64_t max;
    bool not_zero, bitwise;
  };
  struct Atom {
    AtomKind kind;
    std::uint32_t first;
    Value value;
    bool bit;  ///< is 0 or 1
    Fingerprint fingerprint;
    double degree;
  };
  struct KeyHash {
    std::size_t operator()(const Fingerprint& f) const { return static_cast<std::size_t>(f.at[0].value()); }
    std::size_t operator()(const std::vector<Factor>& list) const;
    std::size_t operator()(const std::vector<Value>& list) const;
    std::size_t operator()(const std::array<std::uint32_t, 3>& name) const;
  };

  Element random();
  /// Returns the fingerprint of the empty product.
  static Fingerprint ones();
  [[nodiscard]] std::span<const Term> terms(Value a) const {
    return {terms_.data() + values_[a].first, values_[a].count};
  }
  Value sum(Value a, Value b, Element factor);
  std::uint32_t monomial(std::vector<Factor> factors);
  std::uint32_t product(std::uint32_t a, std::uint32_t b);
  Value intern(std::span<const Term> list);
  Value large(const Fingerprint& fingerprint, double degree);
  Value atom_value(std::uint32_t atom);
  std::uint32_t make_atom(AtomKind kind, std::uint32_t first, std::uint64_t max, const Fingerprint& f, double degree);
  [[nodiscard]] std::optional<unsigned __int128> monomial_max(std::uint32_t monomial) const;
  struct Interval {
    __int128 low, high;
  };
  /// Returns the value's range as an integer without reduction, if small enough.
  [[nodiscard]] std::optional<Interval> interval(Value a) const;
  [[nodiscard]] bool lone(Value a, std::uint32_t atom) const;
  [[nodiscard]] std::optional<std::uint32_t> bit_atom(Value a) const;
  /// True if two atoms, one of each monomial, are never 1 at once.
  [[nodiscard]] bool excluded(std::uint32_t monomial_a, std::uint32_t monomial_b) const;

  SplitMix64 random_;
  std::vector<Atom> atoms_;
  std::vector<Monomial> monomials_;
  std::vector<Polynomial> values_;
  std::vector<Term> terms_, scratch_;
  std::unordered_map<Fingerprint, Value, KeyHash> by_fingerprint_;
  std::unordered_map<std::vector<Factor>, std::uint32_t, KeyHash> by_factors_;
  std::unordered_map<std::uint64_t, std::uint32_t> products_;
  std::unordered_map<std::array<std::uint32_t, 3>, std::uint32_t, KeyHash> by_name_;
  std::unordered_map<std::vector<Value>, std::uint32_t, KeyHash> tuples_;
  std::vector<const std::vector<Value>*> tuple_lists_;           ///< keys of tuples_
  std::unordered_map<std::uint32_t, Value> replaced_;            ///< atoms expressed by others
  std::set<std::pair<std::uint32_t, std::uint32_t>> exclusive_;  ///< atoms, each pair in both orders
  std::unordered_map<Value, Shift> shifts_;
  std::unordered_map<Value, Exchange> exchanges_;
  double degree_max_ = 1;
  bool by_fingerprint_only_ = false;
};

}  // namespace trident::tir::equiv
