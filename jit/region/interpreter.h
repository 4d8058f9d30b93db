// Runs regions: their meaning, and the oracle of code that is generated from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "jit/region/region.h"

namespace trident::region {

/// Returns the value of an op that computes. `type` is that of the first operand, for Select that of the second; values
/// of i32 have no bits above the lowest 32. Ops on floats want StandardFloats around the call.
std::uint64_t evaluate(Op op, Type type, std::uint64_t a, std::uint64_t b, std::uint64_t c);

struct Outcome {
  std::optional<Exit> exit;  ///< nothing when the steps were used up
  std::uint64_t steps = 0;   ///< instructions that were run
};

/// Runs `region`, which passes check(), on a frame that holds all its homes and as many windows as it has. Memory is
/// read and written through the windows. When `steps` instructions have run, it stops where it is: the frame then holds
/// the variables of that point. Bytes of the frame that are no variable's home stay, but for those of the head that
/// FrameHead names. `reached` is empty or has a byte for each block, which becomes 1 where control comes to it.
Outcome interpret(const Region& region, std::span<std::byte> frame, std::span<const Window> windows,
                  std::uint64_t steps, std::span<std::uint8_t> reached = {});

}  // namespace trident::region
