// Encodes a straight-line block as numbers: 32 nodes of 4 words and 16 words of context.
//
// Node k is instruction k of the block. Its words, bits from the lowest:
//
//   0  operation       op 6 | type of its first result 3 | token 8 (vocabulary.h) | number of operands 4 | works 1
//   1  input           ten references of 6 bits, the top first: 0..31 the node that made the operand, 32..47 the slot
//                      0..15 that it was at the start, 62 a deeper slot, 63 none
//   2  liveness        of its result: first use 6 | last use 6 (nodes; 63 none) | uses 6 | height of the stack above
//                      where it began, plus 512, 10 | place in the stack at the end 5 (16 deeper, 31 none) |
//                      nodes of an effect before it that it must follow: the last such node 6 (63 none)
//   3  immediate       the constant of push and addi, else the count or register
//
// Word s of the context is slot s of the stack at the start:
//
//   type by its uses 3 | used 1 | first use 6 | last use 6 | place in the stack at the end 5 (as above) |
//   stays where it was 1 | height of the stack at the end, plus 512, 10 | slots that the block needs, 10
//
// "Works" tells instructions that compute or have an effect from pushes, moves and drops. A type is what the table of
// instructions promises of a result, and for slots what the uses demand.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "jit/tir/neural/abstract_state.h"
#include "jit/tir/neural/vocabulary.h"
#include "runtime/base/result.h"

namespace trident::tir::neural {

inline constexpr std::size_t kNodesMax = 32, kNodeWords = 4, kContextWords = 16;
inline constexpr std::uint64_t kNoNode = 63, kDeeperSlot = 62, kFirstSlot = 32;
inline constexpr std::uint64_t kDeeperPlace = 16, kNoPlace = 31;
inline constexpr int kHeightBias = 512;

/// A run of bits of a word.
struct Field {
  unsigned shift, bits;
  [[nodiscard]] constexpr std::uint64_t of(std::uint64_t word) const {
    return word >> shift & ((std::uint64_t{1} << bits) - 1);
  }
};
namespace node_word0 {
inline constexpr Field kOp{0, 6}, kType{6, 3}, kToken{9, 8}, kOperands{17, 4}, kWorks{21, 1};
}
constexpr Field input_field(std::size_t operand) {
  return {static_cast<unsigned>(6 * operand), 6};
}
namespace node_word2 {
inline constexpr Field kFirstUse{0, 6}, kLastUse{6, 6}, kUses{12, 6}, kHeight{18, 10}, kPlace{28, 5}, kFollows{33, 6};
}
namespace context_word {
inline constexpr Field kType{0, 3}, kUsed{3, 1}, kFirstUse{4, 6}, kLastUse{10, 6}, kPlace{16, 5}, kStays{21, 1};
inline constexpr Field kHeight{22, 10}, kNeeds{32, 10};
}  // namespace context_word

struct Encoding {
  std::array<std::uint64_t, kNodesMax * kNodeWords> nodes{};
  std::array<std::uint64_t, kContextWords> context{};
  std::size_t count = 0;  ///< number of nodes

  [[nodiscard]] std::uint64_t word(std::size_t node, std::size_t w) const { return nodes[node * kNodeWords + w]; }
  /// Returns ancestors: bit j of row i is set if node i depends on node j, directly or through others, or if j = i.
  [[nodiscard]] std::array<std::uint32_t, kNodesMax> ancestors() const;
};

/// Errors: InvalidArgument for a block of more than kNodesMax instructions, for one with control flow, an argument that
/// is not legal.
Result<Encoding> encode(std::span<const Instruction> block);

}  // namespace trident::tir::neural
