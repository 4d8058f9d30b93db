// Chooses x86-64 instructions for regions: region blocks to machine IR.
//
// A target's number is that of its block; behind them come the misses, one for each Access.
#pragma once

#include <asmjit/x86.h>

#include <array>
#include <map>
#include <memory_resource>
#include <utility>
#include <vector>

#include "jit/codegen/constant_pool.h"
#include "jit/codegen/region_uses.h"
#include "jit/codegen/x86_writer.h"
#include "jit/region/region.h"

namespace trident::codegen {

inline std::uint8_t width_of(region::Type type) {
  return type == region::Type::i32 ? 4 : 8;
}

inline RegClass class_of(region::Type type) {
  return type == region::Type::f64 ? RegClass::vector : RegClass::general;
}

inline bool fits_in_32_bits(std::uint64_t bits, std::uint8_t width) {
  return width == 4 || static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits))) == bits;
}

/// An immediate of 32 bits is sign-extended; of a narrower op the encoder wants that too.
inline std::uint64_t as_immediate(std::uint64_t bits) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
}

inline std::uint8_t code(asmjit::x86::CondCode condition) {
  return static_cast<std::uint8_t>(condition);
}

/// Instructions of regions that are several of the processor's, or that have fixed registers. They use the scratch
/// registers.
enum class X86RegionPseudo : std::uint16_t {
  zero,         ///< def = 0
  distance,     ///< rax = use 0 - use 1, for the next instruction
  access,       ///< goes to `target` unless rax < use 0, unsigned
  spend,        ///< def = use 0 - 1; the flags are for the next instruction
  jump_if,      ///< goes to `target` if `condition` holds of the flags
  set_if,       ///< def = whether `condition` holds between use 0 and use 1 (or the immediate)
  select_if,    ///< def = use 1 if `condition` holds between use 2 and use 3 (or the immediate), else use 0
  udiv,         ///< def = use 0 / use 1; 0 by 0
  sdiv,         ///< likewise, signed; the least integer by -1 is itself
  sdiv_by,      ///< def = use 0 / imm, 64 bits; imm is none of -1, 0 and 1
  udiv_by,      ///< likewise, unsigned; imm is at least 2
  umulh,        ///< def = high half of use 0 * use 1
  smulh,        ///< likewise, signed
  rotr,         ///< def = use 0 rotated right by use 1
  from_int,     ///< def = use 0 as a float
  equal,        ///< def = whether use 0 == use 1, or differs where `imm` says so; rounds by itself
  fmin,         ///< def = use 1 if use 0 is NaN or use 1 is less, else use 0
  fmax,         ///< likewise, greater
  one_nan,      ///< def = use 0, or use 1 if that is NaN
  reverse_bits  ///< def = use 0 with its bits in reverse order; use 1 to use 3: masks of every second, fourth, 16th bit
};

class RegionSelector {
 public:
  /// `rounds_itself`: ops on floats become those of AVX-512 that round to nearest and raise nothing.
  /// `held`: by instruction, accesses that cannot miss; it may be empty.
  RegionSelector(const region::Region& region, Function& function, ConstantPool& pool, bool rounds_itself,
                 const std::vector<bool>& held);

  /// Returns the machine IR of block `number`, which `next` follows in the code. The ends of blocks that leave are the
  /// emitter's.
  Block select(std::uint32_t number, std::uint32_t next);

  struct Miss {
    std::uint32_t window, block;
  };
  /// Those of all blocks that were selected so far, in the order of their targets.
  [[nodiscard]] const std::pmr::vector<Miss>& misses() const { return misses_; }
  [[nodiscard]] Target miss_target(std::size_t number) const {
    return Target(static_cast<std::uint32_t>(region_.blocks.size() + number));
  }

  /// Forgets where locals were spilled to. Blocks share their locals, or allocation would take the number of blocks
  /// times that of all locals: call it between the allocations of two blocks.
  void forget_spills();

  [[nodiscard]] const region::Liveness& liveness() const { return uses_.liveness(); }
  /// The registers of variables, by their numbers.
  [[nodiscard]] const std::pmr::vector<VReg>& variables() const { return variables_; }
  /// Globals that the prologue fills from the windows. `limit`: the number of addresses where that many bytes fit;
  /// `base`: the host's address of the first element; `count`: the number of elements of that many bytes.
  struct WindowWord {
    enum class Kind : std::uint8_t { lo, delta, limit, base, count };
    Kind kind;
    std::uint32_t window, bytes;
    auto operator<=>(const WindowWord&) const = default;
  };
  [[nodiscard]] const std::pmr::map<WindowWord, VReg>& window_words() const { return window_words_; }

