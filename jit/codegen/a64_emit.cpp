#include "jit/codegen/a64_emit.h"

#include <algorithm>
#include <bit>

#include "jit/kir/reduction.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace a64 = asmjit::a64;
using a64::Inst;

A64Emitter::A64Emitter(const kir::Kernel& kernel, const Function& function, bool all_registers)
    : kernel_(kernel),
      f_(function),
      all_registers_(all_registers),
      pointers_(kernel.inputs.size() + kernel.outputs.size(), function.arena) {
  code_.init(asmjit::Environment(asmjit::Arch::kAArch64));
  code_.attach(&assembler_);
  pool_ = assembler_.newLabel();
}

// --- pointers --------------------------------------------------------------------------------------------------------

std::size_t A64Emitter::pointer_number(const MemRef& ref) const {
  return ref.place == Place::input ? ref.index : kernel_.inputs.size() + ref.index;
}

std::uint32_t A64Emitter::assign_pointers(std::span<const Block* const> blocks, std::uint32_t frame_offset) {
  for (const Block* block : blocks)
    for (const MInst& inst : block->insts) {
      if (inst.mem.place != Place::input && inst.mem.place != Place::output) continue;
      Pointer& pointer = pointers_[pointer_number(inst.mem)];
      pointer.used = true;
      pointer.lane_bytes = inst.mem.lane_bytes;
    }
  constexpr std::array<std::uint8_t, 12> kFree = {0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  constexpr std::array<std::uint8_t, 10> kCalleeSaved = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
  std::size_t taken = kernel_.leaves_steps() ? 1 : 0;  // the first one holds the result
  static_assert(kFree[0] == a64_gpr::kResult);
  std::uint32_t frame = frame_offset;
  for (Pointer& pointer : pointers_) {
    if (!pointer.used) continue;
    if (taken < kFree.size()) {
      pointer.reg = kFree[taken++];
    } else if (saved_count_ < kCalleeSaved.size()) {
      pointer.reg = saved_[saved_count_] = kCalleeSaved[saved_count_];
      ++saved_count_;
    } else {
      pointer.slot = frame;
      frame += 8;
    }
  }
  return frame - frame_offset;
}

void A64Emitter::load_pointers() {
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    const Pointer& pointer = pointers_[i];
    if (!pointer.used) continue;
    const bool input = i < kernel_.inputs.size();
    const std::size_t index = input ? i : i - kernel_.inputs.size();
    const std::uint8_t reg = pointer.reg != kNoReg ? pointer.reg : a64_gpr::kPointer;
    check(assembler_.ldr(a64::x(reg), a64::ptr(a64::x(input ? a64_gpr::kInputs : a64_gpr::kOutputs),
                                               static_cast<std::int32_t>(8 * index))));
    if (pointer.reg == kNoReg) check(assembler_.str(a64::x(reg), frame_operand(pointer.slot, 8)));
  }
}

void A64Emitter::advance_pointers(std::uint32_t elements) {
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    const Pointer& pointer = pointers_[i];
    if (!pointer.used) continue;
    if (i >= kernel_.inputs.size() && kernel_.outputs[i - kernel_.inputs.size()].kind == kir::OutputKind::scalar)
      continue;
    const std::uint32_t bytes = elements * pointer.lane_bytes;
    if (pointer.reg != kNoReg) {
      add(pointer.reg, pointer.reg, bytes);
      continue;
    }
    check(assembler_.ldr(a64::x(a64_gpr::kPointer), frame_operand(pointer.slot, 8)));
    add(a64_gpr::kPointer, a64_gpr::kPointer, bytes);
    check(assembler_.str(a64::x(a64_gpr::kPointer), frame_operand(pointer.slot, 8)));
  }
}

void A64Emitter::add(std::uint8_t reg, std::uint8_t from, std::int64_t amount) {
  const auto gpr = [](std::uint8_t r) { return r == a64_gpr::kStack ? a64::sp : a64::x(r); };
  const bool down = amount < 0;
  const auto size = static_cast<std::uint64_t>(down ? -amount : amount);
  CHECK(size < (1u << 24));
  const auto step = [&](std::uint64_t imm) {
    check(down ? assembler_.sub(gpr(reg), gpr(from), imm) : assembler_.add(gpr(reg), gpr(from), imm));
    from = reg;
  };
  if ((size >> 12) != 0) step(size >> 12 << 12);
  if ((size & 0xFFF) != 0 || from != reg) step(size & 0xFFF);  // 0: a move
}

// --- operands --------------------------------------------------------------------------------------------------------

std::uint8_t A64Emitter::machine_register(std::uint8_t reg) const {
  return static_cast<std::uint8_t>(reg < 8 ? reg : reg < 24 ? reg + 8 : reg - 16);
}

