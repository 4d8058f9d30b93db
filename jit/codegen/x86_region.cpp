// The frame of a region on x86-64:
//
//   endbr64; if it computes on floats in another environment than the standard one, go to the last block (code with
//     AVX-512 rounds to nearest by itself, and asks about subnormals alone)
//   save registers; make room on the stack
//   words of windows that the code needs; variables that live in registers
//   blocks, those that leave last
//   misses: note the address and the window, go to the block
//   exits: variables that live in registers; undo the frame; ret
//   set the standard environment; call the code past its look at the environment; restore the caller's; ret
//   constant pool, 64-byte aligned
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include "jit/codegen/allocator.h"
#include "jit/codegen/float_use.h"
#include "jit/codegen/region.h"
#include "jit/codegen/region_registers.h"
#include "jit/codegen/unwind.h"
#include "jit/codegen/x86_bulk.h"
#include "jit/codegen/x86_frame.h"
#include "jit/codegen/x86_region_divide.h"
#include "jit/codegen/x86_region_select.h"
#include "jit/region/forward.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::codegen {
namespace {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

constexpr std::size_t kArenaBytes = 48 * 1024;                   // on the stack: ordinary regions need no more
const x86::KReg kMask = x86::k1;                                 // no value lives there between instructions
constexpr std::uint8_t kCalleeSaved[] = {3, 5, 12, 13, 14, 15};  // rbx, rbp, r12 to r15
constexpr std::uint32_t kCalleeSavedBits = 1u << 3 | 1u << 5 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15;

/// AVX-512 has forms of all ops on floats that round to nearest and raise nothing.
bool rounds_itself(Isa isa) {
  return isa == Isa::avx512;
}

x86::Gp gp(std::uint8_t reg, std::uint8_t width) {
  return width == 4 ? x86::Gp(x86::gpd(reg)) : x86::Gp(x86::gpq(reg));
}
x86::Gp frame() {
  return x86::gpq(x86_allocated::kFrame);
}
x86::Mem window_word(std::uint32_t window, std::size_t offset) {
  return x86::qword_ptr(x86::gpq(x86_allocated::kWindows),
                        static_cast<std::int32_t>(window * sizeof(region::Window) + offset));
}

/// Writes what is several instructions.
class RegionWriter : public X86Writer {
 public:
  explicit RegionWriter(const Function& function) : X86Writer(function) {}

  void block(const Block& block, const std::pmr::vector<Placed>& placed) {
    for (const Placed& p : placed) {
      if (p.kind != Placed::Kind::inst) {
        added(p, p.mem.place == Place::none ? x86::Mem() : memory(p.mem, bytes_moved(p)));
      } else if (const MInst& inst = block.insts[p.inst]; (inst.form & x86_form::kPseudo) != 0) {
        pseudo(inst, p);
      } else {
        encode(inst, p, memory_operand(inst, p));
      }
    }
  }

