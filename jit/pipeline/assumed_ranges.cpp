#include "jit/pipeline/assumed_ranges.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "jit/equiv/draw.h"
#include "jit/pipeline/speculative_points.h"

namespace trident::pipeline {
namespace {

/// Returns the f64 before an end beyond 1, for which the upper halves of bits decide (jit/codegen/x86_ranges.h).
double before(ir::Type type, double end) {
  return type == ir::Type::f64 && std::fabs(end) > 1 && std::isfinite(end) ? std::nextafter(end, 0) : end;
}

/// Leaves out the greatest of 2^k + 1 integers from zero on, or of 2^(k + 1) + 1 around it: a guard tests the others by
/// their bits (jit/kir/guard.h).
kir::Assumed as_bits(const kir::Assumed& assumed) {
  int exponent = 0;
  const bool is_power = std::frexp(assumed.hi, &exponent) == 0.5 && assumed.hi > 1 && assumed.hi < 0x1p53;
  const bool from_zero = assumed.lo == 0 || assumed.lo == -assumed.hi;
  return is_power && from_zero ? kir::Assumed{assumed.lo, assumed.hi - 1} : assumed;
}

/// Returns whether a variable can be assumed to be one number: zeros have two signs, and large longs several values.
bool is_one_number(const expr::Variable& variable, const kir::Assumed& assumed) {
  const double value = assumed.lo;
  if (!std::isfinite(value) || value != assumed.hi || value < variable.lo || value > variable.hi) return false;
  if (ir::is_int(variable.type)) return std::trunc(value) == value && std::fabs(value) < 0x1p31;
  return value != 0 && (variable.type == ir::Type::f64 || static_cast<double>(static_cast<float>(value)) == value);
}

/// Makes a variable a constant; it stays an argument.
void replace(expr::Expr& expr, std::size_t number, double value) {
  expr::Variable& variable = expr.variables[number];
  variable.lo = variable.hi = value;
  const auto bits = equiv::bits_of(variable.type, value);
  for (expr::Node& node : expr.nodes)
    if (node.op == expr::Op::Variable && node.imm == number)
      node = {.op = expr::Op::Constant, .type = node.type, .a = {}, .b = {}, .c = {}, .imm = bits};
}

/// Returns the range that the guard tests a variable for: one that is assumed and not promised.
kir::Assumed to_test(const expr::Variable& declared, const expr::Variable& assumed) {
  if (same_range(declared, assumed)) return {};
  return {assumed.lo, assumed.hi, assumed.or_nan};
}

/// Returns whether the kernel, or a pass before it, reads input or parameter `number`.
bool reads(const kir::Kernel& kernel, kir::Op op, std::uint64_t number) {
  const auto names = [&](const kir::Inst& inst) { return inst.op == op && inst.imm == number; };
  return std::any_of(kernel.insts.begin(), kernel.insts.end(), names) ||
         std::any_of(kernel.before.begin(), kernel.before.end(),
                     [&](const kir::Kernel& before) { return reads(before, op, number); });
}

}  // namespace

expr::Expr narrowed(const expr::Expr& expr, std::span<const kir::Assumed> assumed) {
  expr::Expr result = expr;
  for (std::size_t v = 0; v < assumed.size() && v < result.variables.size(); ++v) {
    expr::Variable& variable = result.variables[v];
    if (variable.is_table()) continue;
    // Where a range is declared, the caller has promised that there is no NaN.
    variable.or_nan = assumed[v].or_nan && !assumed[v].is_anything() && !variable.has_range() &&
                      ir::is_float(variable.type) && !ir::converts(variable.storage);
    if (!variable.or_nan && is_one_number(variable, assumed[v])) {
      replace(result, v, assumed[v].lo);
      continue;
    }
    const kir::Assumed range = ir::is_int(variable.type) ? as_bits(assumed[v]) : assumed[v];
    const double lo = range.lo, hi = range.hi;
    if (lo > variable.lo) variable.lo = lo < 0 ? before(variable.type, lo) : lo;
    if (hi < variable.hi) variable.hi = hi > 0 ? before(variable.type, hi) : hi;
    if (variable.lo > variable.hi) variable = expr.variables[v];  // nothing that was promised was observed
  }
  return result;
}

expr::Expr without_unread(const expr::Expr& expr, expr::Expr narrow, const kir::Kernel& a, const kir::Kernel& b) {
  std::uint64_t inputs = 0, params = 0;
  for (std::size_t v = 0; v < narrow.variables.size(); ++v) {
    const bool scalar = narrow.variables[v].is_scalar();
    const kir::Op op = scalar ? kir::Op::Param : kir::Op::Input;
    const std::uint64_t number = scalar ? params++ : inputs++;
    if (!reads(a, op, number) && !reads(b, op, number)) narrow.variables[v] = expr.variables[v];
  }
  return narrow;
}

kir::Kernel scan_for(const kir::Kernel& kernel) {
  kir::Kernel scan;
  scan.inputs = kernel.inputs, scan.params = kernel.params;
  return scan;
}

Result<void> add_guard(kir::Kernel& kernel, const expr::Expr& expr, const expr::Expr& narrow) {
  std::vector<kir::Assumed> inputs, params;
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    auto& list = expr.variables[v].is_scalar() ? params : inputs;
    list.push_back(to_test(expr.variables[v], narrow.variables[v]));
  }
  params.resize(kernel.params.size());  // behind the scalars, lengths of tables
  if (!kir::guard(kernel, inputs, params))
    return make_error(ErrorCode::kUnsupported, "the assumed ranges leave nothing to test");
  return kir::check(kernel);
}

}  // namespace trident::pipeline
