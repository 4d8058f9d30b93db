#include "jit/trials/compare.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace trident::trials {
namespace {

using Bytes = std::vector<std::byte>;

std::string hexadecimal(const Bytes& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, count);
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string difference_text(const std::string& name, const Bytes& got, const Bytes& expected, std::size_t at,
                            std::size_t count) {
  return name + " is " + hexadecimal(got, at, count) + " and must be " + hexadecimal(expected, at, count);
}

std::string frame_difference(const Subject& subject, const Bytes& got, const Bytes& expected, std::size_t at) {
  for (const region::Variable& v : subject.region.variables)
    if (at >= v.slot && at < v.slot + bytes_of(v.type))
      return difference_text(v.name, got, expected, v.slot, bytes_of(v.type));
  return difference_text("byte " + std::to_string(at) + " of the frame", got, expected, at, 1);
}

std::size_t first_difference(const Bytes& a, const Bytes& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

}  // namespace

std::string difference_of(const Subject& subject, const Arena& arena, const Run& run) {
  const auto copy = [](std::span<const std::byte> bytes) { return Bytes(bytes.begin(), bytes.end()); };
  const Bytes frame = copy(arena.frame()), memory = copy(arena.memory()), locals = copy(arena.locals(run.local_bytes));
  set_up(run, arena);
  (void)interpret(subject, run, arena, UINT64_MAX);
  const Bytes right_frame = copy(arena.frame()), right_memory = copy(arena.memory());
  const Bytes right_locals = copy(arena.locals(run.local_bytes));
  const std::size_t at = first_difference(frame, right_frame), place = first_difference(memory, right_memory);
  const std::size_t local = first_difference(locals, right_locals);
  if (at < frame.size()) return frame_difference(subject, frame, right_frame, at);
  if (place < memory.size())
    return difference_text("byte " + std::to_string(place) + " of memory", memory, right_memory, place, 1);
  if (local < locals.size())
    return difference_text("byte " + std::to_string(local) + " of local arrays", locals, right_locals, local, 1);
  return "memory behind the frame was written, or the run differs only now and then";
}

}  // namespace trident::trials
