#include "jit/codegen/a64_select.h"

#include <asmjit/arm/a64assembler.h>

#include <algorithm>

#include "jit/kir/reduction.h"
#include "runtime/base/check.h"

namespace trident::codegen {

using asmjit::a64::Inst;
using kir::is_reduction;
using kir::Op;
using kir::Section;

namespace {

std::vector<bool> live_values(const kir::Kernel& kernel) {
  std::vector<bool> live(kernel.insts.size());
  for (const kir::Output& output : kernel.outputs) live[output.value.index] = true;
  if (kernel.exit.valid()) live[kernel.exit.index] = true;
  for (std::size_t i = kernel.insts.size(); i-- > 0;) {
    if (!live[i]) continue;
    const kir::Inst& inst = kernel.insts[i];
    const HalfProduct halves = narrow_product(kernel, inst);
    for (const kir::Value v : {halves.valid() ? halves.a : inst.a, halves.valid() ? halves.b : inst.b, inst.c})
      if (v.valid()) live[v.index] = true;
  }
  return live;
}

}  // namespace

A64Target A64Selector::make_target(const kir::Kernel& kernel) {
  const std::vector<bool> live = live_values(kernel);
  A64Target target;
  std::size_t partials = 0;
  for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
    const kir::Inst& inst = kernel.insts[i];
    if (!live[i]) continue;
    if (ir::bytes_of(inst.type) == 8) target.lanes = 2;
    if (is_reduction(inst)) partials = std::max(partials, kir::partials_of(inst.type));
  }
  if (partials != 0) target.unit = static_cast<std::uint32_t>(partials) / target.lanes;
  return target;
}

A64Selector::A64Selector(const kir::Kernel& kernel, const A64Target& target, Function& function, ConstantPool& pool)
    : kernel_(kernel),
      target_(target),
      f_(function),
      pool_(pool),
      live_(function.arena),
      globals_(kernel.insts.size(), VReg{}, function.arena),
      values_(kernel.insts.size(), VReg{}, function.arena),
      reductions_(function.arena),
      partials_(function.arena),
      held_stores_(function.arena),
      constants_(function.arena) {
  const std::vector<bool> live = live_values(kernel);
  live_.assign(live.begin(), live.end());
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i)
    if (live_[i] && (kernel.insts[i].op == Op::Index || kernel.insts[i].op == Op::Strided) &&
        count_slot_.place == Place::none)
      count_slot_ = f_.add_slot(16, 8);
  has_loop_ = kernel.leaves_steps();
  for (const kir::Output& output : kernel.outputs) has_loop_ |= output.kind == kir::OutputKind::array;
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
    const kir::Inst& inst = kernel.insts[i];
    if (!live_[i] || !is_reduction(inst)) continue;
    has_loop_ = true;
    add_reduction(kir::Value(i));
  }
}

// --- building instructions -------------------------------------------------------------------------------------------

void A64Selector::set_type(ir::Type type) {
  lane_ = static_cast<std::uint8_t>(ir::bytes_of(type));
  width_ = whole_registers_ ? 16 : target_.width_of(lane_);
}

MInst& A64Selector::push(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t form) {
  MInst& inst = block_->insts.emplace_back();
  inst.op = static_cast<std::uint16_t>(id);
  inst.form = form;
  inst.copy = static_cast<std::uint8_t>(copy_);
  inst.def_width = inst.use_width = width_;
  for (const VReg use : uses) inst.use[inst.uses++] = use;
  inst.def = f_.add({.width = width_, .lane_bytes = lane_});
  return inst;
}

VReg A64Selector::emit(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t latency, std::uint8_t form) {
  MInst& inst = push(id, uses, form);
  inst.latency = latency;
  return inst.def;
}

VReg A64Selector::emit_imm(std::uint32_t id, std::initializer_list<VReg> uses, std::uint32_t imm, std::uint8_t form) {
  MInst& inst = push(id, uses, form | a64_form::kImmediate);
  inst.latency = 2;
  inst.imm = static_cast<std::uint8_t>(imm);
  return inst.def;
}

VReg A64Selector::emit_tied(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t latency,
                            std::uint8_t form) {
  MInst& inst = push(id, uses, form | a64_form::kTied);
  inst.latency = latency;
  inst.ties = 1;
  return inst.def;
}

VReg A64Selector::load(const MemRef& from) {
  MInst& inst = push(0, {}, a64_form::kMemory);
  inst.mem = from;
  inst.latency = 5;
  inst.unit = Unit::load;
  return inst.def;
}

