#include "jit/codegen/x86_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/codegen/x86_vector_bytes.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

using asmjit::imm;
using asmjit::Operand;
namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

namespace {

// The three orders of a multiply-add's operands are neighbours in asmjit's numbering.
constexpr std::uint32_t kTo213 = Inst::kIdVfmadd213ps - Inst::kIdVfmadd132ps;
constexpr std::uint32_t kTo231 = Inst::kIdVfmadd231ps - Inst::kIdVfmadd132ps;
static_assert(Inst::kIdVfnmsub213pd - Inst::kIdVfnmsub132pd == kTo213);
static_assert(Inst::kIdVfnmadd231pd - Inst::kIdVfnmadd132pd == kTo231);
static_assert(Inst::kIdVfmsub231ps - Inst::kIdVfmsub132ps == kTo231);

}  // namespace

X86Writer::X86Writer(const Function& function)
    : f_(function),
      code_(asmjit::Support::Temporary(labels_memory_, sizeof labels_memory_)),
      pool_uses_(function.arena),
      labels_(function.arena) {
  code_.init(asmjit::Environment(asmjit::Arch::kX64));
  code_.attach(&assembler_);
  assembler_.addEncodingOptions(asmjit::EncodingOptions::kOptimizedAlign);  // calls run through what aligns a loop
  pool_uses_.reserve(64);
}

// --- operands --------------------------------------------------------------------------------------------------------

x86::Mem X86Writer::pool_operand(std::int32_t disp) const {
  return x86::ptr(x86::rip, disp);
}

void X86Writer::note_pool_use(std::uint32_t immediate_bytes) {
  const std::uint32_t end = offset();
  pool_uses_.push_back({end - immediate_bytes - 4, end});
}

bool X86Writer::link(std::byte* code, std::uint32_t pool_offset) const {
  for (const PoolUse& use : pool_uses_) {
    std::int32_t disp = 0;
    std::memcpy(&disp, code + use.field, sizeof disp);
    disp += static_cast<std::int32_t>(pool_offset - use.end);
    std::memcpy(code + use.field, &disp, sizeof disp);
  }
  return !failed_ && code_.relocEntries().empty() && !code_.hasUnresolvedLinks();
}

x86::Mem X86Writer::memory(const MemRef& ref, std::uint8_t width) {
  if (ref.place == Place::slot) return sized(x86::ptr(x86::rsp, ref.disp), ref, width);
  if (ref.place == Place::frame) return sized(x86::ptr(x86::gpq(x86_allocated::kFrame), ref.disp), ref, width);
  CHECK(ref.place == Place::pool);
  pool_use_ = true;
  return sized(pool_operand(ref.disp), ref, width);
}

x86::Mem X86Writer::memory_operand(const MInst& m, const Placed& p) {
  if (p.mem_use != kNoReg) {
    CHECK((m.form & x86_form::kMemory) == 0 && m.use_width <= f_[m.use[p.mem_use]].width);
    return memory(p.mem, m.use_width);
  }
  if ((m.form & x86_form::kMemory) == 0) return {};
  if (m.mem.place == Place::based) return based(m, p);
  return memory(m.mem, m.def.valid() ? m.def_width : m.use_width);
}

x86::Mem X86Writer::based(const MInst& m, const Placed& p) {
  const std::uint32_t first = m.uses - m.address_uses();
  const x86::Gp base = x86::gpq(p.use[first]);
  if (m.mem.scale == 0) return x86::ptr(base, m.mem.disp, m.mem.lane_bytes);
  const auto shift = static_cast<std::uint32_t>(std::countr_zero(m.mem.scale));
  return x86::ptr(base, x86::gpq(p.use[first + 1]), shift, m.mem.disp, m.mem.lane_bytes);
}

x86::Mem X86Writer::sized(x86::Mem mem, const MemRef& ref, std::uint8_t width) {
  mem.setSize(ref.broadcast ? ref.lane_bytes : width);
  return mem;
}

