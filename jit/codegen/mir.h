// Machine IR, between kir and bytes. Instructions are the host's own, operands are virtual registers.
//
//   kir --select--> Block of MInst --schedule--> --allocate--> Block of Placed --> assembler
//
// Nothing here knows a host: an opcode is a number that the host's selector chose and its emitter understands. There
// are three register classes; the host says how many registers each has. The scheduler and the allocator work from the
// few facts below (the reads, the operands that may be memory, those that may be overwritten) and nothing else.
//
// Two kinds of virtual registers:
//   local    defined and used in one block; one definition, except where an instruction updates it in place
//   global   lives through the whole function: a constant, a parameter, an invariant, a reduction's partial results, a
//            variable. It has one home everywhere: a register (`fixed`) or a place in memory (`home`). So blocks can
//            follow each other in any order, and a branch may leave from the middle of one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "runtime/base/id.h"

namespace trident::codegen {

struct VRegTag;
using VReg = Id<VRegTag>;

struct TargetTag;
using Target = Id<TargetTag>;  ///< where branches go: a block, an exit

/// Kernels allocate no `general` registers: their addresses are few and fixed.
enum class RegClass : std::uint8_t { vector, mask, general };
inline constexpr std::size_t kRegClasses = 3;
inline constexpr std::uint8_t kNoReg = 0xFF;

enum class Place : std::uint8_t {
  none,
  input,    ///< element of input array `index`, `disp` bytes after the loop's index
  output,   ///< element of output array `index`, likewise
  pool,     ///< `disp` bytes into the constant pool
  param,    ///< scalar parameter `index`
  slot,     ///< `disp` bytes into the stack frame
  partial,  ///< the partial results at the loop's index: `disp` bytes into the stack frame, and its index modulo their
            ///< number in elements
  level,    ///< `disp` bytes into the stack frame, and the level of the tree that is being joined
  frame,    ///< `disp` bytes into the frame that the caller hands over
  based,    ///< base + index * `scale` + `disp`: any memory of the program; base and index are the instruction's last
            ///< uses
};

/// A place in memory.
struct MemRef {
  Place place = Place::none;
  std::uint8_t lane_bytes = 4;  ///< based: all bytes of the access
  bool broadcast = false;       ///< one lane in memory stands for all lanes
  std::uint8_t scale = 0;       ///< based: 1, 2, 4 or 8; 0: there is no index
  std::uint16_t index = 0;
  std::int32_t disp = 0;
};

struct VRegInfo {
  RegClass reg_class = RegClass::vector;
  bool global = false;
  bool memory_only = false;     ///< an array element that its only reader takes from memory; never in a register
  bool zero = false;            ///< all bits zero: cheaper to make than to load
  bool foldable = true;         ///< its home may be a memory operand; false: it can only be loaded from there
  std::uint8_t width = 0;       ///< bytes of the register that hold the value
  std::uint8_t lane_bytes = 4;  ///< of the value's type
  std::uint8_t copy = 0;        ///< locals with an array element as home: the copy it belongs to
  std::uint8_t fixed = kNoReg;  ///< global: its register, when it has one
  MemRef home{};                ///< where it can be loaded from; locals get one when they are spilled
};

/// Returns whether a register with this home may be dropped and loaded again: nothing but the allocator writes there,
/// or (input) the allocator knows what does. Memory of the program is no home: a store to any address may change it.
inline bool is_home(const VRegInfo& info) {
  if (info.home.place == Place::frame) return info.global;  // a local would not see its variable change
  return info.home.place != Place::based && info.home.place != Place::output;
}

/// Execution unit that an instruction occupies, for the scheduler.
enum class Unit : std::uint8_t { vector, load, store, divider, none };

inline constexpr std::size_t kUsesMax = 5;

struct MInst {
  std::uint16_t op = 0;        ///< the host's number
  std::uint8_t form = 0;       ///< the host's: how the operands are encoded
  std::uint8_t uses = 0;       ///< entries of `use`
  std::uint8_t def_width = 0;  ///< bytes
  std::uint8_t use_width = 0;  ///< bytes
  std::uint8_t copy = 0;       ///< which of the interleaved vectors it belongs to
  std::uint8_t ties = 0;       ///< bit i: `def` may take the register of use i. Not 0: it must take one of them
  std::uint8_t folds = 0;      ///< bit i: use i may be a memory operand (one at a time)
  bool commutes = false;       ///< uses 0 and 1 may change places
  bool exits = false;          ///< may leave the function here: no output is stored before it, whatever the copy
  bool early_def = false;      ///< `def` is written before the uses are read: no shared register
  Unit unit = Unit::vector;
  std::uint8_t latency = 1;
  std::uint8_t occupancy = 1;  ///< cycles (of the unit) per instruction
  std::uint8_t condition = 0;  ///< of branches; the host's number
  std::uint64_t imm = 0;
  VReg def;
  std::array<VReg, kUsesMax> use;
  MemRef mem{};   ///< of loads and stores
  Target target;  ///< valid: compares its uses, branches if `condition` holds; no flags live between instructions