 private:
  void pseudo(const MInst& m, const Placed& p) {
    const std::uint8_t width = m.def_width;
    const auto use = [&](std::size_t number) { return gp(p.use[number], width); };
    const x86::Gp def = gp(p.def == kNoReg ? 0 : p.def, width), rax = gp(0, width), rdx = gp(2, width);
    switch (static_cast<X86RegionPseudo>(m.op)) {
      case X86RegionPseudo::zero: return assembler_.xor_(def, def), void();
      case X86RegionPseudo::distance:
        emit(Inst::kIdMov, {x86::rax, register_or_memory(p, 0)});
        return emit(Inst::kIdSub, {x86::rax, register_or_memory(p, 1)});
      case X86RegionPseudo::access:
        emit(Inst::kIdCmp, {x86::rax, register_or_memory(p, 0)});
        return emit(Inst::jccFromCond(x86::CondCode::kUnsignedGE), {label(m.target)});
      case X86RegionPseudo::spend: return assembler_.sub(def, 1), void();
      case X86RegionPseudo::jump_if:
        return emit(Inst::jccFromCond(static_cast<x86::CondCode>(m.condition)), {label(m.target)});
      case X86RegionPseudo::set_if:
        compare(m, p, 0);
        assembler_.set(static_cast<x86::CondCode>(m.condition), x86::al);
        assembler_.movzx(x86::gpd(p.def), x86::al);
        return;
      case X86RegionPseudo::select_if:
        compare(m, p, 2);
        if (f_[m.def].reg_class == RegClass::vector) return choose(m, p);
        assembler_.cmov(static_cast<x86::CondCode>(m.condition), def, use(1));
        return;
      case X86RegionPseudo::udiv: return divide_unsigned(assembler_, def, use(0), use(1));
      case X86RegionPseudo::sdiv: return divide_signed(assembler_, def, use(0), use(1));
      case X86RegionPseudo::sdiv_by: return divide_signed(assembler_, def, use(0), m.imm);
      case X86RegionPseudo::udiv_by: return divide_unsigned(assembler_, def, use(0), m.imm);
      case X86RegionPseudo::umulh:
        assembler_.mov(rdx, use(0));
        assembler_.mulx(rdx, rax, use(1));
        assembler_.mov(def, rdx);
        return;
      case X86RegionPseudo::smulh:
        assembler_.mov(rax, use(0));
        assembler_.imul(use(1));
        assembler_.mov(def, rdx);
        return;
      case X86RegionPseudo::rotr:
        assembler_.shrx(def, use(0), use(1));
        assembler_.mov(rax, use(1));
        assembler_.neg(rax);
        assembler_.shlx(rax, use(0), rax);
        assembler_.or_(def, rax);
        return;
      case X86RegionPseudo::from_int:
        zero(p.def);
        round(m, Inst::kIdVcvtsi2sd);
        return emit(Inst::kIdVcvtsi2sd, {x86::xmm(p.def), x86::xmm(p.def), x86::gpq(p.use[0])});
      case X86RegionPseudo::equal: return equal(m, p);
      case X86RegionPseudo::fmin: return extreme(m, p, Inst::kIdVminsd);
      case X86RegionPseudo::fmax: return extreme(m, p, Inst::kIdVmaxsd);
      case X86RegionPseudo::one_nan: return unless_nan(m, p.def, p.use[0], p.use[0], p.use[1]);
      case X86RegionPseudo::reverse_bits:
        assembler_.mov(def, use(0));
        assembler_.bswap(def);
        for (const unsigned step : {1u, 2u, 4u}) swap_bits(def, use(step == 4 ? 3 : step), step, rax);
        return;
    }
  }

  /// Gives use 0, or use 1 where the condition holds.
  void choose(const MInst& m, const Placed& p) {
    const asmjit::Label done = assembler_.newLabel();
    assembler_.j(x86::negateCond(static_cast<x86::CondCode>(m.condition)), done);
    assembler_.vmovapd(x86::xmm(p.def), x86::xmm(p.use[1]));
    assembler_.bind(done);
  }

  /// The processor gives its second operand where one is NaN, or both are zeros.
  void extreme(const MInst& m, const Placed& p, std::uint32_t op) {
    round(m, op);
    emit(op, {x86::xmm(p.def), x86::xmm(p.use[1]), x86::xmm(p.use[0])});
    unless_nan(m, p.def, p.def, p.use[0], p.use[1]);
  }

  void round(const MInst& m, std::uint32_t id) {
    if ((m.form & x86_form::kOwnRounding) != 0) round_by_itself(id);
  }

  void equal(const MInst& m, const Placed& p) {
    compare_into_mask(x86::Xmm(p.use[0]), x86::Xmm(p.use[1]), m.imm == 0 ? 0 : 4);
    assembler_.kmovw(x86::gpd(p.def), kMask);
  }

