#include "jit/kir/interpreter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace trident::kir {

namespace {

constexpr std::size_t kPartials = 16;

std::uint64_t load(const void* array, std::uint64_t i, Type type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(array) + i * ir::bytes_of(type), ir::bytes_of(type));
  return bits;
}

void store(void* array, std::uint64_t i, Type type, std::uint64_t bits) {
  std::memcpy(static_cast<std::byte*>(array) + i * ir::bytes_of(type), &bits, ir::bytes_of(type));
}

/// What a partial result starts from.
std::uint64_t neutral_bits(Op op, Type type) {
  if (op == Op::Sum) return 0;
  const bool least = op == Op::MaxOf;
  switch (type) {
    case Type::f32: return least ? 0xFF80'0000u : 0x7F80'0000u;
    case Type::f64: return least ? 0xFFF0'0000'0000'0000u : 0x7FF0'0000'0000'0000u;
    case Type::i32: return least ? 0x8000'0000u : 0x7FFF'FFFFu;
    case Type::i64: return least ? 0x8000'0000'0000'0000u : 0x7FFF'FFFF'FFFF'FFFFu;
    case Type::b32:
    case Type::b64: break;
  }
  CHECK(false);
}

Op step_op(Op reduction) {
  return reduction == Op::Sum ? Op::Add : reduction == Op::MinOf ? Op::Min : Op::Max;
}

}  // namespace

void interpret(const Kernel& kernel, std::uint64_t n, const void* const* in, void* const* out,
               const std::uint64_t* params) {
  std::vector<std::uint64_t> values(kernel.insts.size());
  std::vector<std::uint64_t> partials(kernel.insts.size() * kPartials);
  const auto run = [&](Section section, std::uint64_t element) {
    for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
      const Inst& inst = kernel.insts[i];
      if (inst.section != section) continue;
      const auto operand = [&](Value v) { return v.valid() ? values[v.index] : 0; };
      if (inst.op == Op::Constant)
        values[i] = inst.imm;
      else if (inst.op == Op::Input)
        values[i] = load(in[inst.imm], element, inst.type);
      else if (inst.op == Op::Param)
        values[i] = load(&params[inst.imm], 0, inst.type);
      else if (inst.op == Op::Count)
        values[i] = eval_lane(Op::Convert, inst.type, Type::i64, n, 0, 0);
      else if (inst.op == Op::Lookup) {
        const Table& table = kernel.tables[inst.imm];
        values[i] = table.entries[values[inst.a.index] % table.entries.size()];
      } else if (info(inst.op).signature == Signature::Reduce) {
        std::uint64_t* p = &partials[i * kPartials];
        for (std::size_t s = kPartials / 2; s != 0; s /= 2)
          for (std::size_t j = 0; j < s; ++j)
            p[j] = eval_lane(step_op(inst.op), inst.type, inst.type, p[j], p[j + s], 0);
        values[i] = p[0];
      } else {
        const Type operand_type = kernel.type_of(inst.a);
        values[i] = eval_lane(inst.op, inst.type, operand_type, operand(inst.a), operand(inst.b), operand(inst.c));
      }
    }
  };
  run(Section::invariant, 0);
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i)
    if (info(kernel.insts[i].op).signature == Signature::Reduce)
      std::fill_n(&partials[i * kPartials], kPartials, neutral_bits(kernel.insts[i].op, kernel.insts[i].type));
  for (std::uint64_t element = 0; element < n; ++element) {
    run(Section::body, element);
    for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
      const Inst& inst = kernel.insts[i];
      if (info(inst.op).signature != Signature::Reduce) continue;
      std::uint64_t& partial = partials[i * kPartials + element % kPartials];
      partial = eval_lane(step_op(inst.op), inst.type, inst.type, partial, values[inst.a.index], 0);
    }
    for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
      if (kernel.outputs[i].kind == OutputKind::array)
        store(out[i], element, kernel.type_of(kernel.outputs[i].value), values[kernel.outputs[i].value.index]);
  }
  run(Section::epilogue, 0);
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
    if (kernel.outputs[i].kind == OutputKind::scalar)
      store(out[i], 0, kernel.type_of(kernel.outputs[i].value), values[kernel.outputs[i].value.index]);
}

}  // namespace trident::kir
