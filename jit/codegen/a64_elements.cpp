// Arrays whose elements are narrower than values (jit/ir/storage.h): loads that widen, stores that narrow, both in
// steps that double or halve the lanes. A vector has as many elements as any other of the kernel, so that it loads and
// stores 2, 4 or 8 bytes of an array; the registers between have them in their lower halves.
#include <asmjit/arm/a64assembler.h>

#include "jit/codegen/a64_select.h"

namespace trident::codegen {

using asmjit::a64::Inst;
using ir::Storage;

namespace {

constexpr std::uint8_t kHalfRegister = 8;

std::uint32_t widening_id(Storage storage) {
  if (storage == Storage::f16) return Inst::kIdFcvtl_v;
  return ir::facts_of(storage).lo < 0 ? Inst::kIdSxtl_v : Inst::kIdUxtl_v;
}

}  // namespace

VReg A64Selector::load_elements(const kir::Inst& input, Storage storage) {
  const auto bytes = static_cast<std::uint8_t>(ir::facts_of(storage).bytes);
  const std::uint8_t width = width_, lane = lane_;
  width_ = kHalfRegister, lane_ = bytes;
  VReg value = load({.place = Place::input,
                     .lane_bytes = bytes,
                     .index = static_cast<std::uint16_t>(input.imm),
                     .disp = static_cast<std::int32_t>(copy_ * target_.lanes * bytes)});
  MInst& loaded = block_->insts.back();
  loaded.def_width = target_.width_of(bytes);
  if (context_ == Context::tail) loaded.form |= a64_form::kOneLane;
  while (lane_ < lane) {
    lane_ *= 2;
    if (lane_ == lane) width_ = width;
    value = emit(widening_id(storage), {value}, 2, a64_form::kResizes);
  }
  return value;
}

void A64Selector::store_elements(VReg value, Storage storage, MemRef to) {
  const std::uint32_t id = storage == Storage::f16 ? Inst::kIdFcvtn_v : Inst::kIdXtn_v;
  width_ = kHalfRegister;
  while (lane_ > to.lane_bytes) {
    lane_ /= 2;
    value = emit(id, {value}, 2, a64_form::kResizes);
  }
  store(value, to, context_ == Context::tail);
  block_->insts.back().use_width = target_.width_of(to.lane_bytes);
}

}  // namespace trident::codegen
