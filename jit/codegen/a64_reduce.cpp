// Reductions in the order of jit/kir/reduction.h. A step of the main loop takes all partial results, which are globals:
// in registers as far as there are any. They are parked in the frame when the loop ends, and the tail finds its own
// there by the element's number. Joining works on whole registers, whatever the width of the body's vectors.
#include <asmjit/arm/a64assembler.h>

#include "jit/codegen/a64_select.h"
#include "jit/kir/reduction.h"

namespace trident::codegen {

using asmjit::a64::Inst;
using kir::Op;

namespace {

constexpr std::uint32_t kRegisterBytes = 16;

}  // namespace

std::uint32_t A64Selector::vectors_of(const Reduction& reduction) const {
  return static_cast<std::uint32_t>(kir::partials_of(kernel_.type_of(reduction.value))) / target_.lanes;
}

void A64Selector::add_reduction(kir::Value v) {
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(kernel_.type_of(v)));
  Reduction& reduction = reductions_.emplace_back();
  reduction.value = v;
  reduction.first_partial = static_cast<std::uint32_t>(partials_.size());
  for (std::uint32_t p = 0; p < vectors_of(reduction); ++p)
    partials_.push_back(f_.add({.global = true, .width = target_.width_of(lane_bytes), .lane_bytes = lane_bytes}));
  reduction.partials = f_.add_room(kir::kPartialBytes, kRegisterBytes, lane_bytes);
  reduction.tree = f_.add_slot(kTreeBytes, lane_bytes);
  reduction.trees = f_.add_room(kTreeBytes * kir::kChunkLevels, kTreeBytes, lane_bytes);
  reduction.trees.place = Place::level;
}

VReg A64Selector::join(const kir::Inst& reduction, VReg earlier, VReg later) {
  const Op op = kir::joining_op(reduction.op);
  if (op == Op::Min) return least(reduction.type, later, earlier);
  if (op == Op::Max) return greatest(reduction.type, later, earlier);
  const bool floats = is_float(reduction.type);
  if (op == Op::Mul && floats) return emit(Inst::kIdFmul_v, {later, earlier}, 3);
  if (op == Op::Mul) return lane_ == 8 ? mul_i64(later, earlier) : emit(Inst::kIdMul_v, {later, earlier}, 4);
  return emit(floats ? Inst::kIdFadd_v : Inst::kIdAdd_v, {later, earlier}, floats ? 3 : 2);
}

/// Joins the element of this copy with its partial result.
VReg A64Selector::join_element(const kir::Inst& reduction, VReg partial) {
  const VReg a = reg(reduction.a);
  if (reduction.op != Op::Dot) return join(reduction, partial, a);
  return emit_tied(Inst::kIdFmla_v, {partial, a, reg(reduction.b)}, 4);
}

void A64Selector::accumulate(const Reduction& reduction) {
  const kir::Inst& inst = kernel_.at(reduction.value);
  set_type(inst.type);
  if (context_ != Context::tail) {
    const VReg sum = partials_[reduction.first_partial + copy_ % vectors_of(reduction)];
    const VReg next = join_element(inst, sum);
    if (block_->insts.back().ties == 0 || inst.op == Op::Dot)
      block_->insts.back().def = sum;
    else
      push(Inst::kIdMov_v, {next}, a64_form::kBytes).def = sum;
    return;
  }
  MemRef place = reduction.partials;
  place.place = Place::partial;
  const VReg sum = load(place);
  block_->insts.back().form |= a64_form::kOneLane;
  store(join_element(inst, sum), place, true);
}

// --- blocks ----------------------------------------------------------------------------------------------------------

template <class Each>
Block A64Selector::reduction_block(Each each) {
  Block block(f_.arena);
  start_section(block, Context::epilogue);
  for (const Reduction& reduction : reductions_) {
    set_type(kernel_.type_of(reduction.value));
    each(reduction);
  }
  return block;
}

Block A64Selector::select_start() {
  return reduction_block([this](const Reduction& reduction) {
    const kir::Inst& inst = kernel_.at(reduction.value);
    const VReg start = constant(kir::start_bits(inst.op, inst.type));
    for (std::uint32_t p = 0; p < vectors_of(reduction); ++p)
      push(Inst::kIdMov_v, {start}, a64_form::kBytes).def = partials_[reduction.first_partial + p];
  });
}

Block A64Selector::select_parking() {
  return reduction_block([this](const Reduction& reduction) {
    MemRef place = reduction.partials;
    for (std::uint32_t p = 0; p < vectors_of(reduction); ++p, place.disp += width_)
      store(partials_[reduction.first_partial + p], place, false);
  });
}

VReg A64Selector::chunk_result(const Reduction& reduction) {
  const kir::Inst& inst = kernel_.at(reduction.value);
  set_type(inst.type);
  std::array<VReg, kir::kPartialBytes / kRegisterBytes> vectors;
  MemRef place = reduction.partials;
  for (VReg& vector : vectors) {
    vector = load(place);
    place.disp += kRegisterBytes;
  }
  for (std::size_t half = vectors.size() / 2; half != 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) vectors[i] = join(inst, vectors[i], vectors[i + half]);
  for (std::uint32_t bytes = kRegisterBytes / 2; bytes >= lane_; bytes /= 2) {
    const VReg upper = emit_imm(Inst::kIdExt_v, {vectors[0], vectors[0]}, bytes, a64_form::kBytes);
    vectors[0] = join(inst, vectors[0], upper);
  }
  return vectors[0];
}

Block A64Selector::select_chunk_end() {
  Block block(f_.arena);
  start_section(block, Context::epilogue);
  whole_registers_ = true;
  for (const Reduction& reduction : reductions_) store(chunk_result(reduction), reduction.tree, false);
  whole_registers_ = false;
  return block;
}

Block A64Selector::select_join() {
  return reduction_block([this](const Reduction& reduction) {
    const VReg earlier = load(reduction.trees), later = load(reduction.tree);
    store(join(kernel_.at(reduction.value), earlier, later), reduction.tree, false);
  });
}

Block A64Selector::select_keep() {
  return reduction_block([this](const Reduction& reduction) { store(load(reduction.tree), reduction.trees, false); });
}

}  // namespace trident::codegen
