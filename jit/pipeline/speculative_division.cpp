#include "jit/pipeline/speculative_division.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "jit/pipeline/speculate.h"

namespace trident::pipeline {
namespace {

constexpr std::uint32_t kChunk = 4096;  ///< under policies that do not fix the bits
/// The longest call that may be left to the general kernel because the driver costs too much there. Calls that can be
/// left to it are, where the driver seems to cost this much: what is measured again may be worse by a hundredth.
constexpr std::uint64_t kShortestMax = 4096;
constexpr double kShortLoss = 1.04;
constexpr int kPlacesMax = 3;
/// Longer calls than this are to show what memory costs.
constexpr std::uint64_t kCachedLength = 65'536;
/// Time of a long call that is enough to show it, and its memory.
constexpr double kLongCallNs = 10e6;
constexpr double kLongCallBytes = 64 << 20;

bool loses(const SpeculationTime& time, double loss = kSpeculationLoss) {
  return std::max(time.matching, time.missing) > loss || time.few > kSpeculationLossOfFew;
}

std::string describe_loss(const SpeculationTime& time) {
  const double most = std::max({time.matching, time.missing, time.few});
  const char* const data = most == time.matching  ? "data in the ranges"
                           : most == time.missing ? "data that never fit"
                                                  : "data of which some do not fit";
  char text[160];
  std::snprintf(text, sizeof text,
                "it loses too much in calls of %llu elements: %.2f of the general kernel's time on %s",
                static_cast<unsigned long long>(time.elements), most, data);
  return text;
}

std::string describe_small_gain(double matching) {
  char text[120];
  std::snprintf(text, sizeof text, "it gains too little on data in the ranges: %.2f of the general kernel's time",
                matching);
  return text;
}

/// Returns the shape that won without a guard, and others of the same code.
std::vector<codegen::Variant> shapes_to_time(const codegen::Variant& winner) {
  std::vector<codegen::Variant> shapes = {winner};
  for (const std::uint8_t vectors : {std::uint8_t{2}, std::uint8_t{4}}) {
    codegen::Variant shape = winner;
    shape.vectors = vectors;
    if (shape != winner) shapes.push_back(shape);
  }
  return shapes;
}

/// Returns how long a long call need be, by the time of a shorter one. Where each byte takes a nanosecond, memory has
/// no part in the time, and a million elements would take longer than most searches. Those of sixty arrays would, too:
/// a part of them is more than the caches hold.
std::uint64_t enough_elements(std::uint64_t elements, double element_bytes, const SpeculationTime& shorter) {
  const double each_ns = shorter.general_ns / static_cast<double>(shorter.elements);
  const std::uint64_t least = std::max(kCachedLength, shorter.elements);
  const bool waits_for_memory = !(each_ns > element_bytes);
  const bool is_short = elements <= least || !(each_ns * static_cast<double>(elements) > kLongCallNs);
  if (is_short) return elements;
  const double enough = waits_for_memory ? kLongCallBytes / element_bytes : kLongCallNs / each_ns;
  return std::min(elements, std::max(least, static_cast<std::uint64_t>(enough)));
}

class Dividing {
 public:
  Dividing(const DivisionQuestion& question, const DivisionTrials& trials) : question_(question), trials_(trials) {
    JoinPlan& plan = choice_.plan;
    plan.shape = question.shape;
    plan.division.chunk = question.whole || question.exact ? 0 : kChunk;
    plan.division.streams = question.streams;
  }

  Result<DivisionChoice> run() {
    TRY(choice_.refused, why_refused());
    return std::move(choice_);
  }

 private:
  Result<std::string> why_refused() {
    // Most that are refused gain nothing on the data that they are for: no other data or lengths are timed then.
    TRY(std::string why, take_fastest_shape());
    if (!why.empty()) return why;
    TRY_VOID(time_below(UINT64_MAX));
    if (loses_in_memory()) {
      choice_.plan.division.streams = true;
      TRY_VOID(trials_.join(choice_.plan));
      TRY_VOID(time_below(UINT64_MAX));
    }
    TRY(why, leave_short_calls());
    const double matching = usual_time(choice_.times, question_.usual_elements).matching;
    return why.empty() && matching > kSpeculationGain ? describe_small_gain(matching) : why;
  }