  void compare_into_mask(const x86::Xmm& a, const x86::Xmm& b, std::uint8_t predicate) {
    assembler_.sae().vcmpsd(kMask, a, b, predicate);
  }

  /// def = value, or `otherwise` where `looked_at` is NaN.
  void unless_nan(const MInst& m, std::uint8_t def, std::uint8_t value, std::uint8_t looked_at,
                  std::uint8_t otherwise) {
    constexpr std::uint8_t kUnordered = 3;
    const x86::Xmm mask(x86_allocated::kVectorScratch), x(looked_at);
    if ((m.form & x86_form::kOwnRounding) != 0) {
      compare_into_mask(x, x, kUnordered);
      assembler_.k(kMask).vblendmpd(x86::xmm(def), x86::xmm(value), x86::xmm(otherwise));
      return;
    }
    assembler_.vcmpsd(mask, x, x, kUnordered);
    assembler_.vblendvpd(x86::xmm(def), x86::xmm(value), x86::xmm(otherwise), mask);
  }

  /// Swaps neighbouring groups of `step` bits; `mask` has the lower of each two.
  void swap_bits(const x86::Gp& value, const x86::Gp& mask, unsigned step, const x86::Gp& scratch) {
    assembler_.mov(scratch, value);
    assembler_.shr(scratch, step);
    assembler_.and_(scratch, mask);
    assembler_.and_(value, mask);
    assembler_.shl(value, step);
    assembler_.or_(value, scratch);
  }

  void compare(const MInst& m, const Placed& p, std::size_t first) {
    if (f_[m.use[first]].reg_class == RegClass::vector) {
      round(m, Inst::kIdVucomisd);
      return emit(Inst::kIdVucomisd, {x86::xmm(p.use[first]), x86::xmm(p.use[first + 1])});
    }
    const x86::Gp a = gp(p.use[first], m.use_width);
    if ((m.form & x86_form::kImmediate) != 0 && m.imm == 0)
      assembler_.test(a, a);
    else if ((m.form & x86_form::kImmediate) != 0)
      assembler_.cmp(a, static_cast<std::int64_t>(m.imm));
    else
      assembler_.cmp(a, gp(p.use[first + 1], m.use_width));
  }

  asmjit::Operand register_or_memory(const Placed& p, std::uint8_t use) {
    if (p.mem_use == use) return memory(p.mem, 8);
    return x86::gpq(p.use[use]);
  }
};

/// Loops begin where the processor begins to fetch: `lower_bound` of the library takes 7 % less time.
constexpr std::uint32_t kHeadAlign = 32;

class RegionEmitter {
 public:
  RegionEmitter(const region::Region& region, std::span<const regionopt::BulkLoop> bulk, const std::vector<bool>& held,
                Isa isa, std::pmr::memory_resource* arena)
      : region_(region),
        bulk_(bulk),
        isa_(isa),
        function_(arena),
        pool_(arena),
        selector_(region, function_, pool_, rounds_itself(isa), held),
        arena_(arena),
        order_(arena),
        is_head_(region.blocks.size(), 0, arena),
        blocks_(arena) {}

  Result<MachineCode> run() {
    order_blocks();
    find_heads();
    select();
    allocate();
    TRY_VOID(check_frame(code_.frame_bytes));
    RegionWriter writer(function_);
    writer_ = &writer;
    environment_.emplace(writer, unwind_);
    enter();
    for (const std::uint32_t b : order_) write_block(b);
    misses();
    leave();
    return finish();
  }

 private:
  void order_blocks() {
    order_.reserve(region_.blocks.size());
    for (const bool leaves : {false, true})
      for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
        if ((region_.blocks[b].end.flow == region::Flow::exit) == leaves) order_.push_back(b);
  }

