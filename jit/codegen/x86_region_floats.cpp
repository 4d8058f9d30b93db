// Selection of ops on floats. The order of operands is kept: it says whose NaN an op gives.
#include <algorithm>

#include "jit/codegen/x86_region_select.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
namespace {

/// Rounding directions of ROUNDSD, which raises no flag for an inexact result.
constexpr std::uint64_t kNearestEven = 8, kDown = 9, kUp = 10, kTowardsZero = 11;
/// Predicates of CMPSD that raise no flag for quiet NaN.
constexpr std::uint64_t kEqualOrdered = 0, kNotEqualUnordered = 4;
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63, kOneNan = 0x7FF8'0000'0000'0000;

}  // namespace

void RegionSelector::finish_float(MInst& inst, std::uint32_t folded) {
  if (rounds_itself_)
    inst.form |= x86_form::kOwnRounding;
  else
    fold(inst, folded);
}

void RegionSelector::float_op(region::Value v, std::uint32_t op) {
  const region::Inst& from = at(v);
  const VReg a = reg(from.a), b = from.b.valid() ? reg(from.b) : a;
  MInst& inst = push(op, {a, b}, 8);
  finish_float(inst, from.b.valid() ? 2 : 0);
  define(v, inst);
}

void RegionSelector::rounded(region::Value v) {
  constexpr std::pair<region::Op, std::uint64_t> kDirections[] = {{region::Op::FRint, kNearestEven},
                                                                  {region::Op::FFloor, kDown},
                                                                  {region::Op::FCeil, kUp},
                                                                  {region::Op::FTrunc, kTowardsZero}};
  const auto* const row = std::find_if(std::begin(kDirections), std::end(kDirections),
                                       [&](const auto& one) { return one.first == at(v).op; });
  const VReg a = reg(at(v).a);
  MInst& inst = push(rounds_itself_ ? Inst::kIdVrndscalesd : Inst::kIdVroundsd, {a, a}, 8);
  inst.form = x86_form::kImmediate;
  finish_float(inst, 0);
  inst.imm = row->second;
  define(v, inst);
}

void RegionSelector::sign_bits(region::Value v) {
  const region::Inst& from = at(v);
  const VReg a = reg(from.a), sign = float_constant(kSignBit);
  if (from.op == region::Op::FNeg) return void(define(v, push(Inst::kIdVxorpd, {a, sign}, 8)));
  if (from.op == region::Op::FAbs) return void(define(v, push(Inst::kIdVandnpd, {sign, a}, 8)));
  const VReg b = reg(from.b), magnitude = local(region::Type::f64), signs = local(region::Type::f64);
  push(Inst::kIdVandnpd, {sign, a}, 8).def = magnitude;
  push(Inst::kIdVandpd, {b, sign}, 8).def = signs;
  define(v, push(Inst::kIdVorpd, {magnitude, signs}, 8));
}

void RegionSelector::float_pseudo(region::Value v, X86RegionPseudo op) {
  const VReg a = reg(at(v).a), b = at(v).b.valid() ? reg(at(v).b) : VReg{};
  MInst& inst = b.valid() ? pseudo(op, {a, b}, 8) : pseudo(op, {a}, 8);
  inst.early_def = b.valid();
  finish_float(inst, 0);
  define(v, inst);
}

void RegionSelector::fused(region::Value v) {
  const region::Inst& from = at(v);
  const VReg a = reg(from.a), b = reg(from.b), c = reg(from.c), sum = local(region::Type::f64),
             nan = float_constant(kOneNan);
  MInst& inst = push(Inst::kIdVfmadd132sd, {a, b, c}, 8);
  inst.form = x86_form::kFused;
  inst.ties = 7;
  inst.def = sum;
  finish_float(inst, 0);
  MInst& one = pseudo(X86RegionPseudo::one_nan, {sum, nan}, 8);
  finish_float(one, 0);
  define(v, one);
}

/// Flags would take two conditions.
void RegionSelector::equality(region::Value v) {
  const region::Inst& from = at(v);
  if (rounds_itself_) {
    const VReg x = reg(from.a), y = reg(from.b);
    MInst& inst = pseudo(X86RegionPseudo::equal, {x, y}, 4);
    inst.imm = from.op == region::Op::FNe ? 1 : 0;
    return void(define(v, inst));
  }
  const VReg a = reg(from.a), b = reg(from.b), lanes = local(region::Type::f64), word = local(region::Type::i32);
  MInst& compared = push(Inst::kIdVcmpsd, {a, b}, 8);
  compared.form = x86_form::kImmediate;
  compared.imm = from.op == region::Op::FEq ? kEqualOrdered : kNotEqualUnordered;
  fold(compared, 2);
  compared.def = lanes;
  MInst& moved = push(Inst::kIdVmovd, {lanes}, 4);
  moved.use_width = 8;
  moved.def = word;
  MInst& bit = push(Inst::kIdAnd, {word}, 4);
  bit.form = x86_form::kTied | x86_form::kImmediate;
  bit.ties = 1;
  bit.imm = 1;
  define(v, bit);
}

void RegionSelector::convert(region::Value v, std::uint32_t op) {
  const VReg a = reg(at(v).a);
  MInst& inst = push(op, {a}, 8);
  if (op == Inst::kIdVcvttsd2si) finish_float(inst, 0);
  define(v, inst);
}

}  // namespace trident::codegen
