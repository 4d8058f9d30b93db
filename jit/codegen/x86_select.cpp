#include "jit/codegen/x86_select.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/kir/reduction.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::is_reduction;
using kir::Op;
using kir::Section;

namespace {

constexpr std::uint8_t kNeeded = 1, kReadByBody = 2;

}  // namespace

X86Target make_target(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  X86Target target;
  target.avx512 = isa == Isa::avx512;
  target.vector_bytes = target.avx512 && variant.vector_bits != 256 ? 64 : 32;
  std::uint32_t types = 0;  // a bit for each
  const auto meet = [&](ir::Type type) { types |= 1u << static_cast<unsigned>(type); };
  for (const kir::Inst& inst : kernel.insts) {
    if (inst.section == Section::body || is_reduction(inst)) {
      meet(inst.type);
      if (inst.a.valid() && inst.op != Op::Strided) meet(kernel.type_of(inst.a));
    }
  }
  for (const kir::Output& output : kernel.outputs)
    if (output.kind == kir::OutputKind::array) meet(kernel.type_of(output.value));
  std::uint32_t widest = 4;
  for (; types != 0; types &= types - 1)
    widest = std::max(widest, ir::bytes_of(static_cast<ir::Type>(std::countr_zero(types))));
  target.lanes = target.vector_bytes / widest;
  return target;
}

std::uint32_t lanes_of_tail(const kir::Kernel& kernel, std::uint64_t live_inputs) {
  std::uint32_t lanes = 0;
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i)
    if ((live_inputs >> i & 1) != 0 && !kernel.inputs[i].is_table()) lanes |= ir::bytes_of(kernel.inputs[i].type);
  for (const kir::Output& output : kernel.outputs)
    if (output.kind == kir::OutputKind::array) lanes |= ir::bytes_of(kernel.type_of(output.value));
  if (kernel.leaves_steps()) lanes |= ir::bytes_of(kernel.type_of(kernel.exit));
  for (const kir::Inst& inst : kernel.insts)
    if (is_reduction(inst)) lanes |= ir::bytes_of(inst.type);
  return lanes;
}

X86Selector::X86Selector(const kir::Kernel& kernel, const X86Target& target, const Options& options, Function& function,
                         ConstantPool& pool)
    : kernel_(kernel),
      target_(target),
      options_(options),
      f_(function),
      pool_(pool),
      body_uses_(kernel.insts.size(), 0, function.arena),
      live_(kernel.insts.size(), 0, function.arena),
      globals_(kernel.insts.size(), VReg{}, function.arena),
      quotients_(function.arena),
      values_(kernel.insts.size(), VReg{}, function.arena),
      settlers_(kernel.insts.size(), 0, function.arena),
      next_settler_(function.arena),
      reducer_(*this, function.arena),
      own_constants_(function.arena),
      ranges_(*this, function.arena),
      held_stores_(function.arena),
      pending_(function.arena),
      bounds_(function.arena),
      rows_(function.arena),
      strided_(function.arena),
      reciprocals_(function.arena) {
  f_.vregs.reserve(2 * kernel.insts.size() + 64);
  pool_.bytes.reserve(512);
  analyse();
  ranges_.find();
}

