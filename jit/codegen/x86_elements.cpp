// Arrays whose elements are narrower than values (jit/ir/storage.h): loads that widen, stores that narrow.
//
// AVX-512 has both as one instruction, under masks too. AVX2 widens in one instruction and packs in three, and has no
// masks for bytes and words: a tail moves its elements one by one, from and to the low lanes of a vector.
#include "jit/codegen/x86_elements.h"

#include <asmjit/x86.h>

#include <array>
#include <cstring>

#include "jit/codegen/x86_emit.h"
#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using ir::Storage;

namespace {

std::uint32_t widening_id(Storage storage, ir::Type to) {
  const bool wide = to == ir::Type::i64;
  switch (storage) {
    case Storage::u8:
    case Storage::boolean: return wide ? Inst::kIdVpmovzxbq : Inst::kIdVpmovzxbd;
    case Storage::i8: return wide ? Inst::kIdVpmovsxbq : Inst::kIdVpmovsxbd;
    case Storage::u16: return wide ? Inst::kIdVpmovzxwq : Inst::kIdVpmovzxwd;
    case Storage::i16: return wide ? Inst::kIdVpmovsxwq : Inst::kIdVpmovsxwd;
    case Storage::u32: return Inst::kIdVpmovzxdq;
    case Storage::f16: return Inst::kIdVcvtph2ps;
    case Storage::own:
    case Storage::u64: break;
  }
  CHECK(false);
}

std::uint32_t narrowing_id(Storage storage) {
  if (storage == Storage::f16) return Inst::kIdVcvtps2ph;
  if (storage == Storage::u32) return Inst::kIdVpmovqd;
  return ir::facts_of(storage).bytes == 1 ? Inst::kIdVpmovdb : Inst::kIdVpmovdw;
}

/// Returns the plain store of `bytes` from the low end of a vector of 16.
std::uint32_t store_of(std::uint32_t bytes) {
  return bytes == 4 ? Inst::kIdVmovd : bytes == 8 ? Inst::kIdVmovq : Inst::kIdVmovups;
}

/// Immediate of vcvtps2ph: to nearest, ties to even, whatever MXCSR says.
constexpr std::uint8_t kToNearest = 0;

}  // namespace

// --- selection ---

VReg X86Elements::load(const kir::Inst& inst, ir::Type to) {
  const Storage storage = s_.kernel_.inputs[inst.imm].storage;
  const auto bytes = static_cast<std::uint8_t>(ir::facts_of(storage).bytes);
  const std::uint8_t width = s_.width_, lane = s_.lane_;
  s_.set_type(to);
  const std::uint32_t id = widening_id(storage, to);
  const MemRef place{.place = Place::input,
                     .lane_bytes = bytes,
                     .index = static_cast<std::uint16_t>(inst.imm),
                     .disp = static_cast<std::int32_t>(s_.copy_ * s_.target_.lanes * bytes)};
  VReg made;
  if (s_.masked_ && !s_.target_.avx512) {
    MInst& elements = s_.push(static_cast<std::uint32_t>(X86Pseudo::load_elements), {});
    elements.form = x86_form::kPseudo;
    elements.mem = place;
    elements.unit = Unit::load;
    elements.def_width = 16;
    const VReg low = elements.def;
    s_.f_[low].width = 16;
    MInst& widening = s_.push(id, {low});
    widening.use_width = 16;
    widening.latency = 3;
    made = widening.def;
  } else {
    const VReg mask = s_.masked_ ? s_.tail_mask(s_.lane_) : VReg{};
    MInst& load = s_.masked_ ? s_.push(id, {mask}) : s_.push(id, {});
    if (s_.masked_) load.form = x86_form::kMasked | x86_form::kZeroing;
    load.form |= x86_form::kMemory;
    load.mem = place;
    load.latency = 8;
    load.unit = Unit::load;
    made = load.def;
  }
  s_.width_ = width, s_.lane_ = lane;
  return made;
}

