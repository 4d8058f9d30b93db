// Trials of loops that a compiler made. Right code passes, in runs that show all that a loop can do; of code with a
// flipped bit, what other and many more runs find wrong must be found.
#include "jit/trials/trials.h"

#include <gtest/gtest.h>

#include "jit/loop/aarch64/lifter.h"
#include "jit/loop/lift.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "runtime/os/sandbox.h"
#include "tests/loops/kernel_rows.h"
#include "tests/support/random.h"

namespace trident::tests {
namespace {

#define REQUIRE_LOOP_CODE() \
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of loops needs a processor with AVX2 and BMI2"

/// The share of trials in the time of compile_loop, children included.
void print_times(const std::vector<CompiledRow>& rows) {
  std::uint64_t without = 0, with = 0, loops = 0;
  for (const CompiledRow& row : rows) {
    if (row.compiled.loop.instructions.size() > 32) continue;
    const std::uint64_t start = os::thread_work_ns();
    CHECK(pipeline::compile_loop(row.source, {.key = {}, .runs_trials = false}).ok());
    const std::uint64_t middle = os::thread_work_ns();
    CHECK(pipeline::compile_loop(row.source, {}).ok());
    without += middle - start, with += os::thread_work_ns() - middle, ++loops;
  }
  const auto per_loop = [&](std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(1000 * loops); };
  std::printf("a loop of up to 32 instructions takes %.0f us of CPU, %.0f without trials\n", per_loop(with),
              per_loop(without));
}

TEST(LoopTrials, PassAndShowWhatLoopsDo) {
  REQUIRE_LOOP_CODE();
  std::size_t loops = 0, with_rounds = 0, that_left = 0, that_missed = 0, that_spent = 0;
  for (const CompiledRow& row : compiled_rows()) {
    const auto outcome = pipeline::compile_loop(row.source, {});
    ASSERT_TRUE(outcome.ok()) << row.name << ": " << outcome.error().message;
    const trials::Coverage& c = std::get<pipeline::CompiledLoop>(*outcome).trials;
    ++loops;
    with_rounds += c.rounds >= 2, that_left += c.left >= 2, that_missed += c.missed >= 2, that_spent += c.spent >= 2;
    if (c.rounds < 2 || c.left < 2 || c.spent < 2)
      std::printf("%s: %u runs, %u with rounds, %u left, %u missed, %u used the budget up\n", row.name.c_str(), c.runs,
                  c.rounds, c.left, c.missed, c.spent);
  }
  print_times(compiled_rows());
  EXPECT_GT(loops, 50u);
  EXPECT_GE(with_rounds, loops * 19 / 20);
  EXPECT_GE(that_left, loops * 9 / 10);
  EXPECT_GE(that_missed, loops * 9 / 10);
  EXPECT_GE(that_spent, loops * 9 / 10);
}

trials::Verdict verdict_of(const CompiledRow& row, std::span<const std::byte> code, const trials::Options& options) {
  const auto verdict = trials::try_out(pipeline::subject_of(row.compiled, code, 0), options);
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return *verdict;
}

TEST(LoopTrials, FlippedBitsAreFoundUnlessHarmless) {
  REQUIRE_LOOP_CODE();
  testing::Random random(3);
  const std::vector<CompiledRow> rows = compiled_rows();
  int found = 0, harmless = 0, missed = 0;
  std::string why;
  for (int i = 0; i < 150; ++i) {
    const CompiledRow& row = rows[random.below(static_cast<std::uint32_t>(rows.size()))];
    std::vector<std::byte> code = row.compiled.code.bytes;
    const std::uint32_t bit = 32 + random.below((row.compiled.code.code_size - 4) * 8);  // the landing pad stays
    code[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    if (!verdict_of(row, code, {.cpu_ns = 100'000'000}).same()) {
      ++found;
      continue;
    }
    const auto longer = verdict_of(row, code, {.seed = 77, .runs = 600, .cpu_ns = 200'000'000});
    ++(longer.same() ? harmless : missed);
    if (!longer.same()) why += row.name + ", bit " + std::to_string(bit) + ": " + longer.difference + "\n";
  }
  std::printf("%d found, %d harmless, %d missed\n%s", found, harmless, missed, why.c_str());
  EXPECT_LE(missed, 6) << why;
  EXPECT_GT(found, 75);
}

}  // namespace
}  // namespace trident::tests
