#include "tests/chaos/mutations.h"

#include <array>
#include <utility>
#include <vector>

namespace trident::testing {
namespace {

using kir::Inst;
using kir::Kernel;
using kir::Op;
using kir::Value;

// Ops of one shape that a slip of the pen confuses.
constexpr std::array<std::pair<Op, Op>, 22> kConfusions = {{
    {Op::Add, Op::Sub},    {Op::Add, Op::Mul},    {Op::Mul, Op::Add}, {Op::Sub, Op::Add}, {Op::Div, Op::Mul},
    {Op::Min, Op::Max},    {Op::Max, Op::Min},    {Op::Fma, Op::Fms}, {Op::Fms, Op::Fma}, {Op::Fnma, Op::Fma},
    {Op::Floor, Op::Ceil}, {Op::Rint, Op::Trunc}, {Op::Abs, Op::Neg}, {Op::Neg, Op::Abs}, {Op::And, Op::Or},
    {Op::Or, Op::Xor},     {Op::Shl, Op::Shr},    {Op::Sar, Op::Shr}, {Op::Lt, Op::Le},   {Op::Le, Op::Lt},
    {Op::Eq, Op::Ne},      {Op::Sum, Op::MaxOf},
}};

std::string at(std::size_t index) {
  return " at %" + std::to_string(index);
}

std::optional<std::string> confuse(Inst& inst, std::size_t index, Random& random) {
  std::vector<Op> others;
  for (const auto& [from, to] : kConfusions)
    if (from == inst.op) others.push_back(to);
  if (others.empty()) return std::nullopt;
  const Op to = others[random.below(static_cast<std::uint32_t>(others.size()))];
  std::string what = std::string(kir::info(inst.op).text) + " -> " + std::string(kir::info(to).text) + at(index);
  inst.op = to;
  inst.flags = 0;
  return what;
}

std::optional<std::string> swap_operands(Inst& inst, std::size_t index) {
  if (inst.op == Op::Select) {
    std::swap(inst.b, inst.c);
  } else if (inst.b.valid() && inst.a != inst.b) {
    std::swap(inst.a, inst.b);
  } else {
    return std::nullopt;
  }
  return "operands swapped" + at(index);
}

std::optional<std::string> misroute(Kernel& kernel, std::size_t index, Random& random) {
  Inst& inst = kernel.insts[index];
  if (!inst.a.valid()) return std::nullopt;
  const Value other(random.below(static_cast<std::uint32_t>(index)));
  if (other == inst.a || kernel.type_of(other) != kernel.type_of(inst.a)) return std::nullopt;
  if (kernel.at(other).section != kernel.at(inst.a).section) return std::nullopt;
  inst.a = other;
  return "another operand" + at(index);
}

std::optional<std::string> change_constant(Inst& inst, std::size_t index, Random& random) {
  if (inst.op != Op::Constant || ir::is_mask(inst.type)) return std::nullopt;
  const std::uint32_t width = ir::bytes_of(inst.type) * 8;
  inst.imm ^= std::uint64_t{1} << random.below(width);
  return "constant changed" + at(index);
}

// Instructions that some output depends on.
std::vector<std::uint32_t> live(const Kernel& kernel) {
  std::vector<bool> needed(kernel.insts.size(), false);
  for (const auto& output : kernel.outputs) needed[output.value.index] = true;
  std::vector<std::uint32_t> list;
  for (std::size_t i = kernel.insts.size(); i-- > 0;) {
    if (!needed[i]) continue;
    list.push_back(static_cast<std::uint32_t>(i));
    for (const Value v : {kernel.insts[i].a, kernel.insts[i].b, kernel.insts[i].c})
      if (v.valid()) needed[v.index] = true;
  }
  return list;
}

}  // namespace

std::optional<Mutant> mutate(const Kernel& kernel, Random& random) {
  Mutant mutant{kernel, {}};
  const std::vector<std::uint32_t> places = live(kernel);
  const std::size_t index = places[random.below(static_cast<std::uint32_t>(places.size()))];
  Inst& inst = mutant.kernel.insts[index];
  std::optional<std::string> what;
  switch (random.below(4)) {
    case 0: what = swap_operands(inst, index); break;
    case 1: what = index == 0 ? std::nullopt : misroute(mutant.kernel, index, random); break;
    case 2: what = change_constant(inst, index, random); break;
    default: what = confuse(inst, index, random); break;
  }
  if (!what || !kir::check(mutant.kernel).ok()) return std::nullopt;
  mutant.what = *what;
  return mutant;
}

codegen::MachineCode flip_bit(codegen::MachineCode code, Random& random) {
  // The landing pad stays: images without one are refused before anything runs.
  constexpr std::uint32_t kPad = 4;
  const std::uint32_t at = kPad + random.below(code.code_size - kPad);
  code.bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
  return code;
}

}  // namespace trident::testing
