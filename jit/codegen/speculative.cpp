#include "jit/codegen/speculative.h"

#include <algorithm>
#include <cstring>

#include "jit/codegen/driver.h"
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

ArrayBytes array_bytes(const kir::Kernel& kernel) {
  ArrayBytes bytes;
  for (const kir::Input& input : kernel.inputs) bytes.inputs.push_back(input.is_table() ? 0 : ir::bytes_of(input.type));
  for (const kir::Output& output : kernel.outputs) bytes.outputs.push_back(ir::bytes_of(kernel.type_of(output.value)));
  return bytes;
}

bool runs_in_parts(const kir::Kernel& kernel) {
  const auto asks = [](const kir::Inst& inst) {
    return inst.section == kir::Section::epilogue || inst.op == kir::Op::Count || inst.op == kir::Op::Index ||
           inst.op == kir::Op::Strided;
  };
  return !kernel.has_scalar_output() && std::none_of(kernel.insts.begin(), kernel.insts.end(), asks);
}

Result<MachineCode> join_speculative(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                                     const Division& division, Isa isa) {
  const bool arm = isa == Isa::neon;
  UnwindWriter unwind(arm ? kUnwindA64 : kUnwindX86);
  Joined joined =
      arm ? drive_a64(fast, general, arrays, division, unwind) : drive_x86(fast, general, arrays, division, unwind);
  CHECK(!joined.failed);
  if (joined.bytes.size() > limits::kImageBytesMax)
    return make_error(ErrorCode::kLimitExceeded,
                      "both kernels have %zu bytes of machine code, more than the limit of %zu", joined.bytes.size(),
                      limits::kImageBytesMax);
  MachineCode code = fast;  // its loop is what is looked at
  code.bytes = std::move(joined.bytes);
  code.code_size = joined.general_offset + general.code_size;
  code.pool_offset = joined.general_offset + general.pool_offset;
  code.frame_bytes = std::max(fast.frame_bytes, general.frame_bytes);
  code.eh_frame_distance = static_cast<std::uint32_t>((code.bytes.size() + 7) / 8 * 8);
  code.eh_frame = unwind.finish(joined.driver_size, code.eh_frame_distance);
  append_frames(code.eh_frame, code.eh_frame_distance, fast, joined.fast_offset);
  append_frames(code.eh_frame, code.eh_frame_distance, general, joined.general_offset);
  return code;
}

}  // namespace trident::codegen