Operand X86Writer::register_operand(RegClass reg_class, std::uint8_t width, std::uint8_t reg) {
  constexpr asmjit::OperandSignature kVectors[] = {
      {x86::Xmm::kSignature}, {x86::Ymm::kSignature}, {x86::Zmm::kSignature}};
  if (reg_class == RegClass::vector) return asmjit::BaseReg(kVectors[width >> 5], reg);
  if (reg_class == RegClass::mask) return x86::KReg(reg);
  constexpr asmjit::OperandSignature kGenerals[] = {
      {x86::GpbLo::kSignature}, {x86::Gpw::kSignature}, {x86::Gpd::kSignature}, {x86::Gpq::kSignature}};
  return asmjit::BaseReg(kGenerals[std::countr_zero(width)], reg);
}

void X86Writer::emit(std::uint32_t id, asmjit::Operand_* operands, std::size_t count, std::uint32_t immediate_bytes) {
  for (std::size_t i = count; i < 6; ++i) operands[i].reset();
  if (assembler_._emit(id, operands[0], operands[1], operands[2], operands + 3) != asmjit::kErrorOk) failed_ = true;
  if (pool_use_) note_pool_use(immediate_bytes);
  pool_use_ = false;
}

void X86Writer::emit(std::uint32_t id, std::initializer_list<asmjit::Operand_> list) {
  std::array<asmjit::Operand_, 6> operands;
  std::copy(list.begin(), list.end(), operands.begin());
  emit(id, operands.data(), list.size(), 0);
}

void X86Writer::round_by_itself(std::uint32_t id) {
  using asmjit::InstOptions;
  const bool rounds = x86::InstDB::infoById(id).commonInfo().hasAvx512ER();
  assembler_.addInstOptions(rounds ? InstOptions::kX86_ER | InstOptions::kX86_RN_SAE : InstOptions::kX86_SAE);
}

void X86Writer::bind(Target target) {
  if (assembler_.bind(label(target)) != asmjit::kErrorOk) failed_ = true;
}

void X86Writer::jump(Target target) {
  emit(Inst::kIdJmp, {label(target)});
}

asmjit::Label X86Writer::label(Target target) {
  CHECK(target.valid());
  if (labels_.size() <= target.index) labels_.resize(target.index + 1u);
  asmjit::Label& label = labels_[target.index];
  if (!label.isValid()) label = assembler_.newLabel();
  return label;
}

void X86Writer::copy_code(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t shift = offset() - from;
  const std::uint32_t size = to - from;
  void* const bytes = f_.arena->allocate(size, 1);  // the assembler may move its buffer
  std::memcpy(bytes, assembler_.bufferData() + from, size);
  const auto first =
      std::partition_point(pool_uses_.begin(), pool_uses_.end(), [&](const PoolUse& use) { return use.field < from; });
  const std::size_t known = pool_uses_.size();
  for (auto i = static_cast<std::size_t>(first - pool_uses_.begin()); i < known && pool_uses_[i].end <= to; ++i)
    pool_uses_.push_back({pool_uses_[i].field + shift, pool_uses_[i].end + shift});
  if (assembler_.embed(bytes, size) != asmjit::kErrorOk) failed_ = true;
}

// --- instructions ----------------------------------------------------------------------------------------------------

