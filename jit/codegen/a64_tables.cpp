// The element's number and reading of tables. NEON has no gathers: they go lane by lane through general registers, and
// strided loads are gathers of computed numbers.
#include <asmjit/arm/a64assembler.h>

#include "jit/codegen/a64_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

using asmjit::a64::Inst;
using ir::Type;
using kir::Op;

/// The loop's counter holds the elements left; in the main loop a whole step less than that (a64_loop.cpp).
VReg A64Selector::element_number(Type type) {
  set_type(type);
  MInst& position = push(static_cast<std::uint32_t>(A64Pseudo::position), {}, a64_form::kPseudo);
  position.mem = count_slot_;
  position.mem.place = Place::slot;
  position.latency = 6;
  const VReg first = position.def;
  const std::uint32_t lanes = target_.lanes;
  std::uint8_t bytes[16] = {};
  const std::uint64_t ahead = context_ == Context::body ? std::uint64_t{copies_} * lanes : 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t number = std::uint64_t{copy_} * lanes + lane - ahead;
    for (std::size_t byte = 0; byte < lane_; ++byte)
      bytes[lane * lane_ + byte] = static_cast<std::uint8_t>(number >> (8 * byte));
  }
  const VReg numbers =
      f_.add({.global = true,
              .foldable = false,
              .width = width_,
              .lane_bytes = lane_,
              .home = {.place = Place::pool, .lane_bytes = lane_, .disp = pool_.add_bytes(bytes, width_, width_)}});
  return emit(Inst::kIdAdd_v, {first, numbers});
}

VReg A64Selector::gather(const kir::Inst& inst, VReg index) {
  set_type(inst.type);
  MInst& found = push(static_cast<std::uint32_t>(A64Pseudo::gather), {index}, a64_form::kPseudo);
  found.early_def = true;
  found.latency = 10;
  found.imm = static_cast<std::uint8_t>(*kernel_.inputs[inst.imm].length);
  found.mem = {.lane_bytes = lane_, .index = static_cast<std::uint16_t>(inst.imm)};
  return found.def;
}

VReg A64Selector::select_read(const kir::Inst& inst) {
  if (inst.op == Op::Gather) return gather(inst, reg(inst.a));
  CHECK(inst.op == Op::Strided);
  const auto stride = static_cast<std::int64_t>(kernel_.at(inst.a).imm);
  const VReg number = element_number(Type::i64);
  const VReg scaled = stride == 1 ? number : mul_i64(number, reg(inst.a));
  return gather(inst, emit(Inst::kIdAdd_v, {scaled, reg(inst.b)}));
}

}  // namespace trident::codegen
