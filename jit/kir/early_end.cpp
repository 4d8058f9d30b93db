#include "jit/kir/early_end.h"

#include <algorithm>
#include <array>
#include <optional>

#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"

namespace trident::kir {
namespace {

/// Says when no later element changes a result: where compare(result, limit) holds.
struct Decision {
  Value result;
  Op compare = Op::Le;  ///< Lt, or Le; for greatest values Le with its operands swapped
  bool swaps = false;
  std::int64_t limit = 0;
  std::optional<std::int64_t> other{};  ///< the result's other value, where it has two
};

std::uint64_t bits_of_number(Type type, std::int64_t number) {
  return type == Type::i32 ? static_cast<std::uint32_t>(number) : static_cast<std::uint64_t>(number);
}

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
    const auto [least, most] = std::minmax({p, q});
    return Decision{reduction, Op::Le, greatest, greatest ? most : least, greatest ? least : most};
  }
  // A number below the constant is that of an element; those of later elements are greater, as i64 does not wrap.
  const bool locates = (b.op == Op::Index && c.op == Op::Constant) || (b.op == Op::Constant && c.op == Op::Index);
  if (greatest || !locates || reduces.type != Type::i64) return {};
  return Decision{reduction, Op::Lt, false, number_of(b.op == Op::Constant ? b : c), std::nullopt};
}

/// A value that is computed from constants and from one reduction of two numbers.
struct TwoValues {
  bool known = false;
  Value reduction{};  ///< invalid: it is a constant
  Truth bits{};
};

/// Returns whether an instruction compares, chooses or converts: what truth values are computed by.
bool handles_truths(const Inst& inst) {
  return inst.op == Op::Lt || inst.op == Op::Le || inst.op == Op::Eq || inst.op == Op::Ne || inst.op == Op::Select ||
         inst.op == Op::Convert;
}

/// Computes a value from those of its operands.
TwoValues two_values_of(const Kernel& kernel, const Inst& inst, const std::vector<TwoValues>& known) {
  std::array<Truth, 3> operands{};
  TwoValues made{.known = true};
  const std::array<Value, 3> values = {inst.a, inst.b, inst.c};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) continue;
    const TwoValues& operand = known[values[i].index];
    if (!operand.known) return {};
    if (operand.reduction.valid() && made.reduction.valid() && operand.reduction != made.reduction) return {};
    if (operand.reduction.valid()) made.reduction = operand.reduction;
    operands[i] = operand.bits;
  }
  const Type type = kernel.at(inst.op == Op::Select ? inst.b : inst.a).type;
  const auto& [a, b, c] = operands;
  made.bits.open = eval_lane(inst.op, inst.type, type, a.open, b.open, c.open);
  made.bits.decided = eval_lane(inst.op, inst.type, type, a.decided, b.decided, c.decided);
  return made;
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

std::optional<Truth> truth_of(const Kernel& kernel, Value result) {
  std::vector<TwoValues> known(result.index + 1);
  for (std::uint32_t i = 0; i <= result.index; ++i) {
    const Inst& inst = kernel.insts[i];
    if (inst.op == Op::Constant) {
      known[i] = {.known = true, .bits = {inst.imm, inst.imm}};
    } else if (is_reduction(inst)) {
      const std::optional<Decision> decision = decision_of(kernel, Value(i));
      if (!decision || !decision->other) continue;
      const Truth bits = {bits_of_number(inst.type, *decision->other), bits_of_number(inst.type, decision->limit)};
      known[i] = {true, Value(i), bits};
    } else if (handles_truths(inst)) {
      known[i] = two_values_of(kernel, inst, known);
    }
  }
  const auto& [is_known, reduction, bits] = known[result.index];
  const std::uint64_t one = one_bits(kernel.at(result).type);
  const bool is_truth = (bits.open == 0 && bits.decided == one) || (bits.open == one && bits.decided == 0);
  return is_known && reduction.valid() && is_truth ? std::optional(bits) : std::nullopt;
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
