// Encodings are those of Intel's manual, volume 2, section 2.3 (VEX) and 2.7 (EVEX). A byte stores registers inverted.
#include "jit/codegen/x86_vector_bytes.h"

#include <asmjit/x86.h>

#include <array>
#include <cstring>

namespace trident::codegen {

namespace {

namespace Inst = asmjit::x86::Inst;

/// Holds what the prefixes and the opcode of an instruction on ps or pd say.
struct Opcode {
  std::uint8_t byte = 0;    ///< 0: not in the table
  std::uint8_t map = 1;     ///< 1: 0F, 2: 0F 38
  std::uint8_t prefix = 0;  ///< 0: none, 1: 66
  bool wide = false;        ///< lanes of 8 bytes: W of EVEX, and of VEX in map 2
  bool unary = false;
};

constexpr std::size_t kIds = Inst::_kIdCount;

constexpr auto kOpcodes = [] {
  std::array<Opcode, kIds> table{};
  const auto pair = [&](std::uint32_t ps, std::uint32_t pd, std::uint8_t byte, bool unary = false) {
    table[ps] = {byte, 1, 0, false, unary};
    table[pd] = {byte, 1, 1, true, unary};
  };
  pair(Inst::kIdVaddps, Inst::kIdVaddpd, 0x58);
  pair(Inst::kIdVmulps, Inst::kIdVmulpd, 0x59);
  pair(Inst::kIdVsubps, Inst::kIdVsubpd, 0x5C);
  pair(Inst::kIdVminps, Inst::kIdVminpd, 0x5D);
  pair(Inst::kIdVdivps, Inst::kIdVdivpd, 0x5E);
  pair(Inst::kIdVmaxps, Inst::kIdVmaxpd, 0x5F);
  pair(Inst::kIdVsqrtps, Inst::kIdVsqrtpd, 0x51, true);
  const auto fused = [&](std::uint32_t ps, std::uint32_t pd, int byte) {
    table[ps] = {static_cast<std::uint8_t>(byte), 2, 1, false, false};
    table[pd] = {static_cast<std::uint8_t>(byte), 2, 1, true, false};
  };
#define FUSED(name, low)                                               \
  fused(Inst::kId##name##132ps, Inst::kId##name##132pd, 0x90 + (low)); \
  fused(Inst::kId##name##213ps, Inst::kId##name##213pd, 0xA0 + (low)); \
  fused(Inst::kId##name##231ps, Inst::kId##name##231pd, 0xB0 + (low));
  FUSED(Vfmadd, 0x8)
  FUSED(Vfmsub, 0xA)
  FUSED(Vfnmadd, 0xC)
  FUSED(Vfnmsub, 0xE)
#undef FUSED
  return table;
}();

constexpr std::uint8_t bit(bool set, int place) {
  return static_cast<std::uint8_t>(set ? 1 << place : 0);
}

}  // namespace

std::size_t write_vector_inst(const X86VectorInst& inst, std::uint8_t (&out)[kX86InstBytesMax]) {
  if (inst.id >= kIds) return 0;
  const Opcode& op = kOpcodes[inst.id];
  if (op.byte == 0) return 0;
  const std::uint8_t first = op.unary ? 0 : inst.first;
  const std::uint8_t last = inst.from_memory ? 0 : inst.last;
  const bool evex = inst.width == 64 || inst.broadcast || (inst.def | first | last) >= 16;
  std::uint8_t* at = out;
  const std::uint8_t not_first = static_cast<std::uint8_t>((~first & 0xF) << 3);
  if (evex) {
    *at++ = 0x62;
    *at++ = static_cast<std::uint8_t>(bit((inst.def & 8) == 0, 7) | bit((last & 16) == 0, 6) | bit((last & 8) == 0, 5) |
                                      bit((inst.def & 16) == 0, 4) | op.map);
    *at++ = static_cast<std::uint8_t>(bit(op.wide, 7) | not_first | 4 | op.prefix);
    *at++ = static_cast<std::uint8_t>((inst.width >> 5) << 5 | bit(inst.broadcast, 4) | bit((first & 16) == 0, 3));
  } else {
    const std::uint8_t rest = static_cast<std::uint8_t>(not_first | bit(inst.width == 32, 2) | op.prefix);
    const std::uint8_t not_def = bit((inst.def & 8) == 0, 7);
    if (op.map == 1 && last < 8) {
      *at++ = 0xC5;
      *at++ = static_cast<std::uint8_t>(not_def | rest);
    } else {
      *at++ = 0xC4;
      *at++ = static_cast<std::uint8_t>(not_def | 0x40 | bit((last & 8) == 0, 5) | op.map);
      *at++ = static_cast<std::uint8_t>(bit(op.map == 2 && op.wide, 7) | rest);
    }
  }
  *at++ = op.byte;
  const std::uint8_t reg = static_cast<std::uint8_t>((inst.def & 7) << 3);
  *at++ = static_cast<std::uint8_t>(inst.from_memory ? reg | 5 : 0xC0 | reg | (last & 7));
  if (inst.from_memory) {
    std::memcpy(at, &inst.disp, sizeof inst.disp);
    at += sizeof inst.disp;
  }
  return static_cast<std::size_t>(at - out);
}

}  // namespace trident::codegen
