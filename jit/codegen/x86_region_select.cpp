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

std::uint8_t width_of(Type type) {
  return type == Type::i32 ? 4 : 8;
}

RegClass class_of(Type type) {
  return type == Type::f64 ? RegClass::vector : RegClass::general;
}

bool fits_in_32_bits(std::uint64_t bits, std::uint8_t width) {
  return width == 4 || static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits))) == bits;
}

/// An immediate of 32 bits is sign-extended; of a narrower op the encoder wants that too.
std::uint64_t as_immediate(std::uint64_t bits) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
}

std::uint32_t move_of(Type type) {
  return type == Type::f64 ? Inst::kIdVmovaps : Inst::kIdMov;
}

std::array<std::pmr::vector<VReg>, 4> lists(std::pmr::memory_resource* arena) {
  using List = std::pmr::vector<VReg>;
  return {List(arena), List(arena), List(arena), List(arena)};
}

std::uint8_t code(CondCode condition) {
  return static_cast<std::uint8_t>(condition);
}

}  // namespace

RegionSelector::RegionSelector(const region::Region& region, Function& function, ConstantPool& pool, bool rounds_itself)
    : region_(region),
      uses_(region, function.arena),
      f_(function),
      pool_(pool),
      rounds_itself_(rounds_itself),
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
  for (std::uint32_t i = from.first; i < from.last; ++i)
    if (uses_.is_needed(i) && !uses_.is_late(Value(i))) instruction(i);
  end(from.end, next);
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

/// Returns whether the result of `v` can take the place of an operand.
bool RegionSelector::overwrites_operand(Value v) const {
  for (const Value operand : {at(v).a, at(v).b}) {
    if (is_immediate(operand)) continue;
    const Value made = uses_.root(operand);
    const std::optional<std::uint32_t> variable =
        at(made).op == Op::Get ? static_cast<std::uint32_t>(at(made).imm) : uses_.home(made);
    if (variable ? variable == uses_.home(v) : uses_.last_reader(made) <= v.index) return true;
  }
  return false;
}

/// Where both operands stay, their sum is an address that is not used as one.
void RegionSelector::add(Value v) {
  const region::Inst& inst = at(v);
  if (is_constant(inst.a) || overwrites_operand(v)) return binary(v, Inst::kIdAdd, true);
  const bool immediate = is_immediate(inst.b);
  const VReg a = reg(inst.a), b = immediate ? VReg{} : reg(inst.b);
  MInst& made =
      immediate ? push(Inst::kIdLea, {a}, width_of(inst.type)) : push(Inst::kIdLea, {a, b}, width_of(inst.type));
  made.form = x86_form::kMemory;
  made.mem = {.place = Place::based, .lane_bytes = 0, .scale = static_cast<std::uint8_t>(immediate ? 0 : 1)};
  if (immediate) made.mem.disp = static_cast<std::int32_t>(at(inst.b).imm);
  define(v, made);
}

void RegionSelector::binary(Value v, std::uint32_t op, bool commutes) {
  const region::Inst& inst = at(v);
  const std::uint8_t width = width_of(inst.type);
  Value a = inst.a, b = inst.b;
  if (commutes && is_immediate(a) && !is_constant(b)) std::swap(a, b);
  if (is_immediate(b)) {
    MInst& made = push(op, {reg(a)}, width);
    made.form = x86_form::kTied | x86_form::kImmediate;
    made.ties = 1;
    made.imm = as_immediate(at(b).imm);
    define(v, made);
    return;
  }
  const VReg first = reg(a), second = reg(b);
  MInst& made = push(op, {first, second}, width);
  made.form = x86_form::kTied;
  made.commutes = commutes;
  made.ties = commutes ? 3 : 1;
  fold(made, commutes ? 3 : 2);
  define(v, made);
}

