#include "jit/codegen/x86_region_select.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using asmjit::x86::CondCode;
using region::Op;
using region::Type;
using region::Value;

namespace {

std::uint32_t move_of(Type type) {
  return type == Type::f64 ? Inst::kIdVmovaps : Inst::kIdMov;
}

std::array<std::pmr::vector<VReg>, 4> lists(std::pmr::memory_resource* arena) {
  using List = std::pmr::vector<VReg>;
  return {List(arena), List(arena), List(arena), List(arena)};
}

/// The end of a block that spend() turns into one instruction and a jump.
constexpr std::uint32_t kSpendingInsts = 6;

}  // namespace

RegionSelector::RegionSelector(const region::Region& region, Function& function, ConstantPool& pool, bool rounds_itself,
                               const std::vector<bool>& held)
    : region_(region),
      uses_(region, function.arena),
      f_(function),
      pool_(pool),
      rounds_itself_(rounds_itself),
      held_(held),
      variables_(function.arena),
      values_(region.insts.size(), function.arena),
      locals_(lists(function.arena)),
      pool_constants_(function.arena),
      float_constants_(function.arena),
      window_words_(function.arena),
      misses_(function.arena) {
  variables_.reserve(region.variables.size());
  for (const region::Variable& v : region.variables) {
    const MemRef home = v.scratch ? MemRef{} : MemRef{.place = Place::frame, .disp = static_cast<std::int32_t>(v.slot)};
    variables_.push_back(
        f_.add({.reg_class = class_of(v.type), .global = true, .width = width_of(v.type), .home = home}));
  }
}

Block RegionSelector::select(std::uint32_t number, std::uint32_t next) {
  Block block(f_.arena);
  block_ = &block;
  used_locals_ = {};
  const region::Block& from = region_.blocks[number];
  last_ = from.last;
  if (ends_spending(from)) last_ -= kSpendingInsts;
  for (std::uint32_t i = from.first; i < last_; ++i)
    if (uses_.is_needed(i) && !uses_.is_late(Value(i))) instruction(i);
  last_ == from.last ? end(from.end, next) : spend(from, next);
  return block;
}

// --- registers -------------------------------------------------------------------------------------------------------

MInst& RegionSelector::push(std::uint32_t op, std::initializer_list<VReg> uses, std::uint8_t width) {
  MInst& inst = block_->insts.emplace_back();
  inst.op = static_cast<std::uint16_t>(op);
  inst.def_width = inst.use_width = width;
  for (const VReg use : uses) inst.use[inst.uses++] = use;
  return inst;
}

MInst& RegionSelector::pseudo(X86RegionPseudo op, std::initializer_list<VReg> uses, std::uint8_t width) {
  MInst& inst = push(static_cast<std::uint32_t>(op), uses, width);
  inst.form = x86_form::kPseudo;
  return inst;
}

VReg RegionSelector::local(Type type) {
  std::pmr::vector<VReg>& locals = locals_[static_cast<std::size_t>(type)];
  std::size_t& used = used_locals_[static_cast<std::size_t>(type)];
  if (used == locals.size()) locals.push_back(f_.add({.reg_class = class_of(type), .width = width_of(type)}));
  return locals[used++];
}

void RegionSelector::forget_spills() {
  for (const std::pmr::vector<VReg>& locals : locals_)
    for (const VReg local : locals) f_[local].home = {};
}

VReg RegionSelector::define(Value v, MInst& inst) {
  const std::optional<std::uint32_t> home = uses_.home(v);
  return values_[v.index] = inst.def = home ? variables_[*home] : local(at(v).type);
}

VReg RegionSelector::window_word(WindowWord::Kind kind, std::uint32_t window, std::uint32_t bytes) {
  VReg& word = window_words_[{kind, window, bytes}];
  if (!word.valid()) word = f_.add({.reg_class = RegClass::general, .global = true, .width = 8});
  return word;
}

VReg RegionSelector::constant(std::uint64_t bits, std::uint8_t width) {
  if (fits_in_32_bits(bits, width)) {
    return number(bits, width).def = local(width == 4 ? Type::i32 : Type::i64);
  }
  VReg& shared = pool_constants_[bits];
  if (!shared.valid())
    shared = f_.add({.reg_class = RegClass::general,
                     .global = true,
                     .width = 8,
                     .home = {.place = Place::pool, .disp = pool_.add_repeated(bits, 8, 1)}});
  return shared;
}

