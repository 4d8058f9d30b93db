#include "jit/codegen/x86_region_divide.h"

#include <bit>

#include "jit/codegen/constant_division.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;

namespace {

x86::Gp scratch(const x86::Gp& like) {
  return like.size() == 4 ? x86::Gp(x86::eax) : x86::Gp(x86::rax);
}

/// rax = x / 2^bits: the quotient rounds towards zero, so 2^bits - 1 is added below zero.
void halve(x86::Assembler& a, const x86::Gp& x, std::uint32_t bits) {
  a.mov(x86::rax, x);
  if (bits > 1) a.sar(x86::rax, 63);
  a.shr(x86::rax, 64 - bits);
  a.add(x86::rax, x);
  a.sar(x86::rax, bits);
}

void multiply_signed(x86::Assembler& a, const x86::Gp& x, const SignedDivision& division) {
  a.mov(x86::rax, division.multiplier);
  a.imul(x);
  if (division.added > 0) a.add(x86::rdx, x);
  if (division.added < 0) a.sub(x86::rdx, x);
  if (division.shift > 0) a.sar(x86::rdx, division.shift);
  a.mov(x86::rax, x86::rdx);
  a.shr(x86::rax, 63);
  a.add(x86::rax, x86::rdx);
}

}  // namespace

void divide_signed(x86::Assembler& a, const x86::Gp& def, const x86::Gp& x, const x86::Gp& b) {
  const x86::Gp rax = scratch(def);
  const asmjit::Label done = a.newLabel(), plain = a.newLabel();
  a.lea(rax, x86::ptr(b.r64(), 1));
  a.cmp(rax, 1);
  a.ja(plain);
  // By -1 and by 0 the quotient is the product.
  a.mov(rax, x);
  a.imul(rax, b);
  a.jmp(done);
  a.bind(plain);
  a.mov(rax, x);
  def.size() == 4 ? a.cdq() : a.cqo();
  a.idiv(b);
  a.bind(done);
  a.mov(def, rax);
}

void divide_unsigned(x86::Assembler& a, const x86::Gp& def, const x86::Gp& x, const x86::Gp& b) {
  const x86::Gp rax = scratch(def);
  const asmjit::Label done = a.newLabel();
  a.xor_(x86::eax, x86::eax);
  a.test(b, b);
  a.jz(done);
  a.mov(rax, x);
  a.xor_(x86::edx, x86::edx);
  a.div(b);
  a.bind(done);
  a.mov(def, rax);
}

void divide_signed(x86::Assembler& a, const x86::Gp& def, const x86::Gp& x, std::uint64_t by) {
  if (std::has_single_bit(by) && by >> 63 == 0)
    halve(a, x, static_cast<std::uint32_t>(std::countr_zero(by)));
  else
    multiply_signed(a, x, signed_division(static_cast<std::int64_t>(by)));
  a.mov(def, x86::rax);
}

void divide_unsigned(x86::Assembler& a, const x86::Gp& def, const x86::Gp& x, std::uint64_t by) {
  if (std::has_single_bit(by)) {
    if (def != x) a.mov(def, x);
    a.shr(def, static_cast<std::uint32_t>(std::countr_zero(by)));
    return;
  }
  const UnsignedDivision division = unsigned_division(by);
  a.mov(x86::rax, division.multiplier);
  a.mul(x);
  std::uint32_t shift = division.shift;
  if (division.adds) {
    a.mov(x86::rax, x);
    a.sub(x86::rax, x86::rdx);
    a.shr(x86::rax, 1);
    a.add(x86::rdx, x86::rax);
    --shift;
  }
  if (shift > 0) a.shr(x86::rdx, shift);
  a.mov(def, x86::rdx);
}

}  // namespace trident::codegen
