// Oracle: the machine. Programs with awkward control flow go through `build`, and the results must end as they do on
// inputs that took no part. TRIDENT_TIR_HOSTILE: number of programs to build, TRIDENT_TIR_SEED: the first seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "jit/tir/build/build.h"
#include "jit/tir/shape/hostile_program.h"

namespace trident::tir::build {
namespace {

using shape::HostileProgram;

constexpr std::size_t kInputWords = 60;
constexpr int kInputs = 40;
constexpr std::uint64_t kCycles = 4'000, kCyclesAfter = 40'000;

std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

tasm::Program assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  EXPECT_TRUE(program) << program.error().message << "\n" << text;
  return program ? std::move(program).value() : tasm::Program();
}

class Compared {
 public:
  Compared(const std::string& given, const std::string& built) {
    EXPECT_TRUE(vm::load(assembled(given), codes_[0], vm::Hashing::none));
    EXPECT_TRUE(vm::load(assembled(built), codes_[1], vm::Hashing::none));
    for (std::uint64_t i = 0; i < tasm::kRegisters; ++i) stack_.emplace_back(i);
  }
  /// False where nothing can be said, or both fail.
  bool end_the_same(const std::vector<Element>& input) {
    vm::Budget budget;
    budget.cycles = kCycles;
    if (a_.run(codes_[0], {input, {}, {}, {}, stack_}, budget) == vm::Failure::kCycleLimit) return false;
    budget.cycles = kCyclesAfter;
    b_.run(codes_[1], {input, {}, {}, {}, stack_}, budget);
    EXPECT_EQ(a_.failure() == vm::Failure::none, b_.failure() == vm::Failure::none)
        << a_.failure_text() << " / " << b_.failure_text();
    if (a_.failure() != vm::Failure::none) return false;
    EXPECT_EQ(a_.output(), b_.output());
    EXPECT_TRUE(std::equal(a_.stack().begin(), a_.stack().end(), b_.stack().begin(), b_.stack().end()));
    EXPECT_EQ(a_.ram(), b_.ram());
    EXPECT_EQ(a_.inputs_taken(), b_.inputs_taken());
    return true;
  }

 private:
  vm::Code codes_[2];
  vm::Machine a_, b_;
  std::vector<Element> stack_;
};

/// An input on which it ends; empty if none is found.
std::vector<Element> good_input(HostileProgram& random, const std::string& text) {
  vm::Code code;
  EXPECT_TRUE(vm::load(assembled(text), code));
  vm::Machine machine;
  vm::Budget budget;
  budget.cycles = kCycles;
  for (int i = 0; i < 8; ++i) {
    std::vector<Element> input = random.input(kInputWords);
    if (machine.run(code, {input, {}, {}, {}, {}}, budget) == vm::Failure::none) return input;
  }
  return {};
}

TEST(HostileBuild, WhatIsBuiltEndsAsWhatWasGiven) {
  const std::uint64_t wanted = asked("TRIDENT_TIR_HOSTILE", 300);
  std::uint64_t built = 0, cheaper = 0, shared = 0, runs = 0, ended = 0;
  for (std::uint64_t seed = asked("TRIDENT_TIR_SEED", 1'000'000); built < wanted; ++seed) {
    HostileProgram random(seed);
    Request request{.text = random.text()};
    request.runs[0].public_input = good_input(random, request.text);
    if (request.runs[0].public_input.empty()) continue;
    request.milliseconds = 40;
    request.programs = 60;
    request.cycles = kCycles;
    request.left_out = 1 << static_cast<unsigned>(Stage::network);
    if (seed % 4 != 0) request.left_out |= 1 << static_cast<unsigned>(Stage::superoptimiser);
    const auto result = build(request);
    ASSERT_TRUE(result) << seed << ": " << result.error().message << "\n" << request.text;
    const auto report = nlohmann::json::parse(result->report);
    EXPECT_TRUE(report["put_aside"].empty()) << seed << ": " << report["put_aside"];
    ++built;
    cheaper += result->cheaper() ? 1 : 0;
    shared += report["subroutine_changes"].empty() ? 0 : 1;
    Compared compared(request.text, result->tasm);
    for (int i = 0; i < kInputs; ++i) {
      ++runs;
      const auto input = random.input(kInputWords);
      ended += compared.end_the_same(input) ? 1 : 0;
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << "\n" << request.text << "\n" << result->tasm;
    // The result can be built again.
    if (seed % 8 != 0) continue;
    request.text = result->tasm;
    const auto twice = build(request);
    ASSERT_TRUE(twice) << seed << ": " << twice.error().message << "\n" << result->tasm;
    Compared again(result->tasm, twice->tasm);
    for (int i = 0; i < kInputs; ++i) again.end_the_same(random.input(kInputWords));
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << "\n" << result->tasm << "\n" << twice->tasm;
  }
  std::printf("%llu programs built, %llu cheaper, %llu with other subroutines; %llu runs, %llu ended well\n",
              (unsigned long long)built, (unsigned long long)cheaper, (unsigned long long)shared,
              (unsigned long long)runs, (unsigned long long)ended);
  EXPECT_GT(cheaper, wanted / 2);
  EXPECT_GT(shared, wanted / 4);
  EXPECT_GT(ended, runs / 4);
}

}  // namespace
}  // namespace trident::tir::build