void X86Selector::analyse() {
  for (const kir::Output& output : kernel_.outputs) {
    live_[output.value.index] |= kNeeded;
    has_scalar_outputs_ |= output.kind == kir::OutputKind::scalar;
  }
  const auto read = [&](kir::Value operand, bool by_body) {
    if (!operand.valid()) return;
    live_[operand.index] |= by_body ? kNeeded | kReadByBody : kNeeded;
    if (by_body && body_uses_[operand.index] < 0xFFFF) ++body_uses_[operand.index];
  };
  read(kernel_.exit, kernel_.leaves_steps());
  has_loop_ = kernel_.leaves_steps();
  for (std::size_t i = kernel_.insts.size(); i-- > 0;) {
    const kir::Inst& inst = kernel_.insts[i];
    if ((live_[i] & kNeeded) == 0) continue;
    has_epilogue_ |= inst.section == Section::epilogue;
    has_invariants_ |= inst.section == Section::invariant && inst.op != Op::Constant && inst.op != Op::Param;
    const bool by_body = inst.section == Section::body || is_reduction(inst);
    const Merged parts = merged(inst);
    const bool whole = parts.form == Merged::Form::none;
    read(whole ? inst.a : parts.a, by_body);
    read(whole ? inst.b : parts.b, by_body);
    read(whole ? inst.c : parts.c, by_body);
    has_doubtful_ |= kir::has_doubtful_operands(inst.op) && inst.flags == 0 && inst.section == Section::body;
    if (inst.op == Op::Input) {
      ++body_inputs_;
      live_inputs_ |= std::uint64_t{1} << inst.imm;
    } else if (kir::info(inst.op).signature == kir::Signature::Read) {
      live_inputs_ |= std::uint64_t{1} << inst.imm;
      has_strided_ |= inst.op == Op::Strided;
    } else if (inst.op == Op::Param) {
      reads_params_ = true;
    }
  }
  if (options_.share_divisors) {
    quotients_.assign(kernel_.insts.size(), 0);
    for (std::size_t i = 0; i < kernel_.insts.size(); ++i) {
      const kir::Inst& inst = kernel_.insts[i];
      if (live_[i] == 0 || inst.section != Section::body || inst.op != Op::Div || inst.flags == 0) continue;
      if (std::uint8_t& count = quotients_[inst.b.index]; count < 0xFF) ++count;
    }
  }
  next_settler_.assign(kernel_.outputs.size(), 0);
  const auto add_settler = [&](kir::Value v, std::size_t number) {
    next_settler_[number] = settlers_[v.index];
    settlers_[v.index] = static_cast<std::uint16_t>(number + 1);
    has_loop_ = true;
  };
  for (std::size_t o = kernel_.outputs.size(); o-- > 0;) {
    if (kernel_.outputs[o].kind != kir::OutputKind::array) continue;
    read(kernel_.outputs[o].value, true);
    add_settler(kernel_.outputs[o].value, o);
  }
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    if ((live_[i] & kNeeded) == 0 || !is_reduction(kernel_.insts[i])) continue;
    reducer_.add(kir::Value(i));
    next_settler_.push_back(0);
    const kir::Value a = kernel_.insts[i].a, b = kernel_.insts[i].b;
    add_settler(b.valid() && b.index > a.index ? b : a, next_settler_.size() - 1);
  }
}

// --- building instructions -------------------------------------------------------------------------------------------

std::uint8_t X86Selector::width_of(ir::Type type) const {
  return context_ == Context::body ? target_.width_of(ir::bytes_of(type)) : std::uint8_t{16};
}

void X86Selector::set_type(ir::Type type) {
  lane_ = static_cast<std::uint8_t>(ir::bytes_of(type));
  width_ = width_of(type);
}

VReg X86Selector::new_local(RegClass reg_class, std::uint8_t width, std::uint8_t lane_bytes) {
  VRegInfo& info = f_.vregs.emplace_back();  // in its place: a copy would wait for the stores of its parts
  info.reg_class = reg_class;
  info.width = width;
  info.lane_bytes = lane_bytes;
  return VReg(static_cast<std::uint32_t>(f_.vregs.size() - 1));
}

MInst& X86Selector::push(std::uint32_t id, std::initializer_list<VReg> uses) {
  MInst& inst = block_->insts.emplace_back();
  inst.op = static_cast<std::uint16_t>(id);
  inst.copy = static_cast<std::uint8_t>(copy_);
  inst.def_width = inst.use_width = width_;
  for (const VReg use : uses) inst.use[inst.uses++] = use;
  inst.def = new_local(RegClass::vector, width_, lane_);
  return inst;
}

MInst& X86Selector::push_mask(std::uint32_t id, std::initializer_list<VReg> uses) {
  MInst& inst = push(id, uses);
  f_[inst.def].reg_class = RegClass::mask;
  f_[inst.def].width = 8;
  return inst;
}

MInst& X86Selector::below(VReg a, VReg b) {
  MInst& inst = push_mask(pick(Inst::kIdVpcmpud, Inst::kIdVpcmpuq), {a, b});
  inst.form = x86_form::kImmediate;
  inst.imm = 1;
  inst.folds = 2;
  inst.latency = 3;
  return inst;
}

VReg X86Selector::emit(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t latency, std::uint8_t folds) {
  MInst& inst = push(id, uses);
  inst.latency = latency;
  inst.folds = folds;
  return inst.def;
}

VReg X86Selector::emit_imm(std::uint32_t id, std::initializer_list<VReg> uses, std::uint8_t imm, std::uint8_t latency) {
  MInst& inst = push(id, uses);
  inst.latency = latency;
  inst.form = x86_form::kImmediate;
  inst.imm = imm;
  return inst.def;
}

