// Measured rates of the processor's ports, timed beside the kernels: the constants of the port roof.
//
// A clock in GHz times "two instructions a cycle" would do for AVX-512 on one family of processors. It is wrong for
// 256-bit code, which some of them issue on three ports, and it errs with every error of the clock. So the limits are
// timed instead: short loops of independent instructions of one kind, in the child that times the kernels, after a
// batch of ours in every round. What slows a kernel down from outside (a lower clock under 512-bit load, a busy sibling
// thread) slows them too. On a processor with two 512-bit pipes the rates are those of the roof's definition: 2 vector
// instructions, 2 loads and 1 store a cycle. Zen 5 has four: two that multiply, two that add.
#pragma once

#include "jit/ir/type.h"

namespace trident::cli {

/// Nanoseconds per instruction when nothing else limits; 0: not measured (another processor family).
struct MachineRates {
  double vector_ns = 0;    ///< a mix that every vector port can take part in: the least any vector instruction costs
  double multiply_ns = 0;  ///< multiplications and fused multiply-adds
  double add_ns = 0;       ///< additions and subtractions of floats, which have ports of their own on AMD's processors
  double load_ns = 0, store_ns = 0;  ///< first-level cache
  double divide_ns = 0, root_ns = 0;
  [[nodiscard]] bool known() const { return vector_ns > 0; }
};

/// One sample for vectors of 256 or 512 bits (which the processor must have) of f32 or f64; takes about 50 us.
MachineRates sample_rates(unsigned vector_bits, ir::Type type);

}  // namespace trident::cli
