// Finds the natural loop of a head in a guest's code: the instructions from which a way leads back to the head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <variant>

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

}  // namespace trident::loop