VReg X86Selector::constant(std::uint64_t bits) {
  if (lane_ == 4) bits &= 0xFFFF'FFFFu;
  for (const X86Constant& key : own_constants_)
    if (key.bits == bits && key.lane_bytes == lane_) return key.vreg;
  const VReg v = constant_of(bits, lane_);
  own_constants_.push_back({bits, lane_, v});
  return v;
}

VReg X86Selector::constant_of(std::uint64_t bits, std::uint8_t lane_bytes) {
  VRegInfo info{.global = true, .width = target_.width_of(lane_bytes), .lane_bytes = lane_bytes};
  info.zero = bits == 0;
  if (!info.zero) {
    const std::uint32_t count = target_.avx512 ? 1 : info.width / lane_bytes;
    info.home = {.place = Place::pool,
                 .lane_bytes = lane_bytes,
                 .broadcast = target_.avx512,
                 .disp = pool_.add_repeated(bits, lane_bytes, count)};
  }
  return f_.add(info);
}

// --- values ----------------------------------------------------------------------------------------------------------

VReg X86Selector::reg(kir::Value v) {
  const kir::Inst& inst = kernel_.at(v);
  if (inst.op == Op::Constant) {
    if (is_mask(inst.type)) return mask_constant(inst.imm != 0, inst.type);
    VReg& global = globals_[v.index];
    if (!global.valid()) global = constant_of(inst.imm, static_cast<std::uint8_t>(ir::bytes_of(inst.type)));
    return global;
  }
  if (inst.section == Section::invariant && (context_ != Context::invariant || inst.op == Op::Param))
    return published(v);
  if (inst.op == Op::Input) return input(v, false);
  return values_[v.index];
}

bool X86Selector::is_widened(const kir::Inst& inst) const {
  return inst.op == Op::Input && ir::converts(kernel_.inputs[inst.imm].storage);
}

VReg X86Selector::foldable(kir::Value v) {
  if (kernel_.at(v).op != Op::Input) return reg(v);
  const bool fold = options_.fold_loads && !masked_ && body_uses_[v.index] == 1 && !is_widened(kernel_.at(v));
  return input(v, fold);
}

VReg X86Selector::input(kir::Value v, bool memory_only) {
  VReg& value = values_[v.index];
  if (value.valid()) return value;
  const kir::Inst& inst = kernel_.at(v);
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(inst.type));
  const MemRef home{.place = Place::input,
                    .lane_bytes = lane_bytes,
                    .index = static_cast<std::uint16_t>(inst.imm),
                    .disp = static_cast<std::int32_t>(copy_ * target_.lanes * lane_bytes)};
  --inputs_left_;
  if (is_widened(inst)) return value = elements_.load(inst, inst.type);
  if (memory_only)
    return value = f_.add({.memory_only = true, .width = width_of(inst.type), .lane_bytes = lane_bytes, .home = home});
  const std::uint8_t width = width_, lane = lane_;
  set_type(inst.type);
  MInst load;
  if (!masked_) {
    load = push(pick(Inst::kIdVmovups, Inst::kIdVmovupd), {});
    if (options_.fold_loads) {
      f_[load.def].home = home;
      f_[load.def].copy = static_cast<std::uint8_t>(copy_);
    }
  } else {
    const VReg mask = tail_mask(lane_);
    load =
        push(target_.avx512 ? pick(Inst::kIdVmovups, Inst::kIdVmovupd) : pick(Inst::kIdVmaskmovps, Inst::kIdVmaskmovpd),
             {mask});
    if (target_.avx512) load.form = x86_form::kMasked | x86_form::kZeroing;
  }
  load.form |= x86_form::kMemory;
  load.mem = home;
  load.latency = 7;
  load.unit = Unit::load;
  block_->insts.back() = load;
  width_ = width, lane_ = lane;
  return value = load.def;
}

VReg X86Selector::published(kir::Value v) {
  VReg& global = globals_[v.index];
  if (global.valid()) return global;
  const kir::Inst& inst = kernel_.at(v);
  const auto lane_bytes = static_cast<std::uint8_t>(ir::bytes_of(inst.type));
  VRegInfo info{.global = true, .width = target_.width_of(lane_bytes), .lane_bytes = lane_bytes};
  if (is_mask(inst.type) && target_.avx512) info.reg_class = RegClass::mask, info.width = 8;
  if (inst.op == Op::Param) {
    info.home = {.place = Place::param,
                 .lane_bytes = lane_bytes,
                 .broadcast = true,
                 .index = static_cast<std::uint16_t>(inst.imm)};
    info.foldable = target_.avx512;
  }
  return global = f_.add(info);
}

