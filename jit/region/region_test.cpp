// Oracles: regions written by hand with what they do written beside them, in plain C++; printed texts read back.
#include "jit/region/region.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "jit/region/builder.h"
#include "jit/region/forward.h"
#include "jit/region/interpreter.h"
#include "tests/support/random_region.h"

namespace trident::region {
namespace {

/// Copies bytes one by one, as a compiled memcpy does: x0 target, x1 source, x2 how many.
constexpr const char* kCopy = R"(
var budget i64 0
var x0 i64 24
var x1 i64 32
var x2 i64 40
windows 2
block 0
at 1
  %0 = get i64 x1
  %1 = access place %0, 1, w0, b3
  %2 = load i64 %1, u1, 0
  %3 = const i64 1
  %4 = add i64 %0, %3
  set i64 x1, %4
at 2
  %6 = get i64 x0
  %7 = access place %6, 1, w1, b3
  store i64 %7, %2, u1, 0
  %9 = add i64 %6, %3
  set i64 x0, %9
at 3
  %11 = get i64 x2
  %12 = sub i64 %11, %3
  set i64 x2, %12
at 4
  %14 = const i64 0
  %15 = ne i32 %12, %14
  branch %15, b1, b2
block 1
  %16 = get i64 budget
  %17 = const i64 1
  %18 = sub i64 %16, %17
  set i64 budget, %18
  %20 = const i64 0
  %21 = ne i32 %18, %20
  branch %21, b0, b4
block 2
  exit left
block 3
  exit miss
block 4
  exit budget
)";

struct CopyFrame {
  FrameHead head{};
  std::uint64_t x0 = 0, x1 = 0, x2 = 0;
};

class Copy : public ::testing::Test {
 protected:
  Copy() {
    for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<std::uint8_t>(i * 7 + 1);
    frame_.head.budget = 1000;
    frame_.x0 = 0x9000;
    frame_.x1 = 0x8000;
  }
  Outcome run(std::uint64_t bytes, std::uint64_t steps = 1'000'000) {
    frame_.x2 = bytes;
    const auto region = parse(kCopy);
    EXPECT_TRUE(region.ok()) << (region.ok() ? "" : region.error().message);
    const Window windows[] = {{0x8000, source_.size(), reinterpret_cast<std::uint64_t>(source_.data()) - 0x8000},
                              {0x9000, target_.size(), reinterpret_cast<std::uint64_t>(target_.data()) - 0x9000}};
    return interpret(*region, std::as_writable_bytes(std::span(&frame_, 1)), windows, steps);
  }
  std::array<std::uint8_t, 100> source_{};
  std::array<std::uint8_t, 64> target_{};
  CopyFrame frame_;
};

TEST_F(Copy, CopiesAndLeaves) {
  EXPECT_EQ(run(50).exit, Exit::left);
  EXPECT_EQ(std::memcmp(source_.data(), target_.data(), 50), 0);
  EXPECT_EQ(target_[50], 0);
  EXPECT_EQ(frame_.x0, 0x9000u + 50);
  EXPECT_EQ(frame_.x1, 0x8000u + 50);
  EXPECT_EQ(frame_.x2, 0u);
  EXPECT_EQ(frame_.head.exit, static_cast<std::uint32_t>(Exit::left));
  EXPECT_EQ(frame_.head.budget, 1000u - 49);
}

// The load of byte 64 is done; its store misses, before anything of the store's instruction.
TEST_F(Copy, MissesAtTheEndOfAWindow) {
  EXPECT_EQ(run(100).exit, Exit::miss);
  EXPECT_EQ(frame_.head.exit_address, 0x9000u + 64);
  EXPECT_EQ(frame_.head.exit_window, 1u);
  EXPECT_EQ(frame_.x0, 0x9000u + 64);
  EXPECT_EQ(frame_.x1, 0x8000u + 65);
  EXPECT_EQ(frame_.x2, 100u - 64);
}

TEST_F(Copy, EndsWithItsBudgetOrItsSteps) {
  frame_.head.budget = 10;
  EXPECT_EQ(run(50).exit, Exit::budget);
  EXPECT_EQ(frame_.x2, 40u);
  const Outcome stopped = run(50, 7);
  EXPECT_FALSE(stopped.exit);
  EXPECT_EQ(stopped.steps, 7u);
  EXPECT_EQ(frame_.x1, 0x8000u + 11);  // set by the sixth step
}

TEST(Window, NarrowerThanTheAccessIsMissed) {
  const auto region = parse(
      "var a i64 24\nwindows 1\nblock 0\n%0 = get i64 a\n%1 = access place %0, 8, w0, b1\nexit left\nblock 1\nexit "
      "miss\n");
  ASSERT_TRUE(region.ok()) << region.error().message;
  for (const auto& [lo, span, address, hit] :
       {std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, bool>{100, 7, 100, false},
        {100, 0, 100, false},
        {100, 8, 100, true},
        {100, 8, 101, false},
        {100, 8, 99, false},
        {100, ~0ull, 100 - 9, true},   // the window wraps around
        {100, ~0ull, 100 - 8, false},  // its last byte is at 98
        {~0ull - 3, 8, ~0ull - 3, true},
        {~0ull - 3, 8, 0, false}}) {
    std::uint64_t frame[4] = {0, 0, 0, address};
    const Window window{lo, span, 0};
    EXPECT_EQ(interpret(*region, std::as_writable_bytes(std::span(frame)), {&window, 1}, 100).exit,
              hit ? Exit::left : Exit::miss)
        << lo << " " << span << " " << address;
  }
}

TEST(Window, HasWholeElements) {
  const auto region = parse(
      "var a i64 24\nwindows 1\nblock 0\n%0 = get i64 a\n%1 = access place %0, 4, w0, b1, each\n"
      "%2 = load i64 %1, u4, 0\nset i64 a, %2\nexit left\nblock 1\nexit miss\n");
  ASSERT_TRUE(region.ok()) << region.error().message;
  const std::uint32_t memory[] = {70, 71, 72};
  const std::uint64_t host = reinterpret_cast<std::uint64_t>(memory);
  for (const auto& [span, number, hit] : {std::tuple<std::uint64_t, std::uint64_t, bool>{12, 2, true},
                                          {12, 3, false},
                                          {11, 1, true},
                                          {11, 2, false},
                                          {3, 0, false},
                                          {12, std::uint64_t{1} << 62, false},  // times 4 it is 0
                                          {12, ~0ull, false}}) {
    std::uint64_t frame[4] = {0, 5, 6, number};
    const Window window{100, span, host - 100};
    EXPECT_EQ(interpret(*region, std::as_writable_bytes(std::span(frame)), {&window, 1}, 100).exit,
              hit ? Exit::left : Exit::miss)
        << span << " " << number;
    EXPECT_EQ(frame[3], hit ? 70 + number : number);
    EXPECT_EQ(frame[1], 5u) << "a miss of an element notes no address";
  }
}

TEST(Text, ReadsBackWhatItPrints) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Region region = testing::random_region(seed);
    const Result<void> good = check(region);
    ASSERT_TRUE(good.ok()) << good.error().message << "\n" << print(region);
    const auto back = parse(print(region));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, region);
  }
}

