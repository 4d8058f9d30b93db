// Each guard of jit/loop/guards.def that comparison with an emulator must find missing is switched off in turn: a
// change of the region takes it out. Oracle: Unicorn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>

#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"
#include "tests/loops/random_loop.h"

namespace trident::tests {
namespace {

using region::Block;
using region::Inst;
using region::Op;
using region::Region;
using region::Value;

enum class Kind { differential, named };
struct Guard {
  std::string id;
  Kind kind;
  std::string test;
};
const std::vector<Guard> kGuards = {
#define X(id, when, kind, test, without) {#id, Kind::kind, test},
#include "jit/loop/guards.def"
#undef X
};

// --- changes of regions ----------------------------------------------------------------------------------------------

void drop(Inst& set) {
  set = {.op = Op::Constant, .type = set.type, .at = set.at};
}

template <class Change>
void at_exits(Region& region, std::uint32_t slot, Change change) {
  for (const Block& block : region.blocks)
    for (std::uint32_t i = block.first; block.end.flow == region::Flow::exit && i < block.last; ++i)
      if (region.insts[i].op == Op::Set && region.variables[region.insts[i].imm].slot == slot) change(region.insts[i]);
}

/// Puts instructions of a block into another order: `order[i]` is the instruction that comes to place `first` + i.
void reorder(Region& region, std::uint32_t first, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(region.insts.size());
  std::iota(place.begin(), place.end(), 0u);
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = first + i;
  const std::vector<Inst> before = region.insts;
  for (std::uint32_t i = 0; i < before.size(); ++i) region.insts[place[i]] = before[i];
  const auto moved = [&](Value& v) {
    if (v.valid()) v = Value(place[v.index]);
  };
  for (Inst& inst : region.insts) moved(inst.a), moved(inst.b), moved(inst.c);
  for (Block& block : region.blocks) moved(block.end.condition);
}

/// Moves instruction `from` to `to`, both in one block.
void move(Region& region, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t first = std::min(from, to), last = std::max(from, to);
  std::vector<std::uint32_t> order(last - first + 1);
  std::iota(order.begin(), order.end(), first);
  if (from < to)
    std::rotate(order.begin(), order.begin() + 1, order.end());
  else
    std::rotate(order.begin(), order.end() - 1, order.end());
  reorder(region, first, order);
}

void write_back_first(Region& region) {
  for (std::uint32_t i = 0; i < region.insts.size(); ++i) {
    if (region.insts[i].op != Op::Access) continue;
    for (std::uint32_t s = i + 1; s < region.insts.size() && region.insts[s].at == region.insts[i].at; ++s) {
      if (region.insts[s].op != Op::Set || region.insts[s].a.index > i) continue;
      move(region, s, i);
      break;
    }
  }
}

void stores_last(Region& region) {
  for (const Block& block : region.blocks)
    for (std::uint32_t i = block.last; i-- > block.first;)
      if (region.insts[i].op == Op::Store) move(region, i, block.last - 1);
}

/// Takes the guard `id` out of `region`. Returns by how many bytes windows are longer then.
std::size_t weaken(const std::string& id, Region& region) {
  if (id == "window") return kMarginBytes;
  if (id == "access_first") write_back_first(region);
  if (id == "program_order") stores_last(region);
  if (id == "flags") at_exits(region, loop::aarch64::kNzcvSlot, drop);
  if (id == "pc") at_exits(region, loop::aarch64::kPcSlot, drop);
  for (Inst& inst : region.insts) {
    if (id == "width" && inst.op == Op::Access) inst.imm = 1;
    if (id == "upper_half" && inst.op == Op::Zext32) inst.op = Op::Sext32;
    if (id == "relative" && inst.op == Op::Get && region.variables[inst.imm].slot == loop::aarch64::kPcSlot)
      inst = {.op = Op::Constant, .type = inst.type, .imm = kCodeBase, .at = inst.at};
  }
  return 0;
}

// --- tests -----------------------------------------------------------------------------------------------------------

/// Returns the number of the first random loop that shows it; `most` when none does.
std::size_t loops_until_caught(const std::string& id, std::size_t most) {
  UnicornGuest guest;
  testing::Random random(21);
  for (std::size_t i = 0; i < most; ++i) {
    const RandomLoop loop = random_loop(random);
    auto region = loop::lift(discovered(loop));
    CHECK(region.ok());
    const std::size_t widened = weaken(id, *region);
    if (!compared(*region, loop, guest, {.is_any = true, .widened = widened}).difference.empty()) return i;
  }
  return most;
}

TEST(Guards, EachIsMissedWithin100000Loops) {
  constexpr std::size_t kMost = 100'000;
  EXPECT_EQ(loops_until_caught("none", 200), 200u);
  for (const Guard& guard : kGuards) {
    if (guard.kind != Kind::differential) continue;
    const std::size_t caught = loops_until_caught(guard.id, kMost);
    std::printf("%s is missed after %zu loops\n", guard.id.c_str(), caught);
    EXPECT_LT(caught, kMost) << guard.id;
  }
}

// head: add x0, x0, #1; cbz x2, head; b head
TEST(Guards, EveryWayBackTakesOfTheBudget) {
  RandomLoop endless{.code = {0x91000400, 0xB4FFFFE2, 0x17FFFFFE}, .frame = {}, .memory = {}};
  const auto region = loop::lift(discovered(endless));
  ASSERT_TRUE(region.ok());
  for (const std::uint64_t x2 : {0, 1}) {
    GuestFrame frame{};
    frame.head.budget = 7, frame.x[2] = x2, frame.pc = kOtherCodeBase;
    const auto outcome = region::interpret(*region, std::as_writable_bytes(std::span(&frame, 1)), {}, 1000);
    ASSERT_TRUE(outcome.exit);
    EXPECT_EQ(*outcome.exit, region::Exit::budget);
    EXPECT_EQ(frame.x[0], 7u);
    EXPECT_EQ(frame.pc, kOtherCodeBase);
    EXPECT_EQ(frame.head.budget, 0u);
  }
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Guards, EachNamesATestThatExists) {
  for (const Guard& guard : kGuards) {
    const std::size_t space = guard.test.find(' '), dot = guard.test.find('.', space);
    ASSERT_NE(dot, std::string::npos) << guard.id;
    const std::string suite = guard.test.substr(space + 1, dot - space - 1), name = guard.test.substr(dot + 1);
    const std::string text = text_of(guard.test.substr(0, space)), opening = "(" + suite + ", " + name + ")";
    EXPECT_TRUE(text.find("TEST" + opening) != std::string::npos || text.find("TEST_F" + opening) != std::string::npos)
        << guard.id << ": there is no " << guard.test;
  }
}

}  // namespace
}  // namespace trident::tests
