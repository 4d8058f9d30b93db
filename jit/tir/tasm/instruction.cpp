#include "jit/tir/tasm/instruction.h"

#include "runtime/base/check.h"

namespace trident::tir::tasm {
namespace {

/// Converts the table's expression in n, with the value f(n), to an amount: it is linear.
template <class F>
constexpr Amount amount(F f) {
  return {static_cast<std::uint8_t>(f(0)), static_cast<std::uint8_t>(f(1) - f(0))};
}

constexpr InstructionRow kRows[] = {
#define X(name, text, opcode, vms, argument, takes, gives, effects, ram, hash, u32, meaning) \
  {text,                                                                                     \
   opcode,                                                                                   \
   vms,                                                                                      \
   Argument::argument,                                                                       \
   amount([]([[maybe_unused]] int n) { return takes; }),                                     \
   amount([]([[maybe_unused]] int n) { return gives; }),                                     \
   effects,                                                                                  \
   amount([]([[maybe_unused]] int n) { return ram; }),                                       \
   hash,                                                                                     \
   u32,                                                                                      \
   meaning},
#include "jit/tir/tasm/instructions.def"
#undef X
};

constexpr std::size_t kOpcodesEnd = 128;

using OpOfOpcode = std::array<std::uint8_t, kOpcodesEnd>;
constexpr OpOfOpcode ops_of(Vm vm) {
  OpOfOpcode ops{};
  ops.fill(kOpCount);
  for (std::size_t op = 0; op < kOpCount; ++op)
    if (kRows[op].is_of(vm)) ops[kRows[op].opcode] = static_cast<std::uint8_t>(op);
  return ops;
}
constexpr OpOfOpcode kOpOfOpcode[] = {ops_of(Vm::released), ops_of(Vm::next)};

constexpr std::size_t count_of(Vm vm) {
  std::size_t count = 0;
  for (const InstructionRow& row : kRows) count += row.is_of(vm) ? 1 : 0;
  return count;
}
static_assert(count_of(Vm::released) == kOpsPerVm && count_of(Vm::next) == kOpsPerVm);

}  // namespace

const InstructionRow& row(Op op) {
  return kRows[static_cast<std::size_t>(op)];
}

std::optional<Op> op_of_opcode(std::uint64_t opcode, Vm vm) {
  const OpOfOpcode& ops = kOpOfOpcode[static_cast<std::size_t>(vm)];
  if (opcode >= kOpcodesEnd || ops[opcode] == kOpCount) return {};
  return static_cast<Op>(ops[opcode]);
}

std::optional<Op> op_named(std::string_view text, Vm vm) {
  for (std::size_t op = 0; op < kOpCount; ++op)
    if (kRows[op].is_of(vm) && kRows[op].text == text) return static_cast<Op>(op);
  return {};
}

Op released_op(Op op) {
  return static_cast<Op>(kOpOfOpcode[static_cast<std::size_t>(Vm::released)][row(op).opcode]);
}

bool legal_argument(Argument kind, Element argument) {
  const std::uint64_t value = argument.value();
  switch (kind) {
    case Argument::none: return value == 0;
    case Argument::element:
    case Argument::label: return true;
    case Argument::count: return value >= kCountMin && value <= kCountMax;
    case Argument::index: return value <= kIndexMax;
  }
  CHECK(false);
}

}  // namespace trident::tir::tasm