TEST(Text, NamesThePlaceOfAMistake) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"block 0\n  frob\n", "2:3: unknown op"},
      {"var x i65 24\n", "1:7: expected a type"},
      {"block 0\n  %1 = const i64 1\n", "2:3: values are numbered"},
      {"block 0\n  exit nowhere\n", "2:8: no such exit"},
      {"block 0\n  %0 = get i64 y\n", "2:16: no such variable"},
      {"block 1\n", "1:7: blocks are numbered"},
      {"block 0\n", "the last block has no end"},
      {"block 0\n  exit left left\n", "unexpected text"},
      {"%0 = const i64 1\n", "expected var, windows or block"},
      {"block 0\n  jump b99999999999\n", "over 32 bits"},
  };
  for (const auto& [text, message] : mistakes) {
    const auto region = parse(text);
    ASSERT_FALSE(region.ok()) << text;
    EXPECT_NE(region.error().message.find(message), std::string::npos) << region.error().message;
  }
}

TEST(Checker, RefusesWhatBreaksARule) {
  const std::pair<const char*, void (*)(Region&)> changes[] = {
      {"no such block", [](Region& r) { r.blocks[1].end.then = 9; }},
      {"no such block", [](Region& r) { r.insts[1].otherwise = 9; }},
      {"no such window", [](Region& r) { r.insts[1].window = 2; }},
      {"no such variable", [](Region& r) { r.insts[0].imm = 9; }},
      {"another type", [](Region& r) { r.variables[2].type = Type::i32; }},
      {"no earlier value", [](Region& r) { r.insts[4].b = Value(4); }},
      {"no earlier value", [](Region& r) { r.blocks[1].end.condition = Value(2); }},
      {"has no value", [](Region& r) { r.insts[9].b = Value(5); }},
      {"number of operands", [](Region& r) { r.insts[4].b = {}; }},
      {"outside of its place", [](Region& r) { r.insts[2].imm = 1; }},
      {"outside of its place", [](Region& r) { r.insts[2].imm = ~0ull; }},
      {"bytes", [](Region& r) { r.insts[2].bytes = 3; }},
      {"bytes", [](Region& r) { r.insts[1].imm = 0; }},
      {"elements have", [](Region& r) { r.insts[1].bytes = 2; }},
      {"elements have", [](Region& r) { r.insts[1].imm = r.insts[1].bytes = 3; }},
      {"is no place", [](Region& r) { r.insts[2].a = Value(0); }},
      {"an address is an i64",
       [](Region& r) {
         r.insts[0].type = Type::i32;
         r.variables[2].type = Type::i32;
       }},
      {"follows an effect",
       [](Region& r) {
         for (Inst& i : r.insts) i.at = 1;
       }},
      {"frame's own words", [](Region& r) { r.variables[1].slot = 16; }},
      {"not aligned", [](Region& r) { r.variables[1].slot = 28; }},
      {"another's too", [](Region& r) { r.variables[1].slot = 32; }},
      {"another's too", [](Region& r) { r.variables[1].name = "x1"; }},
      {"outside of the greatest", [](Region& r) { r.variables[1].slot = 4096; }},
      {"only a load", [](Region& r) { r.insts[4].is_signed = true; }},
      {"no such exit", [](Region& r) { r.blocks[2].end.exit = static_cast<Exit>(99); }},
      {"follow those", [](Region& r) { r.blocks[1].first += 1; }},
  };
  for (const auto& [message, change] : changes) {
    auto region = parse(kCopy);
    ASSERT_TRUE(region.ok());
    change(*region);
    const Result<void> refused = check(*region);
    ASSERT_FALSE(refused.ok()) << message;
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
  }
}

