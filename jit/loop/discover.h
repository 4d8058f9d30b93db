// Finds the natural loop of a head in a guest's code: the instructions from which a way leads back to the head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "jit/loop/aarch64/instruction.h"

namespace trident::loop {

enum class Reason : std::uint8_t {
#define X(id, name, sentence) name = id,
#include "jit/loop/refusals.def"
#undef X
};
std::string_view name_of(Reason reason);
std::string_view sentence_of(Reason reason);

struct Refusal {
  Reason reason = Reason::unknown;
  std::uint64_t address = 0;  ///< of the instruction that is the reason, or of the head
};

/// The bytes of a guest's code from `base` on, in the guest's (little-endian) order.
struct Code {
  std::uint64_t base = 0;
  std::span<const std::byte> bytes;
};

struct Loop {
  std::uint64_t head = 0;
  std::map<std::uint64_t, aarch64::Instruction> instructions;  ///< by their addresses
  std::set<std::uint64_t> leaders;  ///< where control comes to by a jump, or after one; the head is one
  /// Joined loops: the number of the cycle that an instruction is in, from 1 on. Code between two cycles is in none.
  std::map<std::uint64_t, std::uint32_t> cycles{};

  /// The number of the cycle that has `address`; 0: none, or the loops are not joined.
  [[nodiscard]] std::uint32_t cycle_of(std::uint64_t address) const;
  /// How many cycles stand one behind another.
  [[nodiscard]] std::uint32_t cycle_count() const;
};

/// The addresses where control goes after `instruction` at `address`: one, or that of a jump that is taken and the
/// next.
struct Successors {
  std::uint64_t next = 0;
  bool has_next = true;
  std::uint64_t taken = 0;
  bool has_taken = false;
};
Successors successors(const aarch64::Instruction& instruction, std::uint64_t address);

/// Instructions of one loop at most.
inline constexpr std::size_t kLoopInstructionsMax = 2048;

/// Nests, several ways back and several ways out are fine. An instruction that cannot be lifted is a way out; it is a
/// reason to refuse when every way round comes to one.
std::variant<Loop, Refusal> discover(const Code& code, std::uint64_t head);

/// Instructions of joined loops at most: entering them copies the registers of all.
inline constexpr std::size_t kJoinedInstructionsMax = 512;

/// Joins the loop of `head` with the loops that control comes to behind it, with the code between them, and with a few
/// instructions behind them that store: one entry does for all of these. It is for callers to whom such code is no
/// different from that of a loop. Returns nothing where discover() refuses, where no loop follows, or where the code
/// gets too long.
std::optional<Loop> discover_joined(const Code& code, std::uint64_t head);

/// Each cycle of joined loops, as a loop of its own.
std::vector<Loop> cycles_of(const Loop& joined);

}  // namespace trident::loop
