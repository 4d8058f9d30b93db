#include "jit/kir/kir.h"

#include <array>

namespace trident::kir {

const OpInfo& info(Op op) {
  static constexpr std::array<OpInfo, kOpCount> kTable = {{
#define X(id, Name, text, arity, signature, types, meaning) {text, arity, Signature::signature, Types::types, meaning},
#include "jit/kir/ops.def"
#undef X
  }};
  return kTable[static_cast<std::size_t>(op)];
}

std::optional<Section> section_for(const Kernel& kernel, const Inst& inst) {
  bool any_body = inst.op == Op::Input;
  bool any_epilogue = false;
  for (const Value operand : {inst.a, inst.b, inst.c}) {
    if (!operand.valid()) continue;
    any_body |= kernel.at(operand).section == Section::body;
    any_epilogue |= kernel.at(operand).section == Section::epilogue;
  }
  if (info(inst.op).signature == Signature::Reduce) {
    if (any_epilogue) return std::nullopt;
    return Section::epilogue;
  }
  if (any_body && any_epilogue) return std::nullopt;
  return any_epilogue ? Section::epilogue : any_body ? Section::body : Section::invariant;
}

}  // namespace trident::kir
