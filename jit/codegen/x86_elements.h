// Arrays whose elements are narrower than values (jit/ir/storage.h): loads that widen, stores that narrow.
//
// AVX-512 has both as one instruction, under masks too. AVX2 widens in one instruction and packs in three, and has no
// masks for bytes and words: a tail moves its elements one by one, from and to the low lanes of a vector.
#pragma once

#include <array>
#include <cstdint>

#include "jit/codegen/mir.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

class X86Selector;

class X86Elements {
 public:
  explicit X86Elements(X86Selector& selector) : s_(selector) {}

  /// Returns the values of an input's elements, as values of `to`: the input's type, or i64 for that of i32.
  VReg load(const kir::Inst& input, ir::Type to);
  /// Appends the instructions that store a value's elements. Returns the last one, whose place is not set.
  MInst store(ir::Storage storage, VReg value);

 private:
  VReg packing_row(std::uint32_t bytes);
  VReg packed(ir::Storage storage, VReg value);

  X86Selector& s_;
  std::array<VReg, 2> packing_rows_{};  ///< control of vpshufb, for bytes and for words (AVX2)
};

}  // namespace trident::codegen
