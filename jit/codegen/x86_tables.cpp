// Tables: the element's number, gathers and strided loads are selected here; x86_table_emit.cpp has their bytes.
//
// Nothing outside a table is ever read. Gathers load the lanes whose index is inside under a mask and leave the others
// 0. They need no mask for the tail: the lanes past its end are compared with the length like any other index. Strided
// loads test once per vector whether all of it lies inside. Then they are plain loads and a shuffle, or for larger
// strides a gather of constant distances. A vector across an end of the table goes lane by lane, out of the loop's
// way.
#include <asmjit/x86.h>

#include <algorithm>
#include <cstring>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using ir::Type;
using kir::Op;
using kir::Section;

namespace {

constexpr std::size_t kLanesMax = 16;
/// Latency of a gather, which takes a load for each lane.
constexpr std::uint8_t kGatherLatency = 26;

StridedForm form_of(std::int64_t stride) {
  return stride == 1    ? StridedForm::contiguous
         : stride == -1 ? StridedForm::reversed
         : stride == 2  ? StridedForm::pairs
                        : StridedForm::gather;
}

}  // namespace

/// Returns a constant register with a different number in each lane.
VReg X86Selector::row(std::uint8_t lane_bytes, std::span<const std::uint64_t> lanes) {
  std::array<std::uint8_t, 64> bytes{};
  for (std::size_t i = 0; i < lanes.size(); ++i) std::memcpy(&bytes[i * lane_bytes], &lanes[i], lane_bytes);
  const auto width = static_cast<std::uint8_t>(std::max<std::size_t>(lanes.size() * lane_bytes, 16));
  const std::int32_t disp = pool_.add_bytes(bytes.data(), width, width);
  for (const X86NumbersRow& known : rows_)
    if (known.disp == disp && known.width == width) return known.vreg;
  const VReg v = f_.add({.global = true,
                         .width = width,
                         .lane_bytes = lane_bytes,
                         .home = {.place = Place::pool, .lane_bytes = lane_bytes, .disp = disp}});
  rows_.push_back({disp, width, v});
  return v;
}

VReg X86Selector::select_index(const kir::Inst& inst) {
  std::array<std::uint64_t, kLanesMax> numbers;
  for (std::uint32_t lane = 0; lane < target_.lanes; ++lane) numbers[lane] = copy_ * target_.lanes + lane;
  MInst& position = push(static_cast<std::uint32_t>(X86Pseudo::position), {});
  position.form = x86_form::kPseudo;
  position.latency = 3;
  const VReg first = position.def;
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(inst.type));
  const VReg numbers_row = row(lane_bytes, {numbers.data(), target_.lanes});
  return emit(pick(Inst::kIdVpaddd, Inst::kIdVpaddq), {first, numbers_row}, 1, 2);
}

// --- gathers ---------------------------------------------------------------------------------------------------------

/// Returns the bound that indices of type `index` are compared with. AVX-512: the length, unsigned. AVX2, which
/// compares signed numbers only: the last index, -1 for none. Longer lengths are clamped to the type's greatest value.
VReg X86Selector::table_bound(std::uint64_t table, Type index) {
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(index));
  for (const TableBound& known : bounds_)
    if (known.table == table && known.lane_bytes == lane_bytes) return known.vreg;
  const VReg v = f_.add({.global = true, .width = target_.width_of(lane_bytes), .lane_bytes = lane_bytes});
  bounds_.push_back({static_cast<std::uint32_t>(table), lane_bytes, v});
  return v;
}

void X86Selector::start_bounds() {
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    const kir::Inst& inst = kernel_.insts[i];
    if (inst.op == Op::Gather && inst.section == Section::invariant && live_[i] != 0)
      table_bound(inst.imm, kernel_.type_of(inst.a));
  }
  for (const TableBound& bound : bounds_) {
    MInst& start = push(static_cast<std::uint32_t>(X86Pseudo::table_bound), {});
    start.form = x86_form::kPseudo;
    start.imm = static_cast<std::uint8_t>(*kernel_.inputs[bound.table].length);
    start.def = bound.vreg;
    start.def_width = f_[bound.vreg].width;
  }
}

/// Returns the mask of a gather: an opmask register, or the top bits of vectors with the lanes of the table's elements.
VReg X86Selector::inside_table(const kir::Inst& inst, VReg index) {
  const Type type = kernel_.type_of(inst.a);
  const VReg bound = table_bound(inst.imm, type);
  set_type(type);
  if (target_.avx512) return below(index, bound).def;
  const std::uint32_t greater = pick(Inst::kIdVpcmpgtd, Inst::kIdVpcmpgtq);
  const bool narrows = ir::bytes_of(inst.type) < ir::bytes_of(type);
  const VReg beyond = emit(greater, {index, bound}, 3, 2);
  // Only top bits count, and a negative index has its top bit set; but narrowing keeps the lower half.
  const VReg before = narrows ? emit(greater, {constant(0), index}, 3) : index;
  const VReg outside = logic(Op::Or, beyond, before);
  const VReg inside = logic(Op::Xor, constant(~std::uint64_t{0}), outside);
  if (narrows) return narrow_i64(inside);
  if (ir::bytes_of(inst.type) == ir::bytes_of(type)) return inside;
  const std::uint8_t use_width = width_;
  set_type(inst.type);
  MInst& widened = push(Inst::kIdVpmovsxdq, {inside});
  widened.use_width = use_width;
  widened.latency = 3;
  return widened.def;
}

