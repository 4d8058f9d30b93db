// Oracle: programs whose rows are counted by hand, and that all rows of a profile are the run's heights, which the real
// machine's answers check (jit/tir/oracle).
#include "jit/tir/vm/profile.h"

#include <gtest/gtest.h>

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
