// Times a speculative kernel beside the general one, in calls of several lengths, on three kinds of data: all in the
// assumed ranges, none of them ever, and one element outside in every two blocks. Of kernels for whole calls the third
// is data of which the last element alone does not fit: the scan is in vain.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "jit/judge/guarded.h"
#include "jit/judge/timing.h"
#include "jit/pipeline/options.h"
#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {

struct Rivals {
  const expr::Expr& source;    ///< without Diff
  const expr::Expr& narrowed;  ///< with the assumed ranges
  const judge::Signature& signature;
  const image::Mapped& general;
  const image::Mapped& speculative;
  const Options& options;
  bool whole = false;  ///< a call is one kernel's as a whole (jit/codegen/speculative.h)
};

/// The least times of the general kernel, timed first, and of the speculative one. A disturbance only adds to a time.
/// Calls of a million elements are as long as turns of a scheduler: on a busy machine most rounds are disturbed, and
/// medians of them compare turns.
class LeastTimes {
 public:
  void take(const judge::Timings& timings);
  [[nodiscard]] double general_ns() const { return general_ns_; }
  /// Returns the speculative kernel's time over the general one's, infinity where one was not timed.
  [[nodiscard]] double ratio() const;

 private:
  double general_ns_ = std::numeric_limits<double>::infinity();
  double speculative_ns_ = std::numeric_limits<double>::infinity();
};

/// Returns the lengths of calls that are timed, in order, `usual_elements` (Target::elements) among them.
std::vector<std::uint64_t> timed_lengths(const expr::Expr& source, const judge::Signature& signature,
                                         std::uint64_t usual_elements);

/// Times calls of Target::elements on data in the assumed ranges: the time over that of the general kernel. Errors:
/// those of time_speculative().
Result<double> time_matching(const Rivals& rivals);

/// Times calls of one length. A kernel that crashes or hangs takes infinitely long. OsError when nothing could be run.
Result<SpeculationTime> time_speculative(const Rivals& rivals, std::uint64_t elements);

}  // namespace trident::pipeline
