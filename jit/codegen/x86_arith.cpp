// Ops that are one instruction (x86_ops.def), sign tricks on floats, and the dispatch of everything else.
#include <asmjit/x86.h>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;

namespace {

enum class Shape : std::uint8_t { None, Unary, Binary, Commutative, Fused };

struct Row {
  std::uint16_t avx2 = Inst::kIdNone, avx512 = Inst::kIdNone;
  Shape shape = Shape::None;
  std::uint8_t latency = 1, occupancy = 1, imm = 0;
};

using Rows = std::array<std::array<Row, 4>, kir::kOpCount>;  // numeric types only

constexpr Rows make_rows() {
  Rows rows{};
#define X(op, type, id2, id5, row_shape, row_latency, row_occupancy, immediate)        \
  rows[static_cast<std::size_t>(Op::op)][static_cast<std::size_t>(ir::Type::type)] = { \
      Inst::kId##id2, Inst::kId##id5, Shape::row_shape, row_latency, row_occupancy, immediate};
#include "jit/codegen/x86_ops.def"
#undef X
  return rows;
}

constexpr Rows kRows = make_rows();

}  // namespace

bool X86Selector::select_row(kir::Value v, const kir::Inst& inst) {
  if (is_mask(inst.type)) return false;
  const Row& row = kRows[static_cast<std::size_t>(inst.op)][static_cast<std::size_t>(inst.type)];
  const std::uint32_t id = target_.avx512 ? row.avx512 : row.avx2;
  if (id == Inst::kIdNone) return false;
  if ((inst.op == Op::Shl || inst.op == Op::Shr || inst.op == Op::Sar) && kernel_.at(inst.b).op == Op::Constant)
    return false;  // there is a form with an immediate
  if (inst.op == Op::Div) {
    if (const VReg factor = exact_reciprocal(inst); factor.valid()) {
      values_[v.index] = emit(pick(Inst::kIdVmulps, Inst::kIdVmulpd), {reg(inst.a), factor}, 4, 2);
      return true;
    }
  }
  if ((inst.op == Op::Div || inst.op == Op::Sqrt) && takes_newton_form(inst)) {
    values_[v.index] = inst.op == Op::Div ? newton_divide(inst) : newton_sqrt(inst);
    return true;
  }
  if (inst.op == Op::Scalef && options_.underflow_apart && inst.flags != kir::kNormal && context_ == Context::body) {
    values_[v.index] = scale_apart(inst);
    return true;
  }
  MInst* made = nullptr;
  switch (row.shape) {
    case Shape::None: return false;
    case Shape::Unary:
      made = &push(id, {foldable(inst.a)});
      made->folds = 1;
      break;
    case Shape::Binary: {
      const VReg a = reg(inst.a);
      made = &push(id, {a, foldable(inst.b)});
      made->folds = 2;
      break;
    }
    case Shape::Commutative: {
      const bool swap = kernel_.at(inst.a).op == Op::Input && kernel_.at(inst.b).op != Op::Input;
      const VReg a = reg(swap ? inst.b : inst.a);
      made = &push(id, {a, foldable(swap ? inst.a : inst.b)});
      made->folds = 3;
      made->commutes = true;
      break;
    }
    case Shape::Fused: {
      const bool c_folds = kernel_.at(inst.c).op == Op::Input;
      const VReg a = reg(inst.a);
      const VReg b = c_folds ? reg(inst.b) : foldable(inst.b);
      made = &push(id, {a, b, foldable(inst.c)});
      made->folds = 7;
      made->ties = 7;
      made->form = x86_form::kFused;
      break;
    }
  }
  made->latency = row.latency;
  made->occupancy = row.occupancy;
  if (row.imm != 0) {
    made->imm = row.imm;
    made->form |= x86_form::kImmediate;
  }
  if (inst.op == Op::Div || inst.op == Op::Sqrt) {
    made->unit = Unit::divider;
    made->occupancy = static_cast<std::uint8_t>(row.occupancy * width_ / 64);
  }
  values_[v.index] = made->def;
  return true;
}

VReg X86Selector::logic(Op op, VReg a, VReg b) {
  std::uint32_t id = Inst::kIdNone;
  const bool wide = target_.avx512;
  if (op == Op::And) id = wide ? pick(Inst::kIdVpandd, Inst::kIdVpandq) : Inst::kIdVpand;
  if (op == Op::Or) id = wide ? pick(Inst::kIdVpord, Inst::kIdVporq) : Inst::kIdVpor;
  if (op == Op::Xor) id = wide ? pick(Inst::kIdVpxord, Inst::kIdVpxorq) : Inst::kIdVpxor;
  if (op == Op::AndNot) id = wide ? pick(Inst::kIdVpandnd, Inst::kIdVpandnq) : Inst::kIdVpandn;
  CHECK(id != Inst::kIdNone);
  MInst& inst = push(id, {a, b});
  inst.commutes = op != Op::AndNot;
  inst.folds = inst.commutes ? 3 : 2;
  return inst.def;
}

VReg X86Selector::fused(std::uint32_t id132, VReg a, VReg b, VReg c) {
  MInst& inst = push(id132, {a, b, c});
  inst.form = x86_form::kFused;
  inst.ties = inst.folds = 7;
  inst.latency = 4;
  return inst.def;
}

VReg X86Selector::select_arith(kir::Value v, const kir::Inst& inst) {
  const std::uint64_t sign = lane_ == 4 ? 0x8000'0000u : 0x8000'0000'0000'0000u;
  switch (inst.op) {
    case Op::Count: {
      MInst& count = push(static_cast<std::uint32_t>(X86Pseudo::count), {});
      count.form = x86_form::kPseudo;
      count.imm = static_cast<std::uint8_t>(inst.type);
      return count.def;
    }
    case Op::Neg:
      if (is_int(inst.type)) return neg_int(reg(inst.a));
      return logic(Op::Xor, constant(sign), foldable(inst.a));
    case Op::Abs:
      if (is_int(inst.type)) return select_int(inst);
      return logic(Op::And, constant(~sign), foldable(inst.a));
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::Not:
    case Op::Shl:
    case Op::Shr:
    case Op::Sar: return select_int(inst);
    case Op::Select: return select_select(inst);
    case Op::Bitcast: return reg(inst.a);
    case Op::Convert:
    case Op::ToIntRint: return select_convert(inst);
    case Op::Scalef: return select_scalef(inst);
    case Op::Lookup: return select_lookup(inst, reg(inst.a));
    case Op::Index: return select_index(inst);
    case Op::Gather: return select_gather(inst);
    case Op::Strided: return select_strided(inst);
    case Op::Sqrt14:
    case Op::Rsqrt14:
    case Op::Div14:
    case Op::Sqrt12:
    case Op::Rsqrt12:
    case Op::Div12: return estimates_.select(inst);
    case Op::Constant:
    case Op::Input:
    case Op::Param:
    case Op::Add:
    case Op::Sub:
    case Op::Div:
    case Op::Sqrt:
    case Op::Fma:
    case Op::Fms:
    case Op::Fnma:
    case Op::Fnms:
    case Op::Rint:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::AndNot:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Prod:
    case Op::Dot: break;
  }
  static_cast<void>(v);
  CHECK(false);
}

}  // namespace trident::codegen
