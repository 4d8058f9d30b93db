// Oracles: code that is known to be right (that of the region itself, which jit/codegen compares apart) or wrong: that
// of another region, and code by hand with one fault each.
#include "jit/trials/trials.h"

#include <gtest/gtest.h>

#include "jit/codegen/region.h"
#include "jit/trials/stage.h"
#include "runtime/os/cpu.h"
#include "tests/support/random_region.h"

namespace trident::trials {
namespace {

#define REQUIRE_REGION_CODE() \
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2"

using Code = std::vector<std::byte>;

Code code_of(const region::Region& region) {
  const auto code = codegen::emit(region);
  CHECK(code.ok());
  return code->bytes;
}

Subject subject_of(const region::Region& region, const Code& code) {
  Subject subject{.region = region,
                  .code = code,
                  .entry = 0,
                  .frame_bytes = static_cast<std::uint32_t>((testing::frame_bytes(region) + 7) / 8 * 8),
                  .bases = {},
                  .origin = {}};
  for (const region::Variable& v : region.variables)
    if (v.type == region::Type::i64 && !v.scratch && v.slot >= region::kFrameHeadBytes &&
        subject.bases.size() < region.windows)
      subject.bases.push_back({v.slot, 1});
  while (subject.bases.size() < region.windows) subject.bases.push_back(subject.bases.front());
  return subject;
}

/// Tries `code` for `region`; addresses come from its first variables.
Verdict verdict_of(const region::Region& region, const Code& code, const Options& options = {},
                   Stage* stage = nullptr) {
  auto verdict = try_out(subject_of(region, code), options, stage);
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  return std::move(*verdict);
}

/// Copies bytes from the address in `from` to that in `to` until `count` is 0.
region::Region copy_loop() {
  auto region = region::parse(R"(
var budget i64 0
var to i64 24
var from i64 32
var count i64 40
var byte i64 48
windows 2
block 0
at 1
  %0 = get i64 from
  %1 = access place %0, 1, w1, b3
  %2 = load i64 %1, u1, 0
  set i64 byte, %2
at 2
  %4 = get i64 to
  %5 = access place %4, 1, w0, b3
  %6 = get i64 byte
  store i64 %5, %6, u1, 0
at 3
  %8 = get i64 from
  %9 = const i64 1
  %10 = add i64 %8, %9
  set i64 from, %10
  %12 = get i64 to
  %13 = add i64 %12, %9
  set i64 to, %13
  %15 = get i64 count
  %16 = sub i64 %15, %9
  set i64 count, %16
  %18 = const i64 0
  %19 = ne i32 %16, %18
  branch %19, b1, b2
block 1
at 4
  %20 = get i64 budget
  %21 = const i64 1
  %22 = sub i64 %20, %21
  set i64 budget, %22
  %24 = const i64 0
  %25 = ne i32 %22, %24
  branch %25, b0, b4
block 2
  exit left
block 3
  exit miss
block 4
  exit budget
)");
  CHECK(region.ok());
  return std::move(*region);
}

TEST(Trials, RightCodePassesAndIsRunInEveryWay) {
  REQUIRE_REGION_CODE();
  const region::Region region = copy_loop();
  const Code code = code_of(region);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Verdict verdict = verdict_of(region, code, {.seed = seed});
    EXPECT_EQ(verdict.difference, "") << seed;
    EXPECT_GE(verdict.coverage.runs, 48u);
    EXPECT_GE(verdict.coverage.rounds, 10u);
    EXPECT_GE(verdict.coverage.left, 3u);
    EXPECT_GE(verdict.coverage.missed, 2u);
    EXPECT_GE(verdict.coverage.spent, 2u);
  }
}

TEST(Trials, AreTheSameEveryTime) {
  REQUIRE_REGION_CODE();
  const region::Region right = copy_loop();
  region::Region wrong = right;
  wrong.insts[9].imm = 2;
  const Code code = code_of(wrong);
  const Verdict once = verdict_of(right, code, {.seed = 5}), again = verdict_of(right, code, {.seed = 5});
  EXPECT_EQ(once.difference, again.difference);
  EXPECT_EQ(once.coverage.rounds, again.coverage.rounds);
  EXPECT_NE(once.difference, "");
}

TEST(Trials, RandomRegionsPass) {
  REQUIRE_REGION_CODE();
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const region::Region region = testing::random_region(seed);
    EXPECT_EQ(verdict_of(region, code_of(region), {.seed = seed}).difference, "") << seed;
  }
}

