// Oracle: programs whose rows are counted by hand. All rows of a profile sum to the run's heights, which the real
// machine's answers check (jit/tir/oracle).
#include "jit/tir/vm/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "jit/tir/vm/machine.h"

namespace trident::tir::vm {
namespace {

struct Profiled {
  Code code;
  Machine machine;
  Profile profile;

  explicit Profiled(const std::string& text) {
    const auto program = tasm::assemble(ir::SourceText(text));
    EXPECT_TRUE(program) << text;
    EXPECT_TRUE(load(*program, code));
    EXPECT_EQ(Failure::none, machine.run(code, {}, {}, &profile)) << machine.failure_text();
    EXPECT_EQ(machine.heights(), sum(profile.frames)) << text;
    EXPECT_EQ(machine.heights(), sum(profile.steps)) << text;
    Machine plain;
    plain.run(code, {});
    EXPECT_EQ(plain.heights(), machine.heights());
    EXPECT_EQ(plain.cycles(), machine.cycles());
  }
  template <class Rows>
  Heights sum(const std::vector<Rows>& rows) const {
    Heights out = profile.text;
    for (const Rows& row : rows)
      for (std::size_t t = 0; t < kTableCount; ++t) {
        if constexpr (std::is_same_v<Rows, Frame>)
          out.rows[t] += row.own.rows[t];
        else
          out.rows[t] += row.rows[t];
      }
    return out;
  }
  [[nodiscard]] Profile::Subroutine at(std::uint32_t entry) const {
    for (const auto& s : profile.subroutines())
      if (s.entry == entry) return s;
    return {~0u, 0, {}, {}};
  }
};

TEST(Profile, RowsStandWhereTheyAreMade) {
  // Steps: 0-4 push, 5 call a, 6 call b, 7 halt, 8 a: call b, 9 hash, 10 return, 11 b: push, 12 split, 13 return.
  const Profiled p(
      "push 0 push 0 push 0 push 0 push 0 call a call b halt a: call b hash return b: push 5 split return");
  const auto begin = p.at(0), a = p.at(8), b = p.at(11);
  EXPECT_EQ(1u, begin.calls);
  EXPECT_EQ(1u, a.calls);
  EXPECT_EQ(2u, b.calls);
  EXPECT_EQ(8u, begin.own.of(Table::processor));
  EXPECT_EQ(17u, begin.inclusive.of(Table::processor));
  EXPECT_EQ(3u, a.own.of(Table::processor));
  EXPECT_EQ(6u, a.inclusive.of(Table::processor));
  EXPECT_EQ(6u, b.own.of(Table::processor));
  EXPECT_EQ(6u, a.own.of(Table::hash));
  EXPECT_EQ(0u, b.own.of(Table::hash));
  EXPECT_EQ(6u, begin.inclusive.of(Table::hash));
  // The second split of 5 finds its entry: 1 + bits of 5 rows, all in the call from a.
  EXPECT_EQ(4u, b.own.of(Table::u32));
  EXPECT_EQ(4u, a.inclusive.of(Table::u32));
  EXPECT_EQ(4u, p.profile.steps[12].of(Table::u32));
  EXPECT_EQ(2u, p.profile.steps[12].of(Table::processor));
  EXPECT_EQ(4u, p.profile.frames.size());
  EXPECT_EQ(256u, p.profile.text.of(Table::lookup));
}

TEST(Profile, RecursionIsCountedOnce) {
  // 3 levels of f, which calls g at each; g is not below itself.
  const Profiled p(
      "push 3 call f halt "
      "f: call g dup 0 skiz call h return "
      "h: addi -1 call f return "
      "g: nop return");
  const auto f = p.at(3), g = p.at(11), begin = p.at(0);
  EXPECT_EQ(4u, f.calls);
  EXPECT_EQ(4u, g.calls);
  EXPECT_EQ(8u, g.own.of(Table::processor));
  EXPECT_EQ(begin.inclusive.of(Table::processor), p.machine.cycles());
  EXPECT_EQ(f.inclusive.of(Table::processor) + 3, p.machine.cycles());
}

TEST(Profile, ASubroutineThatCallsItselfStaysInItsFrame) {
  const Profiled p("push 1000 call f halt f: addi -1 dup 0 skiz call f return");
  EXPECT_EQ(2u, p.profile.frames.size());
  EXPECT_EQ(1000u, p.at(3).calls);
  EXPECT_EQ(p.machine.cycles() - 3, p.at(3).own.of(Table::processor));
}

TEST(Profile, MutualRecursionGoesBackToItsFrame) {
  const Profiled p("push 1000 call a halt a: addi -1 dup 0 skiz call b return b: addi -1 dup 0 skiz call a return");
  EXPECT_EQ(3u, p.profile.frames.size());
  EXPECT_EQ(500u, p.at(3).calls);
  EXPECT_EQ(500u, p.at(8).calls);
  EXPECT_EQ(p.machine.cycles() - 3, p.at(3).inclusive.of(Table::processor));
}

/// Returns the steps that a run executes, one by one: its position after 0, 1, 2 .. cycles.
std::vector<std::uint32_t> trace_of(const Code& code, std::span<const Element> input) {
  std::vector<std::uint32_t> out;
  Machine machine;
  Budget budget;
  for (budget.cycles = 0;; ++budget.cycles) {
    if (machine.run(code, {.public_input = input, .secret_input = {}, .secret_digests = {}, .ram = {}, .stack = {}},
                    budget) != Failure::kCycleLimit)
      return out;
    out.push_back(machine.step());
  }
}

struct Rows {
  std::uint64_t calls = 0, own = 0, open = 0;
  bool operator==(const Rows&) const = default;
};

/// Counts rows by the definition: open subroutines follow from the calls and returns of the trace.
std::map<std::uint32_t, Rows> counted(const Code& code, const std::vector<std::uint32_t>& trace) {
  std::map<std::uint32_t, Rows> out;
  std::vector<std::uint32_t> open = {0};
  out[0].calls = 1;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    ++out[open.back()].own;
    for (const std::uint32_t entry : std::set<std::uint32_t>(open.begin(), open.end())) ++out[entry].open;
    const tasm::Op op = code.steps[trace[i]].op;
    if (op == tasm::Op::kCall) open.push_back(code.steps[trace[i]].target), ++out[open.back()].calls;
    const bool returned = op == tasm::Op::kRecurseOrReturn && trace[i + 1] != open.back();
    if (op == tasm::Op::kReturn || returned) open.pop_back();
  }
  return out;
}

void expect_as_traced(const std::string& text, std::vector<Element> input) {
  const auto program = tasm::assemble(ir::SourceText(text));
  ASSERT_TRUE(program) << text;
  Code code;
  ASSERT_TRUE(load(*program, code));
  Machine machine;
  Profile profile;
  const Inputs inputs{.public_input = input, .secret_input = {}, .secret_digests = {}, .ram = {}, .stack = {}};
  ASSERT_EQ(Failure::none, machine.run(code, inputs, {}, &profile)) << machine.failure_text();
  std::map<std::uint32_t, Rows> found;
  for (const auto& s : profile.subroutines())
    found[s.entry] = {s.calls, s.own.of(Table::processor), s.inclusive.of(Table::processor)};
  EXPECT_EQ(counted(code, trace_of(code, input)), found) << text;
}

TEST(Profile, RowsWhileASubroutineIsOpenAreThoseOfTheTrace) {
  const std::string mutual = "read_io 1 call a halt a: dup 0 skiz call b return b: addi -1 call a return";
  expect_as_traced(mutual, {Element(5)});
  const std::vector<Element> five = {Element(5)};
  const auto program = tasm::assemble(ir::SourceText(mutual));
  Code code;
  ASSERT_TRUE(load(*program, code));
  EXPECT_EQ(34u, counted(code, trace_of(code, five))[7].open);  // by hand: all 41 but 5 before b and 2 behind it
  for (const char* text :
       {"read_io 1 call a halt a: addi -1 dup 0 skiz call a return",
        "read_io 1 call a halt a: dup 0 skiz call b return b: addi -1 call c return c: call a nop return",
        // b stays open while a, on the path already, is called from c.
        "read_io 1 call a halt a: dup 0 skiz call b return b: addi -1 dup 0 skiz call c return "
        "c: call a dup 0 skiz call b return",
        // Ends within its calls.
        "read_io 1 call a a: addi -1 dup 0 push 0 eq skiz halt call b return b: nop call a return",
        // The first step is called.
        "again: sponge_init dup 0 push 0 eq skiz call f halt f: push 7 call again halt",
        "push 3 push 0 push 0 push 0 push 0 push 0 push 0 call loop halt "
        "loop: addi 1 call g pick 5 addi 1 place 5 recurse_or_return g: nop return"})
    for (const std::uint64_t n : {1, 2, 3, 5, 9}) expect_as_traced(text, {Element(n)});
}

/// Counts by the definition of a frame: subroutines on the way to it, none twice, and the number of calls.
using Paths = std::map<std::vector<std::uint32_t>, std::uint64_t>;

Paths paths_of(const Profile& profile, std::uint32_t first, std::uint32_t size) {
  Paths out;
  for (std::size_t f = 1; f < profile.frames.size(); ++f) {
    std::vector<std::uint32_t> path;
    for (std::size_t at = f; at != 0; at = profile.frames[at].parent)
      path.insert(path.begin(), (profile.frames[at].entry - first) / size);
    EXPECT_TRUE(out.emplace(path, profile.frames[f].calls).second);
  }
  return out;
}

TEST(Profile, FramesOfRandomRecursionAreWhatTheDefinitionSays) {
  // Every subroutine counts down, then calls two others as long as the count is not 0.
  constexpr std::uint32_t kSubroutines = 12, kFirst = 3, kSize = 10;
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t count = 1 + random() % 700;
    std::vector<std::array<std::uint32_t, 2>> callees(kSubroutines);
    std::string text = "push " + std::to_string(count) + " call s0 halt\n";
    for (std::uint32_t s = 0; s < kSubroutines; ++s) {
      text += "s" + std::to_string(s) + ": dup 0 skiz addi -1";
      for (std::uint32_t& callee : callees[s]) {
        callee = static_cast<std::uint32_t>(random() % kSubroutines);
        text += " dup 0 skiz call s" + std::to_string(callee);
      }
      text += " return\n";
    }
    Paths expected;
    std::uint64_t left = count;
    const std::function<void(std::uint32_t, std::vector<std::uint32_t>)> call = [&](std::uint32_t subroutine,
                                                                                    std::vector<std::uint32_t> path) {
      const auto at = std::find(path.begin(), path.end(), subroutine);
      path.erase(at, path.end());
      path.push_back(subroutine);
      ++expected[path];
      left -= left != 0 ? 1 : 0;
      for (const std::uint32_t callee : callees[subroutine])
        if (left != 0) call(callee, path);
    };
    call(0, {});
    const Profiled p(text);
    EXPECT_EQ(expected, paths_of(p.profile, kFirst, kSize)) << text;
  }
}

