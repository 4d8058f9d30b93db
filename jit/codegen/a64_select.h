// Instruction selection for AArch64: kir sections become blocks of machine IR.
//
// Vectors are 128 bits wide; a kernel with any 8-byte value works on two elements per vector and keeps its 4-byte
// values in the lower halves of registers. Invariants and the epilogue are computed in every lane alike, so nothing has
// to be broadcast between sections. Masks are vectors of all ones and all zeros.
//
// The tail takes one element at a time: the same instructions, with loads and stores of one lane. The other lanes hold
// zeros from the load and values computed from them; no instruction traps. Partial results of reductions live in
// registers during the main loop of a chunk (jit/kir/reduction.h) and in the frame, lane by lane, from there on.
//
// The files: a64_select.cpp sections, values, loads, stores; a64_reduce.cpp reductions; a64_arith.cpp arithmetic,
// integers, masks; a64_convert.cpp conversions, scalef, lookup; a64_tables.cpp the element's number and reading of
// tables; a64_elements.cpp arrays with narrow elements.
#pragma once

#include <initializer_list>

#include "jit/codegen/constant_pool.h"
#include "jit/codegen/half_products.h"
#include "jit/codegen/mir.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

struct A64Target {
  std::uint32_t lanes = 4;  ///< elements per vector
  std::uint32_t unit = 1;   ///< vectors that a loop step is a multiple of: all partial results of every reduction

  [[nodiscard]] std::uint8_t width_of(std::uint32_t lane_bytes) const {
    return static_cast<std::uint8_t>(lanes * lane_bytes);
  }
};

/// MInst::form, bits. Operands are encoded as: def, uses in order, immediate; the arrangement of each follows from its
/// virtual register's width and lane bytes.
namespace a64_form {
inline constexpr std::uint8_t kPlain = 0;
inline constexpr std::uint8_t kTied = 1;      ///< use 0 is the register of def and not encoded again
inline constexpr std::uint8_t kBytes = 2;     ///< all operands as bytes
inline constexpr std::uint8_t kUseWords = 4;  ///< uses as 4-byte lanes
inline constexpr std::uint8_t kImmediate = 8;
inline constexpr std::uint8_t kMemory = 16;    ///< loads from or (without def) stores to `mem`
inline constexpr std::uint8_t kOneLane = 32;   ///< with kMemory: lane 0 only
inline constexpr std::uint8_t kPseudo = 64;    ///< op is an A64Pseudo
inline constexpr std::uint8_t kResizes = 128;  ///< the operand with the wider lanes has 16 bytes, the other one 8
}  // namespace a64_form

enum class A64Pseudo : std::uint16_t {
  count,       ///< def = n as type `imm` (ir::Type) in all lanes
  first_lane,  ///< def = lane 0 of the use in all lanes
  save_count,  ///< n to the frame at `mem`
  position,    ///< def = the number of the loop's first element in all lanes; n stands at `mem`
  gather,      ///< def = elements of table `mem` at the indices (use 0), 0 where outside; the length is parameter imm
  leave_if,    ///< leaves the kernel if a lane of the mask is set, or (`imm` is its bytes) the first lane
  lookup,      ///< def = entries of the table at pool offset `mem.disp`; use: indices; imm: log2 of the entries
};

class A64Selector {
 public:
  A64Selector(const kir::Kernel& kernel, const A64Target& target, Function& function, ConstantPool& pool);

  /// Selects the invariants that the body or the epilogue reads.
  Block select_invariants();
  /// Selects `copies` vectors of the body, one after the other in source order.
  Block select_body(std::uint32_t copies);
  /// Selects one element of the body.
  Block select_tail();
  /// Computes the epilogue, stores scalar outputs.
  Block select_epilogue();

  // Blocks of reductions (a64_reduce.cpp): see x86_select.h.
  [[nodiscard]] bool reduces() const { return !reductions_.empty(); }
  /// A block in which `each` emits code for every reduction, of whose type operations are.
  template <class Each>
  Block reduction_block(Each each);
  Block select_start();
  Block select_parking();
  Block select_chunk_end();
  Block select_join();
  Block select_keep();
  /// Selects the test of an exit behind chunks.
  Block select_decided();
  static constexpr std::uint8_t kTreeBytes = 16;  ///< in the frame, by level; lane 0 counts

  [[nodiscard]] bool has_loop() const { return has_loop_; }
  /// Returns the word of the frame where position finds the end of what the counter counts; none when nothing asks.
  [[nodiscard]] const MemRef& count_slot() const { return count_slot_; }
  /// Returns the target for a kernel: its widest live value decides.
  static A64Target make_target(const kir::Kernel& kernel);

