// Finds where loops may begin: the targets of jumps backwards.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "clients/cli/loop/guest_code.h"

namespace trident::cli {

/// Jumps backwards, by their targets.
using LoopHeads = std::map<std::uint64_t, std::vector<std::uint64_t>>;

/// Heads beyond this number are not looked for.
inline constexpr std::size_t kLoopHeadsMax = 100'000;

struct FoundHeads {
  LoopHeads heads;
  bool is_cut = false;  ///< there are more than kLoopHeadsMax
};
/// Jumps whose target lies in another range than they do are left out.
FoundHeads find_loop_heads(const GuestCode& code);

/// Cuts out the code around `head`: as much as a client may send, most of it behind the head.
CodeRange code_around(const CodeRange& range, std::uint64_t head);

}  // namespace trident::cli
