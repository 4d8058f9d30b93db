// A guest CPU of Unicorn with a page of code and some memory: the oracle of lifted loops.
#pragma once

#include <unicorn/unicorn.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "jit/loop/aarch64/lifter.h"
#include "tests/support/random.h"

namespace trident::tests {

/// A loop's frame as the caller sees it.
struct GuestFrame {
  region::FrameHead head;
  std::uint64_t x[32];
  std::uint64_t pc, iterations;
  std::uint32_t nzcv, unused[3];
  std::uint64_t flag_operands[2];
};
static_assert(sizeof(GuestFrame) == loop::aarch64::kFrameBytes);

inline constexpr std::uint64_t kCodeBase = 0x1'0000, kDataBase = 0x20'0000;
/// Another place for code: far away, and with the end of a page four instructions behind.
inline constexpr std::uint64_t kOtherCodeBase = 0x7FFF'1234'5FF0;
inline constexpr std::size_t kDataBytes = 0x4000;

/// Its engine is opened anew after many runs: Unicorn 2.0.1 ends with a segmentation fault when its buffer of
/// translated code is full, and never empties it for code that was overwritten.
class UnicornGuest {
 public:
  UnicornGuest();
  ~UnicornGuest();
  UnicornGuest(const UnicornGuest&) = delete;
  UnicornGuest& operator=(const UnicornGuest&) = delete;

  /// Runs `code`, which stands at frame.pc, from there until `until`, at most `instructions` (0: any number) of it.
  /// frame.pc is kCodeBase or kOtherCodeBase, or `head` bytes behind one of them: the code then begins in front of it.
  /// The frame's registers and flags are the guest's before and after, and so is data(). Returns false at a fault; pc
  /// is that of the instruction that did not run.
  bool run(std::span<const std::uint32_t> code, GuestFrame& frame, std::uint64_t until, std::size_t instructions,
           std::size_t head = 0);
  std::span<std::uint8_t> data() { return {data_, kDataBytes}; }

 private:
  void open();

  uc_engine* engine_ = nullptr;
  std::size_t runs_ = 0;  ///< since the engine was opened
  std::uint8_t* data_ = nullptr;
  std::uint64_t address_ = 0;  ///< of the instruction that ran last
};

/// How many cases a test draws: TRIDENT_LOOP_CASES, which a campaign sets, or `by_default`.
std::size_t cases(std::size_t by_default);
/// Shares `wanted` cases out to two threads: calls `run` in each, with its own random numbers and its count of cases.
void share_out(std::size_t wanted, std::uint64_t seed,
               const std::function<void(testing::Random& random, std::size_t count)>& run);
/// Fills with random bytes, eight at a time.
void fill(std::span<std::uint8_t> bytes, testing::Random& random);
/// A random number with many corners.
std::uint64_t drawn(std::uint64_t random);

}  // namespace trident::tests