 private:
  enum class Context : std::uint8_t { invariant, body, tail, epilogue };
  struct ConstantKey {
    std::uint64_t bits;
    std::uint8_t lane_bytes;
    VReg vreg;
  };

  // a64_select.cpp
  void analyse();
  [[nodiscard]] bool is_alias(const kir::Inst& inst) const;
  void start_section(Block& block, Context context);
  void select_section(kir::Section section);
  VReg reg(kir::Value v);
  VReg input(kir::Value v);
  VReg published(kir::Value v);
  void store(VReg value, const MemRef& to, bool one_lane);
  void body_copy();
  VReg join_exits(VReg so_far);
  void leave_if(VReg mask);
  void load_results();

  // a64_reduce.cpp
  struct Reduction {
    kir::Value value;                 ///< the reducing instruction
    std::uint32_t first_partial = 0;  ///< in partials_
    MemRef partials, trees, tree;     ///< in the frame: partial results, trees by level, the one at hand
  };
  [[nodiscard]] std::uint32_t vectors_of(const Reduction& reduction) const;
  void add_reduction(kir::Value v);
  void accumulate(const Reduction& reduction);
  VReg chunk_result(const Reduction& reduction);
  VReg join(const kir::Inst& reduction, VReg earlier, VReg later);
  VReg join_element(const kir::Inst& reduction, VReg partial);

  // Building instructions. Width and lane bytes are those of the type set last.
  void set_type(ir::Type type);
  MInst& push(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t form = 0);
  VReg emit(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t latency = 2, std::uint8_t form = 0);
  VReg emit_imm(std::uint32_t id, std::initializer_list<VReg> uses, std::uint32_t imm, std::uint8_t form = 0);
  VReg emit_tied(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t latency = 2, std::uint8_t form = 0);
  VReg load(const MemRef& from);
  VReg constant(std::uint64_t bits);  ///< in lanes of the current type

  // a64_arith.cpp
  VReg select(const kir::Inst& inst);
  VReg select_float(const kir::Inst& inst);
  VReg select_int(const kir::Inst& inst);
  VReg select_logic(const kir::Inst& inst);
  VReg select_compare(const kir::Inst& inst);
  VReg compare(kir::Op op, ir::Type type, VReg a, VReg b);
  VReg least(ir::Type type, VReg a, VReg b);
  VReg greatest(ir::Type type, VReg a, VReg b);
  VReg blend(VReg mask, VReg if_set, VReg if_clear);
  VReg mul_i64(VReg a, VReg b);
  VReg low_half(VReg a);
  VReg half_factor(kir::Value v);
  VReg shift(const kir::Inst& inst);

  // a64_convert.cpp
  VReg select_convert(const kir::Inst& inst);
  VReg convert_number(ir::Type from, ir::Type to, VReg a);
  VReg float_to_int(ir::Type from, ir::Type to, VReg a, bool nearest);
  VReg i64_to_f32(VReg a);
  VReg scalef(ir::Type type, VReg a, VReg b);
  VReg lookup(const kir::Inst& inst);

  // a64_elements.cpp
  VReg load_elements(const kir::Inst& input, ir::Storage storage);
  void store_elements(VReg value, ir::Storage storage, MemRef to);

  // a64_tables.cpp
  VReg element_number(ir::Type type);
  VReg select_read(const kir::Inst& inst);
  VReg gather(const kir::Inst& inst, VReg index);

  const kir::Kernel& kernel_;
  const A64Target& target_;
  Function& f_;
  ConstantPool& pool_;

  std::pmr::vector<bool> live_;
  std::pmr::vector<VReg> globals_;  ///< parameters and published invariants, by kir value
  std::pmr::vector<VReg> values_;   ///< of the section and copy being selected
  std::pmr::vector<Reduction> reductions_;
  std::pmr::vector<VReg> partials_;
  std::pmr::vector<MInst> held_stores_;  ///< of a kernel with an exit, for behind it
  std::pmr::vector<ConstantKey> constants_;
  bool has_loop_ = false;
  MemRef count_slot_{};           ///< in the frame, for kernels that ask for the element's number
  std::uint32_t copies_ = 0;      ///< of the body being selected
  bool whole_registers_ = false;  ///< while partial results are combined

  Block* block_ = nullptr;
  Context context_ = Context::invariant;
  std::uint32_t copy_ = 0;
  std::uint8_t width_ = 16;
  std::uint8_t lane_ = 4;
};

}  // namespace trident::codegen