void X86Writer::encode(const MInst& m, const Placed& p, const x86::Mem& mem) {
  if (m.op == Inst::kIdJmp) return jump(m.target);
  Operands operands;
  std::uint32_t id = m.op;
  const bool stores = !m.def.valid() && !m.target.valid();
  if (stores) operands.add(mem);
  if (m.def.valid()) operands.add(register_operand(f_[m.def].reg_class, m.def_width, p.def));
  if ((m.form & x86_form::kFused) != 0) {
    const FusedOrder order = order_fused(p);
    id += order.id_step;
    operands.add(use_operand(m, p, order.second, mem));
    operands.add(use_operand(m, p, order.third, mem));
  } else {
    add_uses(m, p, mem, operands);
    if ((m.form & x86_form::kMemory) != 0 && !stores) operands.add(mem);
  }
  const bool has_immediate = (m.form & x86_form::kImmediate) != 0;
  if (has_immediate) operands.add(imm(m.imm));
  if ((m.form & x86_form::kMasked) != 0) {
    assembler_.setExtraReg(x86::KReg(p.use[m.uses - m.address_uses() - 1u]));
    if ((m.form & x86_form::kZeroing) != 0) assembler_.addInstOptions(asmjit::InstOptions::kX86_ZMask);
  }
  // note_pool_use counts on immediates of one byte, which those of general instructions need not be.
  CHECK(!pool_use_ || !has_immediate || (m.def.valid() && f_[m.def].reg_class != RegClass::general));
  // A fourth register operand (vblendvps) is encoded as an immediate byte too.
  const bool register_byte = id == Inst::kIdVblendvps || id == Inst::kIdVblendvpd;
  if ((m.form & x86_form::kOwnRounding) != 0) round_by_itself(id);
  emit(id, operands.list.data(), operands.count, has_immediate || register_byte ? 1 : 0);
  if (m.target.valid()) emit(Inst::jccFromCond(static_cast<x86::CondCode>(m.condition)), {label(m.target)});
}

bool X86Writer::encode_arithmetic(const MInst& m, const Placed& p) {
  if ((m.form & ~x86_form::kFused) != 0 || m.def_width != m.use_width) return false;
  const bool constant = p.mem_use != kNoReg;
  if (constant && p.mem.place != Place::pool) return false;
  X86VectorInst inst{.id = m.op, .width = m.def_width, .def = p.def, .from_memory = constant};
  std::uint8_t first = 0, last = m.uses > 1 ? 1 : 0;
  if ((m.form & x86_form::kFused) != 0) {
    const FusedOrder order = order_fused(p);
    inst.id += order.id_step;
    first = order.second, last = order.third;
  } else if (m.commutes && p.mem_use == 0) {
    std::swap(first, last);
  }
  inst.first = p.use[first], inst.last = p.use[last];
  if (constant) inst.broadcast = p.mem.broadcast, inst.disp = p.mem.disp;
  std::uint8_t bytes[kX86InstBytesMax];
  const std::size_t size = write_vector_inst(inst, bytes);
  if (size == 0) return false;
  if (assembler_.embed(bytes, size) != asmjit::kErrorOk) failed_ = true;
  if (constant) note_pool_use(0);
  return true;
}

/// Adds the uses in order, without the one in the result's register, without opmask and address.
void X86Writer::add_uses(const MInst& m, const Placed& p, const x86::Mem& mem, Operands& operands) {
  const bool masked = (m.form & x86_form::kMasked) != 0, tied = (m.form & x86_form::kTied) != 0;
  const std::uint32_t count = m.uses - m.address_uses() - (masked ? 1u : 0u);
  const std::uint8_t own = !tied ? kNoReg : m.commutes && p.use[0] != p.def ? 1 : 0;
  if (!tied && m.commutes && p.mem_use == 0) {
    operands.add(use_operand(m, p, 1, mem));
    operands.add(use_operand(m, p, 0, mem));
    return;
  }
  for (std::uint8_t u = 0; u < count; ++u)
    if (u != own) operands.add(use_operand(m, p, u, mem));
}

asmjit::Operand_ X86Writer::use_operand(const MInst& m, const Placed& p, std::uint8_t u, const x86::Mem& operand) {
  if (u != p.mem_use) return register_operand(f_[m.use[u]].reg_class, m.use_width, p.use[u]);
  x86::Mem mem = operand;
  if (p.mem.broadcast)
    mem.setBroadcast(static_cast<x86::Mem::Broadcast>(std::countr_zero(std::uint32_t{m.use_width} / p.mem.lane_bytes)));
  return mem;
}

