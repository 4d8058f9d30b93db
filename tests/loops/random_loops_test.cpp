// Random loops: bodies of any instructions, branches over some of them, bases that move. Each runs at the place for
// which its region was made or at another. Oracle: Unicorn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "jit/codegen/region.h"
#include "jit/loop/discover.h"
#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "tests/loops/unicorn_guest.h"

namespace trident::tests {
namespace {

using loop::aarch64::Format;
using loop::aarch64::Instruction;
using loop::aarch64::Lift;

/// Registers: x0..x15 hold data, x20..x23 point to memory, x24 is an index, x28 counts down.
constexpr unsigned kDataRegisters = 16, kFirstBase = 20, kBases = 4, kIndex = 24, kCounter = 28;
constexpr std::uint64_t kBudget = 300, kStepsMax = 100'000;

/// Puts `value` where a pattern has `letter`.
std::uint32_t with_field(std::uint32_t word, std::string_view pattern, char letter, std::uint32_t value) {
  for (std::size_t i = pattern.size(); i-- > 0;) {
    if (pattern[i] != letter) continue;
    const std::uint32_t bit = 1u << (31 - i);
    word = (value & 1) != 0 ? word | bit : word & ~bit;
    value >>= 1;
  }
  return word;
}

class Body {
 public:
  explicit Body(testing::Random& random) : random_(random) {}

  /// `length` instructions, then the counter and the jump to the first.
  std::vector<std::uint32_t> code(std::uint32_t length) {
    std::vector<std::uint32_t> words;
    while (words.size() < length) {
      const auto left = static_cast<std::uint32_t>(length - words.size());
      if (const auto word = one(left)) words.push_back(*word);
    }
    words.push_back(0xF100'0400 | kCounter << 5 | kCounter);  // subs x28, x28, #1
    const auto distance = static_cast<std::uint32_t>(words.size());
    words.push_back(0x5400'0001 | ((0u - distance) & 0x7'FFFF) << 5);  // b.ne
    return words;
  }

 private:
  /// Nothing when the drawn word is reserved.
  std::optional<std::uint32_t> one(std::uint32_t left) {
    const loop::aarch64::Row& row = loop::aarch64::kRows[random_.below(loop::aarch64::kRowCount)];
    if (row.format == Format::Literal || row.lift == Lift::nothing) return {};
    auto word = (static_cast<std::uint32_t>(random_.next()) & ~row.mask) | row.fixed;
    const bool is_memory = row.pattern.find('t') != std::string_view::npos && row.lift != Lift::branch;
    for (const char letter : {'d', 't', 'u', 'a', 'm'})
      word = with_field(word, row.pattern, letter, random_.one_in(12) ? 31 : random_.below(kDataRegisters));
    if (is_memory) {
      word = with_field(word, row.pattern, 'n', kFirstBase + random_.below(kBases));
      word = with_field(word, row.pattern, 'm', kIndex);
      if (row.format == Format::UnsignedOffset) word = with_field(word, row.pattern, 'i', random_.below(16));
    } else {
      word = with_field(word, row.pattern, 'n', random_.below(kDataRegisters));
    }
    if (row.lift == Lift::branch) word = with_field(word, row.pattern, 'i', 1 + random_.below(std::min(left, 4u)));
    const auto instruction = loop::aarch64::decode(word);
    // An addition's target 31 is the stack pointer, which is nobody's base here.
    return instruction ? std::optional(word) : std::nullopt;
  }

  testing::Random& random_;
};

class RandomLoops : public ::testing::Test {
 protected:
  GuestFrame frame() {
    GuestFrame frame{};
    frame.head.budget = kBudget;
    for (std::uint64_t& x : frame.x) x = drawn(random_.next());
    for (unsigned b = 0; b < kBases; ++b)
      frame.x[kFirstBase + b] =
          kDataBase + (random_.one_in(6) ? kDataBytes - 40 : 300 + random_.below(kDataBytes - 2000));
    if (random_.one_in(3)) frame.x[kFirstBase] = frame.x[kFirstBase + 1] + random_.below(64) - 32;  // they overlap
    frame.x[kIndex] = random_.below(64);
    frame.x[kCounter] = random_.one_in(4) ? 1 : 1 + random_.below(20);
    frame.nzcv = random_.below(16) << 28;
    frame.pc = random_.one_in(2) ? kOtherCodeBase : kCodeBase;
    return frame;
  }

