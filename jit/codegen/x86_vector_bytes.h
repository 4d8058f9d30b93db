// Encodes the vector instructions that kernels consist of. asmjit takes some 230 instructions for one of them, and more
// than a hundred go into its operands: a seventh of the time of the baseline tier. These few forms take 80, and a test
// compares each with asmjit's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::codegen {

/// An instruction `def = op(first, last)`, or `def = op(last)`; multiply-adds overwrite def. All operands are vectors
/// of `width` bytes; the last one may be a constant.
struct X86VectorInst {
  std::uint32_t id = 0;  ///< asmjit's
  std::uint8_t width = 32;
  std::uint8_t def = 0, first = 0, last = 0;
  bool from_memory = false;  ///< the last operand is [rip + disp] instead
  bool broadcast = false;    ///< of which one lane stands for all (AVX-512)
  std::int32_t disp = 0;
};

inline constexpr std::size_t kX86InstBytesMax = 15;

/// Writes the instruction as asmjit does and returns its bytes; 0: it is another one than arithmetic on floats. A
/// displacement comes last.
std::size_t write_vector_inst(const X86VectorInst& inst, std::uint8_t (&out)[kX86InstBytesMax]);

}  // namespace trident::codegen
