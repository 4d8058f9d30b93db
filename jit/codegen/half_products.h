// Products of 64-bit integers whose factors are 32 bits wide by construction: numbers of 32 bits that were extended, or
// values whose upper halves were cleared. Every host multiplies such halves by one instruction (VPMULDQ, VPMULUDQ,
// SMULL, UMULL), and whole lanes by up to seven.
#pragma once

#include "jit/kir/kir.h"

namespace trident::codegen {

/// The factors of a product, of which the low 32 bits alone count.
struct HalfProduct {
  kir::Value a, b;         ///< invalid: the instruction is no such product
  bool is_signed = false;  ///< the halves are extended by their signs, not by zeros

  [[nodiscard]] bool valid() const { return a.valid(); }
};

/// Returns whether an i64 is below 2^32, and not negative, by construction.
bool is_unsigned_half(const kir::Kernel& kernel, kir::Value v);

/// Looks at a multiplication of i64 in the body. The factors of the result are of i64: the values before they
/// were cut to their halves, where there are such.
HalfProduct half_product(const kir::Kernel& kernel, const kir::Inst& inst);
/// Does likewise for a host whose instruction reads halves that lie next to each other: a factor that is an i32,
/// widened, is that i32 itself.
HalfProduct narrow_product(const kir::Kernel& kernel, const kir::Inst& inst);

}  // namespace trident::codegen
