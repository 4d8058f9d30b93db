// Oracle: the regions' interpreter on the region as it was. An access that is said to hold leads to a block of its own,
// which nobody may come to.
#include "jit/regionopt/reuse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "jit/region/builder.h"
#include "jit/region/interpreter.h"
#include "tests/support/random.h"

namespace trident::regionopt {
namespace {

using region::Op;
using region::Type;
using region::Value;

constexpr std::uint32_t kBudget = 0, kIndices = 3, kNumbers = 3, kBlocks = 6;
constexpr std::uint32_t kLeave = kBlocks, kMiss = kBlocks + 1;
constexpr std::size_t kElements = 6, kFrameBytes = 1024;

/// Blocks that read and write elements near a few variables, in an order that is drawn; each pays from the budget.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed), b_(region_) {
    region_.windows = 2;
    b_.variable("budget", Type::i64, 0);
    std::uint32_t slot = region::kFrameHeadBytes;
    for (std::uint32_t v = 0; v < kIndices + kNumbers; ++v, slot += 8)
      b_.variable("v" + std::to_string(v), Type::i64, slot);
  }

  region::Region draw() {
    for (std::uint32_t b = 0; b < kBlocks; ++b) block(b);
    b_.begin_block();
    b_.exit(region::Exit::left);
    b_.begin_block();
    b_.exit(region::Exit::miss);
    return std::move(region_);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }
  std::uint32_t index() { return 1 + below(kIndices); }
  std::uint32_t number() { return 1 + kIndices + below(kNumbers); }

  Value place(std::uint8_t bytes) {
    const Value near =
        below(6) == 0 ? b_.constant(Type::i64, below(3)) : b_.op_with(Op::Add, b_.get(index()), below(3));
    return b_.element(near, bytes, below(2), below(8) == 0 ? std::min(block_ + 1, kLeave) : kMiss);
  }

  void block(std::uint32_t number_of_block) {
    block_ = number_of_block;
    b_.begin_block();
    b_.at(++at_);
    const Value left = b_.get(kBudget), spent = b_.op_with(Op::ULe, left, 1);
    b_.set(kBudget, b_.op(Op::Select, spent, left, b_.op_with(Op::Sub, left, 1)));
    for (std::uint32_t n = 2 + below(4); n > 0; --n) statement();
    b_.at(++at_);
    // Most ways go on.
    const auto target = [&] {
      return below(4) == 0 ? below(kBlocks) : std::min(number_of_block + 1 + below(2), kLeave);
    };
    const Value odd = b_.op(Op::ULt, b_.get(number()), b_.get(number()));
    const Value goes_on = b_.op(Op::ULt, b_.constant(Type::i64, 1), b_.get(kBudget));
    b_.branch(b_.op(Op::And, odd, goes_on), target(), number_of_block + 1);
  }

  void statement() {
    b_.at(++at_);
    const std::uint8_t bytes = below(3) == 0 ? 1 : 8;
    switch (below(7)) {
      case 0: return b_.set(index(), b_.op_with(Op::Add, b_.get(index()), below(3)));
      case 1: return b_.set(index(), b_.get(index()));
      case 2: return b_.set(index(), b_.op_with(Op::And, b_.get(number()), 3));
      case 3: {
        const Value to = place(bytes);
        return b_.store(bytes, to, b_.get(number()));
      }
      default: {
        const Value from = place(bytes);
        return b_.set(number(), b_.load(Type::i64, bytes, false, from));
      }
    }
  }

  testing::Random random_;
  region::Region region_;
  region::Builder b_;
  std::uint32_t at_ = 0, block_ = 0;
};

