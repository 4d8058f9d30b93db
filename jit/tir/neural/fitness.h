// How good a set of weights is: what it writes for a number of blocks, judged by whoever knows what a block is worth.
//
// A network that has learned nothing writes nothing that is right, and where all are equally bad evolution has nothing
// to choose by. So a draft that misses its end is worth something as well, always less than one that is right: how near
// it came.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "jit/tir/neural/decode.h"

namespace trident::tir::neural {

/// What a block is worth that does the same as its original and is as large.
inline constexpr std::int64_t kRight = 1 << 16;

/// Of a block that was written for original `index`: how much smaller it is, as a share of the original, negative when
/// it is larger; none where it is not known to do the same. Must depend on its arguments alone; called from several
/// threads.
using Judge = std::function<std::optional<double>(std::size_t index, std::span<const Instruction> written)>;

/// In [0, kRight): where the draft's stack, effects and work stand against the original's end.
std::int64_t nearness(const Draft& draft);

/// The sum over the originals' greedy drafts: kRight (1 + gain), at least kRight / 2, where the judge knows the gain; a
/// third of the nearness elsewhere, half of it where a draft ended.
std::int64_t fitness(std::span<const std::int32_t> weights, std::span<const Original> originals, const Judge& judge,
                     const DecodeOptions& options);

}  // namespace trident::tir::neural