TEST(Trials, CodeOfAnotherRegionIsFound) {
  REQUIRE_REGION_CODE();
  const region::Region right = copy_loop();
  const struct {
    const char* what;
    void (*change)(region::Region&);
    const char* named;
  } changes[] = {
      {"signed load", [](region::Region& r) { r.insts[2].is_signed = true; }, "byte is"},
      {"wrong bytes of an access", [](region::Region& r) { r.insts[1].imm = 2; }, "is"},
      {"wrong window", [](region::Region& r) { r.insts[5].window = 1; }, "is"},
      {"wrong exit", [](region::Region& r) { r.blocks[4].end.exit = region::Exit::left; }, "byte 16 of the frame"},
      {"an exit is a miss", [](region::Region& r) { r.blocks[3].end.exit = region::Exit::left; },
       "byte 16 of the frame"},
      {"no budget", [](region::Region& r) { r.blocks[1].end.otherwise = 0; }, "is"},
      {"stores two bytes", [](region::Region& r) { r.insts[5].imm = 2, r.insts[7].bytes = 2; }, "is"},
      {"stores before the load", [](region::Region& r) { r.insts[7].b = region::Value(4); }, "is"},
  };
  for (const auto& [what, change, named] : changes) {
    region::Region wrong = right;
    change(wrong);
    ASSERT_TRUE(region::check(wrong).ok()) << what;
    const Verdict verdict = verdict_of(right, code_of(wrong));
    EXPECT_NE(verdict.difference.find(named), std::string::npos) << what << ": '" << verdict.difference << "'";
  }
}

struct Fault {
  std::vector<std::uint8_t> code;
  const char* difference;

  [[nodiscard]] Code bytes() const {
    const auto raw = std::as_bytes(std::span(code));
    return {raw.begin(), raw.end()};
  }
};

std::vector<Fault> faults() {
  return {
      {{0x0F, 0x0B}, "run 0: the code crashed (SIGILL)"},                     // ud2
      {{0xEB, 0xFE}, "run 0: the code timed out"},                            // jmp .
      {{0xC6, 0x47, 0xF8, 0x01, 0xC3}, "run 0: the code crashed (SIGSEGV)"},  // mov byte [rdi-8], 1; ret
      {{0xC6, 0x47, 0x38, 0x01, 0xC3}, "run 0: "},                            // mov byte [rdi+56], 1; ret
      {{0xC3}, "run 0: "},                                                    // ret: nothing is done
  };
}

void expect_found(const Fault& fault, Stage* stage) {
  const Verdict verdict = verdict_of(copy_loop(), fault.bytes(), {}, stage);
  EXPECT_EQ(verdict.difference.substr(0, std::string(fault.difference).size()), fault.difference);
}

TEST(Trials, AnyBehaviourOfTheCodeIsAVerdict) {
  REQUIRE_REGION_CODE();
  for (const Fault& fault : faults()) expect_found(fault, nullptr);
}

std::unique_ptr<Stage> stage_for(const region::Region& region) {
  auto stage = Stage::make_ahead({.frame_bytes = (testing::frame_bytes(region) + 7) / 8 * 8,
                                  .windows = 4,
                                  .runs = runs_max({}),
                                  .code_bytes = 8192,
                                  .cpu_ns = Options{}.cpu_ns});
  CHECK(stage.ok());
  return std::move(*stage);
}

// Every subject has a child of its own, so code that crashes, hangs or writes elsewhere leaves nothing behind.
TEST(Trials, AStageMadeAheadGivesTheSameVerdicts) {
  REQUIRE_REGION_CODE();
  const region::Region right = copy_loop();
  region::Region wrong = right;
  wrong.insts[9].imm = 2;
  const Code right_code = code_of(right), wrong_code = code_of(wrong);
  const std::unique_ptr<Stage> stage = stage_for(right);
  ASSERT_TRUE(stage->fits(subject_of(right, right_code), {}));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const Fault& fault : faults()) {
      expect_found(fault, stage.get());
      EXPECT_EQ(verdict_of(right, right_code, {.seed = seed}, stage.get()).difference, "");
    }
    EXPECT_EQ(verdict_of(right, wrong_code, {.seed = seed}, stage.get()).difference,
              verdict_of(right, wrong_code, {.seed = seed}).difference);
  }
}

TEST(Trials, WhatDoesNotFitIsTriedWithoutTheStage) {
  REQUIRE_REGION_CODE();
  const region::Region region = copy_loop();
  const Code code = code_of(region);
  const std::unique_ptr<Stage> stage = stage_for(region);
  EXPECT_FALSE(stage->fits(subject_of(region, code), {.runs = 97}));
  EXPECT_EQ(verdict_of(region, code, {.runs = 97}, stage.get()).difference, "");
}

}  // namespace
}  // namespace trident::trials