struct State {
  explicit State(std::uint64_t seed) : frame(kFrameBytes), memory(16 * kElements) {
    testing::Random random(seed);
    const auto put = [&](std::size_t slot, std::uint64_t value) { std::memcpy(frame.data() + slot, &value, 8); };
    put(0, 40);
    for (std::uint32_t v = 0; v < kIndices + kNumbers; ++v) put(region::kFrameHeadBytes + 8 * v, random.below(4));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random.below(4));
  }
  /// The second window begins inside of the first.
  std::optional<region::Exit> run(const region::Region& region) {
    const auto base = reinterpret_cast<std::uint64_t>(memory.data());
    const region::Window windows[] = {{0, 8 * kElements, base}, {0, 8 * kElements, base + 8}};
    return interpret(region, frame, windows, 100'000).exit;
  }
  std::vector<std::byte> frame, memory;
};

std::size_t held_count(const Reused& reused) {
  return static_cast<std::size_t>(std::count(reused.held.begin(), reused.held.end(), true));
}
std::size_t loads(const region::Region& region) {
  return static_cast<std::size_t>(
      std::count_if(region.insts.begin(), region.insts.end(), [](const auto& inst) { return inst.op == Op::Load; }));
}

TEST(Reuse, DrawnRegionsMeanTheSame) {
  std::size_t held = 0, saved = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const region::Region region = Drawing(seed).draw();
    ASSERT_TRUE(region::check(region).ok()) << region::print(region);
    Reused reused = reuse_memory(region);
    held += held_count(reused);
    saved += loads(region) - loads(reused.region);
    const auto impossible = static_cast<std::uint32_t>(reused.region.blocks.size());
    for (std::size_t i = 0; i < reused.held.size(); ++i)
      if (reused.held[i]) reused.region.insts[i].otherwise = impossible;
    const auto end = static_cast<std::uint32_t>(reused.region.insts.size());
    reused.region.blocks.push_back({end, end, {.exit = region::Exit::budget}});
    ASSERT_TRUE(region::check(reused.region).ok()) << region::print(reused.region);
    State before(seed), after(seed);
    const auto exit = before.run(region);
    ASSERT_TRUE(exit);
    ASSERT_EQ(after.run(reused.region), exit) << region::print(region);
    ASSERT_EQ(before.memory, after.memory) << region::print(region);
    const std::size_t homes = region::kFrameHeadBytes + 8 * (kIndices + kNumbers);
    ASSERT_EQ(std::memcmp(before.frame.data(), after.frame.data(), homes), 0) << region::print(region);
  }
  EXPECT_GT(held, 4000u);
  EXPECT_GT(saved, 4000u);
}

/// if (a[i] < a[i + 1]) swap them; i = i + 1
TEST(Reuse, ASwapChecksAndLoadsTwoElements) {
  region::Region region;
  region.windows = 1;
  region::Builder b(region);
  b.variable("i", Type::i64, region::kFrameHeadBytes);
  b.variable("held", Type::i64, region::kFrameHeadBytes + 8);
  std::uint32_t at = 0;
  const auto load = [&](std::uint64_t distance) {
    b.at(++at);
    return b.load(Type::i64, 8, false, b.element(b.op_with(Op::Add, b.get(0), distance), 8, 0, 3));
  };
  b.begin_block();
  const Value first = load(0), second = load(1);
  b.branch(b.op(Op::SLt, first, second), 1, 2);
  b.begin_block();
  b.set(1, load(0));
  const Value other = load(1), to = b.element(b.get(0), 8, 0, 3);
  b.store(8, to, other);
  b.at(++at);
  const Value last = b.element(b.op_with(Op::Add, b.get(0), 1), 8, 0, 3);
  b.store(8, last, b.get(1));
  b.jump(2);
  b.begin_block();
  b.exit(region::Exit::left);
  b.begin_block();
  b.exit(region::Exit::miss);
  ASSERT_TRUE(region::check(region).ok());
  const Reused reused = reuse_memory(region);
  EXPECT_EQ(loads(reused.region), 2u) << region::print(reused.region);
  EXPECT_EQ(held_count(reused), 2u) << "both stores";
  EXPECT_TRUE(reused.changed);
}

}  // namespace
}  // namespace trident::regionopt
