// Oracles: plans told by hand for loops that are written out, and the regions' interpreter.
#include "jit/regionopt/bulk.h"

#include <gtest/gtest.h>

#include "jit/region/builder.h"
#include "jit/region/interpreter.h"
#include "tests/support/random_region.h"

namespace trident::regionopt {
namespace {

using region::Op;
using region::Value;

constexpr std::uint32_t kI = 0, kN = 1, kJ = 2, kSum = 3;

/// while i < n { body; i = i + 1; }
template <class Body>
region::Region loop_of(const Body& body) {
  region::Region region;
  region.windows = 2;
  region::Builder b(region);
  std::uint32_t slot = region::kFrameHeadBytes;
  for (const char* name : {"i", "n", "j", "sum"}) b.variable(name, region::Type::i64, slot), slot += 8;
  b.begin_block();
  b.jump(1);
  b.begin_block();
  b.branch(b.op(Op::SLt, b.get(kI), b.get(kN)), 2, 3);
  b.begin_block();
  body(b);
  b.at(1000);
  b.set(kI, b.op_with(Op::Add, b.get(kI), 1));
  b.jump(1);
  for (const region::Exit exit : {region::Exit::left, region::Exit::miss}) b.begin_block(), b.exit(exit);
  EXPECT_TRUE(region::check(region).ok());
  return region;
}

Value element(region::Builder& b, std::uint32_t index, std::uint64_t distance, std::uint32_t window) {
  return b.element(b.op_with(Op::Add, b.get(index), distance), 8, window, 4);
}

/// x[i] = y[i + distance]
region::Region moving(std::uint64_t distance, std::uint32_t from) {
  return loop_of([&](region::Builder& b) {
    const Value to = element(b, kI, 0, 0), read = element(b, kI, distance, from);
    b.store(8, to, b.load(region::Type::i64, 8, false, read));
  });
}

std::size_t plans(region::Region region) {
  return find_bulk(std::move(region)).loops.size();
}

TEST(Bulk, KeepsWindowsApartThatAreStoredTo) {
  const Bulk bulk = find_bulk(moving(0, 1));
  ASSERT_EQ(bulk.loops.size(), 1u);
  EXPECT_EQ(bulk.loops[0].apart, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}}));
}

/// x[i] = x[i + 1] reads ahead; x[i + 1] = x[i] reads what the round before has stored. The code asks which it is.
TEST(Bulk, AsksThatReadsLieAheadOfStores) {
  const Bulk bulk = find_bulk(moving(1, 0));
  ASSERT_EQ(bulk.loops.size(), 1u);
  EXPECT_TRUE(bulk.loops[0].apart.empty());
  const Limit& asked = bulk.loops[0].limits[2];
  EXPECT_EQ(asked.kind, Limit::Kind::at_most);
  EXPECT_EQ(asked.closing, 0);
  EXPECT_EQ(asked.first.constant, 0u);
  EXPECT_EQ(asked.second.constant, 1u);
}

TEST(Bulk, LeavesLoopsAloneWhoseRoundsNeedEachOther) {
  const auto after_store = loop_of([](region::Builder& b) {
    const Value to = element(b, kI, 0, 0), next = element(b, kI, 1, 0);
    b.store(8, to, b.get(kJ));
    b.at(1);
    b.set(kSum, b.op(Op::Add, b.get(kSum), b.load(region::Type::i64, 8, false, next)));
  });
  EXPECT_EQ(plans(after_store), 0u) << "a load behind a store to the same window";
  const auto two_stores = loop_of([](region::Builder& b) {
    const Value to = element(b, kI, 0, 0), next = element(b, kI, 1, 0);
    b.store(8, to, b.get(kJ));
    b.store(8, next, b.get(kN));
  });
  EXPECT_EQ(plans(two_stores), 0u) << "the next round overwrites what this one has stored";
  const auto product = loop_of([](region::Builder& b) { b.set(kSum, b.op(Op::Mul, b.get(kSum), b.get(kI))); });
  EXPECT_EQ(plans(product), 0u);
  const auto far = moving(std::uint64_t{1} << 31, 1);
  EXPECT_EQ(plans(far), 0u) << "a distance that no displacement holds";
}

