// Rounds of a bulk loop, in general registers: how many may be done at once, and variables after some of them.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>
#include <optional>
#include <span>

#include "jit/codegen/x86_writer.h"
#include "jit/regionopt/bulk_loop.h"

namespace trident::codegen {

class BulkRounds {
 public:
  /// `variables` are those of the region, by number. `rounds` is the register that holds how many are left.
  BulkRounds(X86Writer& writer, const Function& function, std::span<const VReg> variables,
             const regionopt::BulkLoop& loop, std::uint8_t rounds);

  /// Sets the register of rounds to the least of the limits. Control goes to `none` where there is none to do, or the
  /// loop must do them itself.
  void count(const asmjit::Label& none);

  /// Moves variables on by rax rounds that change nothing but steps; rdx is lost.
  void skip();
  /// Likewise by a number that is known.
  void skip(std::int64_t rounds);

  /// The register or the home of a variable.
  [[nodiscard]] asmjit::Operand variable(std::uint32_t number) const;
  /// target = form; nothing else changes but flags.
  void linear(const asmjit::x86::Gp& target, const regionopt::Linear& form);
  /// target = address of the window's first byte.
  void window_base(const asmjit::x86::Gp& target, std::uint32_t window);

 private:
  using Gp = asmjit::x86::Gp;
  /// Returns the register that holds the form but for its constant.
  [[nodiscard]] std::optional<Gp> register_of(const regionopt::Linear& form) const;
  void emit(std::uint32_t id, const asmjit::Operand_& a, const asmjit::Operand_& b) { a_.emit(id, a, b); }
  void copy_bits(const Gp& target, std::uint32_t number);
  /// target -= form; rdx is lost.
  void subtract(const Gp& target, const regionopt::Linear& form);
  /// Sets `to` to the rounds that the limit allows.
  void limit(const regionopt::Limit& limit, const Gp& to);
  void order_limit(const regionopt::Limit& limit, const Gp& to);
  void element_limit(const regionopt::Limit& limit, const Gp& to);
  void elements_of(const Gp& target, const regionopt::Limit& limit);
  /// Checks what lanes take for granted.
  void guards();

  X86Writer& writer_;
  asmjit::x86::Assembler& a_;
  const Function& f_;
  std::span<const VReg> variables_;
  const regionopt::BulkLoop& loop_;
  const Gp rounds_;
  asmjit::Label none_;
};

}  // namespace trident::codegen