TEST(Profile, DeepAndWideCallsAreCountedInLinearTime) {
  constexpr std::uint32_t kCalls = 50'000;  // some 10^9 steps if each looked at all calls above it or beside it
  std::string deep = "call f0 halt\n", wide;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    const std::string name = "f" + std::to_string(i);
    deep += name + ": " + (i + 1 < kCalls ? "call f" + std::to_string(i + 1) : std::string("nop")) + " return\n";
    wide += "call " + name + "\n";
  }
  wide += "halt\n";
  for (std::uint32_t i = 0; i < kCalls; ++i) wide += "f" + std::to_string(i) + ": return\n";
  for (const std::string& text : {deep, wide}) {
    const std::clock_t begin = std::clock();
    const Profiled p(text);
    EXPECT_EQ(kCalls + 1, p.profile.frames.size());
    EXPECT_EQ(kCalls + 1, p.profile.subroutines().size());
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5.0);
  }
}

TEST(Profile, PathsAreBounded) {
  // Two subroutines a level, each of which calls both of the next: twice as many paths at each level.
  constexpr int kLevels = 17;
  std::string text = "call a0 call b0 halt\n";
  for (int i = 0; i < kLevels; ++i) {
    const std::string next = std::to_string(i + 1);
    for (const char* name : {"a", "b"})
      text += name + std::to_string(i) + ": call a" + next + " call b" + next + " return\n";
  }
  text += "a17: return b17: return";
  const Profiled p(text);
  EXPECT_EQ(Profile::kFramesMax, p.profile.frames.size());
  EXPECT_TRUE(p.profile.frames_cut);
}

TEST(Profile, ACallOfTheFirstStepIsNotTheBeginning) {
  const Profiled p("read_again: sponge_init dup 0 push 0 eq skiz call f halt f: push 7 call read_again halt");
  EXPECT_EQ(p.machine.cycles(), p.at(0).inclusive.of(Table::processor));
  EXPECT_EQ(2u, p.at(0).calls);
  EXPECT_EQ(3u, p.profile.frames.size());
}

}  // namespace
}  // namespace trident::tir::vm