void RegionSelector::unary(Value v, std::uint32_t op, bool tied) {
  const VReg from = reg(at(v).a);
  MInst& inst = push(op, {from}, width_of(at(v).type));
  inst.form = tied ? x86_form::kTied : x86_form::kPlain;
  inst.ties = tied ? 1 : 0;
  if (!tied) fold(inst, 1);
  define(v, inst);
}

void RegionSelector::shift(Value v, std::uint32_t by_immediate, std::uint32_t by_register) {
  const region::Inst& from = at(v);
  const std::uint8_t width = width_of(from.type);
  const VReg value = reg(from.a);
  if (is_constant(from.b)) {
    MInst& inst = push(by_immediate, {value}, width);
    inst.form = x86_form::kTied | x86_form::kImmediate;
    inst.ties = 1;
    inst.imm = at(from.b).imm % (8u * width);
    define(v, inst);
    return;
  }
  const VReg amount = reg(from.b);
  MInst& inst = push(by_register, {value, amount}, width);
  fold(inst, 1);
  define(v, inst);
}

void RegionSelector::rotate(Value v) {
  const region::Inst& from = at(v);
  const std::uint8_t width = width_of(from.type);
  const VReg value = reg(from.a);
  if (is_constant(from.b)) {
    MInst& inst = push(Inst::kIdRorx, {value}, width);
    inst.form = x86_form::kImmediate;
    inst.imm = at(from.b).imm % (8u * width);
    define(v, inst);
    return;
  }
  const VReg amount = reg(from.b);
  MInst& inst = pseudo(X86RegionPseudo::rotr, {value, amount}, width);
  inst.early_def = true;
  define(v, inst);
}

void RegionSelector::extend(Value v, std::uint32_t op, std::uint8_t from) {
  const VReg value = reg(at(v).a);
  MInst& inst = push(op, {value}, op == Inst::kIdMov ? std::uint8_t{4} : width_of(at(v).type));
  inst.use_width = from;
  define(v, inst);
}

void RegionSelector::multiply(Value v) {
  const region::Inst& from = at(v);
  if (is_immediate(from.b) || is_immediate(from.a)) {
    const bool second = is_immediate(from.b);
    const VReg value = reg(second ? from.a : from.b);
    MInst& inst = push(Inst::kIdImul, {value}, width_of(from.type));
    inst.form = x86_form::kImmediate;
    inst.imm = as_immediate(at(second ? from.b : from.a).imm);
    define(v, inst);
    return;
  }
  binary(v, Inst::kIdImul, true);
}

void RegionSelector::wide_op(Value v, X86RegionPseudo op) {
  const VReg a = reg(at(v).a), b = reg(at(v).b);
  define(v, pseudo(op, {a, b}, width_of(at(v).type)));
}

void RegionSelector::divide(Value v, X86RegionPseudo by_register, X86RegionPseudo by_constant) {
  const region::Inst& from = at(v);
  const bool is_unsigned = by_constant == X86RegionPseudo::udiv_by;
  const std::uint64_t by = is_constant(from.b) ? at(from.b).imm : 0;
  if (by <= 1 || (!is_unsigned && by == ~std::uint64_t{0}) || from.type != Type::i64) return wide_op(v, by_register);
  const VReg a = reg(from.a);
  MInst& inst = pseudo(by_constant, {a}, 8);
  inst.imm = by;
  define(v, inst);
}

