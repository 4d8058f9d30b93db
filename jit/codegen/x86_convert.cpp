// Conversions between the numeric types, and lookups in constant tables.
#include <asmjit/x86.h>

#include <bit>
#include <vector>

#include "jit/codegen/x86_select.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using ir::Type;
using kir::Op;

namespace {
constexpr double kTwo32 = 4294967296.0;

/// Returns whether the lower half of an i64 is known to be zero, as that of exponents in place is.
bool is_upper_half(const kir::Kernel& kernel, kir::Value v) {
  const kir::Inst& inst = kernel.at(v);
  if (inst.op != Op::And) return false;
  const kir::Inst& mask = kernel.at(inst.b);
  return mask.op == Op::Constant && static_cast<std::uint32_t>(mask.imm) == 0;
}
}  // namespace

/// Converts by `id` from a register as wide as `from` to one as wide as `to`.
VReg X86Selector::convert_with(std::uint32_t id, VReg a, Type from, Type to, std::uint8_t latency, bool folds) {
  set_type(to);
  MInst& made = push(id, {a});
  made.use_width = width_of(from);
  made.latency = latency;
  made.folds = folds && context_ == Context::body ? 1 : 0;
  made.occupancy = ir::bytes_of(from) == ir::bytes_of(to) ? 1 : 2;
  return made.def;
}

/// Packs the low halves of 64-bit lanes (AVX2).
VReg X86Selector::narrow_i64(VReg a) {
  const std::uint8_t wide = width_of(Type::i64);
  set_type(Type::i32);
  if (wide == 16) return emit_imm(Inst::kIdVpshufd, {a}, 0x08);
  const VReg upper = emit_imm(Inst::kIdVextractf128, {a}, 1, 3);
  block_->insts.back().use_width = wide;
  return emit_imm(Inst::kIdVshufps, {a, upper}, 0x88);
}

