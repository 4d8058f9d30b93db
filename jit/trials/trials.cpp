#include "jit/trials/trials.h"

#include "jit/trials/compare.h"
#include "jit/trials/draw.h"
#include "jit/trials/run.h"
#include "runtime/base/check.h"

namespace trident::trials {
namespace {

/// Repeats the run alone, so that frame and memory can be looked at.
Result<std::string> difference_when_alone(const Subject& subject, const Options& options, const Arena& arena,
                                          const Run& run) {
  TRY(const judge::GuardedEnd end, run_in_child(subject, arena, std::span(&run, 1), options.cpu_ns));
  return end.sound() ? difference_of(subject, arena, run) : "the code " + describe(end) + " when it was repeated";
}

/// Returns nothing when all runs came to the interpreter's end.
Result<std::string> first_difference(const Subject& subject, const Options& options, const Arena& arena,
                                     const Draw& draw, const judge::GuardedEnd& end) {
  for (std::size_t i = 0; i < draw.runs.size(); ++i) {
    const std::string number = "run " + std::to_string(i) + ": ";
    if (i == end.calls_done) return number + "the code " + describe(end);
    if (arena.log(i) == draw.runs[i].expected) continue;
    TRY(const std::string text, difference_when_alone(subject, options, arena, draw.runs[i]));
    return number + text;
  }
  return end.sound() ? std::string() : "the code " + describe(end) + " after the last run";
}

}  // namespace

Result<Verdict> try_out(const Subject& subject, const Options& options) {
  CHECK(subject.bases.size() == subject.region.windows);
  CHECK(subject.frame_bytes % 8 == 0);
  TRY(const Arena arena, Arena::make(subject.frame_bytes, runs_max(options)));
  const Draw draw = draw_runs(subject, options, arena);
  if (draw.runs.empty()) return Verdict{.coverage = {}, .difference = "no drawn run comes to an end"};
  TRY(const judge::GuardedEnd end, run_in_child(subject, arena, draw.runs, options.cpu_ns));
  Verdict verdict{.coverage = draw.coverage, .difference = {}};
  TRY(verdict.difference, first_difference(subject, options, arena, draw, end));
  return verdict;
}

}  // namespace trident::trials
