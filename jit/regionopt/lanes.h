// Decides which values of many rounds lanes can compute, one lane a round.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "jit/regionopt/bulk_loop.h"

namespace trident::regionopt {

/// Returns the form of an i64 that is a sum of variables and constants.
std::optional<Linear> linear_form(std::span<const Node> nodes, std::uint32_t n);

/// Returns whether the form has factors 1 and -1 alone, and a constant of 32 bits with a sign.
bool is_simple(const Linear& form);

/// Returns whether lanes of `plan.lane_bytes` can compute all that `plan` asks of them; notes in `plan.bytes` which
/// variables lanes of one byte take. Such lanes hold the low bytes of values, which decide comparisons as the values
/// do where both lie near enough to each other.
bool check_lanes(BulkLoop& plan);

}  // namespace trident::regionopt
