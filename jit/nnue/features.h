// Features of a term: for every node v of its DAG, the nodes below v, each path of at most `depth` edges by itself.
// A feature is (kind of v, kind of the node below, where):
//
//   where 0..120    the path from v, whose steps are the slots 0 to 2; 0 is v itself, and slot s of the node at path q
//                   is at 3 q + 1 + s, so paths of length <= 4 are numbered by length and then in order
//         121..123  v itself, if it is referenced twice, three times, four times or more (by nodes and as a root)
//         124..127  spare
//
// 56 x 56 x 128 = 401,408 features. No feature depends on the distance from the root, so a rewrite changes only
// features near it: 26 on average at depth 3, whatever the size of the term.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jit/egraph/egraph.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::nnue {

inline constexpr std::uint32_t kKinds = 56, kCodes = 128;
inline constexpr std::uint32_t kFeatures = kKinds * kKinds * kCodes;
static_assert(kFeatures == 401'408);

inline constexpr unsigned kDepthMax = 4, kDefaultDepth = 3;
/// Codes by length n of a path: the first one, and their number.
inline constexpr std::array<std::uint32_t, kDepthMax + 2> kFirstCode = {0, 1, 4, 13, 40, 121};
inline constexpr std::array<std::uint32_t, kDepthMax + 1> kPathsOfLength = {1, 3, 9, 27, 81};
inline constexpr std::uint32_t kPaths = kFirstCode[kDepthMax + 1];
/// Length of the path with a code.
inline constexpr std::array<std::uint8_t, kPaths> kLengthOf = [] {
  std::array<std::uint8_t, kPaths> length{};
  for (std::uint8_t n = 0; n <= kDepthMax; ++n)
    for (std::uint32_t code = kFirstCode[n]; code < kFirstCode[n + 1u]; ++code) length[code] = n;
  return length;
}();
/// Bound of a node's features: its paths, and its number of references.
static_assert(kPaths + 1 <= simd::kRowsMax);

constexpr std::uint32_t code_of_child(std::uint32_t code, std::uint32_t slot) {
  return 3 * code + 1 + slot;
}
/// Returns the code of a number of references, 0 if it has no feature.
constexpr std::uint32_t code_of_references(std::uint32_t references) {
  return references < 2 ? 0 : kPaths - 2 + (references < 4 ? references : 4);
}
static_assert(code_of_references(2) == 121 && code_of_references(9) == 123 && code_of_references(9) < kCodes);

constexpr std::uint32_t feature(std::uint32_t above, std::uint32_t below, std::uint32_t code) {
  return (above * kKinds + below) * kCodes + code;
}

/// Assigns kinds to nodes.
struct KindTable {
  std::uint8_t (*of)(const egraph::ENode& node) = nullptr;  ///< below kKinds
  std::uint64_t hash = 0;                                   ///< changes whenever the meaning of a kind does
};

/// Returns the space that weights for features to `depth` must have been made for.
constexpr nn::FeatureSpace feature_space(std::uint64_t kinds_hash, unsigned depth) {
  // FNV-1a (Fowler, Noll, Vo) over the version of this file's scheme, the depth and the kinds.
  constexpr std::uint64_t kScheme = 1;
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;
  for (const std::uint64_t word : {kScheme, std::uint64_t{depth}, kinds_hash})
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (word >> (8 * byte) & 0xFF)) * 0x100'0000'01B3u;
  return {kFeatures, hash};
}

}  // namespace trident::nnue
