// How fast candidates for a block of Triton VM are told from it: how many a second the screen refuses, and how many of
// those that survive it are decided (normal forms, and the runs on the machine that confirm them).
//
// Baselines are random blocks of up to 16 instructions that end in some state; candidates are mutations of them, which
// is what a search tries and is harder to refuse than something unlike the baseline. First every answer is checked: the
// machine must show each difference in the state that the screen names, and none where blocks are called equal.
#include "bench/ratio.h"
#include "jit/tir/equiv/equiv.h"
#include "jit/tir/equiv/random_block.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

using tir::equiv::Answer;
using tir::equiv::Change;
using tir::tasm::Instruction;
namespace equiv = tir::equiv;

constexpr std::size_t kBaselines = 100, kPerBaseline = 60;

struct Case {
  std::vector<Instruction> baseline;
  std::vector<std::vector<Instruction>> refused, surviving;
};

std::vector<Case> cases() {
  equiv::Random random(1);
  std::vector<Case> out;
  while (out.size() < kBaselines) {
    Case c{equiv::random_block(random, 16), {}, {}};
    // One that always fails is equal to whatever does, and easily so.
    const std::vector<Instruction> failing = {{tir::tasm::Op::kPush, {}}, {tir::tasm::Op::kAssert, {}}};
    equiv::Screen screen(c.baseline, 1);
    if (screen.survives(failing)) continue;
    for (std::size_t i = 0; i < kPerBaseline; ++i) {
      const auto candidate = equiv::changed(random, c.baseline, i % 3 == 0 ? Change::sound : Change::careless);
      if (screen.survives(candidate)) {
        c.surviving.push_back(candidate);
        continue;
      }
      CHECK(!equiv::Pair(c.baseline, candidate).difference(screen.witness()).empty());
      c.refused.push_back(candidate);
    }
    out.push_back(std::move(c));
  }
  return out;
}

void check_equal(const Case& c, const std::vector<Instruction>& candidate) {
  equiv::Pair pair(c.baseline, candidate);
  equiv::States states(77, c.baseline, candidate, 16);
  for (int i = 0; i < 100; ++i) CHECK(pair.difference(states.next()).empty());
}

void screened(benchmark::State& state) {
  const std::vector<Case> all = cases();
  std::size_t count = 0, survived = 0;
  std::vector<equiv::Screen> screens;
  for (const Case& c : all) {
    count += c.refused.size(), survived += c.surviving.size();
    screens.emplace_back(c.baseline, 1);
  }
  const auto refuse = [&] {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const auto& candidate : all[i].refused) CHECK(!screens[i].survives(candidate));
  };
  const Rounds rounds = run_rounds(state, {refuse}, static_cast<double>(count));
  std::printf("%zu candidates refused, %zu survive\n", count, survived);
  print_figure("candidates refused a second", 1e9 / rounds.median_ns(0));
}

void decided(benchmark::State& state) {
  const std::vector<Case> all = cases();
  std::size_t count = 0, equal = 0, unknown = 0;
  double bound = 0;
  std::vector<equiv::Decider> deciders;
  for (const Case& c : all) {
    deciders.emplace_back(c.baseline);
    for (const auto& candidate : c.surviving) {
      const equiv::Decision decision = deciders.back().decide(candidate);
      if (decision.answer == Answer::equal) check_equal(c, candidate);
      equal += decision.answer == Answer::equal ? 1 : 0;
      unknown += decision.answer == Answer::unknown ? 1 : 0;
      bound += decision.error_bound;
      ++count;
    }
  }
  const auto decide = [&] {
    std::size_t found = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const auto& candidate : all[i].surviving)
        found += deciders[i].decide(candidate).answer == Answer::equal ? 1 : 0;
    CHECK(found == equal);
  };
  // Candidates that stay unknown count in the time, not in the number.
  const Rounds rounds = run_rounds(state, {decide}, static_cast<double>(count - unknown));
  std::printf("%zu survivors: %zu equal (error at most %.2g in all), %zu differ, %zu unknown\n", count, equal, bound,
              count - equal - unknown, unknown);
  CHECK(equal > count / 2);
  print_figure("survivors decided a second", 1e9 / rounds.median_ns(0));
}

BENCHMARK(screened)->UseManualTime()->Iterations(21);
BENCHMARK(decided)->UseManualTime()->Iterations(11);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