void X86Selector::publish(kir::Value v, VReg local) {
  const VReg global = globals_[v.index];
  lane_ = f_[global].lane_bytes;
  const std::uint8_t full = f_[global].reg_class == RegClass::mask ? target_.width_of(lane_) : f_[global].width;
  if (f_[global].reg_class == RegClass::mask) {
    width_ = 16;
    local = emit(pick(Inst::kIdVpmovm2d, Inst::kIdVpmovm2q), {local}, 3);
  }
  MInst& broadcast =
      push(full == 16 && lane_ == 8 ? Inst::kIdVmovddup : pick(Inst::kIdVbroadcastss, Inst::kIdVbroadcastsd), {local});
  broadcast.use_width = 16;
  broadcast.def_width = full;
  if (f_[global].reg_class != RegClass::mask) {
    broadcast.def = global;
    return;
  }
  const VReg wide = broadcast.def;
  f_[wide].width = full;
  width_ = full;
  push_mask(pick(Inst::kIdVpmovd2m, Inst::kIdVpmovq2m), {wide}).def = global;
}

VReg X86Selector::tail_mask(std::uint32_t lane_bytes) {
  VReg& mask = tail_masks_[target_.avx512 ? 0 : lane_bytes / 8];
  if (mask.valid()) return mask;
  const auto id = static_cast<std::uint32_t>(X86Pseudo::tail_mask);
  MInst& inst = target_.avx512 ? push_mask(id, {}) : push(id, {});
  if (!target_.avx512) {
    inst.def_width = f_[inst.def].width = target_.width_of(lane_bytes);
    f_[inst.def].lane_bytes = static_cast<std::uint8_t>(lane_bytes);
  }
  inst.form = x86_form::kPseudo;
  inst.imm = static_cast<std::uint8_t>(lane_bytes);
  return mask = inst.def;
}

void X86Selector::store_output(std::uint32_t output, VReg value, bool one_lane) {
  const ir::Type type = kernel_.type_of(kernel_.outputs[output].value);
  const ir::Storage storage = kernel_.outputs[output].storage;
  set_type(type);
  const auto bytes = static_cast<std::uint8_t>(ir::bytes_of(type, storage));
  MInst inst;
  if (ir::converts(storage)) {
    inst = elements_.store(storage, value);
  } else if (one_lane) {
    inst = push(pick(Inst::kIdVmovss, Inst::kIdVmovsd), {value});
  } else if (!masked_) {
    inst = push(pick(Inst::kIdVmovups, Inst::kIdVmovupd), {value});
  } else if (target_.avx512) {
    const VReg mask = tail_mask(lane_);
    inst = push(pick(Inst::kIdVmovups, Inst::kIdVmovupd), {value, mask});
    inst.form = x86_form::kMasked;
  } else {
    const VReg mask = tail_mask(lane_);
    inst = push(pick(Inst::kIdVmaskmovps, Inst::kIdVmaskmovpd), {mask, value});
  }
  if ((inst.form & x86_form::kPseudo) == 0) inst.form |= x86_form::kMemory;
  inst.def = {};
  inst.unit = Unit::store;
  inst.mem = {.place = Place::output,
              .lane_bytes = bytes,
              .index = static_cast<std::uint16_t>(output),
              .disp = static_cast<std::int32_t>(copy_ * target_.lanes * bytes)};
  f_.vregs.pop_back();  // the result that push made room for
  block_->insts.back() = inst;
  if (!kernel_.leaves_steps()) return;
  held_stores_.push_back(inst);
  block_->insts.pop_back();
}

/// Stores and accumulates a value that has just been computed.
void X86Selector::settle(kir::Value v) {
  for (std::uint32_t s = settlers_[v.index]; s != 0; s = next_settler_[s - 1]) {
    if (s > kernel_.outputs.size()) {
      reducer_.accumulate(s - 1 - kernel_.outputs.size());
      continue;
    }
    const VReg value = reg(v);  // an input that is copied to an output is loaded here
    if (inputs_left_ == 0 || kernel_.leaves_steps())
      store_output(s - 1, value, false);
    else
      pending_.push_back(s - 1);
  }
  if (inputs_left_ != 0) return;
  for (const std::uint32_t output : pending_) store_output(output, reg(kernel_.outputs[output].value), false);
  pending_.clear();
}

