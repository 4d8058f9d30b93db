// Chooses by times how a fast and a general kernel are joined: the shape of the fast one's loop, which short calls are
// the general kernel's, and whether both stream. Whoever asks makes the images and times them; tests plant times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/codegen/speculative.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/base/result.h"

namespace trident::pipeline {

/// How an image is to be joined.
struct JoinPlan {
  codegen::Variant shape;  ///< of the fast kernel
  codegen::Division division;
  bool elsewhere = false;  ///< the image before stays where it is, so that this one lies elsewhere
};

/// Joins images and times the last one beside the general kernel.
struct DivisionTrials {
  std::function<Result<void>(const JoinPlan&)> join;
  /// Times the usual call on data in the ranges: the time over the general kernel's.
  std::function<Result<double>()> time_matching;
  std::function<Result<SpeculationTime>(std::uint64_t elements)> time;
};

struct DivisionQuestion {
  codegen::Variant shape;              ///< of the fast kernel that won, without a guard
  bool whole = false;                  ///< a call is one kernel's as a whole (jit/codegen/speculative.h)
  bool exact = false;                  ///< no bit depends on chunks, so there are none
  bool streams = false;                ///< one of both kernels has won with stores past the caches
  bool can_stream = false;             ///< the host has such stores
  std::uint64_t usual_elements = 0;    ///< Target::elements
  double element_bytes = 0;            ///< of all arrays
  std::vector<std::uint64_t> lengths;  ///< of calls that are timed, in order
};

/// The plan that was joined last, with its times.
struct DivisionChoice {
  JoinPlan plan;
  std::vector<SpeculationTime> times;  ///< none where calls of the usual length gain too little
  std::string refused;                 ///< the reason why it is not to be published; empty: it is
};

/// Returns the time of calls that are as long as most are said to be. `times` are some, in order of length.
const SpeculationTime& usual_time(const std::vector<SpeculationTime>& times, std::uint64_t usual_elements);

/// Joins the fast kernel in the shape that is fastest with its guard, and times all lengths. Where long calls alone
/// lose, both kernels stream and all is timed again. Where calls of some length lose, those up to the next length are
/// left to the general kernel. Errors: those of the trials.
Result<DivisionChoice> choose_division(const DivisionQuestion& question, const DivisionTrials& trials);

}  // namespace trident::pipeline