void A64Selector::store(VReg value, const MemRef& to, bool one_lane) {
  MInst& inst = push(0, {value}, one_lane ? a64_form::kMemory | a64_form::kOneLane : a64_form::kMemory);
  f_.vregs.pop_back();  // a store has no result
  inst.def = {};
  inst.mem = to;
  inst.use_width = f_[value].width;
  inst.unit = Unit::store;
}

VReg A64Selector::constant(std::uint64_t bits) {
  if (lane_ == 4) bits &= 0xFFFF'FFFFu;
  for (const ConstantKey& key : constants_)
    if (key.bits == bits && key.lane_bytes == lane_) return key.vreg;
  VRegInfo info{.global = true, .zero = bits == 0, .foldable = false, .width = width_, .lane_bytes = lane_};
  if (!info.zero)
    info.home = {.place = Place::pool, .lane_bytes = lane_, .disp = pool_.add_repeated(bits, lane_, width_ / lane_)};
  const VReg v = f_.add(info);
  constants_.push_back({bits, lane_, v});
  return v;
}

// --- values ----------------------------------------------------------------------------------------------------------

bool A64Selector::is_alias(const kir::Inst& inst) const {
  return inst.op == Op::Bitcast || (inst.op == Op::Convert && inst.type == kernel_.type_of(inst.a));
}

VReg A64Selector::reg(kir::Value v) {
  const kir::Inst& inst = kernel_.at(v);
  if (is_alias(inst)) return reg(inst.a);
  if (inst.op == Op::Constant) {
    const std::uint8_t width = width_, lane = lane_;
    set_type(inst.type);
    const VReg global = constant(inst.imm);
    width_ = width, lane_ = lane;
    return global;
  }
  if (inst.section == Section::invariant && (context_ != Context::invariant || inst.op == Op::Param))
    return published(v);
  if (inst.op == Op::Input) return input(v);
  return values_[v.index];
}

VReg A64Selector::input(kir::Value v) {
  VReg& value = values_[v.index];
  if (value.valid()) return value;
  const kir::Inst& inst = kernel_.at(v);
  const std::uint8_t width = width_, lane = lane_;
  set_type(inst.type);
  if (const ir::Storage storage = kernel_.inputs[inst.imm].storage; ir::converts(storage)) {
    value = load_elements(inst, storage);
    width_ = width, lane_ = lane;
    return value;
  }
  const MemRef home{.place = Place::input,
                    .lane_bytes = lane_,
                    .index = static_cast<std::uint16_t>(inst.imm),
                    .disp = static_cast<std::int32_t>(copy_ * width_)};
  value = load(home);
  if (context_ == Context::tail)
    block_->insts.back().form |= a64_form::kOneLane;
  else
    f_[value].home = home;
  width_ = width, lane_ = lane;
  return value;
}

/// Returns the global register of a parameter, or of an invariant that another section reads.
VReg A64Selector::published(kir::Value v) {
  VReg& global = globals_[v.index];
  if (global.valid()) return global;
  const kir::Inst& inst = kernel_.at(v);
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(inst.type));
  VRegInfo info{.global = true, .foldable = false, .width = target_.width_of(lane_bytes), .lane_bytes = lane_bytes};
  if (inst.op == Op::Param)
    info.home = {.place = Place::param,
                 .lane_bytes = lane_bytes,
                 .broadcast = true,
                 .index = static_cast<std::uint16_t>(inst.imm)};
  return global = f_.add(info);
}

// --- sections --------------------------------------------------------------------------------------------------------

void A64Selector::start_section(Block& block, Context context) {
  block_ = &block;
  context_ = context;
  copy_ = 0;
  std::fill(values_.begin(), values_.end(), VReg{});
}

void A64Selector::select_section(Section section) {
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    const kir::Inst& inst = kernel_.insts[i];
    if (!live_[i] || inst.section != section || is_reduction(inst) || is_alias(inst)) continue;
    if (inst.op == Op::Constant || inst.op == Op::Param || inst.op == Op::Input) continue;
    set_type(inst.type);
    values_[i] = select(inst);
  }
}

