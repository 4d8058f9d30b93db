#include "tests/loops/random_body.h"

#include <algorithm>
#include <string_view>

#include "jit/loop/aarch64/instruction.h"

namespace trident::tests {
namespace {

using loop::aarch64::Format;
using loop::aarch64::Lift;

/// Puts `value` where a pattern has `letter`.
std::uint32_t with_field(std::uint32_t word, std::string_view pattern, char letter, std::uint32_t value) {
  for (std::size_t i = pattern.size(); i-- > 0;) {
    if (pattern[i] != letter) continue;
    const std::uint32_t bit = 1u << (31 - i);
    word = (value & 1) != 0 ? word | bit : word & ~bit;
    value >>= 1;
  }
  return word;
}

}  // namespace

std::vector<std::uint32_t> RandomBody::straight(std::uint32_t length) {
  std::vector<std::uint32_t> words;
  while (words.size() < length) {
    const auto left = static_cast<std::uint32_t>(length - words.size());
    if (const auto word = one(left)) words.push_back(*word);
  }
  return words;
}

std::vector<std::uint32_t> RandomBody::code(std::uint32_t length, unsigned counter) {
  std::vector<std::uint32_t> words = straight(length);
  words.push_back(0xF100'0400 | counter << 5 | counter);  // subs xN, xN, #1
  const auto distance = static_cast<std::uint32_t>(words.size());
  words.push_back(0x5400'0001 | ((0u - distance) & 0x7'FFFF) << 5);  // b.ne
  return words;
}

std::optional<std::uint32_t> RandomBody::one(std::uint32_t left) {
  const loop::aarch64::Row& row = loop::aarch64::kRows[random_.below(loop::aarch64::kRowCount)];
  if (row.format == Format::Literal || row.lift == Lift::nothing) return {};
  auto word = (static_cast<std::uint32_t>(random_.next()) & ~row.mask) | row.fixed;
  const bool is_memory = row.pattern.find('t') != std::string_view::npos && row.lift != Lift::branch;
  for (const char letter : {'d', 't', 'u', 'a', 'm'})
    word = with_field(word, row.pattern, letter, random_.one_in(12) ? 31 : random_.below(kDataRegisters));
  if (is_memory) {
    word = with_field(word, row.pattern, 'n', kFirstBase + random_.below(kBases));
    word = with_field(word, row.pattern, 'm', kIndex);
    if (row.format == Format::UnsignedOffset) word = with_field(word, row.pattern, 'i', random_.below(16));
  } else {
    word = with_field(word, row.pattern, 'n', random_.below(kDataRegisters));
  }
  if (row.lift == Lift::branch) word = with_field(word, row.pattern, 'i', 1 + random_.below(std::min(left, 4u)));
  const auto instruction = loop::aarch64::decode(word);
  // An addition's target 31 is the stack pointer, which is nobody's base here.
  return instruction ? std::optional(word) : std::nullopt;
}

}  // namespace trident::tests
