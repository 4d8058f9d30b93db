// Unwind information by hand: one CIE and an FDE for each function in .eh_frame form, so that debuggers and profilers
// walk through code that has no object file.
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

inline constexpr UnwindHost kUnwindX86{};
inline constexpr UnwindHost kUnwindA64{.code_align = 4,
                                       .data_align = -8,
                                       .return_register = 30,
                                       .stack_register = 31,
                                       .cfa_offset = 0,
                                       .return_on_stack = false};

/// Records the changes of the frame by prologues and epilogues, in the order of the code. A function starts at 0.
class UnwindWriter {
 public:
  explicit UnwindWriter(const UnwindHost& host) : host_(host) { program().reserve(kProgramBytes); }

  /// Says: at `code_offset` another function starts.
  void start_function(std::uint32_t code_offset);
  /// Says: from `code_offset` on, CFA = `reg` + `offset`.
  void def_cfa(std::uint32_t code_offset, std::uint8_t reg, std::uint32_t offset);
  /// Says: from `code_offset` on, the caller's `reg` is stored at CFA - `below`.
  void saved(std::uint32_t code_offset, std::uint8_t reg, std::uint32_t below);
  /// Says: from `code_offset` on, the caller's `reg` is restored.
  void restored(std::uint32_t code_offset, std::uint8_t reg);

  /// Returns the sections' bytes for `code_size` bytes of code that start `distance` bytes before them.
  [[nodiscard]] std::vector<std::byte> finish(std::uint32_t code_size, std::uint32_t distance) const;

 private:
  struct Function {
    std::uint32_t begin = 0;  ///< offset in the code
    std::vector<std::uint8_t> program;
  };

  void advance(std::uint32_t code_offset);
  [[nodiscard]] std::vector<std::uint8_t>& program() { return functions_.back().program; }
  void append_cie(std::vector<std::uint8_t>& out) const;

  static constexpr std::size_t kProgramBytes = 64;  // most take less

  UnwindHost host_;
  std::uint32_t at_ = 0;
  std::vector<Function> functions_ = std::vector<Function>(1);
};

}  // namespace trident::codegen