/// Converts an integral f64 (or NaN, or infinity) to i64 with AVX2: the upper and the lower 32 bits each come from the
/// mantissa of a sum with a power of two. Values outside the range, and NaN, give the least integer.
VReg X86Selector::to_i64(VReg a) {
  set_type(Type::i64);
  const VReg scaled = emit(Inst::kIdVmulpd, {a, constant(bits_of(1 / kTwo32))}, 4, 2);
  const VReg high = emit_imm(Inst::kIdVroundpd, {scaled}, 9, 8);
  const VReg low = fused(Inst::kIdVfnmadd132pd, high, constant(bits_of(kTwo32)), a);
  const VReg high_bits = emit(Inst::kIdVaddpd, {high, constant(bits_of(1.5 * kTwo52))}, 4, 2);
  const VReg low_bits = emit(Inst::kIdVaddpd, {low, constant(bits_of(kTwo52))}, 4, 2);
  const VReg shifted = emit_imm(Inst::kIdVpsllq, {high_bits}, 32);
  const VReg joined = emit_imm(Inst::kIdVpblendd, {low_bits, shifted}, 0xAA);
  const VReg magnitude = logic(Op::And, constant(0x7FFF'FFFF'FFFF'FFFFu), a);
  const VReg inside = emit_imm(Inst::kIdVcmppd, {magnitude, constant(bits_of(9223372036854775808.0))}, 0x11, 4);
  const VReg least = constant(0x8000'0000'0000'0000u);
  return blend(inside, joined, least);
}

/// Converts both halves to f64 exactly by exponent tricks; the one sum rounds.
VReg X86Selector::i64_to_f64(VReg a, bool upper_only) {
  set_type(Type::f64);
  if (upper_only) {
    const VReg upper = logic(Op::Xor, constant(0x4530'0000'8000'0000u), emit_imm(Inst::kIdVpsrlq, {a}, 32));
    return emit(Inst::kIdVsubpd, {upper, constant(0x4530'0000'8000'0000u)}, 4, 2);
  }
  const VReg low = emit_imm(Inst::kIdVpblendd, {constant(0x4330'0000'0000'0000u), a}, 0x55);  // 2^52 + low
  const VReg upper = emit_imm(Inst::kIdVpsrlq, {a}, 32);
  const VReg high = logic(Op::Xor, constant(0x4530'0000'8000'0000u), upper);                      // 2^84 + 2^63 + high
  const VReg difference = emit(Inst::kIdVsubpd, {high, constant(0x4530'0000'8010'0000u)}, 4, 2);  // high - 2^52
  return emit(Inst::kIdVaddpd, {difference, low}, 4);
}

/// Converts by way of f64 without double rounding: where more than 53 bits count, the lowest 11 are squeezed into one
/// sticky bit.
VReg X86Selector::i64_to_f32(VReg a) {
  set_type(Type::i64);
  const VReg eleven = constant(0x7FF);
  const VReg rest = logic(Op::And, eleven, a);
  const VReg carried = emit(Inst::kIdVpaddq, {rest, eleven});
  const VReg sticky = logic(Op::Or, a, carried);
  const VReg odd = logic(Op::AndNot, eleven, sticky);
  // Tests |a| < 2^53: bits 53 and up all equal the sign. Compares in the upper dword, the one that blend reads.
  const VReg top = emit_imm(Inst::kIdVpsrad, {a}, 21);
  const VReg sign = emit_imm(Inst::kIdVpsrad, {a}, 31);
  const VReg small = emit(Inst::kIdVpcmpeqd, {top, sign});
  const VReg exact = blend(small, a, odd);
  return convert_with(Inst::kIdVcvtpd2ps, i64_to_f64(exact), Type::f64, Type::f32, 5, false);
}

VReg X86Selector::select_convert(const kir::Inst& inst) {
  const Type from = kernel_.type_of(inst.a), to = inst.type;
  const bool wide = target_.avx512;
  if (inst.op == Op::ToIntRint) {  // f64 -> i64 with AVX2; the others are rows
    const VReg a = reg(inst.a);
    set_type(Type::f64);
    return to_i64(emit_imm(Inst::kIdVroundpd, {a}, 8, 8));
  }
  if (from == to) return reg(inst.a);
  const auto with = [&](std::uint32_t id, std::uint8_t latency, bool folds) {
    const VReg a = folds ? foldable(inst.a) : reg(inst.a);
    return convert_with(id, a, from, to, latency, folds);
  };
  switch (from) {
    case Type::f32:
      if (to == Type::f64) return with(Inst::kIdVcvtps2pd, 7, true);
      if (to == Type::i32) return with(Inst::kIdVcvttps2dq, 4, true);
      if (wide) return with(Inst::kIdVcvttps2qq, 7, true);
      {
        const VReg a = convert_with(Inst::kIdVcvtps2pd, reg(inst.a), Type::f32, Type::f64, 7, false);
        return to_i64(emit_imm(Inst::kIdVroundpd, {a}, 11, 8));
      }
    case Type::f64:
      if (to == Type::f32) return with(Inst::kIdVcvtpd2ps, 7, false);
      if (to == Type::i32) return with(Inst::kIdVcvttpd2dq, 7, false);
      if (wide) return with(Inst::kIdVcvttpd2qq, 4, true);
      {
        const VReg a = reg(inst.a);
        set_type(Type::f64);
        return to_i64(emit_imm(Inst::kIdVroundpd, {a}, 11, 8));
      }
    case Type::i32:
      if (to == Type::f32) return with(Inst::kIdVcvtdq2ps, 4, true);
      if (to == Type::f64) return with(Inst::kIdVcvtdq2pd, 7, true);
      if (const kir::Inst& input = kernel_.at(inst.a);
          is_widened(input) && body_uses_[inst.a.index] == 1 && !values_[inst.a.index].valid()) {
        --inputs_left_;
        return elements_.load(input, to);
      }
      return with(Inst::kIdVpmovsxdq, 3, false);
    case Type::i64:
      if (to == Type::i32) return wide ? with(Inst::kIdVpmovqd, 4, false) : narrow_i64(reg(inst.a));
      if (to == Type::f64)
        return wide ? with(Inst::kIdVcvtqq2pd, 4, true) : i64_to_f64(reg(inst.a), is_upper_half(kernel_, inst.a));
      return wide ? with(Inst::kIdVcvtqq2ps, 7, false) : i64_to_f32(reg(inst.a));
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

// --- lookups ---------------------------------------------------------------------------------------------------------

namespace {

/// Returns entries [first, first + count) of the table, repeated to fill a register of `lanes` lanes.
std::vector<std::uint64_t> repeated(const kir::Table& table, std::uint32_t first, std::uint32_t count,
                                    std::uint32_t lanes) {
  std::vector<std::uint64_t> filled;
  for (std::uint32_t i = 0; i < lanes; ++i) filled.push_back(table.entries[first + i % count]);
  return filled;
}

}  // namespace

VReg X86Selector::select_lookup(const kir::Inst& inst, VReg index) {
  const kir::Table& table = kernel_.tables[inst.imm];
  set_type(inst.type);
  const std::uint8_t narrow = width_;
  if (width_ == 16) width_ = 32;  // there are no 128-bit permutations; the upper lanes do not matter
  const VReg found = target_.avx512 ? lookup_avx512(table, index) : lookup_avx2(table, index);
  width_ = narrow;
  return found;
}

VReg X86Selector::lookup_avx512(const kir::Table& table, VReg index) {
  const auto size = static_cast<std::uint32_t>(table.entries.size());
  // A table that fits into one or two 64-byte registers needs one permutation, whatever the width of the value.
  if (target_.vector_bytes == 64 && size > 2u * width_ / lane_) width_ = 64;
  const std::uint32_t entries = width_ / lane_;
  const auto row_of = [&](std::uint32_t first, std::uint32_t count) {
    return row(lane_, repeated(table, first, count, entries));
  };
  const auto part = [&](auto&& self, std::uint32_t first, std::uint32_t count) -> VReg {
    if (count <= entries) {
      const VReg row = row_of(first, count);
      return emit(pick(Inst::kIdVpermps, Inst::kIdVpermpd), {index, row}, 3, 2);
    }
    if (count == 2 * entries) {
      const VReg lower = row_of(first, entries);
      const VReg upper = row_of(first + entries, entries);
      MInst& made = push(pick(Inst::kIdVpermi2ps, Inst::kIdVpermi2pd), {index, lower, upper});
      made.form = x86_form::kTied;
      made.ties = 1;
      made.folds = 4;
      made.latency = 3;
      return made.def;
    }
    const VReg lower = self(self, first, count / 2);
    const VReg upper = self(self, first + count / 2, count / 2);
    MInst& test = push_mask(pick(Inst::kIdVptestmd, Inst::kIdVptestmq), {index, constant(count / 2)});
    test.folds = 2;
    test.latency = 3;
    return blend(test.def, upper, lower);
  };
  return part(part, 0, size);
}

VReg X86Selector::lookup_avx2(const kir::Table& table, VReg index) {
  constexpr std::uint32_t kDwords = 8;
  // Entries of 64 bits are looked up by halves, each with the index in both.
  const VReg indices = lane_ == 8 ? emit_imm(Inst::kIdVpshufd, {index}, 0xA0) : index;
  const auto permuted = [&](const kir::Table& dwords, std::uint32_t first, std::uint32_t count) {
    return emit(Inst::kIdVpermps, {indices, row(4, repeated(dwords, first, count, kDwords))}, 3, 2);
  };
  kir::Table low{Type::i32, {}}, high{Type::i32, {}};
  for (const std::uint64_t entry : table.entries) low.entries.push_back(entry), high.entries.push_back(entry >> 32);
  const auto part = [&](auto&& self, std::uint32_t first, std::uint32_t count) -> VReg {
    if (count <= kDwords) {
      const VReg lower = permuted(low, first, count);
      return lane_ == 4 ? lower : emit_imm(Inst::kIdVpblendd, {lower, permuted(high, first, count)}, 0xAA);
    }
    const VReg lower = self(self, first, count / 2);
    const VReg upper = self(self, first + count / 2, count / 2);
    const auto left = static_cast<std::uint8_t>(lane_ * 8 - 1 - std::countr_zero(count / 2));
    const VReg top_bit = emit_imm(pick(Inst::kIdVpslld, Inst::kIdVpsllq), {index}, left);
    return blend(top_bit, upper, lower);
  };
  return part(part, 0, static_cast<std::uint32_t>(table.entries.size()));
}

}  // namespace trident::codegen
