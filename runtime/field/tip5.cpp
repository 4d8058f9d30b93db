#include "runtime/field/tip5.h"

#include <algorithm>

namespace trident::field {

Tip5::Tip5(Domain domain) {
  std::fill(word_, word_ + kTip5Rate, 0);
  std::fill(word_ + kTip5Rate, word_ + kTip5Width, domain == Domain::fixed_length ? 1 : 0);
}

Digest Tip5::digest() const {
  Digest out;
  for (std::size_t i = 0; i < kDigestWords; ++i) out[i] = word(i);
  return out;
}

Digest tip5_hash_10(std::span<const Element, kTip5Rate> input) {
  Tip5 sponge(Tip5::Domain::fixed_length);
  for (std::size_t i = 0; i < kTip5Rate; ++i) sponge.set_word(i, input[i]);
  sponge.permute();
  return sponge.digest();
}

Digest tip5_hash_pair(const Digest& left, const Digest& right) {
  std::array<Element, kTip5Rate> both;
  std::copy(left.begin(), left.end(), both.begin());
  std::copy(right.begin(), right.end(), both.begin() + kDigestWords);
  return tip5_hash_10(both);
}

Digest tip5_hash_varlen(std::span<const Element> input) {
  Tip5 sponge;
  each_padded_piece(input, [&](const std::array<Element, kTip5Rate>& piece) {
    for (std::size_t i = 0; i < kTip5Rate; ++i) sponge.set_word(i, piece[i]);
    sponge.permute();
  });
  return sponge.digest();
}

}  // namespace trident::field