  /// The stores of a step wait for the guard, so fewer vectors at once than without one may be what fits into the
  /// registers. Returns why there is no gain, or nothing.
  Result<std::string> take_fastest_shape() {
    JoinPlan& plan = choice_.plan;
    double least = std::numeric_limits<double>::infinity();
    codegen::Variant fastest = question_.shape;
    // The fast kernel of whole calls has no guard: its shape is the winner's.
    for (const codegen::Variant& shape : question_.whole ? std::vector{fastest} : shapes_to_time(fastest)) {
      plan.shape = shape;
      TRY_VOID(trials_.join(plan));
      TRY(const double matching, trials_.time_matching());
      if (matching < least) least = matching, fastest = shape;
    }
    plan.shape = fastest;
    TRY_VOID(trials_.join(plan));
    return least > kSpeculationGain ? describe_small_gain(least) : std::string();
  }

  Result<void> time_below(std::uint64_t end) {
    std::vector<SpeculationTime>& times = choice_.times;
    const std::vector<std::uint64_t>& lengths = question_.lengths;
    times.resize(lengths.size());
    for (std::size_t i = 0; i < lengths.size() && lengths[i] < end; ++i) {
      const std::uint64_t elements =
          i == 0 ? lengths[i] : enough_elements(lengths[i], question_.element_bytes, times[i - 1]);
      TRY(times[i], trials_.time(elements));
    }
    return {};
  }

  /// Returns whether long calls alone lose, with stores that could stream.
  [[nodiscard]] bool loses_in_memory() const {
    const SpeculationTime& longest = choice_.times.back();
    const bool could_stream = question_.can_stream && !question_.whole && !choice_.plan.division.streams;
    return could_stream && longest.elements > kShortestMax && loses(longest);
  }

  /// Leaves those calls that lose to the general kernel. Returns why that is not enough, or nothing.
  Result<std::string> leave_short_calls() {
    const std::vector<SpeculationTime>& times = choice_.times;
    const std::uint64_t leave_max = std::min(kShortestMax, question_.usual_elements);
    std::uint64_t shortest = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const bool may_leave = i + 1 < times.size() && times[i + 1].elements <= leave_max;
      if (!loses(times[i], may_leave ? kShortLoss : kSpeculationLoss)) continue;
      if (!may_leave) return describe_loss(times[i]);
      shortest = times[i + 1].elements;
    }
    if (shortest == 0) return std::string();
    TRY_VOID(join_for_short_calls(shortest));
    const auto lost = std::find_if(times.begin(), times.end(), [](const SpeculationTime& time) { return loses(time); });
    return lost != times.end() ? describe_loss(*lost) : std::string();
  }

  /// The general kernel does short calls, after one jump. Where they seem to take longer all the same, it was not the
  /// code: 4.1 was measured once in four runs, in all tries of one mapping. Another mapping is tried; clients have
  /// theirs.
  Result<void> join_for_short_calls(std::uint64_t shortest) {
    JoinPlan& plan = choice_.plan;
    plan.division.shortest = static_cast<std::uint32_t>(shortest);
    const auto is_slow = [&](const SpeculationTime& time) { return time.elements < shortest && loses(time); };
    for (int place = 0; place < kPlacesMax; ++place) {
      plan.elsewhere = place > 0;
      TRY_VOID(trials_.join(plan));
      TRY_VOID(time_below(shortest));
      if (std::none_of(choice_.times.begin(), choice_.times.end(), is_slow)) break;
    }
    return {};
  }

  const DivisionQuestion& question_;
  const DivisionTrials& trials_;
  DivisionChoice choice_;
};

}  // namespace

const SpeculationTime& usual_time(const std::vector<SpeculationTime>& times, std::uint64_t usual_elements) {
  const std::uint64_t elements = std::min(usual_elements, times.back().elements);
  return *std::find_if(times.begin(), times.end(),
                       [&](const SpeculationTime& time) { return time.elements >= elements; });
}

Result<DivisionChoice> choose_division(const DivisionQuestion& question, const DivisionTrials& trials) {
  return Dividing(question, trials).run();
}

}  // namespace trident::pipeline
