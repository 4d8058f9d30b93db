#include "jit/codegen/x86_emit.h"

#include <algorithm>
#include <bit>

#include "jit/kir/reduction.h"
#include "runtime/base/check.h"

namespace trident::codegen {

using asmjit::Operand;
namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

X86Emitter::X86Emitter(const kir::Kernel& kernel, const X86Target& target, const Function& function,
                       const std::pmr::vector<X86StridedRead>& strided_reads)
    : X86Writer(function),
      kernel_(kernel),
      target_(target),
      rare_cases_(function.arena),
      scaled_apart_(function.arena),
      accesses_(function.arena),
      strided_reads_(strided_reads),
      strided_edges_(function.arena),
      pointers_(function.arena) {
  accesses_.reserve(8);
  if (kernel.exit.valid()) exit_ = assembler_.newLabel();
}

// --- pointers --------------------------------------------------------------------------------------------------------

void X86Emitter::assign_pointers(bool uses_param_memory, std::uint64_t live_inputs) {
  constexpr std::array<std::uint8_t, 5> kCalleeSaved = {3, 12, 13, 14, 15};
  std::array<std::uint8_t, 8> pool{};
  std::size_t free = 0;
  pool[free++] = 9;
  pool[free++] = 10;
  if (!uses_param_memory) pool[free++] = x86_gpr::kParams;

  bool scalar_outputs = false;
  std::size_t wanted = 0, last_input = kernel_.inputs.size(), last_output = kernel_.outputs.size();
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i)
    if ((live_inputs >> i & 1) != 0) ++wanted, last_input = i;
  for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
    if (kernel_.outputs[o].kind == kir::OutputKind::array)
      ++wanted, last_output = o;
    else
      scalar_outputs = true;
  }
  // Each table's own register can hold its last pointer, if nothing needs the table afterwards.
  const bool input_table = last_input < kernel_.inputs.size();
  const bool output_table = last_output < kernel_.outputs.size() && !scalar_outputs;
  const std::size_t tables = (input_table ? 1u : 0u) + (output_table ? 1u : 0u);
  while (free + tables < wanted && saved_count_ < kCalleeSaved.size()) {
    saved_[saved_count_] = kCalleeSaved[saved_count_];
    pool[free++] = saved_[saved_count_++];
  }
  const bool use_tables = free + tables >= wanted;

  pointers_.assign(kernel_.inputs.size() + kernel_.outputs.size(), kNoReg);
  std::size_t taken = 0;
  const auto assign = [&](std::size_t slot, bool table, std::uint8_t table_register) {
    if (table && use_tables)
      pointers_[slot] = table_register;
    else if (taken < free)
      pointers_[slot] = pool[taken++];
  };
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i)
    if ((live_inputs >> i & 1) != 0) assign(i, input_table && i == last_input, x86_gpr::kInputs);
  for (std::size_t o = 0; o < kernel_.outputs.size(); ++o)
    if (kernel_.outputs[o].kind == kir::OutputKind::array)
      assign(kernel_.inputs.size() + o, output_table && o == last_output, x86_gpr::kOutputs);
}

void X86Emitter::load_pointers() {
  // The last pointer of each table may overwrite the table's register: rising order reads it last.
  for (std::size_t i = 0; i < pointers_.size(); ++i) {
    if (pointers_[i] == kNoReg) continue;
    const bool input = i < kernel_.inputs.size();
    const std::size_t index = input ? i : i - kernel_.inputs.size();
    assembler_.mov(x86::gpq(pointers_[i]), x86::qword_ptr(x86::gpq(input ? x86_gpr::kInputs : x86_gpr::kOutputs),
                                                          static_cast<std::int32_t>(8 * index)));
  }
}

std::uint8_t X86Emitter::pointer_of(Place place, std::uint32_t index) const {
  return pointers_[place == Place::input ? index : kernel_.inputs.size() + index];
}

std::uint32_t X86Emitter::fetched_bytes() const {
  std::uint32_t bytes = 0;
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i)
    if (pointers_[i] != kNoReg && !kernel_.inputs[i].is_table()) bytes += kir::element_bytes(kernel_.inputs[i]);
  return bytes;
}

