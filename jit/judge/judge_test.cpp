// The judge on hand-written kernels, each with one known vice. Oracles: the arithmetic that the kernels are known to
// do, and the report that each vice must give. Speeds differ by large factors, so that noise cannot decide.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <vector>

#include "jit/judge/guarded.h"
#include "jit/judge/timing.h"
#include "jit/judge/tournament.h"
#include "runtime/os/clock.h"

#if defined(__x86_64__)

// out[0][i] = in[0][i] + params[0] for 64-bit integers; rdi self, rsi n, rdx in, rcx out, r8 params.
// %first and %last shift the loop's ends; BEFORE runs at the entry, EACH in every iteration.
#define KERNEL(name, first, compare, before, each)               \
  asm(".pushsection .text\n" #name                               \
      "_begin:\n"                                                \
      "endbr64\n" before                                         \
      "\n"                                                       \
      "mov (%rdx), %rdx\n mov (%rcx), %rcx\n"                    \
      "mov (%r8), %r8\n mov $" #first                            \
      ", %rax\n"                                                 \
      "1: cmp %rsi, %rax\n " compare " 2f\n" each                \
      "\n mov (%rdx,%rax,8), %r9\n add %r8, %r9\n"               \
      "mov %r9, (%rcx,%rax,8)\n inc %rax\n"                      \
      "jmp 1b\n 2: ret\n" #name "_end:\n .popsection\n");        \
  extern "C" const std::byte name##_begin[] asm(#name "_begin"); \
  extern "C" const std::byte name##_end[] asm(#name "_end");

KERNEL(good, 0, "jge", "", "")
KERNEL(writes_behind, 0, "jg", "", "")
KERNEL(writes_before, -1, "jge", "", "")
KERNEL(reads_behind, 0, "jge", "mov (%rdx), %r9\n mov (%r9,%rsi,8), %r10", "")
KERNEL(writes_input, 0, "jge", "mov (%rdx), %r9\n movq $1, (%r9)", "")
KERNEL(illegal, 0, "jge", "ud2", "")
KERNEL(hangs, 0, "jge", "9: jmp 9b", "")
KERNEL(hangs_later, 0, "jge", "cmp $64, %rsi\n 9: jae 9b", "")
KERNEL(crashes_later, 0, "jge", "cmp $64, %rsi\n jb 9f\n ud2\n 9:", "")
KERNEL(crashes_by_order, 0, "jge", "cmpq $7, (%r8)\n jne 9f\n ud2\n 9:", "")
KERNEL(calls_system, 0, "jge", "mov $39, %eax\n syscall", "")
KERNEL(exits_later, 0, "jge", "cmp $64, %rsi\n jb 9f\n xor %edi, %edi\n mov $231, %eax\n syscall\n 9:", "")
KERNEL(writes_behind_later, 0, "jge", "cmp $64, %rsi\n jb 9f\n mov (%rcx), %r9\n movq $1, (%r9,%rsi,8)\n 9:", "")
KERNEL(writes_nothing, 0, "jge", "ret", "")
KERNEL(wild_write, 0, "jge", "movq $0, 0x1000", "")
// A dependent chain of divisions, about a hundred times slower per element.
KERNEL(slow, 0, "jge", "",
       "push %rdx\n push %rax\n mov $7, %r11\n mov $99, %eax\n xor %edx, %edx\n"
       "div %r11\n xor %edx, %edx\n div %r11\n xor %edx, %edx\n div %r11\n pop %rax\n pop %rdx")
KERNEL(slower, 0, "jge", "",
       "push %rdx\n push %rax\n push %rcx\n mov $40, %ecx\n 8: imul %rax, %rax\n dec %ecx\n jnz 8b\n"
       "pop %rcx\n pop %rax\n pop %rdx")

namespace trident::judge {
namespace {

using Kind = os::SandboxEnd::Kind;

image::Mapped mapped(const std::byte* begin, const std::byte* end) {
  codegen::MachineCode code;
  code.bytes.assign(begin, end);
  code.code_size = static_cast<std::uint32_t>(end - begin);
  code.pool_offset = (code.code_size + 63) / 64 * 64;
  auto fd = image::seal(image::build(code, {.outputs = 1}, codegen::Isa::avx2, TRIDENT_TIER_OPTIMISED, {}));
  CHECK(fd.ok());
  auto result = image::Mapped::map(*fd);
  CHECK(result.ok());
  return std::move(result).value();
}
#define MAPPED(name) mapped(name##_begin, name##_end)

const Signature kSignature{{8}, {{8, false}}};

std::vector<std::int64_t> ramp(std::size_t n) {
  std::vector<std::int64_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::int64_t>(i * i * 31 + 5);
  return v;
}

struct Plan {
  std::vector<std::int64_t> input = ramp(1000);
  GuardedRun run;
  Plan() {
    run.elements = input.size();
    run.inputs = {std::as_bytes(std::span(input))};
    run.params = {{0}, {1000}};
    for (std::uint64_t n : {0, 1, 2, 3, 7, 8, 31, 63})
      for (const bool in_place : {false, true}) {
        run.calls.push_back({1000 - n, n, n % 2 == 0 ? 0u : 1u, in_place});
        run.calls.push_back({n, n, 1, in_place});
      }
    run.calls.push_back({0, 1000, 1, false});
    run.cpu_ns = 300'000'000;
  }
};

void expect_right_results(const Plan& plan, const GuardedResults& results) {
  ASSERT_EQ(results.outputs.size(), plan.run.calls.size());
  for (std::size_t c = 0; c < plan.run.calls.size(); ++c) {
    const auto& call = plan.run.calls[c];
    ASSERT_EQ(results.outputs[c][0].size(), call.n * 8);
    for (std::size_t i = 0; i < call.n; ++i) {
      std::int64_t got = 0;
      std::memcpy(&got, results.outputs[c][0].data() + i * 8, 8);
      ASSERT_EQ(got, plan.input[call.first + i] + static_cast<std::int64_t>(plan.run.params[call.params][0]))
          << "call " << c << " element " << i;
    }
  }
}

TEST(Guarded, BringsBackEveryCallsResults) {
  Plan plan;
  const auto kernel = MAPPED(good);
  for (const bool flush_start : {false, true}) {
    plan.run.flush_start = flush_start;
    auto results = run_guarded(kernel, kSignature, plan.run);
    ASSERT_TRUE(results.ok()) << results.error().message;
    ASSERT_TRUE(results->sound()) << os::describe(results->end) << " in call " << results->calls_done;
    expect_right_results(plan, *results);
  }
}

TEST(Guarded, ScalarOutputsTakeOneElement) {
  Plan plan;
  const Signature signature{{8}, {{8, true}}};
  for (auto& call : plan.run.calls) call.n = std::min<std::uint64_t>(call.n, 1), call.in_place = false;
  auto results = run_guarded(MAPPED(good), signature, plan.run);
  ASSERT_TRUE(results.ok());
  ASSERT_TRUE(results->sound()) << os::describe(results->end);
  std::int64_t got = 0;
  std::memcpy(&got, results->outputs.back()[0].data(), 8);
  EXPECT_EQ(got, plan.input[0] + 1000);
}

GuardedResults guarded(const image::Mapped& kernel, bool flush_start, bool only_middle) {
  Plan plan;
  plan.run.flush_start = flush_start;
  if (only_middle) plan.run.calls = {{100, 50, 1, false}};
  auto results = run_guarded(kernel, kSignature, plan.run);
  CHECK(results.ok());
  return std::move(results).value();
}

TEST(Guarded, WritesOutsideAreFound) {
  // Flush with the guard page: a crash. In the middle of the array: a changed canary.
  EXPECT_EQ(guarded(MAPPED(writes_behind), false, false).end.signal, SIGSEGV);
  EXPECT_TRUE(guarded(MAPPED(writes_behind), false, true).wrote_outside);
  EXPECT_TRUE(guarded(MAPPED(writes_before), true, true).wrote_outside);
  EXPECT_FALSE(guarded(MAPPED(writes_before), true, false).sound());
}

TEST(Guarded, ReadsOutsideAreFound) {
  EXPECT_EQ(guarded(MAPPED(reads_behind), false, false).end.signal, SIGSEGV);
  EXPECT_TRUE(guarded(MAPPED(reads_behind), false, true).sound());  // inside the array: not an over-read
}

TEST(Guarded, EveryOtherViceIsAnAnswerToo) {
  EXPECT_EQ(guarded(MAPPED(writes_input), false, false).end.signal, SIGSEGV);
  EXPECT_EQ(guarded(MAPPED(illegal), false, false).end.signal, SIGILL);
  EXPECT_EQ(guarded(MAPPED(calls_system), false, false).end.signal, SIGSYS);
  EXPECT_EQ(guarded(MAPPED(wild_write), false, false).end.signal, SIGSEGV);
  EXPECT_EQ(guarded(MAPPED(hangs), false, false).end.kind, Kind::timed_out);
}

TEST(Guarded, SaysWhichCallCrashed) {
  Plan plan;
  auto results = run_guarded(MAPPED(crashes_later), kSignature, plan.run);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->end.signal, SIGILL);
  EXPECT_EQ(results->calls_done, plan.run.calls.size() - 1);  // only the last call has 64 elements or more
}

/// Runs of short calls, with a longer call in one of them.
struct Series {
  Plan plan;
  std::vector<GuardedRun> runs;
  Series(std::size_t count, std::size_t with_longer) {
    plan.run.calls.pop_back();
    runs.assign(count, plan.run);
    for (std::size_t r = 0; r < count; ++r) runs[r].flush_start = r % 2 == 1;
    if (with_longer >= count) return;
    auto& calls = runs[with_longer].calls;
    calls.insert(calls.begin() + 5, {100, 64, 1, false});
  }
};

/// Oracle: each run by itself.
std::vector<GuardedResults> one_by_one(const image::Mapped& kernel, std::span<const GuardedRun> runs) {
  std::vector<GuardedResults> results;
  for (const GuardedRun& run : runs) {
    auto result = run_guarded(kernel, kSignature, run);
    CHECK(result.ok());
    results.push_back(std::move(result).value());
    if (!results.back().sound()) break;
  }
  return results;
}

// Returns how many children it took.
std::uint64_t expect_results_of_single_runs(const image::Mapped& kernel, std::span<const GuardedRun> runs) {
  const std::uint64_t before = os::thread_children();
  const auto together = run_guarded(kernel, kSignature, runs);
  const std::uint64_t children = os::thread_children() - before;
  CHECK(together.ok());
  const auto single = one_by_one(kernel, runs);
  EXPECT_EQ(together->size(), single.size());
  for (std::size_t r = 0; r < std::min(together->size(), single.size()); ++r) {
    const GuardedResults &a = (*together)[r], &b = single[r];
    EXPECT_EQ(a.end.kind, b.end.kind) << r;
    EXPECT_EQ(describe(a), describe(b)) << r;
    EXPECT_EQ(a.calls, b.calls) << r;
    EXPECT_EQ(a.calls_begun, b.calls_begun) << r;
    EXPECT_EQ(a.calls_done, b.calls_done) << r;
    EXPECT_EQ(a.outputs, b.outputs) << r;
  }
  return children;
}

TEST(GuardedSeries, TakesOneChildAndGivesTheResultsOfSingleRuns) {
  const Series series(13, 7);
  EXPECT_EQ(expect_results_of_single_runs(MAPPED(good), series.runs), 1u);
}

TEST(GuardedSeries, AFaultIsOneOfItsRunAndCall) {
  for (const std::size_t at : {0, 1, 4}) {
    const Series series(5, at);
    const auto results = run_guarded(MAPPED(crashes_later), kSignature, series.runs);
    ASSERT_TRUE(results.ok());
    ASSERT_EQ(results->size(), at + 1);
    EXPECT_EQ(results->back().calls_done, 5u);
    EXPECT_EQ(describe(results->back()), "crashed (SIGILL)");
    EXPECT_EQ(expect_results_of_single_runs(MAPPED(crashes_later), series.runs), 1u);
    EXPECT_EQ(expect_results_of_single_runs(MAPPED(writes_behind_later), series.runs), 1u);
    EXPECT_EQ(expect_results_of_single_runs(MAPPED(exits_later), series.runs), 1u);
  }
}

TEST(GuardedSeries, EveryRunHasItsOwnTime) {
  EXPECT_EQ(expect_results_of_single_runs(MAPPED(hangs_later), Series(5, 0).runs), 1u);
  EXPECT_EQ(expect_results_of_single_runs(MAPPED(hangs_later), Series(5, 3).runs), 2u);
}

TEST(GuardedSeries, LargeRunsDoNotShare) {
  const std::vector<std::int64_t> much(1'500'000, 3);
  GuardedRun large;
  large.elements = much.size();
  large.inputs = {std::as_bytes(std::span(much))};
  large.params = {{1000}};
  large.calls = {{0, 64, 0, false}};
  const std::vector<GuardedRun> runs(2, large);
  EXPECT_EQ(expect_results_of_single_runs(MAPPED(good), runs), 2u);
}

void expect_same(const GuardedResults& a, const GuardedResults& b) {
  EXPECT_EQ(describe(a), describe(b));
  EXPECT_EQ(a.calls_done, b.calls_done);
  EXPECT_EQ(a.outputs, b.outputs);
}

// Faults of one are not those of the next. Oracle: each run of each kernel by itself.
TEST(GuardedKernels, GiveTheResultsOfSingleRuns) {
  const image::Mapped fine = MAPPED(good), crashes = MAPPED(crashes_later), behind = MAPPED(writes_behind_later),
                      exits = MAPPED(exits_later);
  const Series series(4, 1);
  const std::vector<GuardedKernel> kernels = {{&fine, {0, 1, 2, 3}}, {&crashes, {0, 1, 2}}, {&fine, {3, 1}},
                                              {&behind, {2, 1, 0}},  {&exits, {1}},         {&fine, {2}}};
  const std::uint64_t before = os::thread_children();
  const auto together = run_guarded(kernels, kSignature, series.runs);
  EXPECT_EQ(os::thread_children() - before, 4u) << "three kernels end their children";
  ASSERT_TRUE(together.ok());
  ASSERT_EQ(together->size(), kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    std::vector<GuardedRun> runs;
    for (const std::size_t run : kernels[k].runs) runs.push_back(series.runs[run]);
    const auto single = one_by_one(*kernels[k].image, runs);
    ASSERT_EQ((*together)[k].size(), single.size()) << k;
    for (std::size_t r = 0; r < single.size(); ++r) expect_same((*together)[k][r], single[r]);
  }
}

TEST(GuardedKernels, NobodyPassesByTheResultsOfAnother) {
  const image::Mapped fine = MAPPED(good), idle = MAPPED(writes_nothing);
  const Plan plan;
  const std::vector<GuardedKernel> kernels = {{&fine, {0}}, {&idle, {0}}, {&fine, {0}}};
  const auto results = run_guarded(kernels, kSignature, std::span(&plan.run, 1));
  ASSERT_TRUE(results.ok());
  expect_right_results(plan, (*results)[0].at(0));
  expect_right_results(plan, (*results)[2].at(0));
  const GuardedResults& nothing = (*results)[1].at(0);
  ASSERT_EQ(nothing.outputs.size(), plan.run.calls.size());
  for (std::size_t c = 0; c < plan.run.calls.size(); ++c) {
    if (plan.run.calls[c].in_place || plan.run.calls[c].n == 0) continue;
    EXPECT_NE(nothing.outputs[c], (*results)[0][0].outputs[c]) << c;
  }
}

TEST(Guarded, CodeThatEndsItsProcessIsNotSound) {
  const GuardedResults results = guarded(MAPPED(exits_later), false, false);
  EXPECT_FALSE(results.sound());
  EXPECT_EQ(results.end.kind, Kind::finished);
  EXPECT_EQ(describe(results), "ended its process");
}

struct Bench {
  std::vector<std::int64_t> input = ramp(512);
  Workload workload{512, {std::as_bytes(std::span(input))}, {3}};
};

TEST(Timing, MeasuresEveryContestantInEveryRound) {
  Bench bench;
  const auto a = MAPPED(good);
  const auto b = MAPPED(slow);
  const image::Mapped* contestants[] = {&a, &b};
  auto timings = time_rounds(contestants, kSignature, bench.workload, {.rounds = 9, .batch_ns = 5000});
  ASSERT_TRUE(timings.ok()) << timings.error().message;
  ASSERT_EQ(timings->ns[0].size(), 9u);
  ASSERT_EQ(timings->ns[1].size(), 9u);
  int slower_rounds = 0;
  for (int i = 0; i < 9; ++i) slower_rounds += timings->ns[1][i] > timings->ns[0][i] ? 1 : 0;
  EXPECT_GE(slower_rounds, 8);
}

TEST(Timing, CrashingAndHangingContestantsAreTakenOut) {
  Bench bench;
  const auto a = MAPPED(good);
  const auto b = MAPPED(crashes_later);
  const auto c = MAPPED(hangs_later);
  const auto d = MAPPED(slow);
  const image::Mapped* contestants[] = {&a, &b, &c, &d};
  auto timings =
      time_rounds(contestants, kSignature, bench.workload, {.rounds = 5, .batch_ns = 2000, .cpu_ns = 30'000'000});
  ASSERT_TRUE(timings.ok()) << timings.error().message;
  EXPECT_EQ(timings->ends[1].kind, Kind::crashed);
  EXPECT_EQ(timings->ends[2].kind, Kind::timed_out);
  EXPECT_TRUE(timings->ns[1].empty());
  EXPECT_TRUE(timings->ns[2].empty());
  EXPECT_EQ(timings->ns[0].size(), 5u);
  EXPECT_EQ(timings->ns[3].size(), 5u);
}

TEST(Tournament, TheFastestWinsWhateverItsPlace) {
  Bench bench;
  const auto incumbent = MAPPED(slower);
  const auto middle = MAPPED(slow);
  const auto best = MAPPED(good);
  const auto broken = MAPPED(crashes_later);
  const image::Mapped* contestants[] = {&incumbent, &middle, &incumbent, &broken, &best, &middle};
  auto verdict = hold_tournament(contestants, kSignature, bench.workload, {.cpu_ns = 2'000'000'000});
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->gain);
  EXPECT_EQ(verdict->winner, 4u);
  EXPECT_LT(verdict->ratio, 0.8);
  EXPECT_LT(verdict->winner_ns, verdict->incumbent_ns);
  EXPECT_EQ(verdict->ends[3].kind, Kind::crashed);
}

TEST(Tournament, AnIncumbentThatFaultsOrHangsIsNotNoGain) {
  Bench bench;
  const auto good_one = MAPPED(good);
  const auto crashing = MAPPED(crashes_later);
  const auto hanging = MAPPED(hangs_later);
  for (const image::Mapped* incumbent : {&crashing, &hanging}) {
    // With and without heats before the final.
    const image::Mapped* many[] = {incumbent, &good_one, &good_one, &good_one, &good_one};
    for (const std::size_t count : {1, 2, 5}) {
      auto verdict = hold_tournament(std::span(many).first(count), kSignature, bench.workload, {.cpu_ns = 50'000'000});
      ASSERT_TRUE(verdict.ok()) << verdict.error().message;
      EXPECT_FALSE(verdict->incumbent_ran());
      EXPECT_FALSE(verdict->gain);
      EXPECT_EQ(verdict->ends[0].kind, incumbent == &crashing ? Kind::crashed : Kind::timed_out);
    }
  }
  const image::Mapped* alone[] = {&good_one};
  auto verdict = hold_tournament(alone, kSignature, bench.workload, {.cpu_ns = 50'000'000});
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->incumbent_ran());
}

TEST(Tournament, TellsHowFarItIsAndTheBestRatioSoFar) {
  Bench bench;
  const auto incumbent = MAPPED(slower);
  const auto best = MAPPED(good);
  const image::Mapped* contestants[] = {&incumbent, &incumbent, &best, &incumbent, &incumbent};
  std::vector<double> ratios;
  std::size_t last = 0;
  TournamentRules rules{.cpu_ns = 2'000'000'000};
  rules.progress = [&](std::size_t done, std::size_t total, double ratio) {
    EXPECT_EQ(done, last + 1);
    EXPECT_LE(done, total);
    last = done;
    ratios.push_back(ratio);
  };
  auto verdict = hold_tournament(contestants, kSignature, bench.workload, rules);
  ASSERT_TRUE(verdict.ok());
  ASSERT_GE(ratios.size(), 2u);
  for (const double ratio : ratios) EXPECT_TRUE(ratio > 0 && ratio <= 1) << ratio;
  EXPECT_LT(ratios.back(), 0.9);
}

TEST(Tournament, TheFinalHasTimeOfItsOwn) {
  Bench bench;
  const auto incumbent = MAPPED(slower);
  const auto best = MAPPED(good);
  const image::Mapped* contestants[] = {&incumbent, &incumbent, &best, &incumbent, &incumbent};
  TournamentRules rules{.cpu_ns = 100'000'000};
  rules.progress = [](std::size_t heats, std::size_t, double) {  // as heats do on a machine with much other work
    for (const std::uint64_t end = os::thread_work_ns() + 100'000'000; heats == 1 && os::thread_work_ns() < end;) {
    }
  };
  auto verdict = hold_tournament(contestants, kSignature, bench.workload, rules);
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->gain);
  EXPECT_EQ(verdict->winner, 2u);
}

TEST(Tournament, TheFinalOfManyIsBetweenTheBestOfTheFirstHeat) {
  Bench bench;
  const auto incumbent = MAPPED(slower);
  const auto best = MAPPED(good);
  std::vector<const image::Mapped*> contestants(400, &incumbent);
  contestants[200] = &best;
  TournamentRules rules{.cpu_ns = 40'000'000};
  rules.progress = [](std::size_t heats, std::size_t, double) {
    for (const std::uint64_t end = os::thread_work_ns() + 40'000'000; heats == 1 && os::thread_work_ns() < end;) {
    }
  };
  auto verdict = hold_tournament(contestants, kSignature, bench.workload, rules);
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->gain);
  EXPECT_EQ(verdict->winner, 200u);
}

TEST(Tournament, SlowerCandidatesAndCopiesAreNoGain) {
  Bench bench;
  const auto incumbent = MAPPED(good);
  const auto copy = MAPPED(good);
  const auto worse = MAPPED(slow);
  const image::Mapped* contestants[] = {&incumbent, &copy, &worse, &copy};
  auto verdict = hold_tournament(contestants, kSignature, bench.workload, {.cpu_ns = 300'000'000, .margin = 0.2});
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->gain);
  EXPECT_EQ(verdict->winner, 0u);
  EXPECT_GT(verdict->incumbent_ns, 0);
}