TEST(Interpreter, RandomRegionsEndInEveryWay) {
  std::array<int, kExitCount> exits{};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Region region = testing::random_region(seed);
    testing::RegionState state(region, seed);
    const auto before = state.frame;
    const Outcome run = interpret(region, state.frame, state.windows, 100'000);
    ASSERT_TRUE(run.exit) << seed;
    ++exits[static_cast<std::size_t>(*run.exit)];
    EXPECT_TRUE(state.frame != before);
  }
  for (const Exit exit : {Exit::left, Exit::budget, Exit::miss}) EXPECT_GT(exits[static_cast<std::size_t>(exit)], 10);
}

/// Two ways into block 2: on both `kept` holds what x holds, on one `flag` is another constant.
constexpr const char* kCopies = R"(
var budget i64 0
var x i64 24
var y i64 32
var kept i64 40 scratch
var flag i64 48 scratch
windows 0
block 0
at 1
  %0 = get i64 x
  set i64 kept, %0
  %2 = const i64 7
  set i64 flag, %2
  %4 = get i64 budget
  %5 = const i64 0
  %6 = eq i32 %4, %5
  branch %6, b1, b2
block 1
at 2
  %7 = const i64 8
  set i64 flag, %7
  jump b2
block 2
at 3
  %9 = get i64 kept
  %10 = get i64 flag
  %11 = add i64 %9, %10
  set i64 y, %11
at 4
  %13 = const i64 1
  set i64 x, %13
at 5
  %15 = get i64 kept
  set i64 y, %15
  exit left
)";

TEST(Forward, FollowsCopiesOnWhichAllWaysAgree) {
  const auto region = parse(kCopies);
  ASSERT_TRUE(region.ok()) << region.error().message;
  const Region forwarded = forward_copies(*region);
  const auto reads = [&](std::uint32_t inst) { return forwarded.variables[forwarded.insts[inst].imm].name; };
  EXPECT_EQ(reads(9), "x") << "the same on both ways";
  EXPECT_EQ(reads(10), "flag") << "7 on one way, 8 on the other";
  EXPECT_EQ(reads(15), "kept") << "x has changed";
}

TEST(Forward, KeepsTheMeaning) {
  std::size_t replaced = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Region region = testing::random_region(seed), forwarded = forward_copies(region);
    ASSERT_TRUE(check(forwarded).ok()) << seed;
    for (std::size_t i = 0; i < region.insts.size(); ++i) replaced += region.insts[i] == forwarded.insts[i] ? 0 : 1;
    for (std::uint64_t s = 0; s < 3; ++s) {
      testing::RegionState before(region, seed * 10 + s), after(before);
      ASSERT_TRUE(interpret(region, before.frame, before.windows, 1'000'000).exit);
      ASSERT_TRUE(interpret(forwarded, after.frame, after.windows, 1'000'000).exit);
      ASSERT_EQ(before.frame, after.frame) << seed << "\n" << print(region);
      ASSERT_EQ(before.memory, after.memory) << seed;
    }
  }
  EXPECT_GT(replaced, 1000u);
}

}  // namespace
}  // namespace trident::region