void X86Emitter::fetch_ahead(std::uint32_t elements) {
  constexpr std::int32_t kLine = 64, kAhead = 4096;
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) {
    if (pointers_[i] == kNoReg || kernel_.inputs[i].is_table()) continue;
    const std::uint32_t bytes = kir::element_bytes(kernel_.inputs[i]);
    const auto end = static_cast<std::int32_t>(elements * bytes);
    for (std::int32_t at = 0; at < end; at += kLine)
      assembler_.prefetcht0(x86::ptr(x86::gpq(pointers_[i]), x86::gpq(x86_gpr::kIndex),
                                     static_cast<std::uint32_t>(std::countr_zero(bytes)), kAhead + at));
  }
}

bool X86Emitter::fetches_outputs() const {
  return std::any_of(pointers_.begin() + static_cast<std::ptrdiff_t>(kernel_.inputs.size()), pointers_.end(),
                     [](std::uint8_t pointer) { return pointer != kNoReg; });
}

std::uint32_t X86Emitter::moved_bytes() const {
  std::uint32_t bytes = fetched_bytes();
  for (const kir::Output& output : kernel_.outputs)
    if (output.kind == kir::OutputKind::array) bytes += kir::element_bytes(kernel_, output);
  return bytes;
}

void X86Emitter::fetch_outputs(std::uint32_t elements) {
  constexpr std::int32_t kLine = 64, kAhead = 512;
  for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
    const std::uint8_t pointer = pointers_[kernel_.inputs.size() + o];
    if (pointer == kNoReg) continue;
    const std::uint32_t bytes = kir::element_bytes(kernel_, kernel_.outputs[o]);
    const auto end = static_cast<std::int32_t>(elements * bytes);
    for (std::int32_t at = 0; at < end; at += kLine)
      assembler_.prefetchw(x86::ptr(x86::gpq(pointer), x86::gpq(x86_gpr::kIndex),
                                    static_cast<std::uint32_t>(std::countr_zero(bytes)), kAhead + at));
  }
}

// --- operands --------------------------------------------------------------------------------------------------------

x86::Mem X86Emitter::array_element(const MemRef& ref) {
  std::uint8_t pointer = pointer_of(ref.place, ref.index);
  if (pointer == kNoReg) {
    pointer = x86_gpr::kScratch;
    const std::uint8_t table = ref.place == Place::input ? x86_gpr::kInputs : x86_gpr::kOutputs;
    assembler_.mov(x86::gpq(pointer), x86::qword_ptr(x86::gpq(table), 8 * ref.index));
  }
  return x86::ptr(x86::gpq(pointer), x86::gpq(x86_gpr::kIndex),
                  static_cast<std::uint32_t>(std::countr_zero(ref.lane_bytes)), ref.disp);
}

x86::Mem X86Emitter::kernel_memory(const MemRef& ref, std::uint8_t width) {
  if (ref.place == Place::input || ref.place == Place::output) return sized(array_element(ref), ref, width);
  if (ref.place == Place::param) return sized(x86::ptr(x86::gpq(x86_gpr::kParams), 8 * ref.index), ref, width);
  if (ref.place == Place::partial) return sized(partial_result(ref), ref, width);
  if (ref.place == Place::level) return sized(x86::ptr(x86::rsp, x86::gpq(x86_gpr::kLimit), 0, ref.disp), ref, width);
  return memory(ref, width);
}

x86::Mem X86Emitter::partial_result(const MemRef& ref) {
  const x86::Gp number = x86::gpd(x86_gpr::kScratch);
  assembler_.mov(number, x86::gpd(x86_gpr::kIndex));
  assembler_.and_(number, static_cast<std::uint32_t>(kir::kPartialBytes / ref.lane_bytes - 1));
  return x86::ptr(x86::rsp, x86::gpq(x86_gpr::kScratch), static_cast<std::uint32_t>(std::countr_zero(ref.lane_bytes)),
                  ref.disp);
}

x86::Mem X86Emitter::memory_operand(const MInst& m, const Placed& p) {
  if (p.mem_use != kNoReg) return kernel_memory(p.mem, m.use_width);
  if ((m.form & x86_form::kMemory) == 0) return {};
  if (m.def.valid()) return kernel_memory(m.mem, m.def_width);
  if (m.op != Inst::kIdVmovss && m.op != Inst::kIdVmovsd) return kernel_memory(m.mem, m.use_width);
  x86::Mem first = kernel_memory(m.mem, m.mem.lane_bytes);
  first.resetIndex();
  return first;
}

