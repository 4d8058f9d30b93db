// Times contestants against each other in a sandboxed child: warm-up, then rounds. In a round every contestant runs in
// turn for at least some microseconds, so that any disturbance of the machine affects all of them alike. The order
// reverses from round to round. The results are times per call and round; tournament.h judges them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/image/image.h"
#include "jit/judge/contestant.h"
#include "jit/judge/guarded.h"
#include "runtime/base/result.h"

namespace trident::judge {

/// The data that kernels are timed on.
struct Workload {
  std::uint64_t elements = 4096;
  std::vector<std::span<const std::byte>> inputs;  ///< `elements` elements each
  std::vector<std::uint64_t> params;
};

struct TimingRules {
  std::uint32_t rounds = 9;
  std::uint64_t batch_ns = 10'000;     ///< calls are repeated until a batch takes about that long, resets included
  std::uint64_t cpu_ns = 200'000'000;  ///< CPU time; fewer rounds are made when this runs out
};

struct Timings {
  /// ns[contestant][round]: time of one call. Empty for a contestant that crashed or hung.
  std::vector<std::vector<double>> ns;
  std::vector<os::SandboxEnd> ends;  ///< per contestant: finished, or how it failed
};

/// Times contestants, which have passed equivalence. One that crashes or hangs all the same is removed and reported,
/// and the rest are timed again. Resets run outside the times, and the calls of a contestant with a reset are timed one
/// by one: reading the clock is then part of each (tens of ns). OsError when the sandbox cannot be made.
Result<Timings> time_rounds(std::span<const Contestant> contestants, const TimingRules& rules);

/// Times kernels of one signature on one workload.
Result<Timings> time_rounds(std::span<const image::Mapped* const> kernels, const Signature& signature,
                            const Workload& workload, const TimingRules& rules);

}  // namespace trident::judge
