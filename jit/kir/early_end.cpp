#include "jit/kir/early_end.h"

#include <algorithm>
#include <optional>

#include "jit/kir/builder.h"
#include "jit/kir/reduction.h"

namespace trident::kir {
namespace {

/// Says when no later element changes a result: where compare(result, limit) holds.
struct Decision {
  Value result;
  Op compare = Op::Le;  ///< Lt, or Le; for greatest values Le with its operands swapped
  bool swaps = false;
  std::int64_t limit = 0;
};

std::int64_t number_of(const Inst& constant) {
  return constant.type == Type::i32 ? static_cast<std::int32_t>(constant.imm) : static_cast<std::int64_t>(constant.imm);
}

std::optional<Decision> decision_of(const Kernel& kernel, Value reduction) {
  const Inst& reduces = kernel.at(reduction);
  const bool greatest = reduces.op == Op::MaxOf;
  if ((!greatest && reduces.op != Op::MinOf) || !ir::is_int(reduces.type)) return {};
  const Inst& chosen = kernel.at(reduces.a);
  if (chosen.op != Op::Select) return {};
  const Inst &b = kernel.at(chosen.b), &c = kernel.at(chosen.c);
  if (b.op == Op::Constant && c.op == Op::Constant) {
    const std::int64_t p = number_of(b), q = number_of(c);
    return Decision{reduction, Op::Le, greatest, greatest ? std::max(p, q) : std::min(p, q)};
  }
  // A number below the constant is that of an element; those of later elements are greater, as i64 does not wrap.
  const bool locates = (b.op == Op::Index && c.op == Op::Constant) || (b.op == Op::Constant && c.op == Op::Index);
  if (greatest || !locates || reduces.type != Type::i64) return {};
  return Decision{reduction, Op::Lt, false, number_of(b.op == Op::Constant ? b : c)};
}

/// Returns the decisions of all reductions, or none where one needs all elements.
std::vector<Decision> decisions_of(const Kernel& kernel) {
  std::vector<Decision> decisions;
  for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
    if (!is_reduction(kernel.insts[i])) continue;
    const std::optional<Decision> decision = decision_of(kernel, Value(i));
    if (!decision) return {};
    decisions.push_back(*decision);
  }
  return decisions;
}

}  // namespace

void end_early(Kernel& kernel) {
  const auto is_scalar = [](const Output& output) { return output.kind == OutputKind::scalar; };
  if (kernel.exit.valid() || !std::ranges::all_of(kernel.outputs, is_scalar)) return;
  const std::vector<Decision> decisions = decisions_of(kernel);
  if (decisions.empty()) return;
  Builder b(kernel);
  Value all;
  for (const Decision& d : decisions) {
    const Value limit = b.constant_int(b.type_of(d.result), d.limit);
    const Value one = d.swaps ? b.op(d.compare, limit, d.result) : b.op(d.compare, d.result, limit);
    const Value mask = decisions.size() == 1 ? one : b.convert(Op::Convert, Type::b32, one);
    all = all.valid() ? b.op(Op::And, all, mask) : mask;
  }
  kernel.exit = all;
}

bool keeps_early_ends(const Kernel& source, const Kernel& form) {
  const bool reduces = std::ranges::any_of(form.insts, is_reduction);
  return (!source.leaves_chunks() || form.leaves_chunks() || !reduces) &&
         std::ranges::equal(source.before, form.before, keeps_early_ends);
}

bool ends_early(const Kernel& kernel) {
  return kernel.leaves_chunks() || std::ranges::any_of(kernel.before, ends_early);
}

bool first_pass_ends_early(const Kernel& kernel) {
  return kernel.before.empty() ? kernel.leaves_chunks() : first_pass_ends_early(kernel.before.front());
}

}  // namespace trident::kir