// --- instructions ----------------------------------------------------------------------------------------------------

void X86Emitter::block(const Block& block, std::span<const Placed> placed) {
  for (const Placed& p : placed) {
    if (p.kind == Placed::Kind::inst)
      inst(block.insts[p.inst], p);
    else
      move_home(p);
  }
}

void X86Emitter::recorded_block(const Block& block, std::span<const Placed> placed) {
  recorded_from_ = offset();
  recording_ = true;
  this->block(block, placed);
  recording_ = false;
  recorded_to_ = offset();
}

void X86Emitter::masked_copy() {
  if (target_.avx512)
    masked_copy_avx512();
  else
    masked_copy_avx2();
}

// An EVEX prefix is 62 P0 P1 P2, with the opmask in the low bits of P2 and the zeroing bit on top.
void X86Emitter::masked_copy_avx512() {
  const std::uint32_t start = offset();
  copy_code(recorded_from_, recorded_to_);
  for (const MaskedAccess& access : accesses_) {
    std::uint8_t* prefix = assembler_.bufferData() + start + (access.at - recorded_from_);
    if (prefix[0] != 0x62) failed_ = true;
    prefix[3] |= static_cast<std::uint8_t>(kTailMask | (access.load ? 0x80 : 0));
  }
}

// Masked moves are different instructions: the code between them is copied.
void X86Emitter::masked_copy_avx2() {
  std::uint32_t copied = recorded_from_;
  for (const MaskedAccess& access : accesses_) {
    copy_code(copied, access.at);
    copied = access.end;
    const Operand mask = register_operand(RegClass::vector, access.width, tail_mask_register(access.mem.lane_bytes));
    const Operand reg = register_operand(RegClass::vector, access.width, access.reg);
    const x86::Mem mem = kernel_memory(access.mem, access.width);
    const std::uint32_t id = access.mem.lane_bytes == 4 ? Inst::kIdVmaskmovps : Inst::kIdVmaskmovpd;
    if (access.load)
      emit(id, {reg, mask, mem});
    else
      emit(id, {mem, mask, reg});
  }
  copy_code(copied, recorded_to_);
}

void X86Emitter::load_tail_mask(std::uint32_t lane_bytes) {
  const std::uint8_t width = target_.width_of(lane_bytes);
  emit(Inst::kIdVmovups,
       {register_operand(RegClass::vector, width, tail_mask_register(lane_bytes)),
        x86::ptr(x86::rdi, x86::rsi, static_cast<std::uint32_t>(std::countr_zero(lane_bytes)), 0, width)});
}

std::int32_t X86Emitter::mask_table(ConstantPool& pool) const {
  constexpr std::uint32_t kLanesMax = 8;  // with AVX2
  const std::uint32_t half = target_.lanes * 8;
  std::array<std::uint8_t, 2 * kLanesMax * 8> table{};
  std::fill_n(table.begin(), half, std::uint8_t{0xFF});
  return pool.add_bytes(table.data(), 2 * half, 32) + static_cast<std::int32_t>(half);
}

void X86Emitter::elements_to_boundary(const x86::Gp& elements, std::uint32_t output, std::uint32_t vector,
                                      const asmjit::Label& misaligned) {
  const std::uint32_t bytes = kir::element_bytes(kernel_, kernel_.outputs[output]);
  const std::uint8_t pointer = pointer_of(Place::output, output);
  if (pointer == kNoReg)
    assembler_.mov(elements, x86::dword_ptr(x86::gpq(x86_gpr::kOutputs), static_cast<std::int32_t>(8 * output)));
  else
    assembler_.mov(elements, x86::gpd(pointer));
  assembler_.neg(elements);
  assembler_.test(elements, bytes - 1);
  assembler_.jnz(misaligned);
  assembler_.shr(elements, static_cast<std::uint32_t>(std::countr_zero(bytes)));
  assembler_.and_(elements, vector - 1);
}

