// Conversions, scalef, lookup. FCVTZS and FCVTNS saturate and turn NaN into 0; kir wants the least integer for every
// value that does not fit. Values too small saturate to it already; those too large and NaN fail one comparison.
#include <asmjit/arm/a64assembler.h>

#include <bit>

#include "jit/codegen/a64_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

using asmjit::a64::Inst;
using ir::Type;
using kir::Op;

namespace {

std::uint64_t float_bits(Type type, double value) {
  return type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                           : std::bit_cast<std::uint64_t>(value);
}

}  // namespace

VReg A64Selector::select_convert(const kir::Inst& inst) {
  if (inst.op == Op::Lookup) return lookup(inst);
  const Type from = kernel_.type_of(inst.a);
  const VReg a = reg(inst.a);
  if (inst.op == Op::ToIntRint) return float_to_int(from, inst.type, a, true);
  CHECK(inst.op == Op::Convert);
  return convert_number(from, inst.type, a);
}

VReg A64Selector::convert_number(Type from, Type to, VReg a) {
  const bool wide_from = ir::bytes_of(from) == 8;
  set_type(to);
  if (is_mask(from) || (is_int(from) && is_int(to))) return emit(wide_from ? Inst::kIdXtn_v : Inst::kIdSxtl_v, {a});
  if (is_float(from) && is_float(to)) return emit(wide_from ? Inst::kIdFcvtn_v : Inst::kIdFcvtl_v, {a}, 3);
  if (is_float(from)) return float_to_int(from, to, a, false);
  if (from == Type::i64 && to == Type::f32) return i64_to_f32(a);
  if (from == Type::i32 && to == Type::f64) a = emit(Inst::kIdSxtl_v, {a});
  return emit(Inst::kIdScvtf_v, {a}, 3);
}

VReg A64Selector::float_to_int(Type from, Type to, VReg a, bool nearest) {
  if (from == Type::f32 && to == Type::i64) {
    a = convert_number(Type::f32, Type::f64, a);
    from = Type::f64;
  }
  set_type(from);
  const VReg whole = emit(nearest ? Inst::kIdFcvtns_v : Inst::kIdFcvtzs_v, {a}, 3);
  const double end = to == Type::i32 ? 0x1p31 : 0x1p63;
  const VReg fits = compare(Op::Lt, from, a, constant(float_bits(from, end)));
  set_type(to);
  const VReg least = constant(to == Type::i32 ? 0x8000'0000u : 0x8000'0000'0000'0000u);
  if (ir::bytes_of(from) == ir::bytes_of(to)) return blend(fits, whole, least);
  const VReg narrow = emit(Inst::kIdSqxtn_v, {whole});  // saturates values that are too small
  return blend(emit(Inst::kIdXtn_v, {fits}), narrow, least);
}

/// Rounds once. Values below 2^53 go through f64 exactly. Larger ones first fold their low 11 bits, which lie far below
/// the rounding place, into bit 11; the rest fits f64.
VReg A64Selector::i64_to_f32(VReg a) {
  set_type(Type::i64);
  const VReg low = emit(Inst::kIdAnd_v, {a, constant(0x7FF)}, 2, a64_form::kBytes);
  const VReg carry = emit(Inst::kIdAdd_v, {low, constant(0x7FF)});
  const VReg sticky = emit(Inst::kIdOrr_v, {a, carry}, 2, a64_form::kBytes);
  const VReg folded = emit(Inst::kIdBic_v, {sticky, constant(0x7FF)}, 2, a64_form::kBytes);
  const VReg top = emit_imm(Inst::kIdSshr_v, {a}, 53);  // 0 or -1 where a has at most 53 bits
  const VReg large = emit(Inst::kIdCmhi_v, {emit(Inst::kIdAdd_v, {top, constant(1)}), constant(1)});
  const VReg chosen = blend(large, folded, a);
  const VReg wide = emit(Inst::kIdScvtf_v, {chosen}, 3);
  set_type(Type::f32);
  return emit(Inst::kIdFcvtn_v, {wide}, 3);
}

/// Computes a * 2^b in two exact powers, as in jit/kir/lane.cpp: |a| < 2^4 stays normal after the first, so only the
/// second rounds.
VReg A64Selector::scalef(Type type, VReg a, VReg b) {
  const int bias = type == Type::f32 ? 127 : 1023;
  const std::uint32_t mantissa = type == Type::f32 ? 23 : 52;
  const auto clamped = [&](VReg v, int low, int high) {  // NaN stays
    const VReg above = emit(Inst::kIdFmax_v, {v, constant(float_bits(type, low))});
    return emit(Inst::kIdFmin_v, {above, constant(float_bits(type, high))});
  };
  const auto power_of_two = [&](VReg k) {
    const VReg integer = emit(Inst::kIdFcvtzs_v, {k}, 3);
    const VReg biased = emit(Inst::kIdAdd_v, {integer, constant(static_cast<std::uint64_t>(bias))});
    return emit_imm(Inst::kIdShl_v, {biased}, mantissa);
  };
  const int low = 5 - bias, high = bias - 4;
  const VReg whole = clamped(b, low - (bias - 1), high + bias);
  const VReg first = clamped(whole, low, high);
  const VReg second = emit(Inst::kIdFsub_v, {whole, first}, 3);
  const VReg scaled = emit(Inst::kIdFmul_v, {a, power_of_two(first)}, 3);
  const VReg product = emit(Inst::kIdFmul_v, {scaled, power_of_two(second)}, 3);
  return blend(compare(Op::Eq, type, b, b), product, b);
}

VReg A64Selector::lookup(const kir::Inst& inst) {
  const kir::Table& table = kernel_.tables[inst.imm];
  const VReg index = reg(inst.a);
  std::uint8_t bytes[32 * 8];  // the most that check() allows
  for (std::size_t i = 0; i < table.entries.size(); ++i)
    for (std::size_t byte = 0; byte < lane_; ++byte)
      bytes[i * lane_ + byte] = static_cast<std::uint8_t>(table.entries[i] >> (8 * byte));
  const auto size = static_cast<std::uint32_t>(table.entries.size() * lane_);
  MInst& found = push(static_cast<std::uint32_t>(A64Pseudo::lookup), {index}, a64_form::kPseudo);
  found.early_def = true;
  found.latency = 10;
  found.imm = static_cast<std::uint8_t>(std::countr_zero(table.entries.size()));
  found.mem = {.place = Place::pool, .lane_bytes = lane_, .disp = pool_.add_bytes(bytes, size, lane_)};
  return found.def;
}

}  // namespace trident::codegen
