// Unwind information by hand: one CIE and one FDE in .eh_frame form, so that debuggers and profilers walk through
// kernels that have no object file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trident::codegen {

/// DWARF numbers and the state at a function's first instruction.
struct UnwindHost {
  std::uint8_t code_align = 1;
  std::int8_t data_align = -8;
  std::uint8_t return_register = 16;
  std::uint8_t stack_register = 7;
  std::uint8_t cfa_offset = 8;  ///< CFA = stack register + this, on entry
  bool return_on_stack = true;  ///< the return address stands at CFA + data_align
};

/// Records the changes of the frame by prologue and epilogue, in the order of the code.
class UnwindWriter {
 public:
  explicit UnwindWriter(const UnwindHost& host) : host_(host) {}

  /// Says: from `code_offset` on, CFA = `reg` + `offset`.
  void def_cfa(std::uint32_t code_offset, std::uint8_t reg, std::uint32_t offset);
  /// Says: from `code_offset` on, the caller's `reg` is stored at CFA - `below`.
  void saved(std::uint32_t code_offset, std::uint8_t reg, std::uint32_t below);
  /// Says: from `code_offset` on, the caller's `reg` is restored.
  void restored(std::uint32_t code_offset, std::uint8_t reg);

  /// Returns the sections' bytes for `code_size` bytes of code that start `distance` bytes before them.
  [[nodiscard]] std::vector<std::byte> finish(std::uint32_t code_size, std::uint32_t distance) const;

 private:
  void advance(std::uint32_t code_offset);

  UnwindHost host_;
  std::uint32_t at_ = 0;
  std::vector<std::uint8_t> program_;
};

}  // namespace trident::codegen