void RegionSelector::reverse_bits(Value v) {
  const std::uint8_t width = width_of(at(v).type);
  const VReg value = reg(at(v).a);
  const std::uint64_t ones = width == 4 ? 0xFFFF'FFFF : ~std::uint64_t{0};
  const VReg seconds = constant(0x5555'5555'5555'5555 & ones, width),
             fourths = constant(0x3333'3333'3333'3333 & ones, width),
             halves = constant(0x0F0F'0F0F'0F0F'0F0F & ones, width);
  MInst& inst = pseudo(X86RegionPseudo::reverse_bits, {value, seconds, fourths, halves}, width);
  inst.early_def = true;
  define(v, inst);
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

// --- memory ----------------------------------------------------------------------------------------------------------

void RegionSelector::access(Value v) {
  const region::Inst& inst = at(v);
  if (inst.bytes != 0) return element(inst);
  const VReg address = reg(inst.a);
  const VReg lo = window_word(WindowWord::Kind::lo, inst.window);
  const VReg limit = window_word(WindowWord::Kind::limit, inst.window, static_cast<std::uint32_t>(inst.imm));
  pseudo(X86RegionPseudo::distance, {address, lo}, 8).folds = 2;
  MInst& check = pseudo(X86RegionPseudo::access, {limit}, 8);
  check.folds = 1;
  check.target = miss_target(misses_.size());
  misses_.push_back({inst.window, inst.otherwise});
}

/// A miss of an element notes nothing, so control goes to its block at once.
void RegionSelector::element(const region::Inst& inst) {
  const VReg index = reg(inst.a), count = window_word(WindowWord::Kind::count, inst.window, inst.bytes);
  MInst& check = push(Inst::kIdCmp, {index, count}, 8);
  check.folds = 2;
  check.condition = code(CondCode::kUnsignedGE);
  check.target = Target(inst.otherwise);
}

/// A place is its address and the distance to the host's memory there, or the number of an element.
std::pair<VReg, VReg> RegionSelector::address_of(Value place) {
  const region::Inst& access = at(place);
  const VReg number = reg(place);
  if (access.bytes != 0) return {window_word(WindowWord::Kind::base, access.window), number};
  return {number, window_word(WindowWord::Kind::delta, access.window)};
}

MemRef RegionSelector::memory_at(const region::Inst& inst) const {
  return {.place = Place::based,
          .lane_bytes = inst.bytes,
          .scale = std::max(std::uint8_t{1}, at(inst.a).bytes),
          .disp = static_cast<std::int32_t>(inst.imm)};
}

void RegionSelector::load(Value v) {
  const region::Inst& inst = at(v);
  const auto [base, index] = address_of(inst.a);
  const std::uint8_t width = width_of(inst.type);
  std::uint32_t op = inst.type == Type::f64 ? Inst::kIdVmovsd : Inst::kIdMov;
  if (inst.bytes < 4) op = inst.is_signed ? Inst::kIdMovsx : Inst::kIdMovzx;
  if (inst.bytes == 4 && width == 8 && inst.is_signed) op = Inst::kIdMovsxd;
  MInst& made = push(op, {base, index}, inst.is_signed ? width : std::min<std::uint8_t>(width, inst.bytes < 8 ? 4 : 8));
  made.form = x86_form::kMemory;
  made.unit = Unit::load;
  made.mem = memory_at(inst);
  define(v, made);
}

void RegionSelector::store(const region::Inst& inst) {
  const bool is_float = inst.type == Type::f64;
  const bool immediate = is_constant(inst.b) && !is_float && fits_in_32_bits(at(inst.b).imm, inst.bytes);
  const auto [base, index] = address_of(inst.a);
  const VReg value = immediate ? VReg{} : reg(inst.b);
  MInst& made = immediate ? push(Inst::kIdMov, {base, index}, inst.bytes)
                          : push(is_float ? Inst::kIdVmovsd : Inst::kIdMov, {value, base, index}, inst.bytes);
  made.form = immediate ? x86_form::kMemory | x86_form::kImmediate : x86_form::kMemory;
  made.imm = immediate ? as_immediate(at(inst.b).imm) : 0;
  made.unit = Unit::store;
  made.mem = memory_at(inst);
}

// --- ends ------------------------------------------------------------------------------------------------------------

void RegionSelector::jump(std::uint32_t block, std::uint32_t next) {
  if (block != next) push(Inst::kIdJmp, {}, 8).target = Target(block);
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