  void compare(const std::vector<std::uint32_t>& code) {
    const auto found = loop::discover({kCodeBase, std::as_bytes(std::span(code))}, kCodeBase);
    const auto* loop = std::get_if<loop::Loop>(&found);
    ASSERT_NE(loop, nullptr);
    const auto region = loop::lift(*loop);
    ASSERT_TRUE(region.ok()) << region.error().message;
    GuestFrame ours = frame(), theirs = ours;
    std::vector<std::uint8_t> memory(kDataBytes);
    fill(memory, random_);
    std::copy(memory.begin(), memory.end(), guest_.data().begin());
    const GuestFrame before = ours;
    const std::vector<std::uint8_t> before_memory = memory;
    const region::Window window{kDataBase, kDataBytes, reinterpret_cast<std::uint64_t>(memory.data()) - kDataBase};
    const std::vector<region::Window> windows(region->windows, window);
    const region::Outcome outcome =
        region::interpret(*region, std::as_writable_bytes(std::span(&ours, 1)), windows, kStepsMax);
    ASSERT_TRUE(outcome.exit);
    expect_of_native_code(*region, before, before_memory, ours, memory);
    ++exits_[static_cast<std::size_t>(*outcome.exit)];
    if (*outcome.exit == region::Exit::budget) return;  // the guest would go on
    const bool missed = *outcome.exit == region::Exit::miss;
    ASSERT_EQ(guest_.run(code, theirs, missed ? ~0ull : ours.pc, 0), !missed) << listing(code);
    for (unsigned r = 0; r < 32; ++r) ASSERT_EQ(ours.x[r], theirs.x[r]) << "x" << r << "\n" << listing(code);
    ASSERT_EQ(ours.nzcv, theirs.nzcv) << listing(code);
    ASSERT_EQ(ours.pc, theirs.pc) << listing(code);
    if (missed) return finish_partial_store(memory, ours.pc, code);
    ASSERT_TRUE(std::equal(memory.begin(), memory.end(), guest_.data().begin())) << listing(code);
  }

  /// Runs the region's machine code from the same state.
  static void expect_of_native_code(const region::Region& region, GuestFrame frame, std::vector<std::uint8_t> memory,
                                    const GuestFrame& right, const std::vector<std::uint8_t>& right_memory) {
    if (!os::cpu_features().avx2_fma) return;  // jit/codegen's test of regions says so
    const auto code = codegen::emit(region);
    ASSERT_TRUE(code.ok()) << code.error().message;
    const auto mapping = os::map_code(code->bytes);
    ASSERT_TRUE(mapping.ok()) << mapping.error().message;
    const std::vector<region::Window> windows(
        region.windows, {kDataBase, kDataBytes, reinterpret_cast<std::uint64_t>(memory.data()) - kDataBase});
    reinterpret_cast<codegen::RegionEntry>(mapping->base())(&frame, windows.data());
    // Homes of scratch variables hold anything.
    ASSERT_EQ(std::memcmp(&frame, &right, offsetof(GuestFrame, flag_operands)), 0) << print(region);
    ASSERT_EQ(memory, right_memory) << print(region);
  }

  /// Unicorn stores the bytes on the good page before it faults on the next.
  void finish_partial_store(const std::vector<std::uint8_t>& memory, std::uint64_t pc,
                            const std::vector<std::uint32_t>& code) {
    constexpr std::size_t kWidest = 16;
    ASSERT_TRUE(std::equal(memory.begin(), memory.end() - kWidest, guest_.data().begin())) << pc << listing(code);
  }

  static std::string listing(const std::vector<std::uint32_t>& code) {
    std::string text;
    std::uint64_t address = kCodeBase;
    for (const std::uint32_t word : code) {
      text += loop::aarch64::print(*loop::aarch64::decode(word), address) + "\n";
      address += 4;
    }
    return text;
  }

  UnicornGuest guest_;
  testing::Random random_{11};
  std::array<std::size_t, region::kExitCount> exits_{};
};

TEST_F(RandomLoops, DoWhatUnicornDoes) {
  const std::size_t wanted = cases(100'000);
  for (std::size_t i = 0; i < wanted && !HasFatalFailure(); ++i) compare(Body(random_).code(1 + random_.below(12)));
  EXPECT_GT(exits_[static_cast<std::size_t>(region::Exit::left)], wanted / 4);
  EXPECT_GT(exits_[static_cast<std::size_t>(region::Exit::miss)], wanted / 100);
}

}  // namespace
}  // namespace trident::tests
