// Runs the code under trial in one sandboxed child, state after state.
#pragma once

#include <cstdint>
#include <span>

#include "jit/judge/guarded.h"
#include "jit/trials/draw.h"

namespace trident::trials {

/// Makes `runs` in turn, each on its own state. Afterwards the arena's log has the digests of those that are done, and
/// its frame and memory are those of the last one. Errors: those of judge::run_guarded().
Result<judge::GuardedEnd> run_in_child(const Subject& subject, const Arena& arena, std::span<const Run> runs,
                                       std::uint64_t cpu_ns);

}  // namespace trident::trials