a64::Vec A64Emitter::whole(std::uint8_t reg, std::uint8_t width) const {
  const a64::VecV v(machine_register(reg));
  if (width == 16) return v;
  if (width == 8) return v.d();
  if (width == 4) return v.s();
  return width == 2 ? a64::Vec(v.h()) : a64::Vec(v.b());
}

a64::Vec A64Emitter::lanes(std::uint8_t reg, std::uint8_t width, std::uint8_t lane_bytes) const {
  const a64::VecV v(machine_register(reg));
  if (lane_bytes == 1) return width == 16 ? a64::Vec(v.b16()) : a64::Vec(v.b8());
  if (lane_bytes == 2) return width == 16 ? a64::Vec(v.h8()) : a64::Vec(v.h4());
  if (lane_bytes == 4) return width == 16 ? a64::Vec(v.s4()) : a64::Vec(v.s2());
  CHECK(width == 16);
  return v.d2();
}

a64::Mem A64Emitter::frame_operand(std::uint32_t disp, std::uint32_t size) {
  if (disp < 4096 * size) return a64::ptr(a64::sp, static_cast<std::int32_t>(disp));
  add(a64_gpr::kScratch, a64_gpr::kStack, disp);
  return a64::ptr(a64::x(a64_gpr::kScratch));
}

a64::Mem A64Emitter::memory(const MemRef& ref, std::uint32_t size) {
  switch (ref.place) {
    case Place::input:
    case Place::output: {
      const Pointer& pointer = pointers_[pointer_number(ref)];
      CHECK(pointer.used);
      std::uint8_t reg = pointer.reg;
      if (reg == kNoReg) {
        reg = a64_gpr::kPointer;
        check(assembler_.ldr(a64::x(reg), frame_operand(pointer.slot, 8)));
      }
      return a64::ptr(a64::x(reg), ref.disp);
    }
    case Place::pool: return a64::ptr(pool_, ref.disp);
    case Place::param: return a64::ptr(a64::x(a64_gpr::kParams), 8 * ref.index);
    case Place::slot: return frame_operand(static_cast<std::uint32_t>(ref.disp), size);
    case Place::partial: return partial_result(ref);
    case Place::level:
      add(a64_gpr::kScratch, a64_gpr::kStack, ref.disp);
      check(assembler_.add(a64::x(a64_gpr::kScratch), a64::x(a64_gpr::kScratch), a64::x(a64_gpr::kCount)));
      return a64::ptr(a64::x(a64_gpr::kScratch));
    case Place::frame:
    case Place::based:
    case Place::none: break;
  }
  CHECK(false);
}

/// Finds a partial result by the number of elements that the counter has counted.
a64::Mem A64Emitter::partial_result(const MemRef& ref) {
  const a64::GpX number = a64::x(a64_gpr::kScratch), address = a64::x(a64_gpr::kPointer);
  check(assembler_.ldr(number, frame_operand(static_cast<std::uint32_t>(length_slot_.disp), 8)));
  check(assembler_.sub(number, number, a64::x(a64_gpr::kCount)));
  check(assembler_.and_(number, number, kir::kPartialBytes / ref.lane_bytes - 1));
  add(a64_gpr::kPointer, a64_gpr::kStack, ref.disp);
  check(assembler_.add(address, address, number, a64::lsl(std::countr_zero(std::uint32_t{ref.lane_bytes}))));
  return a64::ptr(address);
}

// --- instructions ----------------------------------------------------------------------------------------------------

void A64Emitter::block(const Block& block, std::span<const Placed> placed) {
  for (const Placed& p : placed) {
    switch (p.kind) {
      case Placed::Kind::inst: inst(block.insts[p.inst], p); break;
      case Placed::Kind::load: load(p); break;
      case Placed::Kind::store: move_memory(false, p.use[0], p.width, p.mem); break;
      case Placed::Kind::move: {
        const a64::Vec to = lanes(p.def, 16, 1), from = lanes(p.use[0], 16, 1);
        check(assembler_.emit(Inst::kIdMov_v, to, from));
        break;
      }
    }
  }
}

