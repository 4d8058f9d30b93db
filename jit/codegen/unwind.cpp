#include "jit/codegen/unwind.h"

#include <cstring>

namespace trident::codegen {

namespace {

// DWARF 5, section 6.4.2, and the LSB's .eh_frame.
enum : std::uint8_t {
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xC0,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kDefCfa = 0x0C,
};
constexpr std::uint8_t kPcRelativeSigned4 = 0x1B;

void append_u32(std::vector<std::uint8_t>& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

void append_uleb(std::vector<std::uint8_t>& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}

/// Appends a rule of `reg`: `primary` has room for a number below 64.
void append_rule(std::vector<std::uint8_t>& out, std::uint8_t primary, std::uint8_t extended, std::uint8_t reg) {
  if (reg < 0x40) {
    out.push_back(static_cast<std::uint8_t>(primary | reg));
  } else {
    out.push_back(extended);
    append_uleb(out, reg);
  }
}

/// Pads the record that began at `start` with no-ops to whole words and fills in its length.
void close_record(std::vector<std::uint8_t>& out, std::size_t start) {
  while (out.size() % 4 != 0) out.push_back(0);
  const auto length = static_cast<std::uint32_t>(out.size() - start - 4);
  std::memcpy(&out[start], &length, 4);
}

}  // namespace

void UnwindWriter::advance(std::uint32_t code_offset) {
  const std::uint32_t delta = (code_offset - at_) / host_.code_align;
  at_ = code_offset;
  if (delta == 0) return;
  if (delta < 0x40) {
    program().push_back(static_cast<std::uint8_t>(kAdvanceLoc | delta));
  } else if (delta < 0x100) {
    program().push_back(kAdvanceLoc1);
    program().push_back(static_cast<std::uint8_t>(delta));
  } else {
    program().push_back(kAdvanceLoc4);
    append_u32(program(), delta);
  }
}

void UnwindWriter::start_function(std::uint32_t code_offset) {
  functions_.push_back({.begin = code_offset, .program = {}});
  at_ = code_offset;
}

void UnwindWriter::def_cfa(std::uint32_t code_offset, std::uint8_t reg, std::uint32_t offset) {
  advance(code_offset);
  program().push_back(kDefCfa);
  append_uleb(program(), reg);
  append_uleb(program(), offset);
}

void UnwindWriter::saved(std::uint32_t code_offset, std::uint8_t reg, std::uint32_t below) {
  advance(code_offset);
  append_rule(program(), kOffset, kOffsetExtended, reg);
  append_uleb(program(), below / static_cast<std::uint32_t>(-host_.data_align));
}

void UnwindWriter::restored(std::uint32_t code_offset, std::uint8_t reg) {
  advance(code_offset);
  append_rule(program(), kRestore, kRestoreExtended, reg);
}

void UnwindWriter::append_cie(std::vector<std::uint8_t>& out) const {
  append_u32(out, 0);  // length
  append_u32(out, 0);  // a CIE
  out.push_back(1);    // version
  for (const char c : {'z', 'R', '\0'}) out.push_back(static_cast<std::uint8_t>(c));
  append_uleb(out, host_.code_align);
  out.push_back(static_cast<std::uint8_t>(host_.data_align & 0x7F));
  append_uleb(out, host_.return_register);
  append_uleb(out, 1);
  out.push_back(kPcRelativeSigned4);
  out.push_back(kDefCfa);
  append_uleb(out, host_.stack_register);
  append_uleb(out, host_.cfa_offset);
  if (host_.return_on_stack) {
    out.push_back(static_cast<std::uint8_t>(kOffset | host_.return_register));
    append_uleb(out, 1);
  }
  close_record(out, 0);
}

std::vector<std::byte> UnwindWriter::finish(std::uint32_t code_size, std::uint32_t distance) const {
  std::vector<std::uint8_t> out;
  out.reserve(64 + functions_[0].program.size());
  append_cie(out);
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const auto& [begin, program] = functions_[i];
    const std::uint32_t end = i + 1 < functions_.size() ? functions_[i + 1].begin : code_size;
    const std::size_t fde = out.size();
    append_u32(out, 0);                                    // length
    append_u32(out, static_cast<std::uint32_t>(fde + 4));  // distance back to the CIE
    const std::uint32_t here = distance + static_cast<std::uint32_t>(out.size());
    append_u32(out, begin - here);
    append_u32(out, end - begin);
    append_uleb(out, 0);  // no augmentation bytes
    out.insert(out.end(), program.begin(), program.end());
    close_record(out, fde);
  }
  append_u32(out, 0);  // terminator

  std::vector<std::byte> bytes(out.size());
  std::memcpy(bytes.data(), out.data(), out.size());
  return bytes;
}

}  // namespace trident::codegen
