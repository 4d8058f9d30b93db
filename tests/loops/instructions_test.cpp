// Every instruction alone, as a loop of one round, in random states and at two places: the region is made for one of
// them. Oracle: Unicorn.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"
#include "tests/loops/unicorn_guest.h"

namespace trident::tests {
namespace {

using loop::aarch64::Format;
using loop::aarch64::Instruction;
using loop::aarch64::Lift;

constexpr std::uint32_t kBackToHead = 0x17FF'FFFF;  // b .-4

/// The instruction, followed by a jump to it; a branch alone.
loop::Loop loop_of(const Instruction& instruction) {
  loop::Loop loop;
  loop.head = kCodeBase;
  loop.instructions.emplace(kCodeBase, instruction);
  loop.leaders.insert(kCodeBase);
  if (instruction.row->lift != Lift::branch)
    loop.instructions.emplace(kCodeBase + 4, *loop::aarch64::decode(kBackToHead));
  return loop;
}

/// Registers at random; the base of an access near the memory that is there, so that most accesses hit and some lie at
/// its edges.
GuestFrame drawn_frame(const Instruction& i, testing::Random& random) {
  GuestFrame frame{};
  frame.head.budget = 1;
  for (std::uint64_t& x : frame.x) x = drawn(random.next());
  frame.nzcv = random.below(16) << 28;
  frame.pc = random.one_in(2) ? kOtherCodeBase : kCodeBase;
  if (i.bytes == 0 || i.row->format == Format::Literal) return frame;
  const bool at_the_end = random.one_in(4);
  std::uint64_t address = kDataBase + (at_the_end ? kDataBytes - random.below(24) : random.below(kDataBytes));
  if (i.row->format == Format::RegisterOffset && i.m != 31 && i.m != i.n) {
    frame.x[i.m] = random.below(64) - 32;
  } else if (i.row->format != Format::PostIndex && i.row->format != Format::PairPostIndex) {
    address -= static_cast<std::uint64_t>(i.imm);
  }
  frame.x[i.n] = address;
  return frame;
}

template <class Array>
region::Window window(std::uint64_t base, const Array& array) {
  return {base, array.size() * sizeof array[0], reinterpret_cast<std::uint64_t>(array.data()) - base};
}

/// A word of `row`. Literals of all rows stand behind the code.
std::uint32_t drawn_word(const loop::aarch64::Row& row, testing::Random& random) {
  const auto word = (static_cast<std::uint32_t>(random.next()) & ~row.mask) | row.fixed;
  if (row.format != Format::Literal) return word;
  constexpr std::uint32_t kDistance = 0x00FF'FFE0;
  return (word & ~kDistance) | (2 + random.below(5)) << 5;
}

class Comparison {
 public:
  explicit Comparison(testing::Random& random) : random_(random) {}

  void compare(const Instruction& instruction) {
    const bool is_branch = instruction.row->lift == Lift::branch;
    const auto region = loop::lift(loop_of(instruction));
    ASSERT_TRUE(region.ok()) << region.error().message;
    GuestFrame frame = drawn_frame(instruction, random_), theirs = frame;
    fill(before_, random_);
    memory_ = before_;
    std::copy(before_.begin(), before_.end(), guest_.data().begin());
    std::array<std::uint32_t, 8> code{instruction.word, kBackToHead};
    for (std::size_t w = 2; w < code.size(); ++w) code[w] = static_cast<std::uint32_t>(random_.next());  // literals
    const bool reads_code = instruction.row->format == Format::Literal;
    const std::vector<region::Window> windows(region->windows,
                                              reads_code ? window(frame.pc, code) : window(kDataBase, memory_));
    const region::Outcome outcome =
        region::interpret(*region, std::as_writable_bytes(std::span(&frame, 1)), windows, 10'000);
    const std::uint64_t head = theirs.pc;
    const bool ran = guest_.run(code, theirs, ~0ull, 1) || is_branch;
    const std::string text = loop::aarch64::print(instruction, head);
    ASSERT_TRUE(outcome.exit) << text;
    ASSERT_EQ(*outcome.exit != region::Exit::miss, ran) << text;
    missed_ += !ran;
    for (unsigned r = 0; r < 32; ++r) ASSERT_EQ(frame.x[r], theirs.x[r]) << text << ": x" << r;
    ASSERT_EQ(frame.nzcv, theirs.nzcv) << text;
    if (is_branch || !ran) {
      ASSERT_EQ(frame.pc, ran ? theirs.pc : head) << text;
    }
    // Unicorn stores the bytes on the good page before it faults on the next; a miss stores nothing.
    const std::span<const std::uint8_t> right = ran ? guest_.data() : std::span<const std::uint8_t>(before_);
    ASSERT_TRUE(std::equal(right.begin(), right.end(), memory_.begin())) << text;
  }

  [[nodiscard]] std::size_t missed() const { return missed_; }

 private:
  UnicornGuest guest_;
  std::vector<std::uint8_t> before_ = std::vector<std::uint8_t>(kDataBytes), memory_;
  testing::Random& random_;
  std::size_t missed_ = 0;
};

TEST(Instructions, DoWhatUnicornDoes) {
  const std::size_t wanted = cases(100'000);
  std::atomic<std::size_t> missed = 0, done = 0;
  share_out(wanted, 7, [&](testing::Random& random, std::size_t count) {
    Comparison comparison(random);
    for (std::size_t i = 0; i < count && !::testing::Test::HasFatalFailure();) {
      const loop::aarch64::Row& row = loop::aarch64::kRows[random.below(loop::aarch64::kRowCount)];
      const auto instruction = loop::aarch64::decode(drawn_word(row, random));
      if (!instruction || row.lift == Lift::nothing) continue;
      comparison.compare(*instruction);
      ++i, ++done;
    }
    missed += comparison.missed();
  });
  EXPECT_EQ(done, wanted);
  EXPECT_GT(missed, wanted / 100);
}

}  // namespace
}  // namespace trident::tests
