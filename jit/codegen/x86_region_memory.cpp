// Selection of accesses, loads and stores.
#include <algorithm>

#include "jit/codegen/x86_region_select.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using asmjit::x86::CondCode;
using region::Type;
using region::Value;

namespace {

/// An address reaches so many elements of 8 bytes.
constexpr std::uint64_t kNearElements = std::uint64_t{1} << 27;

}  // namespace

void RegionSelector::access(Value v) {
  const region::Inst& inst = at(v);
  if (inst.bytes != 0) return element(v);
  const VReg address = reg(inst.a);
  const VReg lo = window_word(WindowWord::Kind::lo, inst.window);
  const VReg limit = window_word(WindowWord::Kind::limit, inst.window, static_cast<std::uint32_t>(inst.imm));
  pseudo(X86RegionPseudo::distance, {address, lo}, 8).folds = 2;
  MInst& check = pseudo(X86RegionPseudo::access, {limit}, 8);
  check.folds = 1;
  check.target = miss_target(misses_.size());
  misses_.push_back({inst.window, inst.otherwise});
}

/// Returns whether an access is of an element whose number can be part of an address.
bool RegionSelector::is_near(const region::Inst& access) const {
  return access.bytes != 0 && is_constant(access.a) && at(access.a).imm < kNearElements;
}

/// A miss of an element notes nothing, so control goes to its block at once.
void RegionSelector::element(Value v) {
  if (v.index < held_.size() && held_[v.index]) return;
  const region::Inst& inst = at(v);
  const VReg count = window_word(WindowWord::Kind::count, inst.window, inst.bytes);
  if (is_zero(inst.a)) {
    MInst& check = push(Inst::kIdTest, {count, count}, 8);
    check.condition = code(CondCode::kEqual);
    check.target = Target(inst.otherwise);
    return;
  }
  if (is_near(inst)) {
    MInst& check = push(Inst::kIdCmp, {count}, 8);
    check.form = x86_form::kImmediate;
    check.folds = 1;
    check.imm = at(inst.a).imm;
    check.condition = code(CondCode::kUnsignedLE);
    check.target = Target(inst.otherwise);
    return;
  }
  const VReg index = reg(inst.a);
  MInst& check = push(Inst::kIdCmp, {index, count}, 8);
  check.folds = 2;
  check.condition = code(CondCode::kUnsignedGE);
  check.target = Target(inst.otherwise);
}

/// A place is its address and the distance to the host's memory there, or the number of an element.
RegionSelector::Address RegionSelector::address_of(const region::Inst& inst) {
  const region::Inst& access = at(inst.a);
  const std::uint8_t scale = std::max(std::uint8_t{1}, access.bytes);
  Address address{.mem = {.place = Place::based, .lane_bytes = inst.bytes, .scale = scale}};
  std::uint64_t disp = inst.imm;
  if (is_near(access)) {
    address.base = window_word(WindowWord::Kind::base, access.window);
    address.mem.scale = 0;
    disp += at(access.a).imm * scale;
  } else if (access.bytes != 0) {
    address.base = window_word(WindowWord::Kind::base, access.window);
    address.index = reg(inst.a);
  } else {
    address.base = reg(inst.a);
    address.index = window_word(WindowWord::Kind::delta, access.window);
  }
  address.mem.disp = static_cast<std::int32_t>(disp);
  return address;
}

void RegionSelector::add_address(MInst& inst, const Address& address) {
  inst.form |= x86_form::kMemory;
  inst.mem = address.mem;
  inst.use[inst.uses++] = address.base;
  if (address.index.valid()) inst.use[inst.uses++] = address.index;
}

void RegionSelector::load(Value v) {
  const region::Inst& inst = at(v);
  const Address address = address_of(inst);
  const std::uint8_t width = width_of(inst.type);
  std::uint32_t op = inst.type == Type::f64 ? Inst::kIdVmovsd : Inst::kIdMov;
  if (inst.bytes < 4) op = inst.is_signed ? Inst::kIdMovsx : Inst::kIdMovzx;
  if (inst.bytes == 4 && width == 8 && inst.is_signed) op = Inst::kIdMovsxd;
  MInst& made = push(op, {}, inst.is_signed ? width : std::min<std::uint8_t>(width, inst.bytes < 8 ? 4 : 8));
  add_address(made, address);
  made.unit = Unit::load;
  define(v, made);
}

void RegionSelector::store(const region::Inst& inst) {
  const bool is_float = inst.type == Type::f64;
  const bool immediate = is_constant(inst.b) && !is_float && fits_in_32_bits(at(inst.b).imm, inst.bytes);
  const Address address = address_of(inst);
  const VReg value = immediate ? VReg{} : reg(inst.b);
  MInst& made = push(is_float ? Inst::kIdVmovsd : Inst::kIdMov, {}, inst.bytes);
  if (immediate)
    made.form = x86_form::kImmediate;
  else
    made.use[made.uses++] = value;
  add_address(made, address);
  made.imm = immediate ? as_immediate(at(inst.b).imm) : 0;
  made.unit = Unit::store;
}

}  // namespace trident::codegen
