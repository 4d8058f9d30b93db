#include "jit/trials/trials.h"

#include "jit/trials/compare.h"
#include "jit/trials/draw.h"
#include "jit/trials/draw_call.h"
#include "jit/trials/stage.h"
#include "runtime/base/check.h"

namespace trident::trials {
namespace {

/// Repeats the run alone, so that frame and memory can be looked at.
Result<std::string> difference_when_alone(const Subject& subject, Stage& stage, const Run& run) {
  TRY(const judge::GuardedEnd end, stage.run(std::span(&run, 1)));
  if (!end.sound()) return "the code " + describe(end) + " when it was repeated";
  TRY_VOID(stage.clear());
  return difference_of(subject, stage.arena(), run);
}

/// Returns nothing when all runs came to the interpreter's end.
Result<std::string> first_difference(const Subject& subject, Stage& stage, const Draw& draw,
                                     const judge::GuardedEnd& end) {
  for (std::size_t i = 0; i < draw.runs.size(); ++i) {
    const std::string number = "run " + std::to_string(i) + ": ";
    if (i == end.calls_done) return number + "the code " + describe(end);
    if (stage.arena().log(i) == draw.runs[i].expected) continue;
    TRY(const std::string text, difference_when_alone(subject, stage, draw.runs[i]));
    return number + text;
  }
  return end.sound() ? std::string() : "the code " + describe(end) + " after the last run";
}

Result<Verdict> try_on(Stage& stage, const Subject& subject, const Options& options) {
  const Draw draw =
      subject.call ? draw_calls(subject, options, stage.arena()) : draw_runs(subject, options, stage.arena());
  if (draw.runs.empty()) return Verdict{.coverage = {}, .difference = "no drawn run comes to an end"};
  TRY_VOID(stage.put(subject));
  TRY(const judge::GuardedEnd end, stage.run(draw.runs));
  Verdict verdict{.coverage = draw.coverage, .difference = {}};
  TRY(verdict.difference, first_difference(subject, stage, draw, end));
  return verdict;
}

Stage::Room room_for(const Subject& subject, const Options& options) {
  return {.frame_bytes = subject.frame_bytes,
          .windows = subject.region.windows,
          .runs = runs_max(options),
          .code_bytes = subject.code.size(),
          .local_bytes = local_bytes(subject),
          .cpu_ns = options.cpu_ns};
}

}  // namespace

Result<Verdict> try_out(const Subject& subject, const Options& options, Stage* stage) {
  CHECK(subject.call || subject.bases.size() == subject.region.windows);
  CHECK(subject.frame_bytes % 8 == 0);
  if (stage != nullptr && stage->fits(subject, options) && stage->clear().ok()) return try_on(*stage, subject, options);
  TRY(const std::unique_ptr<Stage> own, Stage::make(room_for(subject, options)));
  return try_on(*own, subject, options);
}

}  // namespace trident::trials
