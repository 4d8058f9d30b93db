// Rates weights by the blocks they write, each judged by a caller that knows a block's cost.
//
// An untrained network writes no block that is right, and equally bad weights give evolution nothing
// to choose by. So a draft that misses its end also scores, always less than a right one: by how near
// it came.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "jit/tir/neural/decode.h"

namespace trident::tir::neural {

/// Score of a block that does the same as its original and is as large.
inline constexpr std::int64_t kRight = 1 << 16;

/// Returns how much smaller the block written for original `index` is, as a share of the original, negative if it is
/// larger; none if it is not known to do the same. Must depend on its arguments alone; called from several
/// threads.
using Judge = std::function<std::optional<double>(std::size_t index, std::span<const Instruction> written)>;

/// Compares the draft's stack, effects and work with the original's end; in [0, kRight).
std::int64_t nearness(const Draft& draft);

/// Sums over the originals' greedy drafts: kRight (1 + gain), at least kRight / 2, if the judge knows the gain; else a
/// third of the nearness, half of it if the draft ended.
std::int64_t fitness(std::span<const std::int32_t> weights, std::span<const Original> originals, const Judge& judge,
                     const DecodeOptions& options);

}  // namespace trident::tir::neural