VReg RegionSelector::float_constant(std::uint64_t bits) {
  VReg& shared = float_constants_[bits];
  if (!shared.valid())
    shared = f_.add({.reg_class = RegClass::vector,
                     .global = true,
                     .width = 8,
                     .home = {.place = Place::pool, .disp = pool_.add_repeated(bits, 8, 1)}});
  return shared;
}

MInst& RegionSelector::number(std::uint64_t bits, std::uint8_t width) {
  if (bits == 0) return pseudo(X86RegionPseudo::zero, {}, 4);
  MInst& inst = push(Inst::kIdMov, {}, bits < 0x8000'0000 ? std::uint8_t{4} : width);
  inst.form = x86_form::kImmediate;
  inst.imm = width == 4 ? bits & 0xFFFF'FFFF : bits;
  return inst;
}

bool RegionSelector::is_constant(Value v) const {
  return at(v).op == Op::Constant;
}

bool RegionSelector::is_immediate(Value v) const {
  return is_constant(v) && at(v).type != Type::f64 && fits_in_32_bits(at(v).imm, width_of(at(v).type));
}

VReg RegionSelector::reg(Value v) {
  const region::Inst& inst = at(v);
  if (inst.op == Op::Constant)
    return inst.type == Type::f64 ? float_constant(inst.imm) : constant(inst.imm, width_of(inst.type));
  if (shares_register(region_, inst)) return reg(inst.a);
  return values_[v.index];
}

void RegionSelector::fold(MInst& inst, std::uint32_t mask) {
  for (std::uint32_t u = 0; u < inst.uses; ++u)
    if ((mask >> u & 1) != 0 && f_[inst.use[u]].width >= inst.use_width)
      inst.folds |= static_cast<std::uint8_t>(1u << u);
}

// --- instructions ----------------------------------------------------------------------------------------------------

void RegionSelector::instruction(std::uint32_t index) {
  const Value v(index);
  const region::Inst& inst = region_.insts[index];
  switch (inst.op) {
    case Op::Constant:
    case Op::Trunc: return;  // made where they are read
    case Op::Get: return get(index);
    case Op::Set: return set(inst);
    case Op::Add: return add(v);
    case Op::Sub: return binary(v, Inst::kIdSub, false);
    case Op::And: return binary(v, Inst::kIdAnd, true);
    case Op::Or: return binary(v, Inst::kIdOr, true);
    case Op::Xor: return binary(v, Inst::kIdXor, true);
    case Op::Mul: return multiply(v);
    case Op::UMulHigh: return wide_op(v, X86RegionPseudo::umulh);
    case Op::SMulHigh: return wide_op(v, X86RegionPseudo::smulh);
    case Op::UDiv: return divide(v, X86RegionPseudo::udiv, X86RegionPseudo::udiv_by);
    case Op::SDiv: return divide(v, X86RegionPseudo::sdiv, X86RegionPseudo::sdiv_by);
    case Op::Not: return unary(v, Inst::kIdNot, true);
    case Op::Neg: return unary(v, Inst::kIdNeg, true);
    case Op::Shl: return shift(v, Inst::kIdShl, Inst::kIdShlx);
    case Op::Shr: return shift(v, Inst::kIdShr, Inst::kIdShrx);
    case Op::Sar: return shift(v, Inst::kIdSar, Inst::kIdSarx);
    case Op::Rotr: return rotate(v);
    case Op::Clz: return unary(v, Inst::kIdLzcnt, false);
    case Op::BitSwap: return reverse_bits(v);
    case Op::ByteSwap: return unary(v, Inst::kIdBswap, true);
    case Op::Sext8: return extend(v, Inst::kIdMovsx, 1);
    case Op::Sext16: return extend(v, Inst::kIdMovsx, 2);
    case Op::Zext32: return shares_register(region_, inst) ? void() : extend(v, Inst::kIdMov, 4);
    case Op::Sext32: return extend(v, Inst::kIdMovsxd, 4);
    case Op::Eq:
    case Op::Ne:
    case Op::ULt:
    case Op::ULe:
    case Op::SLt:
    case Op::SLe:
    case Op::FLt:
    case Op::FLe: return compare(v);
    case Op::FAdd: return float_op(v, Inst::kIdVaddsd);
    case Op::FSub: return float_op(v, Inst::kIdVsubsd);
    case Op::FMul: return float_op(v, Inst::kIdVmulsd);
    case Op::FDiv: return float_op(v, Inst::kIdVdivsd);
    case Op::FSqrt: return float_op(v, Inst::kIdVsqrtsd);
    case Op::FFma: return fused(v);
    case Op::FFloor:
    case Op::FCeil:
    case Op::FTrunc:
    case Op::FRint: return rounded(v);
    case Op::FMin: return float_pseudo(v, X86RegionPseudo::fmin);
    case Op::FMax: return float_pseudo(v, X86RegionPseudo::fmax);
    case Op::FNeg:
    case Op::FAbs:
    case Op::FCopysign: return sign_bits(v);
    case Op::FEq:
    case Op::FNe: return equality(v);
    case Op::IntToFloat: return float_pseudo(v, X86RegionPseudo::from_int);
    case Op::FloatToInt: return convert(v, Inst::kIdVcvttsd2si);
    case Op::BitsToFloat:
    case Op::FloatToBits: return convert(v, Inst::kIdVmovq);
    case Op::Select: return select(v);
    case Op::Access: return access(v);
    case Op::Load: return load(v);
    case Op::Store: return store(inst);
  }
}

/// The value is the variable's own register, unless the variable changes while the value is still read.
void RegionSelector::get(std::uint32_t index) {
  const std::uint64_t variable = region_.insts[index].imm;
  const std::uint32_t last_reader = uses_.last_reader(Value(index));
  for (std::uint32_t i = index; i < std::min(last_reader, last_); ++i) {
    const region::Inst& later = region_.insts[i];
    if (later.op != Op::Set || later.imm != variable || !uses_.is_needed(i)) continue;
    const Type type = region_.insts[index].type;
    MInst& inst = push(move_of(type), {variables_[variable]}, width_of(type));
    define(Value(index), inst);
    return;
  }
  values_[index] = variables_[variable];
}

void RegionSelector::set(const region::Inst& inst) {
  const std::uint8_t width = width_of(inst.type);
  if (const Value made = uses_.root(inst.a); uses_.home(made) == inst.imm) {
    if (uses_.is_late(made)) instruction(made.index);
    return;
  }
  if (is_immediate(inst.a)) {
    number(at(inst.a).imm, width).def = variables_[inst.imm];
    return;
  }
  const VReg from = reg(inst.a);
  MInst& move = push(move_of(inst.type), {from}, width);
  if (inst.type != Type::f64) fold(move, 1);
  move.def = variables_[inst.imm];
}

// --- comparisons -----------------------------------------------------------------------------------------------------

RegionSelector::Comparison RegionSelector::comparison_of(Value condition) const {
  const region::Inst& inst = at(condition);
  constexpr std::pair<Op, CondCode> kRows[] = {{Op::Eq, CondCode::kEqual},       {Op::Ne, CondCode::kNotEqual},
                                               {Op::ULt, CondCode::kUnsignedLT}, {Op::ULe, CondCode::kUnsignedLE},
                                               {Op::SLt, CondCode::kSignedLT},   {Op::SLe, CondCode::kSignedLE}};
  for (const auto& [op, code] : kRows) {
    if (op != inst.op) continue;
    const std::uint8_t width = width_of(at(inst.a).type);
    if (is_immediate(inst.a) && !is_constant(inst.b)) return {asmjit::x86::reverseCond(code), inst.b, inst.a, width};
    return {code, inst.a, inst.b, width};
  }
  // NaN is not above anything.
  if (inst.op == Op::FLt) return {CondCode::kUnsignedGT, inst.b, inst.a, 8};
  if (inst.op == Op::FLe) return {CondCode::kUnsignedGE, inst.b, inst.a, 8};
  // Any i32: is it 0?
  return {CondCode::kNotEqual, condition, {}, 4};
}

void RegionSelector::add_comparison(MInst& inst, const Comparison& comparison) {
  inst.condition = code(comparison.condition);
  inst.use_width = comparison.width;
  inst.use[inst.uses++] = reg(comparison.a);
  if (!comparison.b.valid() || is_immediate(comparison.b)) {
    inst.form |= x86_form::kImmediate;
    inst.imm = comparison.b.valid() ? as_immediate(at(comparison.b).imm) : 0;
    return;
  }
  inst.use[inst.uses++] = reg(comparison.b);
  if (rounds_itself_ && f_[inst.use[inst.uses - 1u]].reg_class == RegClass::vector) inst.form |= x86_form::kOwnRounding;
}

bool RegionSelector::is_zero(Value v) const {
  return !v.valid() || (is_constant(v) && at(v).imm == 0);
}

void RegionSelector::compare(Value v) {
  if (uses_.readers(v) == 0) return;
  MInst inst;
  inst.op = static_cast<std::uint16_t>(X86RegionPseudo::set_if);
  inst.form = x86_form::kPseudo;
  add_comparison(inst, comparison_of(v));
  inst.def_width = 4;
  define(v, inst);
  block_->insts.push_back(inst);
}

void RegionSelector::select(Value v) {
  const region::Inst& from = at(v);
  MInst inst;
  inst.op = static_cast<std::uint16_t>(X86RegionPseudo::select_if);
  inst.form = x86_form::kPseudo;
  inst.use[inst.uses++] = reg(from.c);
  inst.use[inst.uses++] = reg(from.b);
  add_comparison(inst, comparison_of(from.a));
  inst.ties = 1;
  inst.def_width = width_of(from.type);
  define(v, inst);
  block_->insts.push_back(inst);
}

// --- ends ------------------------------------------------------------------------------------------------------------

void RegionSelector::jump(std::uint32_t block, std::uint32_t next) {
  if (block != next) push(Inst::kIdJmp, {}, 8).target = Target(block);
}

/// left = get v; spent = eq left, 0; less = sub left, 1; set v, less; branch spent
bool RegionSelector::ends_spending(const region::Block& block) const {
  if (block.end.flow != region::Flow::branch || block.last - block.first < kSpendingInsts) return false;
  const std::uint32_t first = block.last - kSpendingInsts;
  const region::Inst* const inst = region_.insts.data() + first;
  constexpr Op kOps[kSpendingInsts] = {Op::Get, Op::Constant, Op::Eq, Op::Constant, Op::Sub, Op::Set};
  for (std::uint32_t i = 0; i < kSpendingInsts; ++i)
    if (inst[i].op != kOps[i]) return false;
  const Value left(first), zero(first + 1), spent(first + 2), one(first + 3), less(first + 4);
  return inst[0].imm == inst[5].imm && inst[1].imm == 0 && inst[3].imm == 1 && block.end.condition == spent &&
         inst[2].a == left && inst[2].b == zero && inst[4].a == left && inst[4].b == one && inst[5].a == less &&
         uses_.is_needed(block.last - 1);
}

/// Taking 1 borrows where nothing was left.
void RegionSelector::spend(const region::Block& block, std::uint32_t next) {
  const VReg variable = variables_[region_.insts[block.last - 1].imm];
  MInst& inst = pseudo(X86RegionPseudo::spend, {variable}, f_[variable].width);
  inst.form |= x86_form::kTied;
  inst.ties = 1;
  inst.def = variable;
  const bool leaves_next = block.end.then == next;
  MInst& jump_away = pseudo(X86RegionPseudo::jump_if, {}, 8);
  jump_away.condition = code(leaves_next ? CondCode::kUnsignedGE : CondCode::kUnsignedLT);
  jump_away.target = Target(leaves_next ? block.end.otherwise : block.end.then);
  jump(leaves_next ? block.end.then : block.end.otherwise, next);
}

void RegionSelector::end(const region::Terminator& end, std::uint32_t next) {
  if (end.flow == region::Flow::exit) return;
  if (end.flow == region::Flow::jump) return jump(end.then, next);
  Comparison comparison = comparison_of(end.condition);
  std::uint32_t taken = end.then, other = end.otherwise;
  if (taken == next) {
    std::swap(taken, other);
    comparison.condition = asmjit::x86::negateCond(comparison.condition);
  }
  MInst inst;
  add_comparison(inst, comparison);
  const bool is_float = f_[inst.use[0]].reg_class == RegClass::vector;
  inst.op = static_cast<std::uint16_t>(is_float ? Inst::kIdVucomisd : Inst::kIdCmp);
  if (!is_float && is_zero(comparison.b)) {
    inst.op = static_cast<std::uint16_t>(Inst::kIdTest);
    inst.form = x86_form::kPlain;
    inst.use[inst.uses++] = inst.use[0];
  } else if (inst.uses == 2 && (inst.form & x86_form::kOwnRounding) == 0) {
    fold(inst, 2);
  }
  inst.def_width = inst.use_width;
  inst.target = Target(taken);
  block_->insts.push_back(inst);
  jump(other, next);
}

}  // namespace trident::codegen