/// Elements of f64 are computed one by one, but a sum of them has an order.
TEST(Bulk, ComputesElementsOfFloatsButNoSums) {
  const auto scaled = loop_of([](region::Builder& b) {
    const Value place = element(b, kI, 0, 0), x = b.load(region::Type::f64, 8, false, place);
    const Value half = b.constant(region::Type::f64, std::uint64_t{0x3FE0} << 48);
    const Value product = b.op(Op::FMul, x, half);
    b.store(8, place, b.op(Op::Select, b.op(Op::FLt, x, half), product, b.op(Op::FNeg, x)));
  });
  EXPECT_EQ(plans(scaled), 1u);
  const auto rounded = loop_of([](region::Builder& b) {
    const Value place = element(b, kI, 0, 0);
    b.store(8, place, b.op(Op::FRint, b.load(region::Type::f64, 8, false, place)));
  });
  EXPECT_EQ(plans(rounded), 0u) << "lanes have no such op";
}

/// Lanes of one byte can add bytes, but no differences of them, and multiply nothing.
TEST(Bulk, AddsBytesAndProducts) {
  const auto sum_of = [](std::uint8_t bytes, Op op) {
    return loop_of([&](region::Builder& b) {
      const auto load = [&](std::uint32_t window) {
        return b.load(region::Type::i64, bytes, false, b.element(b.get(kI), bytes, window, 4));
      };
      const Value x = load(0), y = load(1);
      b.set(kSum, b.op(Op::Add, b.get(kSum), op == Op::Get ? x : b.op(op, x, y)));
    });
  };
  EXPECT_EQ(plans(sum_of(1, Op::Get)), 1u);
  EXPECT_EQ(plans(sum_of(1, Op::Xor)), 1u);
  EXPECT_EQ(plans(sum_of(1, Op::Sub)), 0u);
  EXPECT_EQ(plans(sum_of(1, Op::Mul)), 0u);
  EXPECT_EQ(plans(sum_of(8, Op::Mul)), 1u);
}

/// Where both sides of the comparison go up, the greater can wrap before they meet.
TEST(Bulk, CountsRoundsOnlyWhereNeitherSideWraps) {
  const auto up = [](std::uint64_t step) {
    return loop_of([&](region::Builder& b) {
      b.at(1);
      b.set(kSum, b.op(Op::Add, b.get(kSum), b.get(kI)));
      b.at(2);
      b.set(kI, b.op_with(Op::Add, b.get(kI), step));
      b.set(kN, b.op_with(Op::Add, b.get(kN), step));
    });
  };
  EXPECT_EQ(plans(up(0)), 1u);
  EXPECT_EQ(plans(up(1)), 0u);
}

/// Sums of sums, whose forms would double with each level.
TEST(Bulk, FollowsDeepSumsInShortTime) {
  const auto deep = loop_of([](region::Builder& b) {
    Value sum = b.get(kSum);
    for (int i = 0; i < 80; ++i) sum = b.op(Op::Add, sum, sum);
    b.at(1);
    b.set(kSum, sum);
  });
  EXPECT_EQ(plans(deep), 0u);
}

TEST(Bulk, RegionsWithEntriesMeanTheSame) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const region::Region region = testing::random_region(seed, {.ops = 1 + static_cast<std::uint32_t>(seed % 6)});
    const Bulk bulk = find_bulk(region);
    found += bulk.loops.empty() ? 0 : 1;
    ASSERT_TRUE(region::check(bulk.region).ok()) << region::print(region);
    testing::RegionState before(region, seed), after(before);
    ASSERT_TRUE(interpret(region, before.frame, before.windows, 1'000'000).exit);
    ASSERT_TRUE(interpret(bulk.region, after.frame, after.windows, 1'000'000).exit);
    ASSERT_EQ(before.memory, after.memory);
    ASSERT_EQ(before.frame, after.frame);
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace trident::regionopt