 private:
  struct Comparison {
    asmjit::x86::CondCode condition;
    region::Value a, b;
    std::uint8_t width;
  };

  MInst& push(std::uint32_t op, std::initializer_list<VReg> uses, std::uint8_t width);
  MInst& pseudo(X86RegionPseudo op, std::initializer_list<VReg> uses, std::uint8_t width);
  VReg local(region::Type type);
  VReg define(region::Value v, MInst& inst);
  VReg window_word(WindowWord::Kind kind, std::uint32_t window, std::uint32_t bytes = 0);

  /// The register that holds `v`, or its low half where `v` was truncated.
  VReg reg(region::Value v);
  VReg constant(std::uint64_t bits, std::uint8_t width);
  VReg float_constant(std::uint64_t bits);
  /// Moves a number of at most 32 bits; the caller says where to.
  MInst& number(std::uint64_t bits, std::uint8_t width);
  [[nodiscard]] bool is_immediate(region::Value v) const;
  [[nodiscard]] bool is_constant(region::Value v) const;
  [[nodiscard]] bool is_zero(region::Value v) const;
  [[nodiscard]] const region::Inst& at(region::Value v) const { return region_.insts[v.index]; }
  /// Lets the uses of `mask` be memory operands where they are as wide as they are read.
  void fold(MInst& inst, std::uint32_t mask);

  void instruction(std::uint32_t index);
  void get(std::uint32_t index);
  void set(const region::Inst& inst);
  void add(region::Value v);
  [[nodiscard]] bool overwrites_operand(region::Value v) const;
  void binary(region::Value v, std::uint32_t op, bool commutes);
  void unary(region::Value v, std::uint32_t op, bool tied);
  void shift(region::Value v, std::uint32_t by_immediate, std::uint32_t by_register);
  void rotate(region::Value v);
  void extend(region::Value v, std::uint32_t op, std::uint8_t from);
  void multiply(region::Value v);
  void wide_op(region::Value v, X86RegionPseudo op);
  /// Divides by a constant without the divider where it can.
  void divide(region::Value v, X86RegionPseudo by_register, X86RegionPseudo by_constant);
  void reverse_bits(region::Value v);
  void select(region::Value v);
  void float_op(region::Value v, std::uint32_t op);
  /// Marks an instruction on floats whose use number `folded` could be in memory.
  void finish_float(MInst& inst, std::uint32_t folded);
  void rounded(region::Value v);
  void sign_bits(region::Value v);
  void float_pseudo(region::Value v, X86RegionPseudo op);
  void fused(region::Value v);
  void equality(region::Value v);
  void convert(region::Value v, std::uint32_t op);
  void compare(region::Value v);
  void access(region::Value v);
  void element(region::Value v);
  [[nodiscard]] bool is_near(const region::Inst& access) const;
  struct Address {
    VReg base{}, index{};  ///< index: not where a constant takes its place
    MemRef mem;
  };
  /// Where a load or store finds its memory.
  Address address_of(const region::Inst& inst);
  static void add_address(MInst& inst, const Address& address);
  void load(region::Value v);
  void store(const region::Inst& inst);

  /// Returns whether the block ends with a branch on a variable that is 0, and with taking 1 from it just before.
  [[nodiscard]] bool ends_spending(const region::Block& block) const;
  [[nodiscard]] Comparison comparison_of(region::Value condition) const;
  /// Appends the operands of a comparison to `inst`, the second as an immediate if it is one.
  void add_comparison(MInst& inst, const Comparison& comparison);
  void spend(const region::Block& block, std::uint32_t next);
  void end(const region::Terminator& end, std::uint32_t next);
  void jump(std::uint32_t block, std::uint32_t next);

  const region::Region& region_;
  RegionUses uses_;
  Function& f_;
  ConstantPool& pool_;
  const bool rounds_itself_;
  const std::vector<bool>& held_;
  std::pmr::vector<VReg> variables_, values_;
  std::array<std::pmr::vector<VReg>, 4> locals_;  ///< by type
  std::array<std::size_t, 4> used_locals_{};      ///< by the block at hand
  std::pmr::map<std::uint64_t, VReg> pool_constants_, float_constants_;
  std::pmr::map<WindowWord, VReg> window_words_;
  std::pmr::vector<Miss> misses_;
  Block* block_ = nullptr;
  std::uint32_t last_ = 0;  ///< of the region's block at hand
};

}  // namespace trident::codegen
