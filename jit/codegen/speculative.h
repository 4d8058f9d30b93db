// Speculative kernels: a fast kernel that stops where an input lies outside its assumed range (an exit,
// jit/kir/guard.h), a general one that takes the elements there, and a driver that calls both.
//
//   driver (the entry) | fast code and constants | general code and constants
//
// Where the fast kernel stops, the general one does a block of elements, and the fast one goes on. A stop costs a whole
// step of the fast kernel, up to 128 elements, so blocks are long: the first is kBlockFirst elements, and the next
// kBlockGrowth times as long, up to kBlockMax. Where the fast kernel did as many as that in between, the next is the
// first again; where it did none, as on data that never fit, the next is the longest. In chunks, all starts anew at
// each multiple of `chunk` elements of the call: then an element's bits depend on its chunk alone. Both kernels may
// write over their inputs, and the general one sees no element that the fast one has done. Short chunks, where the
// driver would cost more than the fast kernel saves, are left to the general kernel: a short call goes there by one
// jump.
//
// Where both kernels stream (Variant::part), the driver tells them the length of the call, which decides whether they
// do. The fast one begins a part with the elements before a boundary of its first output, in short calls too. So who
// does an element depends on its chunk and that boundary, and on no length.
//
// Kernels that do not run in parts, because they reduce or ask for numbers of elements, are chosen for a call as a
// whole:
//
//   driver (the entry) | scan | fast code and constants | general code and constants
//
// The scan has the guard for its exit and does nothing else. Where it reads all elements the fast kernel does the call,
// else the general one. So a reduction is one kernel's in its fixed order, and no partial result crosses over. Data
// that never fit stop the scan at its first step. Such a miss counts once, and once more for each kMissElements.
//
// `self` is null, or has behind its first word a pointer to a 64-bit counter, or null: the driver adds the number of
// times that the fast kernel stopped.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/codegen/codegen.h"

namespace trident::codegen {

inline constexpr std::uint32_t kBlockFirst = 256, kBlockGrowth = 16, kBlockMax = kBlockGrowth * kBlockFirst;
static_assert(kBlockFirst % kir::kExitSpan == 0);  // so the element that stopped the fast kernel is in the block
inline constexpr std::uint32_t kMissesOffset = 8;  ///< of the pointer to the counter in `self`

/// Bytes of an element of each array, in the order of a call; 0 for tables, of which every part of a call sees all.
struct ArrayBytes {
  std::vector<std::uint32_t> inputs, outputs;
};
ArrayBytes array_bytes(const kir::Kernel& kernel);

/// Returns whether `kernel` may run over an array part by part: one pass, no reductions, and nothing asks for n or an
/// element's number.
bool runs_in_parts(const kir::Kernel& kernel);

/// How a driver divides a call.
struct Division {
  std::uint32_t chunk = 0;     ///< 0: the call is one chunk
  std::uint32_t shortest = 0;  ///< chunks of fewer elements are the general kernel's
  bool streams = false;        ///< both kernels are told the length of the call (Variant::part)
};

/// Joins the code of two kernels with one signature that run in parts; `fast` has an exit.
/// Errors: LimitExceeded (code too large).
Result<MachineCode> join_speculative(const MachineCode& fast, const MachineCode& general, const ArrayBytes& arrays,
                                     const Division& division, Isa isa);

/// Kernels of one call as a whole, of one signature but for the scan, which has no outputs.
struct Selected {
  const MachineCode &scan, &fast, &general;
};
inline constexpr std::uint32_t kMissElementsLog2 = 12;
/// Misses that a call of n elements counts where the scan stops.
constexpr std::uint64_t misses_of_call(std::uint64_t n) {
  return (n >> kMissElementsLog2) + 1;
}

/// Joins them. Calls of fewer elements than `shortest` are the general kernel's, and those of none.
/// Errors: LimitExceeded (code too large).
Result<MachineCode> join_selected(const Selected& kernels, std::uint32_t shortest, Isa isa);

}  // namespace trident::codegen
