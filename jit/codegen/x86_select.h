// Instruction selection for x86-64: kir sections become blocks of machine IR.
//
// The body is selected once per interleaved vector ("copy"). The invariant and the epilogue section are selected once,
// in 128-bit registers of which only lane 0 counts; invariants that the body reads are broadcast ("published"). Values
// of 4-byte lanes beside 8-byte lanes live in registers of half the width, so all vectors have the same lane count.
// Masks are opmask registers with AVX-512 and full vectors of ones and zeros with AVX2.
//
// The files: x86_select.cpp sections, values, loads and stores; x86_arith.cpp ops that are one instruction;
// x86_divide.cpp division and roots without the divider; x86_int.cpp integer ops; x86_mask.cpp comparisons and selects;
// x86_exit.cpp exits; x86_convert.cpp conversions, lookup; x86_scale.cpp scalef; x86_tables.cpp the element's number,
// gathers, strided loads. Reductions are x86_reduce.h's, estimated roots and quotients x86_estimates.h's, exits that
// test ranges x86_ranges.h's, narrow elements x86_elements.h's, bodies in lanes of one or two bytes
// x86_small_lanes.h's.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "jit/codegen/x86_elements.h"
#include "jit/codegen/x86_estimates.h"
#include "jit/codegen/x86_ranges.h"
#include "jit/codegen/x86_reduce.h"
#include "jit/codegen/x86_target.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

