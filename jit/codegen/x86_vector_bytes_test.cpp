// Oracle: asmjit's Assembler.
#include "jit/codegen/x86_vector_bytes.h"

#include <asmjit/x86.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace trident::codegen {
namespace {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

constexpr std::uint8_t kWidths[] = {16, 32, 64};
constexpr std::uint8_t kRegisters[] = {0, 1, 5, 7, 8, 11, 15, 16, 21, 23, 24, 31};

asmjit::Operand vector(std::uint8_t width, std::uint8_t reg) {
  if (width == 16) return x86::Xmm(reg);
  if (width == 32) return x86::Ymm(reg);
  return x86::Zmm(reg);
}

class Asmjit {
 public:
  Asmjit() {
    code_.init(asmjit::Environment(asmjit::Arch::kX64));
    code_.attach(&assembler_);
  }

  std::vector<std::uint8_t> bytes(const X86VectorInst& inst, bool unary) {
    x86::Mem mem = x86::ptr(x86::rip, inst.disp);
    mem.setSize(inst.width);
    const std::uint32_t lane = is_wide(inst.id) ? 8 : 4;
    if (inst.broadcast) {
      mem.setSize(lane);
      mem.setBroadcast(static_cast<x86::Mem::Broadcast>(std::countr_zero(inst.width / lane)));
    }
    const asmjit::Operand def = vector(inst.width, inst.def), first = vector(inst.width, inst.first);
    const asmjit::Operand last = inst.from_memory ? asmjit::Operand(mem) : vector(inst.width, inst.last);
    assembler_.setOffset(0);
    const asmjit::Error error =
        unary ? assembler_.emit(inst.id, def, last) : assembler_.emit(inst.id, def, first, last);
    EXPECT_EQ(error, asmjit::kErrorOk);
    return {assembler_.bufferData(), assembler_.bufferPtr()};
  }

  static std::string name(std::uint32_t id) {
    asmjit::String text;
    asmjit::InstAPI::instIdToString(asmjit::Arch::kX64, id, text);
    return text.data();
  }
  static bool is_wide(std::uint32_t id) { return name(id).back() == 'd'; }

 private:
  asmjit::CodeHolder code_;
  x86::Assembler assembler_;
};

std::vector<std::uint8_t> ours(const X86VectorInst& inst) {
  std::uint8_t out[kX86InstBytesMax];
  const std::size_t size = write_vector_inst(inst, out);
  return {out, out + size};
}

std::vector<std::uint32_t> known_ids() {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < Inst::_kIdCount; ++id)
    if (!ours({.id = id}).empty()) ids.push_back(id);
  return ids;
}

// Both tests below ask about these alone.
TEST(VectorBytes, KnowArithmeticOfBothTypes) {
  for (const std::uint32_t id : {Inst::kIdVaddps, Inst::kIdVaddpd, Inst::kIdVsubps, Inst::kIdVmulpd, Inst::kIdVdivps})
    EXPECT_FALSE(ours({.id = id, .width = 32}).empty()) << Asmjit::name(id);
}

TEST(VectorBytes, AreAsmjitsWithRegisters) {
  Asmjit asmjit;
  for (const std::uint32_t id : known_ids()) {
    const bool unary = Asmjit::name(id).starts_with("vsqrt");
    for (const std::uint8_t width : kWidths)
      for (const std::uint8_t def : kRegisters)
        for (const std::uint8_t first : kRegisters)
          for (const std::uint8_t last : kRegisters) {
            const X86VectorInst inst{.id = id, .width = width, .def = def, .first = first, .last = last};
            ASSERT_EQ(ours(inst), asmjit.bytes(inst, unary))
                << Asmjit::name(id) << " " << int{width} << ": " << int{def} << ", " << int{first} << ", " << int{last};
          }
  }
}

TEST(VectorBytes, AreAsmjitsWithConstants) {
  Asmjit asmjit;
  for (const std::uint32_t id : known_ids()) {
    const bool unary = Asmjit::name(id).starts_with("vsqrt");
    for (const std::uint8_t width : kWidths)
      for (const std::uint8_t def : kRegisters)
        for (const std::uint8_t first : kRegisters)
          for (const bool broadcast : {false, true})
            for (const std::int32_t disp : {0, 4, 64, 127, 0x12345, -8}) {
              const X86VectorInst inst{.id = id,
                                       .width = width,
                                       .def = def,
                                       .first = first,
                                       .last = 31,  // means nothing
                                       .from_memory = true,
                                       .broadcast = broadcast,
                                       .disp = disp};
              ASSERT_EQ(ours(inst), asmjit.bytes(inst, unary))
                  << Asmjit::name(id) << " " << int{width} << ": " << int{def} << ", " << int{first} << ", " << disp;
            }
  }
}

TEST(VectorBytes, LeaveOtherInstructionsAlone) {
  EXPECT_EQ(known_ids().size(), 7u * 2 + 4 * 3 * 2);
  for (const std::uint32_t id : {Inst::kIdVaddss, Inst::kIdVpaddd, Inst::kIdVmovups, Inst::kIdNone, Inst::_kIdCount})
    EXPECT_TRUE(ours({.id = id}).empty());
}

}  // namespace
}  // namespace trident::codegen
