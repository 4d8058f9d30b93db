#include "jit/tir/tasm/instruction.h"

#include "runtime/base/check.h"

namespace trident::tir::tasm {
namespace {

/// An expression in n of the table, worth f(n), as an amount: it is linear.
template <class F>
constexpr Amount amount(F f) {
  return {static_cast<std::uint8_t>(f(0)), static_cast<std::uint8_t>(f(1) - f(0))};
}

constexpr InstructionRow kRows[] = {
#define X(name, text, opcode, argument, takes, gives, effects, ram, hash, u32, meaning) \
  {text,                                                                                \
   opcode,                                                                              \
   Argument::argument,                                                                  \
   amount([]([[maybe_unused]] int n) { return takes; }),                                \
   amount([]([[maybe_unused]] int n) { return gives; }),                                \
   effects,                                                                             \
   amount([]([[maybe_unused]] int n) { return ram; }),                                  \
   hash,                                                                                \
   u32,                                                                                 \
   meaning},
#include "jit/tir/tasm/instructions.def"
#undef X
};

constexpr std::size_t kOpcodesEnd = 128;

constexpr std::array<std::uint8_t, kOpcodesEnd> kOpOfOpcode = [] {
  std::array<std::uint8_t, kOpcodesEnd> ops{};
  ops.fill(kOpCount);
  for (std::size_t op = 0; op < kOpCount; ++op) ops[kRows[op].opcode] = static_cast<std::uint8_t>(op);
  return ops;
}();

}  // namespace

const InstructionRow& row(Op op) {
  return kRows[static_cast<std::size_t>(op)];
}

std::optional<Op> op_of_opcode(std::uint64_t opcode) {
  if (opcode >= kOpcodesEnd || kOpOfOpcode[opcode] == kOpCount) return {};
  return static_cast<Op>(kOpOfOpcode[opcode]);
}

std::optional<Op> op_named(std::string_view text) {
  for (std::size_t op = 0; op < kOpCount; ++op)
    if (kRows[op].text == text) return static_cast<Op>(op);
  return {};
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
