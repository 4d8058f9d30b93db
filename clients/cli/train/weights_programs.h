// Learning from programs of Triton VM (jit/tir/neural/apprentice.h): rounds, candidates and promotions, as `trident
// weights` shows them.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::cli {

/// Prints the last rounds, the versions and how many blocks there are. Errors: those of the folder.
Result<int> show_programs(const std::string& state, bool json);
/// "programs: 12 rounds, 1 promoted, ...": a line for the list of all weights; empty where there was no round.
std::string programs_line(const std::string& state);

}  // namespace trident::cli