void A64Emitter::inst(const MInst& m, const Placed& p) {
  if ((m.form & a64_form::kPseudo) != 0) return pseudo(m, p);
  if ((m.form & a64_form::kMemory) != 0) {
    const bool is_load = m.def.valid();
    const bool one_lane = (m.form & a64_form::kOneLane) != 0;
    move_memory(is_load, is_load ? p.def : p.use[0],
                one_lane  ? m.mem.lane_bytes
                : is_load ? m.def_width
                          : m.use_width,
                m.mem);
    return;
  }
  const bool bytes = (m.form & a64_form::kBytes) != 0, words = (m.form & a64_form::kUseWords) != 0;
  const bool resizes = (m.form & a64_form::kResizes) != 0;
  const auto operand = [&](VReg v, std::uint8_t reg, bool is_use) {
    const std::uint8_t lane_bytes = bytes ? 1 : words && is_use ? 4 : f_[v].lane_bytes;
    const VReg other = is_use ? m.def : m.use[0];
    if (resizes) return lanes(reg, lane_bytes > f_[other].lane_bytes ? 16 : 8, lane_bytes);
    return lanes(reg, f_[v].width, lane_bytes);
  };
  std::array<asmjit::Operand, 4> operands;
  std::size_t n = 0;
  operands[n++] = operand(m.def, p.def, false);
  for (std::size_t u = (m.form & a64_form::kTied) != 0 ? 1 : 0; u < m.uses; ++u)
    operands[n++] = operand(m.use[u], p.use[u], true);
  if ((m.form & a64_form::kImmediate) != 0) operands[n++] = asmjit::imm(m.imm);
  check(assembler_.emitOpArray(m.op, operands.data(), n));
}

void A64Emitter::pseudo(const MInst& m, const Placed& p) {
  if (static_cast<A64Pseudo>(m.op) == A64Pseudo::save_count) {
    check(assembler_.str(a64::x(a64_gpr::kCount), memory(m.mem, 8)));
    return;
  }
  if (static_cast<A64Pseudo>(m.op) == A64Pseudo::leave_if) return leave_if(m, p);
  const std::uint8_t lane_bytes = f_[m.def].lane_bytes;
  const a64::Vec def = lanes(p.def, m.def_width, lane_bytes);
  switch (static_cast<A64Pseudo>(m.op)) {
    case A64Pseudo::first_lane: {
      const a64::VecV from(machine_register(p.use[0]));
      check(assembler_.emit(Inst::kIdDup_v, def, lane_bytes == 4 ? from.s(0) : from.d(0)));
      return;
    }
    case A64Pseudo::count: {
      const a64::VecV v(machine_register(p.def));
      const auto type = static_cast<ir::Type>(m.imm);
      if (is_int(type)) {
        if (lane_bytes == 4)
          check(assembler_.emit(Inst::kIdDup_v, def, a64::w(a64_gpr::kCount)));
        else
          check(assembler_.emit(Inst::kIdDup_v, def, a64::x(a64_gpr::kCount)));
        return;
      }
      check(lane_bytes == 4 ? assembler_.scvtf(v.s(), a64::x(a64_gpr::kCount))
                            : assembler_.scvtf(v.d(), a64::x(a64_gpr::kCount)));
      check(assembler_.emit(Inst::kIdDup_v, def, lane_bytes == 4 ? v.s(0) : v.d(0)));
      return;
    }
    case A64Pseudo::position:
      check(assembler_.ldr(a64::x(a64_gpr::kScratch), memory(m.mem, 8)));
      check(assembler_.sub(a64::x(a64_gpr::kScratch), a64::x(a64_gpr::kScratch), a64::x(a64_gpr::kCount)));
      check(lane_bytes == 4 ? assembler_.emit(Inst::kIdDup_v, def, a64::w(a64_gpr::kScratch))
                            : assembler_.emit(Inst::kIdDup_v, def, a64::x(a64_gpr::kScratch)));
      return;
    case A64Pseudo::gather: return gather(m, p);
    case A64Pseudo::save_count:
    case A64Pseudo::leave_if: break;
    case A64Pseudo::lookup: return lookup(m, p);
  }
  CHECK(false);
}

void A64Emitter::leave_if(const MInst& m, const Placed& p) {
  const a64::VecV mask(machine_register(p.use[0]));
  const a64::GpX bits = a64::x(a64_gpr::kScratch);
  if (m.imm == 4)
    check(assembler_.fmov(bits.w(), mask.s()));
  else
    check(assembler_.fmov(bits, mask.d()));
  check(m.imm == 4 ? assembler_.cbnz(bits.w(), exit_) : assembler_.cbnz(bits, exit_));
}

/// Looks up lane by lane through general registers. Indices are taken modulo the size: no read outside the table.
void A64Emitter::lookup(const MInst& m, const Placed& p) {
  const std::uint8_t lane_bytes = m.mem.lane_bytes;
  const a64::VecV index(machine_register(p.use[0])), def(machine_register(p.def));
  const std::uint64_t mask = (std::uint64_t{1} << m.imm) - 1;
  const a64::GpX address = a64::x(a64_gpr::kPointer), entry = a64::x(a64_gpr::kScratch);
  for (std::uint32_t lane = 0; lane < m.def_width / lane_bytes; ++lane) {
    if (lane_bytes == 4)
      check(assembler_.emit(Inst::kIdUmov_v, entry.w(), index.s(lane)));
    else
      check(assembler_.emit(Inst::kIdUmov_v, entry, index.d(lane)));
    check(assembler_.and_(entry, entry, mask));
    check(assembler_.adr(address, pool_));
    add(a64_gpr::kPointer, a64_gpr::kPointer, m.mem.disp);
    check(assembler_.add(address, address, entry, a64::lsl(std::countr_zero(std::uint32_t{lane_bytes}))));
    check(assembler_.emit(Inst::kIdLd1_v, lane_bytes == 4 ? def.s(lane) : def.d(lane), a64::ptr(address)));
  }
}

