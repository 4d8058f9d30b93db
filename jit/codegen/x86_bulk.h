// Bulk loops (jit/regionopt) as code of x86-64: vectors of 64 bytes with AVX-512, of 32 bytes with AVX2.
//
//   rounds = least of the limits; guards          -> nothing is done where there are too few rounds
//   values that stay, in all lanes
//   groups of as many rounds as there are lanes   -> a stop ends them
//   the rest under a mask (AVX-512)
//   reductions
//
// With AVX2 the loop itself does the rest.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/codegen/constant_pool.h"
#include "jit/codegen/x86_writer.h"
#include "jit/regionopt/bulk_loop.h"

namespace trident::codegen {

/// The registers of one bulk loop.
struct BulkRegisters {
  std::uint8_t rounds = kNoReg;        ///< those that are left
  std::vector<std::uint8_t> pointers;  ///< per stream: where its element of the next round is
  std::uint32_t vectors = 0;           ///< those that are free, one bit each
  [[nodiscard]] std::uint32_t written() const;
};

/// Chooses registers for `loop` out of those that are free in its entry block, or returns nothing where they do not
/// suffice or `isa` cannot do what the loop asks.
std::optional<BulkRegisters> choose_bulk_registers(const regionopt::BulkLoop& loop, Isa isa, std::uint32_t general,
                                                   std::uint32_t saved, std::uint32_t vectors);

/// Writes the code of `loop`; control goes on behind it. `variables` are those of the region, by number.
void write_bulk_loop(X86Writer& writer, const Function& function, ConstantPool& pool, std::span<const VReg> variables,
                     const regionopt::BulkLoop& loop, Isa isa, const BulkRegisters& registers);

}  // namespace trident::codegen
