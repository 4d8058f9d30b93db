// Definitions shared by the files of the x86-64 emitter: the two instruction sets, the encoding of operands, and the
// few instructions of the machine IR that are not asmjit's.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/codegen/codegen.h"
#include "jit/codegen/constant_pool.h"
#include "jit/codegen/mir.h"

namespace trident::codegen {

struct X86Target {
  bool avx512 = false;
  std::uint32_t vector_bytes = 32;
  std::uint32_t lanes = 8;  ///< elements per vector: vector_bytes / widest element of the body

  /// Returns the bytes of the register that holds one vector of `lane_bytes` wide elements in the body.
  [[nodiscard]] std::uint8_t width_of(std::uint32_t lane_bytes) const {
    const std::uint32_t bytes = lanes * lane_bytes;
    return static_cast<std::uint8_t>(bytes < 16 ? 16 : bytes > vector_bytes ? vector_bytes : bytes);
  }
};

/// MInst::form, bits. Operands are encoded as: def, uses in order, immediate.
namespace x86_form {
inline constexpr std::uint8_t kPlain = 0;
inline constexpr std::uint8_t kTied = 1;     ///< use 0, or 1 if they commute, is in def's register: encoded once
inline constexpr std::uint8_t kMasked = 2;   ///< the last use before an address is the opmask
inline constexpr std::uint8_t kZeroing = 4;  ///< with kMasked: lanes outside are zeroed, not kept
inline constexpr std::uint8_t kImmediate = 8;
inline constexpr std::uint8_t kFused = 16;         ///< multiply-add: op is the 132 form, the emitter picks the form
inline constexpr std::uint8_t kMemory = 32;        ///< reads `mem` or (without def and target) stores to it
inline constexpr std::uint8_t kPseudo = 64;        ///< op is an X86Pseudo
inline constexpr std::uint8_t kOwnRounding = 128;  ///< AVX-512, on registers: to nearest, no traps, whatever MXCSR says
}  // namespace x86_form

enum class X86Pseudo : std::uint16_t {
  zero,         ///< def = 0
  count,        ///< def = n as type `imm` (ir::Type) in lane 0
  mask_ones,    ///< def = opmask of all ones
  divide_if,    ///< def = use 0; if a lane fails the condition, the use after the operands, instead the exact
                ///< operation `imm` (x86_exact) of use 1 and use 2
  tail_mask,    ///< def = mask of the lanes of tail vector `copy`; lanes are `imm` bytes wide
  position,     ///< def = the loop's index in all lanes, of the def's lane bytes
  scratch,      ///< def = anything: a work register
  scale_apart,  ///< def = use 0 * 2^use 1, behind the loop if a lane of use 2, a mask that is lost, is set;
                ///< constants from `imm` on in the pool
  leave_if,     ///< leaves the kernel if a lane of the mask is set, or as `imm` says (X86Leave)
  // Reading tables, see x86_tables.cpp.
  table_bound,   ///< def = the bound for indices of its lane bytes, in all lanes; the length is parameter `imm`
  table_limits,  ///< of strided read number `mem.index`, into the frame
  gather,        ///< def = elements of table `mem` at the indices (use 0) where the mask (use 1, lost) is set, else 0
  strided,       ///< def = strided read number `mem.index` for the elements from `mem.disp` after the loop's index on
  // Tails of arrays with narrow elements, see x86_elements.cpp.
  load_elements,   ///< def = the elements left of `mem`, at the low end
  store_elements,  ///< the elements left of `mem` = those at the low end of use 0
};

/// Exact operations of X86Pseudo::divide_if.
namespace x86_exact {
inline constexpr std::uint8_t kQuotient = 0;     ///< use 1 / use 2
inline constexpr std::uint8_t kRoot = 1;         ///< of use 1
inline constexpr std::uint8_t kInverseRoot = 2;  ///< use 2, which is 1, / root of use 1
inline constexpr std::uint8_t kLanes =
    4;  ///< beside one: only in lanes that fail. AVX2: the last use is a work register
}  // namespace x86_exact

/// Ways to load one vector of a strided read that lies inside its table.
enum class StridedForm : std::uint8_t {
  contiguous,  ///< one load
  reversed,    ///< one load, lanes in reverse; with AVX-512 or 8 lanes by a row of lane numbers
  pairs,       ///< every second of two loads; with AVX-512 by a row of lane numbers
  gather,      ///< a gather of distances (row of i32) under a mask of all ones
};

struct X86StridedRead {
  StridedForm form = StridedForm::contiguous;
  std::uint8_t lane_bytes = 4;
  std::uint16_t table = 0, length_param = 0;
  std::int64_t stride = 0;
  std::optional<std::int32_t> offset{};  ///< nothing: kOffset in the frame
  kir::Value offset_value;
  MemRef limits{};                                                      ///< three words in the frame
  MemRef room{};                                                        ///< in the frame, for one vector
  static constexpr std::int32_t kLength = 0, kBound = 8, kOffset = 16;  ///< bytes into `limits`

  /// Returns the distance from the first lane's element to the one with the lowest number.
  [[nodiscard]] std::int64_t lowest(std::uint32_t lanes) const {
    return stride < 0 ? stride * static_cast<std::int64_t>(lanes - 1) : 0;
  }
};

}  // namespace trident::codegen
