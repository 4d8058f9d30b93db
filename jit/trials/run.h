// Runs the code under trial in one sandboxed child, state after state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/judge/guarded.h"
#include "jit/trials/draw.h"

namespace trident::trials {

/// Frame and memory after a run.
struct After {
  std::vector<std::byte> frame;
  std::uint64_t digest[2] = {};
};

struct Ran {
  judge::GuardedEnd end;
  std::vector<After> after;  ///< of the runs that were done
};

/// Makes `runs` in turn, each on its own state. The arena then has the memory of the last run.
Result<Ran> run_in_child(const Subject& subject, const Arena& arena, std::span<const Run> runs, std::uint64_t cpu_ns);

}  // namespace trident::trials