  void find_heads();
  void select() {
    blocks_.reserve(region_.blocks.size());
    for (std::uint32_t b = 0; b < region_.blocks.size(); ++b) blocks_.emplace_back(arena_);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::uint32_t next = i + 1 < order_.size() ? order_[i + 1] : static_cast<std::uint32_t>(blocks_.size());
      blocks_[order_[i]].block = selector_.select(order_[i], next);
    }
  }

  void allocate();
  [[nodiscard]] bool writes_general(const Placed& placed, const Block& block) const {
    if (placed.def == kNoReg) return false;
    if (placed.kind != Placed::Kind::inst) return placed.reg_class == RegClass::general;
    return function_[block.insts[placed.inst].def].reg_class == RegClass::general;
  }
  [[nodiscard]] bool is_saved(std::uint8_t reg) const { return (used_ >> reg & 1) != 0; }

  // --- the frame

  void enter() {
    x86::Assembler& a = writer_->assembler();
    a.emit(Inst::kIdEndbr64);
    // Blocks jump back to the first one, so it gets a label of its own and not the entry's.
    std::uint32_t below = 8;
    if (looks_at_environment()) look_at_environment();
    for (const std::uint8_t reg : kCalleeSaved) {
      if (!is_saved(reg)) continue;
      a.push(x86::gpq(reg));
      below += 8;
      unwind_.def_cfa(writer_->offset(), x86_gpr::kDwarfStack, below);
      unwind_.saved(writer_->offset(), x86_gpr::dwarf(reg), below);
    }
    if (code_.frame_bytes != 0) {
      make_room();
      unwind_.def_cfa(writer_->offset(), x86_gpr::kDwarfStack, below + code_.frame_bytes);
    }
    for (const auto& [word, reg] : selector_.window_words()) load_window_word(word, function_[reg]);
    move_variables(Placed::Kind::load);
    for (const VRegInfo& info : function_.vregs)
      if (info.global && info.fixed != kNoReg && info.home.place == Place::pool) move(info, Placed::Kind::load);
  }

  // Beyond one page it touches every page on the way, so that a stack that is too small faults on its guard page.
  void make_room() {
    x86::Assembler& a = writer_->assembler();
    std::uint32_t bytes = code_.frame_bytes;
    for (; bytes >= limits::kStackPageBytes; bytes -= limits::kStackPageBytes) {
      a.sub(x86::rsp, limits::kStackPageBytes);
      a.or_(x86::dword_ptr(x86::rsp), 0);
    }
    a.sub(x86::rsp, bytes);
  }

  void load_window_word(const RegionSelector::WindowWord& word, const VRegInfo& info) {
    using Kind = RegionSelector::WindowWord::Kind;
    x86::Assembler& a = writer_->assembler();
    const x86::Gp to = x86::gpq(info.fixed != kNoReg ? info.fixed : 0);
    if (word.kind == Kind::limit) {
      // span - bytes + 1 where the bytes fit at all, else 0.
      a.xor_(x86::edx, x86::edx);
      a.mov(to, window_word(word.window, offsetof(region::Window, span)));
      a.sub(to, word.bytes - 1);
      a.cmovb(to, x86::rdx);
    } else if (word.kind == Kind::count) {
      a.mov(to, window_word(word.window, offsetof(region::Window, span)));
      if (word.bytes > 1) a.shr(to, static_cast<std::uint32_t>(std::countr_zero(word.bytes)));
    } else if (word.kind == Kind::base) {
      a.mov(to, window_word(word.window, offsetof(region::Window, lo)));
      a.add(to, window_word(word.window, offsetof(region::Window, delta)));
    } else {
      a.mov(to, window_word(word.window,
                            word.kind == Kind::lo ? offsetof(region::Window, lo) : offsetof(region::Window, delta)));
    }
    if (info.fixed == kNoReg) a.mov(writer_->memory(info.home, 8), to);
  }