VReg X86Selector::select_gather(const kir::Inst& inst) {
  const VReg index = reg(inst.a);
  const VReg mask = inside_table(inst, index);
  const std::uint8_t index_width = width_of(kernel_.type_of(inst.a));
  set_type(inst.type);
  MInst& gather = push(static_cast<std::uint32_t>(X86Pseudo::gather), {index, mask});
  gather.form = x86_form::kPseudo;
  gather.early_def = true;
  gather.use_width = index_width;
  gather.mem = {.place = Place::input, .lane_bytes = lane_, .index = static_cast<std::uint16_t>(inst.imm)};
  gather.latency = kGatherLatency;
  gather.unit = Unit::load;
  gather.occupancy = static_cast<std::uint8_t>(target_.lanes);
  return gather.def;
}

// --- strided loads ---------------------------------------------------------------------------------------------------

/// Returns the number of the read in strided_: one for all copies and blocks.
std::size_t X86Selector::strided_read(const kir::Inst& inst) {
  const auto stride = static_cast<std::int64_t>(kernel_.at(inst.a).imm);
  for (std::size_t i = 0; i < strided_.size(); ++i)
    if (strided_[i].table == inst.imm && strided_[i].stride == stride && strided_[i].offset_value == inst.b) return i;
  if (strided_.empty()) strided_room_ = f_.add_slot(64, 8);
  X86StridedRead& read = strided_.emplace_back();
  read.form = form_of(stride);
  read.lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(inst.type));
  read.table = static_cast<std::uint16_t>(inst.imm);
  read.length_param = static_cast<std::uint16_t>(*kernel_.inputs[inst.imm].length);
  read.stride = stride;
  read.offset_value = inst.b;
  constexpr std::int64_t kOffsetMax = 1 << 30;  // so that all copies' displacements fit 32 bits
  const kir::Inst& offset = kernel_.at(inst.b);
  const auto bits = static_cast<std::int64_t>(offset.imm);
  if (offset.op == Op::Constant && bits >= -kOffsetMax && bits <= kOffsetMax)
    read.offset = static_cast<std::int32_t>(bits);
  read.limits = f_.add_slot(32, 8);
  read.room = strided_room_;
  return strided_.size() - 1;
}

VReg X86Selector::select_strided(const kir::Inst& inst) {
  const std::size_t number = strided_read(inst);
  const X86StridedRead& read = strided_[number];
  const std::uint32_t lanes = target_.lanes;
  const bool wide_lanes = lane_ == 8;
  std::array<std::uint64_t, kLanesMax> numbers{};
  const auto numbered = [&](std::uint8_t lane_bytes, auto of) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) numbers[lane] = static_cast<std::uint64_t>(of(lane));
    return row(lane_bytes, {numbers.data(), lanes});
  };
  std::array<VReg, 2> uses;
  switch (read.form) {
    case StridedForm::contiguous: break;
    case StridedForm::reversed:
      if (width_ == 16 || (wide_lanes && width_ == 32)) break;  // an immediate does it
      uses[0] = numbered(lane_, [&](std::uint32_t lane) { return lanes - 1 - lane; });
      break;
    case StridedForm::pairs:
      // The second load begins with the last element of the first, so that it ends with the last element wanted.
      if (!target_.avx512) break;
      uses[0] = numbered(lane_, [&](std::uint32_t lane) { return 2 * lane < lanes ? 2 * lane : 2 * lane + 1; });
      break;
    case StridedForm::gather: {
      const std::int64_t lowest = read.lowest(lanes);
      uses[0] = numbered(4, [&](std::uint32_t lane) { return read.stride * lane - lowest; });
      const auto id = static_cast<std::uint32_t>(X86Pseudo::scratch);
      MInst& scratch = target_.avx512 ? push_mask(id, {}) : push(id, {});
      scratch.form = x86_form::kPseudo;
      scratch.unit = Unit::none;
      uses[1] = scratch.def;
      break;
    }
  }
  MInst& load = uses[1].valid()   ? push(static_cast<std::uint32_t>(X86Pseudo::strided), {uses[0], uses[1]})
                : uses[0].valid() ? push(static_cast<std::uint32_t>(X86Pseudo::strided), {uses[0]})
                                  : push(static_cast<std::uint32_t>(X86Pseudo::strided), {});
  load.form = x86_form::kPseudo;
  load.early_def = true;
  load.mem = {.lane_bytes = lane_,
              .index = static_cast<std::uint16_t>(number),
              .disp = static_cast<std::int32_t>(copy_ * lanes)};
  load.unit = Unit::load;
  load.latency = read.form == StridedForm::gather ? kGatherLatency : 8;
  load.occupancy = static_cast<std::uint8_t>(read.form == StridedForm::gather  ? lanes
                                             : read.form == StridedForm::pairs ? 2
                                                                               : 1);
  return load.def;
}

/// Computes lengths, bounds and offsets into the frame. Comes after the invariants, which the offsets may be.
void X86Selector::start_strided() {
  for (std::size_t i = 0; i < strided_.size(); ++i) {
    const X86StridedRead& read = strided_[i];
    MInst& limits = push(static_cast<std::uint32_t>(X86Pseudo::table_limits), {});
    f_.vregs.pop_back();  // the result that push made room for
    limits.def = {};
    limits.form = x86_form::kPseudo;
    limits.mem.index = static_cast<std::uint16_t>(i);
    if (read.offset) continue;
    const VReg offset = reg(read.offset_value);
    set_type(Type::i64);
    MInst& store = push(Inst::kIdVmovsd, {offset});
    f_.vregs.pop_back();
    store.def = {};
    store.form = x86_form::kMemory;
    store.unit = Unit::store;
    store.mem = read.limits;
    store.mem.disp += X86StridedRead::kOffset;
  }
}

}  // namespace trident::codegen
