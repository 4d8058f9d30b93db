// The hash that the compiler "trident" for Triton VM named its modules with: a Poseidon2 of its own making over this
// field. Width 8, rate 4, 4 + 22 + 4 rounds, x^7.
//
// It is ad hoc: its linear layers are not those of the Poseidon2 paper, there is none before the first round, and
// nobody has analysed it. It serves content addresses that must equal that compiler's, and nothing else: where a hash
// has to withstand an enemy there is Tip5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/field/element.h"

namespace trident::field {

inline constexpr std::size_t kPoseidonWidth = 8, kPoseidonRate = 4;
using ContentAddress = std::array<std::uint8_t, 32>;

/// The permutation, in place.
void poseidon_permute(std::array<Element, kPoseidonWidth>& state);
/// Elements are added to the first four words, four at a time; the result is those words after the last permutation.
std::array<Element, kPoseidonRate> poseidon_hash(std::span<const Element> input);
/// Bytes as integers of seven, little end first, and then their number; the four words of the result, little end first.
ContentAddress poseidon_hash_bytes(std::span<const std::uint8_t> bytes);

}  // namespace trident::field