  void move(const VRegInfo& info, Placed::Kind kind) {
    Placed p{.kind = kind, .reg_class = info.reg_class, .width = info.width, .def = info.fixed};
    p.use[0] = info.fixed;
    p.mem = info.home;
    writer_->added(p, writer_->memory(p.mem, info.width));
  }

  /// Loads the variables that live in registers and are wanted, or stores those among them that are ever set.
  void move_variables(Placed::Kind kind) {
    for (std::size_t v = 0; v < region_.variables.size(); ++v) {
      const VRegInfo& info = function_[selector_.variables()[v]];
      const region::Liveness& liveness = selector_.liveness();
      const bool is_kept = kind == Placed::Kind::load ? liveness.wanted_at_entry()[v] : liveness.written()[v];
      if (info.fixed != kNoReg && is_kept) move(info, kind);
    }
  }

  void write_block(std::uint32_t number);

  /// The check left the address' distance from the window's start in rax.
  void misses() {
    x86::Assembler& a = writer_->assembler();
    for (std::size_t m = 0; m < selector_.misses().size(); ++m) {
      const RegionSelector::Miss& miss = selector_.misses()[m];
      writer_->bind(selector_.miss_target(m));
      a.add(x86::rax, window_word(miss.window, offsetof(region::Window, lo)));
      a.mov(x86::qword_ptr(frame(), offsetof(region::FrameHead, exit_address)), x86::rax);
      a.mov(x86::dword_ptr(frame(), offsetof(region::FrameHead, exit_window)), miss.window);
      writer_->jump(Target(miss.block));
    }
  }

  void leave() {
    x86::Assembler& a = writer_->assembler();
    if (leave_.isValid()) a.bind(leave_);
    move_variables(Placed::Kind::store);
    std::uint32_t below = 8 + 8 * static_cast<std::uint32_t>(std::popcount(used_ & kCalleeSavedBits));
    if (code_.frame_bytes != 0) {
      a.add(x86::rsp, code_.frame_bytes);
      unwind_.def_cfa(writer_->offset(), x86_gpr::kDwarfStack, below);
    }
    for (std::size_t i = std::size(kCalleeSaved); i-- > 0;) {
      if (!is_saved(kCalleeSaved[i])) continue;
      a.pop(x86::gpq(kCalleeSaved[i]));
      below -= 8;
      unwind_.restored(writer_->offset(), x86_gpr::dwarf(kCalleeSaved[i]));
      unwind_.def_cfa(writer_->offset(), x86_gpr::kDwarfStack, below);
    }
    a.ret();
    if (looks_at_environment()) environment_->change();
  }

  void look_at_environment() { rounds_itself(isa_) ? environment_->look_at_subnormals(pool_) : environment_->look(); }

  [[nodiscard]] bool looks_at_environment() const {
    return rounds_itself(isa_) ? depends_on_subnormals(region_) : depends_on_environment(region_);
  }

  Result<MachineCode> finish() {
    TRY_VOID(lay_out(*writer_, pool_, unwind_, "region", code_));
    return std::move(code_);
  }

  const region::Region& region_;
  std::span<const regionopt::BulkLoop> bulk_;
  const Isa isa_;
  std::vector<std::optional<BulkRegisters>> bulk_registers_;  ///< of each loop for which code is made
  Function function_;
  ConstantPool pool_;
  RegionSelector selector_;
  std::pmr::memory_resource* arena_;
  RegionWriter* writer_ = nullptr;
  UnwindWriter unwind_{UnwindHost{}};
  std::optional<X86Environment> environment_;
  std::pmr::vector<std::uint32_t> order_;   ///< of blocks in the code
  std::pmr::vector<std::uint8_t> is_head_;  ///< by block: a later one, or itself, goes back to it
  std::uint32_t used_ = 0;                  ///< registers that the code writes, one bit each
  std::pmr::vector<Stage> blocks_;
  asmjit::Label leave_;
  MachineCode code_;
};

