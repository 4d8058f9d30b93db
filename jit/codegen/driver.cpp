#include "jit/codegen/driver.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::codegen {
namespace {

std::uint32_t word_at(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, &bytes[at], sizeof word);
  return word;
}

/// Appends the records of `part`, whose code has moved to `code_at`, in front of the terminator of `frames`. An FDE
/// holds the distance from its own field to its code.
void append_frames(std::vector<std::byte>& frames, std::uint32_t distance, const MachineCode& part,
                   std::uint32_t code_at) {
  frames.resize(frames.size() - 4);
  const auto base = static_cast<std::uint32_t>(frames.size());
  const std::uint32_t moved = code_at + part.eh_frame_distance - (distance + base);
  frames.insert(frames.end(), part.eh_frame.begin(), part.eh_frame.end());
  for (std::size_t at = base; word_at(frames, at) != 0; at += 4 + word_at(frames, at)) {
    if (word_at(frames, at + 4) == 0) continue;  // a CIE
    const std::uint32_t begin = word_at(frames, at + 8) + moved;
    std::memcpy(&frames[at + 8], &begin, sizeof begin);
  }
}

}  // namespace

Result<MachineCode> whole_code(const MachineCode& first, const MachineCode& second, const MachineCode& looked_at,
                               Joined joined, const UnwindWriter& unwind, const MachineCode* third) {
  CHECK(!joined.failed);
  if (joined.bytes.size() > limits::kImageBytesMax)
    return make_error(ErrorCode::kLimitExceeded,
                      "the kernels have %zu bytes of machine code, more than the limit of %zu", joined.bytes.size(),
                      limits::kImageBytesMax);
  MachineCode code = looked_at;
  code.bytes = std::move(joined.bytes);
  const MachineCode& last = third != nullptr ? *third : second;
  const std::uint32_t last_offset = third != nullptr ? joined.third_offset : joined.second_offset;
  code.code_size = last_offset + last.code_size;
  code.pool_offset = last_offset + last.pool_offset;
  code.frame_bytes = std::max({first.frame_bytes, second.frame_bytes, last.frame_bytes});
  code.eh_frame_distance = static_cast<std::uint32_t>((code.bytes.size() + 7) / 8 * 8);
  code.eh_frame = unwind.finish(joined.driver_size, code.eh_frame_distance);
  append_frames(code.eh_frame, code.eh_frame_distance, first, joined.first_offset);
  append_frames(code.eh_frame, code.eh_frame_distance, second, joined.second_offset);
  if (third != nullptr) append_frames(code.eh_frame, code.eh_frame_distance, *third, joined.third_offset);
  return code;
}

}  // namespace trident::codegen