void A64Selector::body_copy() {
  select_section(Section::body);
  for (const Reduction& reduction : reductions_) accumulate(reduction);
  // Computes all stored values before the first store: an output may be the same array as an input.
  for (const kir::Output& output : kernel_.outputs)
    if (output.kind == kir::OutputKind::array) reg(output.value);
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
    const kir::Output& output = kernel_.outputs[o];
    if (output.kind != kir::OutputKind::array) continue;
    set_type(kernel_.type_of(output.value));
    const std::uint32_t bytes = kir::element_bytes(kernel_, output);
    const MemRef to{.place = Place::output,
                    .lane_bytes = static_cast<std::uint8_t>(bytes),
                    .index = static_cast<std::uint16_t>(o),
                    .disp = static_cast<std::int32_t>(copy_ * target_.lanes * bytes)};
    if (ir::converts(output.storage))
      store_elements(reg(output.value), output.storage, to);
    else
      store(reg(output.value), to, context_ == Context::tail);
    if (!kernel_.leaves_steps()) continue;
    held_stores_.push_back(block_->insts.back());
    block_->insts.pop_back();
  }
}

/// Joins the exit's mask of this copy with that of the copies before.
VReg A64Selector::join_exits(VReg so_far) {
  const VReg mask = reg(kernel_.exit);
  set_type(kernel_.type_of(kernel_.exit));
  return so_far.valid() ? emit(Inst::kIdOrr_v, {so_far, mask}, 1, a64_form::kBytes) : mask;
}

/// Leaves the kernel if the mask says so, else stores what waits for that.
void A64Selector::leave_if(VReg mask) {
  const bool one_lane = context_ == Context::tail || context_ == Context::epilogue;
  const std::uint8_t lane_bytes = f_[mask].lane_bytes;
  if (!one_lane && f_[mask].width == 16) {  // eight bytes that say as much as sixteen
    width_ = 16, lane_ = 4;
    mask = emit(Inst::kIdUmaxp_v, {mask, mask}, 2, a64_form::kUseWords);
  }
  MInst& inst = push(static_cast<std::uint32_t>(A64Pseudo::leave_if), {mask}, a64_form::kPseudo);
  f_.vregs.pop_back();  // it has no result
  inst.def = {};
  inst.imm = one_lane ? lane_bytes : 0;
  inst.exits = true;
  inst.unit = Unit::none;
  block_->insts.insert(block_->insts.end(), held_stores_.begin(), held_stores_.end());
  held_stores_.clear();
}

Block A64Selector::select_body(std::uint32_t copies) {
  Block block(f_.arena);
  start_section(block, Context::body);
  copies_ = copies;
  VReg exit;
  for (copy_ = 0; copy_ < copies; ++copy_) {
    std::fill(values_.begin(), values_.end(), VReg{});
    body_copy();
    if (kernel_.leaves_steps()) exit = join_exits(exit);
  }
  if (kernel_.leaves_steps()) leave_if(exit);
  return block;
}

Block A64Selector::select_tail() {
  Block block(f_.arena);
  start_section(block, Context::tail);
  body_copy();
  if (kernel_.leaves_steps()) leave_if(join_exits({}));
  return block;
}

Block A64Selector::select_invariants() {
  Block block(f_.arena);
  start_section(block, Context::invariant);
  if (count_slot_.place != Place::none && !reduces()) {
    MInst& save = push(static_cast<std::uint32_t>(A64Pseudo::save_count), {}, a64_form::kPseudo);
    f_.vregs.pop_back();
    save.def = {};
    save.mem = count_slot_;
    save.unit = Unit::store;
  }
  select_section(Section::invariant);
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    if (!globals_[i].valid() || kernel_.insts[i].op == Op::Param) continue;
    set_type(kernel_.insts[i].type);
    push(Inst::kIdMov_v, {values_[i]}, a64_form::kBytes).def = globals_[i];
  }
  return block;
}

void A64Selector::load_results() {
  for (const Reduction& reduction : reductions_) {
    set_type(kernel_.type_of(reduction.value));
    const VReg tree = load(reduction.tree);
    values_[reduction.value.index] =
        emit(static_cast<std::uint32_t>(A64Pseudo::first_lane), {tree}, 2, a64_form::kPseudo);
  }
}

Block A64Selector::select_decided() {
  Block block(f_.arena);
  start_section(block, Context::epilogue);
  load_results();
  select_section(Section::epilogue);
  leave_if(reg(kernel_.exit));
  return block;
}

Block A64Selector::select_epilogue() {
  Block block(f_.arena);
  start_section(block, Context::epilogue);
  load_results();
  select_section(Section::epilogue);
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o) {
    if (kernel_.outputs[o].kind != kir::OutputKind::scalar) continue;
    set_type(kernel_.type_of(kernel_.outputs[o].value));
    store(reg(kernel_.outputs[o].value),
          {.place = Place::output, .lane_bytes = lane_, .index = static_cast<std::uint16_t>(o)}, true);
  }
  return block;
}

}  // namespace trident::codegen
