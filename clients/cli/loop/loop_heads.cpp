#include "clients/cli/loop/loop_heads.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "jit/loop/discover.h"
#include "schemas/loop_image.h"

namespace trident::cli {
namespace {

/// Loops that are entered in their middle have code before the head.
constexpr std::uint64_t kBytesBefore = TRIDENT_LOOP_CODE_BYTES_MAX / 4;

/// Returns whether a word can be a jump to a fixed address: a look at the top level of the encoding, since decoding all
/// words of a large program takes seconds.
bool may_jump(std::uint32_t word) {
  const std::uint32_t compare_or_test = word >> 25 & 0x3E;
  return word >> 26 == 5 || word >> 24 == 0x54 || compare_or_test == 0x1A;
}

/// The target of a jump backwards that stands at `address`.
std::optional<std::uint64_t> target_behind(std::uint32_t word, std::uint64_t address) {
  if (!may_jump(word)) return {};
  const auto instruction = loop::aarch64::decode(word);
  if (!instruction) return {};
  const loop::Successors after = loop::successors(*instruction, address);
  return after.has_taken && after.taken <= address ? std::optional(after.taken) : std::nullopt;
}

void look_at(const CodeRange& range, FoundHeads& found) {
  for (std::uint64_t offset = 0; offset < range.bytes.size(); offset += kInstructionBytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, range.bytes.data() + offset, sizeof word);
    const auto target = target_behind(word, range.address + offset);
    if (!target || !range.contains(*target)) continue;
    if (found.heads.size() == kLoopHeadsMax && found.heads.count(*target) == 0)
      found.is_cut = true;
    else
      found.heads[*target].push_back(range.address + offset);
  }
}

}  // namespace

FoundHeads find_loop_heads(const GuestCode& code) {
  FoundHeads found;
  for (const CodeRange& range : code.ranges) look_at(range, found);
  return found;
}

CodeRange code_around(const CodeRange& range, std::uint64_t head) {
  const std::uint64_t offset = head - range.address;
  const std::uint64_t first = offset - std::min(offset, kBytesBefore);
  const std::uint64_t size = std::min<std::uint64_t>(range.bytes.size() - first, TRIDENT_LOOP_CODE_BYTES_MAX);
  return {range.address + first, range.bytes.subspan(first, size)};
}

}  // namespace trident::cli
