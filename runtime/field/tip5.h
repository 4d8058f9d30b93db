// Tip5, the hash of Triton VM: a sponge of 16 words, of which 10 take input, in five rounds. A round sends four words
// byte by byte through a table, raises the other twelve to the 7th power, multiplies by a circulant matrix and adds
// constants.
//
// Fixed length: the capacity is all ones. Variable length: it is 0, the input is padded with 1 and zeros to a multiple
// of 10, and each piece overwrites the first ten words before a permutation.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "runtime/field/element.h"
#include "runtime/field/kernels.h"

namespace trident::field {

inline constexpr std::size_t kTip5Rate = 10, kDigestWords = 5;

/// A digest in the order of Triton VM: the first word is on top of its stack.
using Digest = std::array<Element, kDigestWords>;

class Tip5 {
 public:
  enum class Domain : std::uint8_t { variable_length, fixed_length };
  explicit Tip5(Domain domain = Domain::variable_length);

  [[nodiscard]] Element word(std::size_t i) const { return Element::canonical(word_[i]); }
  void set_word(std::size_t i, Element value) { word_[i] = value.value(); }
  [[nodiscard]] Digest digest() const;

  /// The permutation; what it looked up is what the machine's cascade table must know.
  void permute(Tip5Lookups& lookups) { kernels().tip5(word_, lookups); }
  void permute() {
    Tip5Lookups unused;
    permute(unused);
  }

 private:
  alignas(64) std::uint64_t word_[kTip5Width];
};

Digest tip5_hash_10(std::span<const Element, kTip5Rate> input);
Digest tip5_hash_pair(const Digest& left, const Digest& right);
Digest tip5_hash_varlen(std::span<const Element> input);

/// Calls f(piece) for each piece of ten words of `input` with its padding, in order; also for an empty input.
template <class F>
void each_padded_piece(std::span<const Element> input, F f) {
  for (std::size_t at = 0; at <= input.size(); at += kTip5Rate) {
    std::array<Element, kTip5Rate> piece{};
    for (std::size_t i = 0; i < kTip5Rate && at + i <= input.size(); ++i)
      piece[i] = at + i == input.size() ? kOne : input[at + i];
    f(piece);
  }
}

}  // namespace trident::field
