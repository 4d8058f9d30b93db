#include <capstone/capstone.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "jit/codegen/codegen.h"

namespace trident::codegen {

namespace {

/// Returns the bytes of the VEX or EVEX instruction at `at`, or 0: prefix, opcode, ModRM, SIB, displacement, immediate.
std::size_t vector_length(const std::uint8_t* at, std::size_t left) {
  constexpr std::size_t kLongest = 12;
  const std::size_t prefix = at[0] == 0x62 ? 4 : at[0] == 0xC4 ? 3 : at[0] == 0xC5 ? 2 : 0;
  if (left < kLongest || prefix == 0) return 0;
  const std::uint8_t map = prefix == 2 ? 1 : at[1] & 3, opcode = at[prefix], modrm = at[prefix + 1];
  const std::uint8_t mode = modrm >> 6, base = modrm & 7;
  std::size_t length = prefix + 2;
  const bool has_sib = mode != 3 && base == 4;
  const bool bare_disp = mode == 0 && (has_sib ? (at[length] & 7) == 5 : base == 5);
  if (has_sib) ++length;
  length += mode == 1 ? 1 : mode == 2 || bare_disp ? 4 : 0;
  const bool immediate =
      map == 3 ||
      (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xC2 || (opcode >= 0xC4 && opcode <= 0xC6)));
  return length + (immediate ? 1 : 0);
}

constexpr std::size_t kRoundedBytes = 6;  ///< prefix of four bytes, opcode, ModRM

/// Returns whether an EVEX instruction of registers stands at `at` that may say its own rounding, and has no immediate.
bool may_round_itself(const std::uint8_t* at, std::size_t left) {
  constexpr std::uint8_t kRounds = 0x10, kCompare = 0xC2;
  if (left < kRoundedBytes || at[0] != 0x62 || (at[3] & kRounds) == 0) return false;
  return (at[1] & 3) != 3 && at[4] != kCompare && at[5] >> 6 == 3;
}

/// Capstone takes the rounding from a byte behind the instruction, which is the next one's, and the prefix's bits of
/// the rounding as those of a vector's length. It gets a copy with 512 bits there, which vectors have that say a
/// rounding, else with none, and the rounding behind.
bool read_rounded(csh handle, const std::uint8_t* at, std::uint64_t address, cs_insn* insn) {
  constexpr unsigned kRounding = 0x60, k512Bits = 0x40;
  std::uint8_t copy[kRoundedBytes + 1];
  std::copy_n(at, kRoundedBytes, copy);
  copy[kRoundedBytes] = static_cast<std::uint8_t>((at[3] & kRounding) >> 5);
  for (const unsigned length : {k512Bits, 0u}) {
    copy[3] = static_cast<std::uint8_t>((at[3] & ~kRounding) | length);
    const std::uint8_t* begin = copy;
    std::size_t left = sizeof copy;
    std::uint64_t place = address;
    if (cs_disasm_iter(handle, &begin, &left, &place, insn) && insn->size >= kRoundedBytes) return true;
  }
  return false;
}

/// Reads the instruction at `at` and moves behind it; false for one that Capstone does not know.
bool read_instruction(csh handle, const std::uint8_t*& at, std::size_t& left, std::uint64_t& address, cs_insn* insn) {
  if (!may_round_itself(at, left)) return cs_disasm_iter(handle, &at, &left, &address, insn);
  if (!read_rounded(handle, at, address, insn)) return false;
  at += kRoundedBytes, left -= kRoundedBytes, address += kRoundedBytes;
  return true;
}

/// Capstone puts a blank before the comma where a rounding follows.
std::string operands_of(const cs_insn& insn) {
  std::string text = insn.op_str;
  for (std::size_t at = text.find(" ,"); at != std::string::npos; at = text.find(" ,")) text.erase(at, 1);
  return text;
}

}  // namespace

Result<std::string> disassemble(const MachineCode& code, Isa isa) {
  csh handle = 0;
  const bool arm = isa == Isa::neon;
  if (cs_open(arm ? CS_ARCH_ARM64 : CS_ARCH_X86, arm ? CS_MODE_LITTLE_ENDIAN : CS_MODE_64, &handle) != CS_ERR_OK)
    return make_error(ErrorCode::kUnsupported, "this Capstone does not support this instruction set");
  cs_insn* insn = cs_malloc(handle);
  const auto* at = reinterpret_cast<const std::uint8_t*>(code.bytes.data());
  std::size_t left = code.code_size;
  std::uint64_t address = 0;
  std::string text;
  char line[64];
  while (left > 0) {
    std::snprintf(line, sizeof line, "%5" PRIx64 "  ", address);
    text += line;
    const bool is_known =
        arm ? cs_disasm_iter(handle, &at, &left, &address, insn) : read_instruction(handle, at, left, address, insn);
    if (is_known) {
      text += insn->mnemonic;
      text += ' ';
      text += operands_of(*insn);
    } else {  // an encoding that Capstone lacks: show the bytes and continue after it
      const std::size_t length = std::max<std::size_t>(arm ? 0 : vector_length(at, left), arm ? 4 : 1);
      text += ".byte";
      for (std::size_t i = 0; i < length; ++i) {
        std::snprintf(line, sizeof line, " 0x%02x", at[i]);
        text += line;
      }
      if (length > 1 && !arm) text += "  (a vector instruction that this Capstone does not know)";
      at += length, left -= length, address += length;
    }
    text += '\n';
  }
  cs_free(insn, 1);
  cs_close(&handle);
  return text;
}

std::string disassemble_a64(std::uint32_t word, std::uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, ".word 0x%08x", word);
  csh handle = 0;
  if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle) != CS_ERR_OK) return text;
  cs_insn* insn = nullptr;
  std::string line = text;
  if (cs_disasm(handle, reinterpret_cast<const std::uint8_t*>(&word), sizeof word, address, 1, &insn) == 1) {
    line = insn->mnemonic;
    if (insn->op_str[0] != 0) line.append(" ").append(insn->op_str);
    cs_free(insn, 1);
  }
  cs_close(&handle);
  return line;
}

}  // namespace trident::codegen
