// Random loops (random_loop.h), by the interpreter and by machine code. Each runs at the place for which its region was
// made or at another. Oracle: Unicorn.
#include <cpuid.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "jit/codegen/region.h"
#include "jit/loop/describe.h"
#include "jit/loop/lift.h"
#include "jit/region/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"
#include "tests/loops/random_loop.h"

namespace trident::tests {
namespace {

/// Places that the code of regions is put into by turns: to map it anew takes ten times as long as a comparison with
/// Unicorn, and to serialize after each takes a hypervisor's exit.
class NativeCode {
 public:
  /// Returns the code's entry, which later calls take away.
  static codegen::RegionEntry put(std::span<const std::byte> code) {
    thread_local std::vector<os::CodeFile> places = made();
    thread_local std::size_t next = 0;
    next = (next + 1) % places.size();
    if (next == 0) serialize();
    CHECK(places[next].write(code).ok());
    return reinterpret_cast<codegen::RegionEntry>(places[next].bytes().data());
  }

 private:
  /// Makes the processor forget what it fetched of older code.
  static void serialize() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __cpuid(0, a, b, c, d);
  }

  static std::vector<os::CodeFile> made() {
    std::vector<os::CodeFile> places;
    for (int i = 0; i < 64; ++i) {
      auto file = os::CodeFile::make(std::size_t{1} << 18);
      CHECK(file.ok());
      places.push_back(std::move(*file));
    }
    return places;
  }
};

/// Machine code is run for one loop in so many. To emit it takes three times as long as all else together, so that long
/// campaigns leave most out; the interpreter is compared for every loop.
std::size_t native_every(std::size_t loops) {
  return loops > 1'000'000 ? 8 : 1;
}

/// Runs the region's machine code from the state of `loop`; it must do what the interpreter did.
void expect_of_native_code(const region::Region& region, const RandomLoop& loop, const GuestFrame& right_frame,
                           const std::vector<std::uint8_t>& right_memory) {
  if (!os::cpu_features().bmi2) return;  // jit/codegen's test of regions says so
  const auto code = codegen::emit(region);
  ASSERT_TRUE(code.ok()) << code.error().message;
  GuestFrame frame = loop.frame;
  std::vector<std::uint8_t> memory = loop.memory;
  const auto windows = windows_to(memory, region);
  NativeCode::put(code->bytes)(&frame, windows.data());
  // Homes of scratch variables hold anything.
  ASSERT_EQ(std::memcmp(&frame, &right_frame, offsetof(GuestFrame, flag_operands)), 0) << print(region);
  ASSERT_EQ(memory, right_memory) << print(region);
}

TEST(RandomLoops, DoWhatUnicornDoes) {
  std::array<std::atomic<std::size_t>, region::kExitCount> exits{};
  const std::size_t wanted = cases(100'000);
  share_out(wanted, 11, [&](testing::Random& random, std::size_t count) {
    UnicornGuest guest;
    for (std::size_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      const RandomLoop loop = random_loop(random);
      const auto region = loop::lift(discovered(loop));
      ASSERT_TRUE(region.ok()) << region.error().message;
      const Compared ours = compared(*region, loop, guest);
      ASSERT_EQ(ours.difference, "") << listing(loop.code);
      if (i % native_every(wanted) == 0) expect_of_native_code(*region, loop, ours.frame, ours.memory);
      ++exits[static_cast<std::size_t>(*ours.exit)];
    }
  });
  std::size_t done = 0;
  for (const auto& ended : exits) done += ended;
  EXPECT_EQ(done, wanted);
  EXPECT_GT(exits[static_cast<std::size_t>(region::Exit::left)], wanted / 4);
  EXPECT_GT(exits[static_cast<std::size_t>(region::Exit::miss)], wanted / 100);
}

TEST(RandomLoops, InARowDoWhatUnicornDoes) {
  std::atomic<std::size_t> joined = 0, left = 0;
  const std::size_t wanted = std::min<std::size_t>(cases(20'000), 1'000'000);
  share_out(wanted, 12, [&](testing::Random& random, std::size_t count) {
    UnicornGuest guest;
    for (std::size_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      const RandomLoop loop = random_loops_in_a_row(random);
      const auto found = discovered_joined(loop);
      if (!found) continue;  // a branch of the first loop goes into the second and is counted there, say
      const auto region = loop::lift(*found);
      if (!region.ok() && region.error().code == ErrorCode::kLimitExceeded) continue;
      ASSERT_TRUE(region.ok()) << region.error().message;
      const Compared ours = compared(*region, loop, guest);
      ASSERT_EQ(ours.difference, "") << listing(loop.code);
      expect_of_native_code(*region, loop, ours.frame, ours.memory);
      ++joined;
      left += *ours.exit == region::Exit::left && ours.frame.x[27] == 0 ? 1 : 0;
    }
  });
  EXPECT_GT(joined, wanted / 2);
  EXPECT_GT(left, wanted / 8) << "too few come to the end of the second loop";
}

bool has(std::uint64_t registers, unsigned number) {
  return (registers >> number & 1) != 0;
}

/// Changes the registers that are not among `kept`.
GuestFrame with_others_changed(GuestFrame frame, std::uint64_t kept) {
  for (unsigned r = 0; r < 32; ++r)
    if (!has(kept, r)) frame.x[r] ^= 0x5A5A'0000'1234'0001;
  if (!has(kept, 32)) frame.nzcv ^= 0xF000'0000;
  return frame;
}

// The code reads no register that the description does not call read, and keeps those that it does not call written.
TEST(RandomLoops, NeedOnlyTheRegistersThatTheyName) {
  testing::Random random(5);
  const std::size_t wanted = std::min<std::size_t>(cases(20'000), 1'000'000);
  for (std::size_t i = 0; i < wanted && !::testing::Test::HasFatalFailure(); ++i) {
    RandomLoop loop = random_loop(random);
    const loop::Loop found = discovered(loop);
    const auto region = loop::lift(found);
    ASSERT_TRUE(region.ok());
    const trident_loop_description named = loop::describe(found, *region).counts;
    GuestFrame before = with_others_changed(loop.frame, named.registers_read);
    GuestFrame ours = loop.frame, theirs = before;
    std::vector<std::uint8_t> memory = loop.memory, other = loop.memory;
    const auto run = [&](GuestFrame& frame, std::vector<std::uint8_t>& in) {
      (void)region::interpret(*region, std::as_writable_bytes(std::span(&frame, 1)), windows_to(in, *region), 100'000);
    };
    run(ours, memory);
    run(theirs, other);
    loop.frame = before;
    expect_of_native_code(*region, loop, theirs, other);
    ASSERT_EQ(memory, other) << listing(loop.code);
    for (unsigned r = 0; r < 32; ++r) {
      ASSERT_EQ(theirs.x[r], has(named.registers_written, r) ? ours.x[r] : before.x[r])
          << "x" << r << listing(loop.code);
    }
    ASSERT_EQ(theirs.nzcv, has(named.registers_written, 32) ? ours.nzcv : before.nzcv) << listing(loop.code);
    ASSERT_EQ(ours.pc, theirs.pc) << listing(loop.code);
  }
}

}  // namespace
}  // namespace trident::tests