/// Returns the bits of a constant, of an f32's in the lower half.
constexpr std::uint64_t bits_of(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
constexpr std::uint64_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline constexpr double kTwo52 = 4503599627370496.0;  ///< from here on doubles are integers

/// Returns the lanes of a kernel's body: as many as the widest of its values leave.
X86Target make_target(const kir::Kernel& kernel, Isa isa, const Variant& variant);
/// Returns the widths in bytes, added up, of the lanes that a step loads or stores.
std::uint32_t lanes_of_tail(const kir::Kernel& kernel, std::uint64_t live_inputs);

/// A constant that the selector itself has made.
struct X86Constant {
  std::uint64_t bits;
  std::uint8_t lane_bytes;
  VReg vreg;
};

/// A constant whose lanes differ, by its place in the pool.
struct X86NumbersRow {
  std::int32_t disp;
  std::uint8_t width;
  VReg vreg;
};

/// Says which lanes of its mask make an exit leave: any that is set or clear, or the first if it is set.
enum class X86Leave : std::uint8_t { any_set, any_clear, first_lane };

class X86Selector {
  friend class X86Elements;
  friend class X86Estimates;
  friend class X86SmallLanes;
  friend class X86Reducer;
  friend class X86Ranges;

 public:
  struct Options {
    bool fold_loads = true;      ///< array elements may be memory operands and read again; false: one load each
    bool share_divisors = true;  ///< quotients by one divisor come from its reciprocal, divided out once
    std::uint8_t newton = 0;     ///< eighths of divisions and square roots that avoid the divider
    bool underflow_apart = false;
  };
  X86Selector(const kir::Kernel& kernel, const X86Target& target, const Options& options, Function& function,
              ConstantPool& pool);

  /// Selects the invariants that the body or the epilogue reads.
  Block select_invariants();
  /// Selects `copies` vectors of the body, one after the other in source order; with tail masks when `masked`. With
  /// enough copies the partial results of a reduction are globals, otherwise they stand in the frame.
  Block select_body(std::uint32_t copies, bool masked);
  /// Computes the epilogue, stores scalar outputs; or tests an exit behind chunks.
  Block select_epilogue(), select_decided();

  /// Returns what selects the reductions' parts.
  [[nodiscard]] X86Reducer& reducer() { return reducer_; }

  [[nodiscard]] bool has_loop() const { return has_loop_; }
  [[nodiscard]] bool reads_params() const { return reads_params_; }
  /// Returns whether the prologue reads lengths of tables from the parameters' memory.
  [[nodiscard]] bool reads_tables() const { return !bounds_.empty() || !strided_.empty(); }
  /// Returns whether the body branches to code behind the loop.
  [[nodiscard]] bool has_rare_cases() const { return has_strided_ || has_doubtful_ || options_.underflow_apart; }
  [[nodiscard]] const std::pmr::vector<X86StridedRead>& strided_reads() const { return strided_; }
  /// Returns one bit per input array that the kernel reads.
  [[nodiscard]] std::uint64_t live_inputs() const { return live_inputs_; }

 private:
  enum class Context : std::uint8_t { invariant, body, epilogue };

  // x86_select.cpp
  void analyse();
  void mark_live(std::span<std::uint8_t> live) const;
  void select(kir::Value v);
  VReg reg(kir::Value v);
  /// Does as `reg`, but may leave an array element in memory for the one instruction that reads it.
  VReg foldable(kir::Value v);
  VReg input(kir::Value v, bool memory_only);
  [[nodiscard]] bool is_widened(const kir::Inst& inst) const;
  VReg published(kir::Value v);
  void publish(kir::Value v, VReg local);
  void settle(kir::Value v);
  void store_output(std::uint32_t output, VReg value, bool one_lane);
  VReg tail_mask(std::uint32_t lane_bytes);
  [[nodiscard]] bool tests_negation() const;
  [[nodiscard]] kir::Value exit_bits() const;
  VReg join_exits(VReg so_far);
  void leave_if(VReg mask, X86Leave leave), leave_if_any_bit(VReg bits);

  // Building instructions. Widths and lane bytes are those of the op being selected (set_type).
  void set_type(ir::Type type);
  std::uint8_t width_of(ir::Type type) const;
  VReg new_local(RegClass reg_class, std::uint8_t width, std::uint8_t lane_bytes);
  MInst& push(std::uint32_t id, std::initializer_list<VReg> uses);
  MInst& push_mask(std::uint32_t id, std::initializer_list<VReg> uses);
  MInst& below(VReg a, VReg b);  ///< the mask of a < b as unsigned integers (AVX-512 only)
  VReg emit(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t latency = 1, std::uint8_t folds = 0);
  VReg emit_imm(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t imm, std::uint8_t latency = 1);
  VReg constant(std::uint64_t bits);  ///< in lanes of the current type
  VReg constant_of(std::uint64_t bits, std::uint8_t lane_bytes);
  /// Picks the id for the current lane width.
  [[nodiscard]] std::uint32_t pick(std::uint32_t id32, std::uint32_t id64) const { return lane_ == 4 ? id32 : id64; }

  // x86_arith.cpp
  bool select_row(kir::Value v, const kir::Inst& inst);
  VReg select_arith(kir::Value v, const kir::Inst& inst);
  VReg logic(kir::Op op, VReg a, VReg b);
  VReg fused(std::uint32_t id132, VReg a, VReg b, VReg c);

  // x86_divide.cpp
  struct Reciprocal {
    kir::Value divisor;
    VReg value, condition;
    bool rounded = false;  ///< it is the rounded reciprocal itself
  };
  VReg exact_reciprocal(const kir::Inst& inst);
  bool takes_newton_form(const kir::Inst& inst);
  VReg newton_divide(const kir::Inst& inst);
  VReg newton_sqrt(const kir::Inst& inst);
  bool shares_divisor(const kir::Inst& inst) const;
  bool spends_newton_share(ir::Type type, std::uint8_t flags);
  Reciprocal reciprocal(const kir::Inst& quotient);
  VReg require_bits(VReg so_far, VReg value, std::uint64_t bits);
  VReg require_range(VReg so_far, VReg value, std::uint64_t low, std::uint64_t span);
  VReg require_middle(VReg so_far, VReg value);
  VReg guarded(VReg result, std::initializer_list<VReg> operands, VReg condition, std::uint8_t how);

  // x86_int.cpp
  VReg select_int(const kir::Inst& inst);
  VReg shift(const kir::Inst& inst);
  VReg mul_i64(VReg a, VReg b), mul_by_half(VReg a, VReg half);
  /// An integer op that merges with the op that made one of its operands, and the operands that it then reads.
  struct Merged {
    enum class Form : std::uint8_t {
      none,
      u32_product,  ///< a * b of low halves alone, unsigned (half_products.h); i32_product: signed
      i32_product,
      masked_sum,      ///< a + b or a - b in lanes of the mask c, a elsewhere
      or_of_and,       ///< a | (b & c)
      unsigned_less,   ///< a < b of unsigned integers: signed ones with flipped top bits
      wrapped_lookup,  ///< entry a of a table, modulo its size
    };
    Form form = Form::none;
    kir::Value a, b, c;
  };
  [[nodiscard]] Merged merged(const kir::Inst&inst) const, merged_integers(const kir::Inst&inst) const;
  [[nodiscard]] Merged merged_product(const kir::Inst& inst) const;
  [[nodiscard]] Merged merged_sum(const kir::Inst& inst) const;
  [[nodiscard]] Merged merged_or(const kir::Inst& inst) const;
  [[nodiscard]] Merged merged_less(const kir::Inst& inst) const;
  VReg select_merged(const kir::Inst& inst, const Merged& parts);
  VReg min_max_i64(bool max, VReg a, VReg b);
  VReg neg_int(VReg a), sign_i64(VReg a);  ///< the latter: all ones where negative

  // x86_mask.cpp
  VReg select_compare(const kir::Inst& inst);
  VReg compare_vector(kir::Op op, ir::Type type, VReg a, VReg b);
  VReg select_mask_logic(const kir::Inst& inst);
  VReg select_select(const kir::Inst& inst);
  VReg blend(VReg mask, VReg if_set, VReg if_clear);
  VReg convert_mask(const kir::Inst& inst);
  VReg mask_constant(bool ones, ir::Type type);

  // x86_convert.cpp, x86_scale.cpp
  VReg select_convert(const kir::Inst& inst);
  VReg convert_with(std::uint32_t id, VReg a, ir::Type from, ir::Type to, std::uint8_t latency, bool folds);
  VReg to_i64(VReg f64_integral);
  VReg i64_to_f64(VReg a, bool upper_only = false);
  VReg i64_to_f32(VReg a), narrow_i64(VReg a);
  VReg select_scalef(const kir::Inst&inst), scale_within(const kir::Inst&inst), scale_apart(const kir::Inst&inst);
  VReg select_lookup(const kir::Inst& inst, VReg index);
  VReg lookup_avx512(const kir::Table& table, VReg index);
  VReg lookup_avx2(const kir::Table& table, VReg index);

  // x86_tables.cpp
  VReg select_index(const kir::Inst& inst);
  VReg select_gather(const kir::Inst& inst);
  VReg inside_table(const kir::Inst& inst, VReg index);
  VReg table_bound(std::uint64_t table, ir::Type index);
  VReg select_strided(const kir::Inst& inst);
  std::size_t strided_read(const kir::Inst& inst);
  VReg row(std::uint8_t lane_bytes, std::span<const std::uint64_t> lanes);
  void start_bounds();
  void start_strided();

  const kir::Kernel& kernel_;
  const X86Target& target_;
  Options options_;
  Function& f_;
  ConstantPool& pool_;

  std::pmr::vector<std::uint16_t> body_uses_;  ///< readers in the body, saturating; array outputs and reductions count
  std::pmr::vector<std::uint8_t> live_;        ///< bit 0: needed; bit 1: read by the body; bit 2: by the epilogue
  std::pmr::vector<VReg> globals_;             ///< constants, parameters, published invariants, by kir value
  std::pmr::vector<std::uint8_t> quotients_;   ///< divisions by a value in the body that may share its reciprocal
  std::pmr::vector<VReg> values_;              ///< of the section and copy being selected
  std::pmr::vector<std::uint16_t> settlers_;   ///< first output or reduction that takes a value, + 1
  std::pmr::vector<std::uint16_t> next_settler_;
  X86Reducer reducer_;
  std::pmr::vector<X86Constant> own_constants_;
  X86Ranges ranges_;
  X86Elements elements_{*this};
  X86Estimates estimates_{*this};
  std::pmr::vector<MInst> held_stores_;      ///< of a kernel with an exit, for behind it
  std::pmr::vector<std::uint32_t> pending_;  ///< outputs that wait for the last load of their copy
  struct TableBound {
    std::uint32_t table;
    std::uint8_t lane_bytes;
    VReg vreg;
  };
  std::pmr::vector<TableBound> bounds_;
  std::pmr::vector<X86NumbersRow> rows_;
  std::pmr::vector<X86StridedRead> strided_;
  MemRef strided_room_{};
  std::uint32_t body_inputs_ = 0, inputs_left_ = 0;  ///< input instructions of one copy; those not selected yet
  std::uint64_t live_inputs_ = 0;
  bool has_strided_ = false, has_doubtful_ = false, has_loop_ = false, reads_params_ = false;
  bool has_invariants_ = false, has_epilogue_ = false, has_scalar_outputs_ = false;  ///< something to compute there
  static constexpr std::uint32_t kNewtonAll = 8;
  std::uint32_t newton_share_ = 0;
  std::pmr::vector<Reciprocal> reciprocals_;  ///< of this copy

  Block* block_ = nullptr;
  Context context_ = Context::invariant;
  std::uint32_t copy_ = 0;
  bool masked_ = false;
  std::array<VReg, 2> tail_masks_{};  ///< of this copy, for 4- and 8-byte lanes
  std::uint8_t width_ = 16, lane_ = 4;
};

inline X86Selector::Merged X86Selector::merged(const kir::Inst& inst) const {
  // Arithmetic on floats merges with nothing.
  return ir::is_float(inst.type) && inst.op != kir::Op::Lookup ? Merged{} : merged_integers(inst);
}

}  // namespace trident::codegen