void X86Emitter::inst(const MInst& m, const Placed& p) {
  if ((m.form & x86_form::kPseudo) != 0) return pseudo(m, p);
  if (encode_arithmetic(m, p)) return;
  const x86::Mem mem = memory_operand(m, p);
  const bool recorded = recording_ && (m.form & x86_form::kMemory) != 0;
  if (recorded) record(m, p);
  if (non_temporal_ && !m.def.valid()) {
    MInst streamed = m;
    streamed.op = f_[m.use[0]].lane_bytes == 4 ? Inst::kIdVmovntps : Inst::kIdVmovntpd;
    encode(streamed, p, mem);
  } else {
    encode(m, p, mem);
  }
  if (recorded) accesses_.back().end = offset();
}

void X86Emitter::record(const MInst& m, const Placed& p) {
  accesses_.push_back({.at = offset(),
                       .end = 0,
                       .load = m.unit == Unit::load,
                       .reg = m.def.valid() ? p.def : p.use[0],
                       .width = m.def.valid() ? m.def_width : m.use_width,
                       .mem = m.mem});
  if (target_.avx512) assembler_.addInstOptions(asmjit::InstOptions::kX86_Evex);
}

void X86Emitter::pseudo(const MInst& m, const Placed& p) {
  switch (static_cast<X86Pseudo>(m.op)) {
    case X86Pseudo::zero:
      if (f_[m.def].reg_class == RegClass::mask)
        assembler_.kxorw(x86::KReg(p.def), x86::k0, x86::k0);
      else
        zero(p.def);
      return;
    case X86Pseudo::mask_ones: assembler_.kxnorw(x86::KReg(p.def), x86::k0, x86::k0); return;
    case X86Pseudo::count: {
      const x86::Xmm def(p.def);
      switch (static_cast<ir::Type>(m.imm)) {
        case ir::Type::i32: assembler_.vmovd(def, x86::esi); return;
        case ir::Type::i64: assembler_.vmovq(def, x86::rsi); return;
        case ir::Type::f32:
        case ir::Type::f64:
          zero(p.def);
          if (static_cast<ir::Type>(m.imm) == ir::Type::f32)
            assembler_.vcvtsi2ss(def, def, x86::rsi);
          else
            assembler_.vcvtsi2sd(def, def, x86::rsi);
          return;
        case ir::Type::b32:
        case ir::Type::b64: CHECK(false);
      }
      return;
    }
    case X86Pseudo::divide_if: return divide_if(m, p);
    case X86Pseudo::scale_apart: return scale_apart(m, p);
    case X86Pseudo::leave_if: return leave_if(m, p);
    case X86Pseudo::scratch: return;
    case X86Pseudo::position: return position(m, p);
    case X86Pseudo::table_bound: return table_bound(m, p);
    case X86Pseudo::table_limits: return table_limits(m);
    case X86Pseudo::gather: return gather(m, p);
    case X86Pseudo::strided: return strided(m, p);
    case X86Pseudo::load_elements:
    case X86Pseudo::store_elements: return move_elements(m, p);
    case X86Pseudo::tail_mask:
      // AVX-512: the limit register holds one bit per element left. AVX2: it points to the middle of the mask table
      // (ones before, zeros after), and the count register holds minus the number of elements left.
      if (target_.avx512) {
        m.imm < 4 ? assembler_.kmovq(x86::KReg(p.def), x86::rdi) : assembler_.kmovd(x86::KReg(p.def), x86::edi);
        return;
      }
      emit(Inst::kIdVmovups,
           {register_operand(RegClass::vector, m.def_width, p.def),
            x86::ptr(x86::rdi, x86::rsi, static_cast<std::uint32_t>(std::countr_zero(m.imm)), 0, m.def_width)});
      return;
  }
  CHECK(false);
}

