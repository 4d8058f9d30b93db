#include <capstone/capstone.h>

#include <cinttypes>
#include <cstdio>

#include "jit/codegen/codegen.h"

namespace trident::codegen {

Result<std::string> disassemble(const MachineCode& code, Isa isa) {
  csh handle = 0;
  const bool arm = isa == Isa::neon;
  if (cs_open(arm ? CS_ARCH_ARM64 : CS_ARCH_X86, arm ? CS_MODE_LITTLE_ENDIAN : CS_MODE_64, &handle) != CS_ERR_OK)
    return make_error(ErrorCode::kUnsupported, "Capstone does not know this instruction set");
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
    } else {  // an encoding that Capstone lacks: show the byte and go on after it
      std::snprintf(line, sizeof line, ".byte 0x%02x", *at);
      text += line;
      ++at, --left, ++address;
    }
    text += '\n';
  }
  cs_free(insn, 1);
  cs_close(&handle);
  return text;
}

}  // namespace trident::codegen
