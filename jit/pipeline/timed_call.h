// The call that candidates are timed on: its length, its inputs, and its share of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/equiv/checker.h"
#include "jit/judge/guarded.h"
#include "jit/judge/timing.h"

namespace trident::pipeline {

struct CallSize {
  std::uint64_t elements = 0;
  std::uint64_t bytes_per_element = 0;

  /// Returns the CPU time of a tournament.
  [[nodiscard]] std::uint64_t tournament_ns() const;
};
/// Gives the size of a call of `elements`, or of fewer where their arrays would take too much memory.
CallSize call_size(const expr::Expr& source, const judge::Signature& signature, std::uint64_t elements);

/// Draws points of the source's ranges to time kernels on.
equiv::Samples points_to_time(const expr::Expr& source, std::uint64_t seed);

/// Returns the elements of the shortest call in which non-temporal code streams.
std::uint64_t streaming_elements(const judge::Signature& signature);

/// Arrays filled with the points of one set, over and over, up to the call's length.
class TimedCall {
 public:
  TimedCall(const expr::Expr& source, const equiv::Samples& points, std::uint64_t elements);
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

  [[nodiscard]] const judge::Workload& workload() const { return workload_; }

 private:
  std::vector<std::vector<std::byte>> columns_;
  judge::Workload workload_;
};

}  // namespace trident::pipeline
