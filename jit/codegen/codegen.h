// kir -> machine code. A pure function of (kernel, target, variant); no global state, nothing is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/kir/kir.h"
#include "runtime/base/result.h"

namespace trident::codegen {

enum class Isa : std::uint8_t { avx2, avx512, neon };
std::string_view name_of(Isa isa);
/// Returns the bits of the estimates that code for `isa` has (jit/kir/estimates.h), or 0.
std::uint32_t estimate_bits(Isa isa);

/// The shape of the loop, chosen by measurement among variants(). The same bits for every variant.
struct Variant {
  std::uint8_t vectors = 1;       ///< vectors of elements per loop iteration, interleaved by the scheduler (1..8)
  bool schedule = true;           ///< list-schedule by latency; false: source order (the baseline tier)
  bool non_temporal = false;      ///< stream stores past the caches (plain ones where misaligned or with reductions)
  std::uint8_t newton = 0;        ///< eighths of divisions and square roots done without the divider; unless it is 0,
                                  ///< quotients by one divisor share its reciprocal too
  std::uint16_t vector_bits = 0;  ///< 0: the widest of the ISA; AVX-512 also allows 256
  bool lockstep = false;          ///< keeps the vectors in step where their values need more registers than there are:
                                  ///< some then wait in the frame (x86-64 only)
  bool underflow_apart = false;   ///< computes vectors with results of Scalef that may underflow behind the loop: for
                                  ///< Intel's AVX-512 (x86_scale.cpp); others do nothing else for it
  bool part = false;              ///< called by a driver for parts of a call (speculative.h), whose length tells
                                  ///< non_temporal code whether to stream
  friend bool operator==(const Variant&, const Variant&) = default;
};

/// Bytes written per call from which non_temporal code streams: shorter calls take its plain loop. Parts of a call are
/// no shorter than it in this respect.
inline constexpr std::uint32_t kStreamBytes = 4u << 20;
/// Bytes read per call from which reductions fetch ahead: less stays in the second-level cache, where a fetch is a
/// waste.
inline constexpr std::uint32_t kFetchBytes = 2u << 20;
/// Bytes read and written per call up to which it stays in or near the first-level cache. In longer calls, short loops
/// fetch the lines that they are going to write.
inline constexpr std::uint32_t kNearBytes = 64u << 10;

/// Code and constants with no relocations: entry at byte 0 of `code`; `pool_offset` is a multiple of 64.
struct MachineCode {
  std::vector<std::byte> bytes;  ///< code, padding, pool
  std::uint32_t code_size = 0;   ///< bytes of code from 0
  std::uint32_t pool_offset = 0;
  std::uint32_t frame_bytes = 0;    ///< stack that the kernel takes after its pushes
  std::vector<std::byte> eh_frame;  ///< CIE + FDE + terminator; the FDE's pc_begin is relative (pcrel|sdata4) and
                                    ///< assumes that eh_frame stands at eh_frame_distance bytes from the code's start
  std::uint32_t eh_frame_distance = 0;
  std::uint32_t spills = 0;  ///< values that went through the stack in the main loop
  // The main loop (of several passes, that of the last), for the port roof: the least cycles of an iteration are the
  // largest of vector_work / 2 pipes, loads / 2, stores / 1 and divider_work.
  std::uint32_t loop_insts = 0;
  std::uint32_t loop_elements = 0;  ///< per iteration
  std::uint32_t vector_work = 0;    ///< vector instructions, those that keep a pipe busy for longer counted as several
  std::uint32_t divider_work = 0;   ///< cycles of the divider
  std::uint32_t loads = 0;          ///< memory operands included
  std::uint32_t stores = 0;
};

/// The entry of a kernel with an exit: returns how many elements are done.
using ExitEntry = std::uint64_t (*)(const void* self, std::uint64_t n, const void* const* in, void* const* out,
                                    const std::uint64_t* params);

/// Emits `kernel` (which must pass kir::check) for `isa`. Code of a kernel with an exit is an ExitEntry.
/// Errors: Unsupported (an op that the ISA's emitter lacks), LimitExceeded (code too large).
Result<MachineCode> emit(const kir::Kernel& kernel, Isa isa, const Variant& variant);

/// Cycles that the divider is busy with one vector of 512 bits.
struct DividerCycles {
  double div_f32 = 10, div_f64 = 16, sqrt_f32 = 12, sqrt_f64 = 20;  ///< of Intel's cores, by its manual
};

/// Returns the variants worth measuring for `kernel` on `isa`, most promising first; never empty.
std::vector<Variant> variants(const kir::Kernel& kernel, Isa isa, const DividerCycles& divider = {});

/// Returns how many eighths of a kernel's estimated quotients had better be so; the divider has work too if it does the
/// others.
std::uint32_t balanced_estimates(const kir::Kernel& kernel, Isa isa, const DividerCycles& divider = {});

/// Disassembly, one instruction per line with its offset (Capstone).
Result<std::string> disassemble(const MachineCode& code, Isa isa);
/// Text of one AArch64 instruction that stands at `address` (Capstone); ".word 0x1234" for words that it does not know.
std::string disassemble_a64(std::uint32_t word, std::uint64_t address);

}  // namespace trident::codegen