// --- sections --------------------------------------------------------------------------------------------------------

void X86Selector::select(kir::Value v) {
  const kir::Inst& inst = kernel_.at(v);
  set_type(inst.type);
  VReg& value = values_[v.index];
  if (const Merged parts = merged(inst); parts.form != Merged::Form::none) {
    value = select_merged(inst, parts);
    return;
  }
  if (select_row(v, inst)) return;
  if (is_mask(inst.type)) {
    const bool compares = kir::info(inst.op).signature == kir::Signature::Compare;
    value = compares ? select_compare(inst) : inst.op == Op::Convert ? convert_mask(inst) : select_mask_logic(inst);
    return;
  }
  value = select_arith(v, inst);
}

Block X86Selector::select_body(std::uint32_t copies, bool masked) {
  Block block(f_.arena);
  block_ = &block;
  context_ = Context::body;
  masked_ = masked;
  newton_share_ = 0;
  const bool by_bits = !masked && ranges_.any();
  VReg exit;
  reducer_.begin_body(copies);
  ranges_.begin_body(copies);
  block.insts.reserve(copies * (kernel_.insts.size() + kernel_.outputs.size() + 8));
  for (copy_ = 0; copy_ < copies; ++copy_) {
    std::fill(values_.begin(), values_.end(), VReg{});
    tail_masks_ = {};
    reciprocals_.clear();
    estimates_.clear();
    inputs_left_ = body_inputs_;
    for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
      if (kernel_.insts[i].section != Section::body || (live_[i] & kNeeded) == 0) continue;
      const bool is_joined = kir::Value(i) == kernel_.exit && (tests_negation() || exit_bits().valid());
      const bool folds = is_joined || (by_bits && ranges_.replaces(i));
      if (kernel_.insts[i].op != Op::Input && !folds && !reducer_.adds_under_mask(kir::Value(i))) select(kir::Value(i));
      if (settlers_[i] != 0) settle(kir::Value(i));
    }
    for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i)
      if (kernel_.insts[i].section != Section::body && settlers_[i] != 0) settle(kir::Value(i));
    CHECK(pending_.empty());
    if (kernel_.leaves_steps()) exit = by_bits ? ranges_.join(exit) : join_exits(exit);
  }
  if (kernel_.leaves_steps() && exit_bits().valid())
    leave_if_any_bit(exit);
  else if (kernel_.leaves_steps())
    leave_if(by_bits ? ranges_.within(exit) : exit,
             by_bits || tests_negation() ? X86Leave::any_clear : X86Leave::any_set);
  block.insts.insert(block.insts.end(), held_stores_.begin(), held_stores_.end());
  held_stores_.clear();
  copy_ = 0;
  masked_ = false;
  return block;
}

Block X86Selector::select_invariants() {
  Block block(f_.arena);
  block_ = &block;
  context_ = Context::invariant;
  if (!has_invariants_ && !reads_tables()) return block;
  std::fill(values_.begin(), values_.end(), VReg{});
  estimates_.clear();
  start_bounds();
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    const kir::Inst& inst = kernel_.insts[i];
    if (inst.section != Section::invariant || (live_[i] & kNeeded) == 0) continue;
    if (inst.op == Op::Constant || inst.op == Op::Param) continue;
    select(kir::Value(i));
    if (globals_[i].valid()) publish(kir::Value(i), values_[i]);
  }
  start_strided();
  return block;
}

Block X86Selector::select_epilogue() {
  Block block(f_.arena);
  block_ = &block;
  context_ = Context::epilogue;
  if (!has_epilogue_ && !has_scalar_outputs_) return block;
  std::fill(values_.begin(), values_.end(), VReg{});
  estimates_.clear();
  reducer_.load_results();
  for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) {
    const kir::Inst& inst = kernel_.insts[i];
    if (inst.section == Section::epilogue && (live_[i] & kNeeded) != 0 && !is_reduction(inst)) select(kir::Value(i));
  }
  for (std::uint32_t o = 0; o < kernel_.outputs.size(); ++o)
    if (kernel_.outputs[o].kind == kir::OutputKind::scalar) store_output(o, reg(kernel_.outputs[o].value), true);
  return block;
}

}  // namespace trident::codegen
