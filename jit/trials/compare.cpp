#include "jit/trials/compare.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace trident::trials {
namespace {

/// Scratch variables have no home that the code keeps.
bool counts(const Subject& subject, std::size_t offset) {
  for (const region::Variable& v : subject.region.variables)
    if (v.scratch && offset >= v.slot && offset < v.slot + bytes_of(v.type)) return false;
  return true;
}

std::optional<std::size_t> differing_byte(const Subject& subject, const Run& run, const After& after) {
  for (std::size_t at = 0; at < after.frame.size(); ++at)
    if (after.frame[at] != run.expected_frame[at] && counts(subject, at)) return at;
  return {};
}

std::string hexadecimal(std::span<const std::byte> frame, std::size_t slot, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, frame.data() + slot, bytes);
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string word_difference(const std::string& name, const Run& run, const After& after, std::size_t slot,
                            std::size_t bytes) {
  return name + " is " + hexadecimal(after.frame, slot, bytes) + " and must be " +
         hexadecimal(run.expected_frame, slot, bytes);
}

std::string frame_difference(const Subject& subject, const Run& run, const After& after, std::size_t at) {
  for (const region::Variable& v : subject.region.variables)
    if (at >= v.slot && at < v.slot + bytes_of(v.type))
      return word_difference(v.name, run, after, v.slot, bytes_of(v.type));
  return word_difference("byte " + std::to_string(at) + " of the frame", run, after, at, 1);
}

}  // namespace

bool is_same(const Subject& subject, const Run& run, const After& after) {
  return after.digest[0] == run.expected_digest[0] && after.digest[1] == run.expected_digest[1] &&
         !differing_byte(subject, run, after);
}

std::string difference_of(const Subject& subject, const Arena& arena, const Run& run, const After& after,
                          std::span<const std::byte> memory) {
  if (const auto at = differing_byte(subject, run, after)) return frame_difference(subject, run, after, *at);
  arena.load(run.layout->contents);
  std::vector<std::byte> frame = run.frame;
  (void)region::interpret(subject.region, frame, run.windows, UINT64_MAX);
  const std::vector<std::byte> expected = arena.contents();
  const auto [got, must] = std::mismatch(memory.begin(), memory.end(), expected.begin());
  if (got == memory.end()) return "memory was not the same, but is when the run is repeated";
  const auto at = static_cast<std::size_t>(got - memory.begin());
  return "byte " + std::to_string(at % kMappingBytes) + " of mapping " + std::to_string(at / kMappingBytes) + " is " +
         hexadecimal(memory, at, 1) + " and must be " + hexadecimal(expected, at, 1);
}

}  // namespace trident::trials