  /// Returns how many of the uses are the address of `mem`; they come last.
  [[nodiscard]] std::uint8_t address_uses() const {
    if (mem.place != Place::based) return 0;
    return mem.scale != 0 ? 2 : 1;
  }
};

struct Block {
  explicit Block(std::pmr::memory_resource* arena) : insts(arena) {}
  std::pmr::vector<MInst> insts;
};

/// The virtual registers of one kernel and the frame that they spill to.
struct Function {
  explicit Function(std::pmr::memory_resource* memory) : arena(memory), vregs(memory) {}

  VReg add(const VRegInfo& info) {
    vregs.push_back(info);
    return VReg(static_cast<std::uint32_t>(vregs.size() - 1));
  }
  VRegInfo& operator[](VReg v) { return vregs[v.index]; }
  const VRegInfo& operator[](VReg v) const { return vregs[v.index]; }

  /// Returns a new place in the frame, `bytes` long and as much aligned.
  MemRef add_slot(std::uint8_t bytes, std::uint8_t lane_bytes) { return add_room(bytes, bytes, lane_bytes); }
  MemRef add_room(std::uint32_t bytes, std::uint32_t align, std::uint8_t lane_bytes) {
    frame_bytes = (frame_bytes + align - 1) / align * align;
    const MemRef room{.place = Place::slot, .lane_bytes = lane_bytes, .disp = static_cast<std::int32_t>(frame_bytes)};
    frame_bytes += bytes;
    return room;
  }

  /// Returns the register out of `free` that a local takes.
  [[nodiscard]] std::uint8_t first(std::uint32_t free) const {
    return static_cast<std::uint8_t>(std::countr_zero((free & preferred) != 0 ? free & preferred : free));
  }

  std::uint32_t preferred = 0;  ///< registers that locals take first, one bit each
  std::pmr::memory_resource* arena;
  std::pmr::vector<VRegInfo> vregs;
  std::uint32_t frame_bytes = 0;
};

/// An instruction with its registers, or a move that the allocator added.
struct Placed {
  enum class Kind : std::uint8_t { inst, load, store, move };
  Kind kind = Kind::inst;
  RegClass reg_class = RegClass::vector;  ///< of load, store, move
  std::uint8_t width = 0;                 ///< of load, store, move
  std::uint8_t def = kNoReg;
  std::array<std::uint8_t, kUsesMax> use{kNoReg, kNoReg, kNoReg, kNoReg, kNoReg};
  std::uint8_t mem_use = kNoReg;  ///< the use that is the memory operand `mem`
  bool zero = false;              ///< load: of all zeros
  std::uint32_t inst = 0;         ///< index into the block
  MemRef mem{};                   ///< of load, store, or use mem_use
};

/// Registers that a block may use, one bit each.
using RegSet = std::array<std::uint32_t, kRegClasses>;

}  // namespace trident::codegen
