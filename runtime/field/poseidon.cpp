#include "runtime/field/poseidon.h"

#include <algorithm>
#include <vector>

namespace trident::field {
namespace {

constexpr unsigned kFullRounds = 8, kPartialRounds = 22;
constexpr std::uint64_t kDiagonal[kPoseidonWidth] = {2, 3, 5, 9, 17, 33, 65, 129};

/// The first 8 bytes, little end first, of BLAKE3("Poseidon2-Goldilocks-t8-RF8-RP22-{round}-{word}"), mod p: 8 in a
/// full round, 1 in a partial one.
constexpr std::uint64_t kConstants[kFullRounds * kPoseidonWidth + kPartialRounds] = {
    0x46f1a9c909922801, 0x83787bf6c9478983, 0x91d9ddb4ca1d67bc, 0xf4efe67ea68ae25a, 0x40e71818a78b135c,
    0x73f2273529600abc, 0x8cb3a905e08aa6e1, 0xe41c2b4df2ee9deb, 0xfecc29c53826e8ee, 0x73b280eb94dfb94e,
    0x446017521b6f3208, 0x48ff66cfec48e312, 0x303f78bce7f19497, 0x4e1317effc157487, 0x765c8b5d81754a27,
    0x3fe341d96b0ce3d4, 0x5674ddadcf23bde9, 0x4ef6b037c954aaeb, 0x747dd8dd566a0111, 0xe175bd277957d4af,
    0x9f08c11440212227, 0x983ced87e31b926a, 0x22f26d8416f8f43b, 0x89842da542cc357a, 0xc29e190c3c9acb54,
    0xc3fb24508b407e81, 0x38ddbf10a47af071, 0xf62abea041cb257f, 0x520d2990c8c36329, 0xc635343f301f35f4,
    0x4bbbf35fe567ec6c, 0xb467417aa29d494b, 0x36c9771245339d7b, 0x931b6f8d9ef8f715, 0x35cdf92c0cc32de6,
    0x6be6b0bb006084fd, 0xa6af2e18d8952099, 0xe6396c964e1d8657, 0x382b1d013a9951bd, 0x269045fbcf210ce5,
    0x4ce9597369ea8f40, 0xe19d6e19ee525fe4, 0xcdcaf090732ae6d4, 0xf6988a515dea005f, 0xb54653e10d08256c,
    0x7d7d7e084190692c, 0x59404b7f833ab4ab, 0x386fe42484dd0fa4, 0x83330fe48b186daf, 0xa7a20ded8ce0f992,
    0x09e6c3a68e318bc5, 0x6fe0ce48cc61207e, 0x4254a8fbd834d695, 0x6371f926d0e34e62, 0xeb0be983d56eb77e,
    0xf08880ab840cabc6, 0x6fdf6b0d59fcb471, 0x4921b00fcbc2456f, 0xd423552053249677, 0x599cf123b2856870,
    0xc54d0464116380ae, 0x91c89e25bcd7b970, 0xb4b7225fd9555c7a, 0xce3f543490572ba9, 0xcb43059309ebdcc7,
    0x0072ead83229adc3, 0xa8cb41564f281b56, 0x49ed0fe9f62b3a65, 0xa247439fcc10aafd, 0x6411b660ed71bdaf,
    0xc9f4098b12eba109, 0x691c2abe64d3e719, 0x63cdfcb11d033d40, 0xf961fadace0d7e98, 0x11c488ea300a6bbd,
    0xb8a12696bbcb3d64, 0x4c3daf3b6bd4dc2b, 0x14c74de8f830605e, 0x82cdf38c3477f6af, 0x05862ca9c6f63fc1,
    0x62254d3526ec6abb, 0xec2506dc6373351b, 0x0c09a35ab3afe9be, 0xdb334d83aea6c756, 0x53c164a9df8e5c1a,
    0x245879b5429c9701,
};

using State = std::array<Element, kPoseidonWidth>;

Element seventh_power(Element x) {
  const Element x2 = x * x;
  return x2 * x2 * x2 * x;
}

/// The sum of all words is added to each, which is first multiplied by its own factor.
void mix(State& state, bool external) {
  Element sum;
  for (const Element e : state) sum += e;
  for (std::size_t i = 0; i < kPoseidonWidth; ++i)
    state[i] = sum + (external ? state[i] : state[i] * Element(kDiagonal[i]));
}

const std::uint64_t* full_rounds(State& state, const std::uint64_t* constants) {
  for (unsigned round = 0; round < kFullRounds / 2; ++round) {
    for (Element& e : state) e = seventh_power(e + Element(*constants++));
    mix(state, true);
  }
  return constants;
}

}  // namespace

void poseidon_permute(std::array<Element, kPoseidonWidth>& state) {
  const std::uint64_t* constants = full_rounds(state, kConstants);
  for (unsigned round = 0; round < kPartialRounds; ++round) {
    state[0] = seventh_power(state[0] + Element(*constants++));
    mix(state, false);
  }
  full_rounds(state, constants);
}

std::array<Element, kPoseidonRate> poseidon_hash(std::span<const Element> input) {
  State state{};
  std::size_t at = 0;
  do {
    for (std::size_t i = 0; i < kPoseidonRate && at < input.size(); ++i) state[i] += input[at++];
    poseidon_permute(state);
  } while (at < input.size());
  return {state[0], state[1], state[2], state[3]};
}

ContentAddress poseidon_hash_bytes(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kBytesPerElement = 7;
  std::vector<Element> elements;
  for (std::size_t at = 0; at < bytes.size(); at += kBytesPerElement) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kBytesPerElement && at + i < bytes.size(); ++i)
      value |= std::uint64_t{bytes[at + i]} << (8 * i);
    elements.push_back(Element(value));
  }
  elements.push_back(Element(bytes.size()));
  ContentAddress out;
  std::size_t at = 0;
  for (const Element e : poseidon_hash(elements))
    for (unsigned shift = 0; shift < 64; shift += 8) out[at++] = static_cast<std::uint8_t>(e.value() >> shift);
  return out;
}

}  // namespace trident::field