/// Gathers lane by lane through general registers; compares each index with the length.
void A64Emitter::gather(const MInst& m, const Placed& p) {
  const std::uint8_t lane_bytes = m.mem.lane_bytes;
  const a64::VecV index(machine_register(p.use[0])), def(machine_register(p.def));
  const a64::GpX element = a64::x(a64_gpr::kScratch), address = a64::x(a64_gpr::kPointer);
  check(assembler_.emit(Inst::kIdMovi_v, lanes(p.def, 16, 1), asmjit::imm(0)));
  for (std::uint32_t lane = 0; lane < m.def_width / lane_bytes; ++lane) {
    const asmjit::Label next = assembler_.newLabel();
    if (f_[m.use[0]].lane_bytes == 4)
      check(assembler_.emit(Inst::kIdSmov_v, element, index.s(lane)));
    else
      check(assembler_.emit(Inst::kIdUmov_v, element, index.d(lane)));
    check(assembler_.ldr(address, a64::ptr(a64::x(a64_gpr::kParams), static_cast<std::int32_t>(8 * m.imm))));
    check(assembler_.tbnz(element, 63, next));
    check(assembler_.cmp(element, address));
    check(assembler_.b_ge(next));
    check(assembler_.ldr(address, a64::ptr(a64::x(a64_gpr::kInputs), 8 * m.mem.index)));
    check(assembler_.add(address, address, element, a64::lsl(std::countr_zero(std::uint32_t{lane_bytes}))));
    check(assembler_.emit(Inst::kIdLd1_v, lane_bytes == 4 ? def.s(lane) : def.d(lane), a64::ptr(address)));
    check(assembler_.bind(next));
  }
}

void A64Emitter::move_memory(bool is_load, std::uint8_t reg, std::uint8_t width, const MemRef& ref) {
  const a64::Mem mem = memory(ref, width);
  check(assembler_.emit(is_load ? Inst::kIdLdr_v : Inst::kIdStr_v, whole(reg, width), mem));
}

void A64Emitter::load(const Placed& p) {
  if (p.zero) {
    check(assembler_.emit(Inst::kIdMovi_v, lanes(p.def, 16, 1), asmjit::imm(0)));
    return;
  }
  if (!p.mem.broadcast) return move_memory(true, p.def, p.width, p.mem);
  CHECK(p.mem.place == Place::param);
  add(a64_gpr::kScratch, a64_gpr::kParams, 8 * p.mem.index);
  check(assembler_.emit(Inst::kIdLd1r_v, lanes(p.def, p.width, p.mem.lane_bytes), a64::ptr(a64::x(a64_gpr::kScratch))));
}

void A64Emitter::load_globals() {
  for (const VRegInfo& info : f_.vregs) {
    if (!info.global || info.fixed == kNoReg) continue;
    if (!info.zero && info.home.place != Place::pool && info.home.place != Place::param) continue;
    load({.kind = Placed::Kind::load, .width = info.width, .def = info.fixed, .zero = info.zero, .mem = info.home});
  }
}

std::vector<std::uint8_t> A64Emitter::saved_vectors(std::span<const std::span<const Placed>> blocks) const {
  std::uint32_t used = 0;
  const auto use = [&](std::uint8_t reg) {
    if (reg != kNoReg) used |= 1u << machine_register(reg);
  };
  for (const VRegInfo& info : f_.vregs) use(info.fixed);
  for (const std::span<const Placed> block : blocks)
    for (const Placed& p : block) use(p.def);
  std::vector<std::uint8_t> saved;
  for (std::uint8_t reg = 8; reg < 16; ++reg)
    if ((used >> reg & 1) != 0) saved.push_back(reg);
  return saved;
}

std::uint32_t A64Emitter::finish(std::span<const std::uint8_t> pool) {
  check(assembler_.align(asmjit::AlignMode::kData, 64));
  const std::uint32_t pool_offset = offset();
  check(assembler_.bind(pool_));
  check(assembler_.embed(pool.data(), pool.size()));
  check(code_.resolveUnresolvedLinks());
  failed_ |= code_.hasUnresolvedLinks() || !code_.relocEntries().empty();
  return pool_offset;
}

std::span<const std::uint8_t> A64Emitter::bytes() const {
  return {assembler_.bufferData(), static_cast<std::size_t>(assembler_.offset())};
}

}  // namespace trident::codegen