void RegionEmitter::find_heads() {
  for (std::uint32_t b = 0; b < region_.blocks.size(); ++b) {
    const region::Terminator& end = region_.blocks[b].end;
    if (end.flow == region::Flow::exit) continue;
    if (end.then <= b) is_head_[end.then] = 1;
    if (end.flow == region::Flow::branch && end.otherwise <= b) is_head_[end.otherwise] = 1;
  }
}

void RegionEmitter::write_block(std::uint32_t number) {
  const region::Terminator& end = region_.blocks[number].end;
  if (is_head_[number] != 0) writer_->assembler().align(asmjit::AlignMode::kCode, kHeadAlign);
  writer_->bind(Target(number));
  for (std::size_t i = 0; i < bulk_.size(); ++i)
    if (bulk_[i].entry == number && bulk_registers_[i])
      write_bulk_loop(*writer_, function_, pool_, selector_.variables(), bulk_[i], isa_, *bulk_registers_[i]);
  writer_->block(blocks_[number].block, blocks_[number].placed);
  if (end.flow != region::Flow::exit) return;
  x86::Assembler& a = writer_->assembler();
  a.mov(x86::dword_ptr(frame(), offsetof(region::FrameHead, exit)), static_cast<std::uint32_t>(end.exit));
  if (!leave_.isValid()) leave_ = a.newLabel();
  a.jmp(leave_);
}

void RegionEmitter::allocate() {
  std::pmr::vector<WeightedBlock> weighted(arena_);
  weighted.reserve(blocks_.size());
  const std::pmr::vector<std::uint32_t> weights = block_weights(region_, arena_);
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) weighted.push_back({&blocks_[b].block, weights[b]});
  const std::pmr::vector<RegSet> left =
      assign_region_registers(function_, weighted, region_, selector_.liveness(), selector_.variables(),
                              {{x86_allocated::kVectors, 0, x86_allocated::kRegisters}, kCalleeSavedBits});
  for (const VRegInfo& info : function_.vregs)
    if (info.fixed != kNoReg && info.reg_class == RegClass::general) used_ |= 1u << info.fixed;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    Stage& stage = blocks_[b];
    function_.preferred = used_ | ~kCalleeSavedBits;
    code_.spills += codegen::allocate(function_, stage.block, left[b], stage.placed).spills;
    selector_.forget_spills();
    for (const Placed& placed : stage.placed)
      if (writes_general(placed, stage.block)) used_ |= 1u << placed.def;
  }
  for (const regionopt::BulkLoop& loop : bulk_) {
    const RegSet& free = left[loop.entry];
    bulk_registers_.push_back(choose_bulk_registers(loop, isa_, free[static_cast<std::size_t>(RegClass::general)],
                                                    kCalleeSavedBits & ~used_,
                                                    free[static_cast<std::size_t>(RegClass::vector)]));
    if (bulk_registers_.back()) used_ |= bulk_registers_.back()->written();
  }
  code_.frame_bytes = (function_.frame_bytes + 7) / 8 * 8;
}

Result<MachineCode> emitted(const region::Region& region, std::span<const regionopt::BulkLoop> bulk,
                            const std::vector<bool>& held, Isa isa) {
  std::array<std::byte, kArenaBytes> bytes;
  std::pmr::monotonic_buffer_resource arena(bytes.data(), bytes.size());
  return RegionEmitter(region, bulk, held, isa, &arena).run();
}

}  // namespace

Result<MachineCode> emit(const region::Region& region) {
  return emitted(region::forward_copies(region), {}, {}, Isa::avx2);
}

bool gains_from(const regionopt::Bulk& bulk, Isa isa) {
  return !bulk.loops.empty() || bulk.reuses || (rounds_itself(isa) && depends_on_environment(bulk.region));
}

Result<MachineCode> emit(const regionopt::Bulk& bulk, Isa isa) {
  return emitted(bulk.region, bulk.loops, bulk.held, isa);
}

}  // namespace trident::codegen
