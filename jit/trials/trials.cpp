#include "jit/trials/trials.h"

#include "jit/trials/compare.h"
#include "jit/trials/draw.h"
#include "jit/trials/run.h"
#include "runtime/base/check.h"

namespace trident::trials {
namespace {

/// Repeats the run alone, so that its memory can be looked at.
Result<std::string> difference_when_alone(const Subject& subject, const Options& options, const Arena& arena,
                                          const Run& run, const After& after) {
  TRY(const Ran again, run_in_child(subject, arena, std::span(&run, 1), options.cpu_ns));
  if (again.after.empty()) return "it " + describe(again.end) + " when it was repeated";
  const std::vector<std::byte> memory = arena.contents();
  return difference_of(subject, arena, run, is_same(subject, run, again.after[0]) ? after : again.after[0], memory);
}

Result<std::string> first_difference(const Subject& subject, const Options& options, const Arena& arena,
                                     const Draw& draw, const Ran& ran) {
  for (std::size_t i = 0; i < ran.after.size(); ++i) {
    if (is_same(subject, draw.runs[i], ran.after[i])) continue;
    TRY(const std::string text, difference_when_alone(subject, options, arena, draw.runs[i], ran.after[i]));
    return "run " + std::to_string(i) + ": " + text;
  }
  if (ran.end.sound()) return std::string(arena.is_intact() ? "" : "memory in front of a mapping was written");
  const bool between = ran.end.calls_begun == ran.end.calls_done;
  return "run " + std::to_string(ran.end.calls_done) + ": the code " + describe(ran.end) +
         (between ? ", after it had returned" : "");
}

}  // namespace

Result<Verdict> try_out(const Subject& subject, const Options& options) {
  CHECK(subject.bases.size() == subject.region.windows);
  CHECK(subject.frame_bytes % 8 == 0);
  TRY(const Arena arena, Arena::make());
  const Draw draw = draw_runs(subject, options, arena);
  if (draw.runs.empty()) return Verdict{.coverage = {}, .difference = "no drawn run comes to an end"};
  TRY(const Ran ran, run_in_child(subject, arena, draw.runs, options.cpu_ns));
  Verdict verdict{.coverage = draw.coverage, .difference = {}};
  TRY(verdict.difference, first_difference(subject, options, arena, draw, ran));
  return verdict;
}

}  // namespace trident::trials
