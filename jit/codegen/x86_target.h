// What the x86-64 emitter agrees on between its files: the two instruction sets, how operands are encoded, and the
// few instructions of the machine IR that are not asmjit's.
#pragma once

#include <cstdint>

#include "jit/codegen/codegen.h"
#include "jit/codegen/constant_pool.h"
#include "jit/codegen/mir.h"

namespace trident::codegen {

struct X86Target {
  bool avx512 = false;
  std::uint32_t vector_bytes = 32;
  std::uint32_t lanes = 8;  ///< elements per vector: vector_bytes / widest element of the body
  std::uint32_t unit = 1;   ///< vectors that a loop step is a multiple of: 16 / lanes when there are reductions

  /// Bytes of the register that holds one vector of `lane_bytes` wide elements in the body.
  [[nodiscard]] std::uint8_t width_of(std::uint32_t lane_bytes) const {
    const std::uint32_t bytes = lanes * lane_bytes;
    return static_cast<std::uint8_t>(bytes < 16 ? 16 : bytes > vector_bytes ? vector_bytes : bytes);
  }
};

/// MInst::form, bits. Operands are encoded as: def, uses in order, immediate.
namespace x86_form {
inline constexpr std::uint8_t kPlain = 0;
inline constexpr std::uint8_t kTied = 1;     ///< use 0 is the register of def and not encoded again
inline constexpr std::uint8_t kMasked = 2;   ///< the last use is the opmask
inline constexpr std::uint8_t kZeroing = 4;  ///< with kMasked: lanes outside are zeroed, not kept
inline constexpr std::uint8_t kImmediate = 8;
inline constexpr std::uint8_t kFused = 16;   ///< multiply-add: op is the 132 form, the emitter picks the form
inline constexpr std::uint8_t kMemory = 32;  ///< loads from or (without def) stores to `mem`
inline constexpr std::uint8_t kPseudo = 64;  ///< op is an X86Pseudo
}  // namespace x86_form

enum class X86Pseudo : std::uint16_t {
  zero,       ///< def = 0
  count,      ///< def = n as type `imm` (ir::Type) in lane 0
  mask_ones,  ///< def = opmask of all ones
  divide_if,  ///< def = use 0; if a lane fails the condition (last use), instead use 1 / use 2, or sqrt use 1 when
              ///< `imm`
  tail_mask,  ///< def = mask of the lanes of tail vector `copy`; lanes are `imm` bytes wide
};

}  // namespace trident::codegen