/// a * b + c: 132 is a = a * [c'] + b', 213 is a = b * a + [c], 231 is c = a * [b] + c; the bracket may be memory.
X86Writer::FusedOrder X86Writer::order_fused(const Placed& p) {
  if (p.def == p.use[2] && p.mem_use != 2) {
    const std::uint8_t second = p.mem_use == 0 ? 1 : 0;
    return {kTo231, second, static_cast<std::uint8_t>(1 - second)};
  }
  const std::uint8_t own = p.mem_use != 0 && p.def == p.use[0] ? 0 : 1;
  const auto other = static_cast<std::uint8_t>(1 - own);
  if (p.mem_use == other) return {0, 2, other};
  return {kTo213, other, 2};
}

void X86Writer::added(const Placed& p, const x86::Mem& mem) {
  if (p.zero && p.reg_class == RegClass::general) return emit(Inst::kIdXor, {x86::gpd(p.def), x86::gpd(p.def)});
  if (p.zero) return zero(p.def);
  const std::uint8_t reg = p.kind == Placed::Kind::store ? p.use[0] : p.def;
  const Operand operand = register_operand(p.reg_class, p.width, reg);
  switch (p.kind) {
    case Placed::Kind::load: return emit(load_id(p), {operand, mem});
    case Placed::Kind::store: return emit(store_id(p), {mem, operand});
    case Placed::Kind::move:
      return emit(move_id(p.reg_class), {operand, register_operand(p.reg_class, p.width, p.use[0])});
    case Placed::Kind::inst: CHECK(false);
  }
}

std::uint32_t X86Writer::load_id(const Placed& p) {
  if (!p.mem.broadcast) return store_id(p);
  if (p.mem.lane_bytes <= 2) return p.mem.lane_bytes == 1 ? Inst::kIdVpbroadcastb : Inst::kIdVpbroadcastw;
  if (p.mem.lane_bytes == 4) return Inst::kIdVbroadcastss;
  return p.width == 16 ? Inst::kIdVmovddup : Inst::kIdVbroadcastsd;
}

std::uint32_t X86Writer::store_id(const Placed& p) {
  // Masks of 4-byte lanes and wider ones have 16 bits at most.
  if (p.reg_class == RegClass::mask && p.mem.lane_bytes >= 4) return Inst::kIdKmovw;
  if (p.reg_class != RegClass::vector) return move_id(p.reg_class);
  return p.width == 8 ? Inst::kIdVmovsd : Inst::kIdVmovups;
}

std::uint32_t X86Writer::move_id(RegClass reg_class) {
  if (reg_class == RegClass::general) return Inst::kIdMov;
  return reg_class == RegClass::mask ? Inst::kIdKmovq : Inst::kIdVmovaps;
}

/// Zeroes the whole register: writing the lower bits clears the upper ones.
void X86Writer::zero(std::uint8_t reg) {
  const x86::Xmm def(reg);
  emit(reg < 16 ? Inst::kIdVpxor : Inst::kIdVpxord, {def, def, def});
}

Result<void> lay_out(X86Writer& writer, const ConstantPool& pool, UnwindWriter& unwind, const char* what,
                     MachineCode& code) {
  code.code_size = writer.offset();
  code.pool_offset = (code.code_size + 63) / 64 * 64;
  const std::size_t size = code.pool_offset + pool.bytes.size();
  if (size > limits::kImageBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "the %s has %zu bytes of machine code, more than the limit of %zu",
                      what, size, limits::kImageBytesMax);
  code.bytes.resize(size, std::byte{0xCC});
  std::memcpy(code.bytes.data(), writer.assembler().bufferData(), code.code_size);
  std::copy_n(reinterpret_cast<const std::byte*>(pool.bytes.data()), pool.bytes.size(),
              code.bytes.data() + code.pool_offset);
  CHECK(writer.link(code.bytes.data(), code.pool_offset));
  code.eh_frame_distance = static_cast<std::uint32_t>((size + 7) / 8 * 8);
  code.eh_frame = unwind.finish(code.code_size, code.eh_frame_distance);
  return {};
}

}  // namespace trident::codegen