void X86Emitter::divide_if(const MInst& m, const Placed& p) {
  const auto how = static_cast<std::uint8_t>(m.imm & ~std::uint64_t{x86_exact::kLanes});
  const bool lanes = (m.imm & x86_exact::kLanes) != 0;
  const std::uint8_t mask = p.use[m.uses - (lanes && !target_.avx512 ? 2u : 1u)];
  if (target_.avx512) {
    // Carry: all bits are set.
    if (target_.lanes == 16) {
      assembler_.kortestw(x86::KReg(mask), x86::KReg(mask));
    } else if (target_.lanes == 8) {
      assembler_.kortestb(x86::KReg(mask), x86::KReg(mask));
    } else {
      assembler_.kmovb(x86::r11d, x86::KReg(mask));
      assembler_.cmp(x86::r11d, (1u << target_.lanes) - 1);
    }
  } else {
    emit(Inst::kIdVmovmskps, {x86::r11d, register_operand(RegClass::vector, m.use_width, mask)});
    assembler_.test(x86::r11d, x86::r11d);
  }
  RareCase& rare = rare_cases_.emplace_back();
  rare.entry = assembler_.newLabel();
  rare.back = assembler_.newLabel();
  rare.how = how;
  rare.narrow = f_[m.def].lane_bytes == 4;
  rare.def = register_operand(RegClass::vector, m.def_width, p.def);
  for (std::size_t u = 0; u < (how == x86_exact::kRoot ? 1 : 2); ++u)
    rare.operands[u] = register_operand(RegClass::vector, m.use_width, p.use[u + 1]);
  if (lanes) {
    rare.mask = register_operand(target_.avx512 ? RegClass::mask : RegClass::vector, m.use_width, mask);
    if (!target_.avx512) rare.work = register_operand(RegClass::vector, m.use_width, p.use[m.uses - 1u]);
  }
  if (target_.avx512 && target_.lanes >= 8)
    assembler_.jnc(rare.entry);
  else
    assembler_.jnz(rare.entry);
  assembler_.bind(rare.back);
}

/// Emits what a vector with a doubtful lane branches to. Where other lanes keep their results, the operation is done
/// under the mask, of lanes that pass, turned round meanwhile, for others may read it; or in the work register.
void X86Emitter::rare_case(const RareCase& rare) {
  const bool masked = rare.mask.isReg() && target_.avx512, blended = rare.mask.isReg() && !target_.avx512;
  const asmjit::Operand to = blended ? rare.work : rare.def;
  const x86::KReg mask = masked ? rare.mask.as<x86::KReg>() : x86::KReg();
  const auto exact = [&](std::uint32_t id, std::initializer_list<asmjit::Operand_> operands) {
    if (masked) assembler_.k(mask);
    emit(id, operands);
  };
  if (masked) assembler_.knotw(mask, mask);
  if (rare.how == x86_exact::kQuotient)
    exact(rare.narrow ? Inst::kIdVdivps : Inst::kIdVdivpd, {to, rare.operands[0], rare.operands[1]});
  else
    exact(rare.narrow ? Inst::kIdVsqrtps : Inst::kIdVsqrtpd, {to, rare.operands[0]});
  if (rare.how == x86_exact::kInverseRoot)
    exact(rare.narrow ? Inst::kIdVdivps : Inst::kIdVdivpd, {to, rare.operands[1], to});
  if (masked) assembler_.knotw(mask, mask);
  if (blended) emit(Inst::kIdVblendvps, {rare.def, rare.def, to, rare.mask});
}

void X86Emitter::rare_cases() {
  if (rare_cases_.empty() && strided_edges_.empty() && scaled_apart_.empty()) return;
  const asmjit::Label over = assembler_.newLabel();
  assembler_.jmp(over);
  for (const RareCase& rare : rare_cases_) {
    assembler_.bind(rare.entry);
    rare_case(rare);
    assembler_.jmp(rare.back);
  }
  for (const StridedEdge& edge : strided_edges_) strided_edge(edge);
  for (const ScaledApart& rare : scaled_apart_) scaled_apart(rare);
  assembler_.bind(over);
  rare_cases_.clear();
  strided_edges_.clear();
  scaled_apart_.clear();
}

void X86Emitter::move_home(const Placed& p) {
  added(p, p.mem.place == Place::none ? x86::Mem() : kernel_memory(p.mem, bytes_moved(p)));
}

void X86Emitter::load_globals() {
  for (const VRegInfo& info : f_.vregs) {
    if (!info.global || info.fixed == kNoReg || info.reg_class != RegClass::vector) continue;
    if (!info.zero && info.home.place != Place::pool && info.home.place != Place::param) continue;
    Placed placed;
    placed.kind = Placed::Kind::load;
    placed.width = info.width;
    placed.def = info.fixed;
    placed.zero = info.zero;
    placed.mem = info.home;
    move_home(placed);
  }
}

}  // namespace trident::codegen
