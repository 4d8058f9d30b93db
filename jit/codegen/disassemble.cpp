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
    if (cs_disasm_iter(handle, &at, &left, &address, insn)) {
      text += insn->mnemonic;
      text += ' ';
      text += insn->op_str;
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