/// Returns the control that moves the low bytes of lanes to the low end of each half.
VReg X86Elements::packing_row(std::uint32_t bytes) {
  VReg& made = packing_rows_[bytes - 1];
  if (made.valid()) return made;
  const std::uint64_t row = bytes == 1 ? 0xFFFF'FFFF'0C08'0400u : 0x0D0C'0908'0504'0100u;
  std::array<std::uint8_t, 32> control;
  control.fill(0x80);
  for (std::size_t half = 0; half < 2; ++half) std::memcpy(&control[16 * half], &row, sizeof row);
  const MemRef home{
      .place = Place::pool, .lane_bytes = 4, .disp = s_.pool_.add_bytes(control.data(), s_.width_, s_.width_)};
  return made = s_.f_.add({.global = true, .width = s_.width_, .lane_bytes = 4, .home = home});
}

/// Packs the elements into the low end of a vector (AVX2): rows of bytes within halves, then the halves.
VReg X86Elements::packed(Storage storage, VReg value) {
  if (storage == Storage::u32) return s_.narrow_i64(value);
  if (storage == Storage::f16) {
    const std::uint8_t wide = s_.width_;
    const VReg halves = s_.emit_imm(Inst::kIdVcvtps2ph, {value}, kToNearest, 5);
    MInst& made = s_.block_->insts.back();
    made.def_width = 16;
    made.use_width = wide;
    s_.f_[halves].width = 16;
    return halves;
  }
  const std::uint32_t bytes = ir::facts_of(storage).bytes;
  const std::uint8_t wide = s_.width_;
  const VReg shuffled = s_.emit(Inst::kIdVpshufb, {value, packing_row(bytes)}, 1, 2);
  if (wide == 16) return shuffled;
  const VReg upper = s_.emit_imm(Inst::kIdVextracti128, {shuffled}, 1, 3);
  s_.block_->insts.back().def_width = 16;
  s_.f_[upper].width = 16;
  const VReg joined = s_.emit(bytes == 1 ? Inst::kIdVpunpckldq : Inst::kIdVpunpcklqdq, {shuffled, upper});
  MInst& made = s_.block_->insts.back();
  made.def_width = made.use_width = 16;
  s_.f_[joined].width = 16;
  return joined;
}

/// Appends the store of an output's elements, and returns it for store_output() to complete.
MInst X86Elements::store(Storage storage, VReg value) {
  const std::uint32_t bytes = ir::facts_of(storage).bytes;
  if (s_.target_.avx512) {
    MInst inst = s_.masked_ ? s_.push(narrowing_id(storage), {value, s_.tail_mask(s_.lane_)})
                            : s_.push(narrowing_id(storage), {value});
    if (s_.masked_) inst.form = x86_form::kMasked;
    if (storage == Storage::f16) inst.form |= x86_form::kImmediate, inst.imm = kToNearest;
    return inst;
  }
  const VReg low = packed(storage, value);
  s_.width_ = 16;
  MInst inst = s_.push(
      s_.masked_ ? static_cast<std::uint32_t>(X86Pseudo::store_elements) : store_of(bytes * s_.target_.lanes), {low});
  if (s_.masked_) inst.form = x86_form::kPseudo;
  return inst;
}

// --- bytes ---

/// Moves the elements of a tail one by one (AVX2). rsi is the number of elements, negated.
void X86Emitter::move_elements(const MInst& m, const Placed& p) {
  const bool loads = m.def.valid();
  const std::uint32_t bytes = m.mem.lane_bytes;
  const x86::Xmm vector(loads ? p.def : p.use[0]);
  const x86::Mem first = kernel_memory(m.mem, static_cast<std::uint8_t>(bytes));
  const asmjit::Label done = assembler_.newLabel();
  if (loads) zero(p.def);
  for (std::uint32_t i = 0; i + 1 < target_.lanes; ++i) {
    if (i != 0) {
      assembler_.cmp(x86::rsi, -static_cast<std::int32_t>(i));
      assembler_.jge(done);
    }
    const x86::Mem element = first.cloneAdjusted(static_cast<std::int64_t>(i) * bytes);
    if (bytes == 1)
      loads ? assembler_.vpinsrb(vector, vector, element, i) : assembler_.vpextrb(element, vector, i);
    else if (bytes == 2)
      loads ? assembler_.vpinsrw(vector, vector, element, i) : assembler_.vpextrw(element, vector, i);
    else
      loads ? assembler_.vpinsrd(vector, vector, element, i) : assembler_.vpextrd(element, vector, i);
  }
  assembler_.bind(done);
}

}  // namespace trident::codegen