// The copy is hard to tell from the incumbent, so the final continues after the crash, and there the fast one finishes.
TEST(Tournament, AContestantThatCrashedOnceDoesNotWin) {
  Bench bench;
  const auto incumbent = MAPPED(slower);
  const auto crashing = MAPPED(crashes_by_order);
  const image::Mapped* contestants[] = {&incumbent, &crashing, &incumbent};
  std::size_t heats = 0;
  TournamentRules rules{.cpu_ns = 1'000'000'000, .margin = 0};
  rules.progress = [&](std::size_t done, std::size_t, double) {
    heats = done;
    bench.workload.params[0] = 3;
  };
  for (int attempt = 0; attempt < 10 && heats < 2; ++attempt) {
    bench.workload.params[0] = 7;
    auto verdict = hold_tournament(contestants, kSignature, bench.workload, rules);
    ASSERT_TRUE(verdict.ok());
    EXPECT_NE(verdict->winner, 1u);
    EXPECT_EQ(verdict->ends[1].kind, Kind::crashed);
    EXPECT_TRUE(std::isinf(verdict->ratios[1]));
  }
  EXPECT_GE(heats, 2u);
}

TEST(Tournament, KeepsItsTimeAndObeysCancel) {
  Bench bench;
  const auto a = MAPPED(good);
  const image::Mapped* contestants[] = {&a, &a, &a, &a, &a};
  const std::uint64_t start = os::monotonic_ns();
  auto verdict = hold_tournament(contestants, kSignature, bench.workload,
                                 {.cpu_ns = 3'000'000'000, .cancelled = [] { return true; }});
  ASSERT_TRUE(verdict.ok());
  EXPECT_LT(os::monotonic_ns() - start, 1'000'000'000u);
}

}  // namespace
}  // namespace trident::judge
#endif
