#include "jit/pipeline/observed.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace trident::pipeline {
namespace {

/// Limits of exponents: smaller magnitudes share a range, and above kEveryMax only each fourth power is one.
constexpr int kExponentMin = -4, kEveryMax = 8, kStep = 4;
/// The greatest value seen is at most this share of the end. But shares, cosines and colours end at 1 itself.
constexpr double kMargin = 0.75;
double most_below(int exponent) {
  return exponent == 0 ? 1 : std::ldexp(kMargin, exponent);
}
/// A range of floats this wide or wider, in factors, is thought to go on towards zero: of a thousand spread evenly from
/// zero on, one in exp(8) thousands has none in the first 128th. Integers that are not narrow often count from zero or
/// one. Where all floats seen are kNearZeroSeen or more, hardly one in 2^32 is below kNearZero. An end at zero itself
/// would cost quotients, logarithms and powers most of what ranges are assumed for: a reciprocal or a product of small
/// values could leave the type's range.
constexpr double kNarrow = 16, kWide = 128, kNearZero = 0x1p-32, kNearZeroSeen = 0x1p-20;

/// The exponent of a type's greatest power of two that is an end.
int exponent_max(ir::Type type) {
  switch (type) {
    case ir::Type::f32: return 120;
    case ir::Type::f64: return 1000;
    case ir::Type::i32: return 28;
    case ir::Type::i64: return 60;
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  return 0;
}

/// The end beyond a magnitude; none if there is nothing between it and the type's greatest.
std::optional<double> end_beyond(ir::Type type, double magnitude) {
  int exponent = kExponentMin;
  while (most_below(exponent) < magnitude && exponent <= exponent_max(type))
    exponent += exponent < kEveryMax ? 1 : kStep;
  if (exponent > exponent_max(type)) return std::nullopt;
  return std::ldexp(1.0, exponent);
}

/// The end between zero and the least of some magnitudes; coarser where they span more.
double end_before(ir::Type type, double least, double greatest) {
  const double exponent = std::floor(std::log2(least * kMargin));
  const bool is_narrow = least * kNarrow > greatest;
  const bool is_bounded = is_narrow || (ir::is_float(type) && least * kWide > greatest);
  const double end = is_narrow ? exponent : kStep * std::floor(exponent / kStep);
  if (is_bounded && end >= kExponentMin) return std::exp2(end);
  return ir::is_float(type) && least >= kNearZeroSeen ? kNearZero : 0;
}

kir::Assumed widened(ir::Type type, const kir::Assumed& seen) {
  if (!std::isfinite(seen.lo) || !std::isfinite(seen.hi) || seen.lo > seen.hi) return {};
  const double most = std::max(std::fabs(seen.lo), std::fabs(seen.hi));
  const double least = std::min(std::fabs(seen.lo), std::fabs(seen.hi));
  const std::optional<double> end = end_beyond(type, most);
  if (!end) return {};
  if (seen.lo < 0 && seen.hi > 0) return {-*end, *end};
  const double near = end_before(type, least, most);
  return seen.hi <= 0 && seen.lo < 0 ? kir::Assumed{-*end, -near} : kir::Assumed{near, *end};
}

/// Powers by these are products and roots where the policy lets roundings change (simplify_functions.cpp), ten times as
/// fast as those by a number that is not known. Other scalars gain little by being known, and change more often.
constexpr double kExponentMax = 32;
bool makes_simple_power(double exponent) {
  return exponent != 0 && std::fabs(exponent) <= kExponentMax && std::trunc(2 * exponent) == 2 * exponent;
}

/// Returns whether scalar number `v` is the exponent of a power.
bool is_exponent(const expr::Expr& expr, std::size_t v) {
  const auto is_read = [&](expr::NodeId id) {
    const expr::Node& n = expr.at(id);
    const expr::Node& read = n.op == expr::Op::Cast ? expr.at(n.a) : n;
    return read.op == expr::Op::Variable && read.imm == v;
  };
  return expr.variables[v].is_scalar() && std::any_of(expr.nodes.begin(), expr.nodes.end(), [&](const expr::Node& n) {
           return n.op == expr::Op::Pow && is_read(n.b);
         });
}

}  // namespace

std::vector<kir::Assumed> widened(const expr::Expr& expr, std::span<const kir::Assumed> seen) {
  std::vector<kir::Assumed> assumed(expr.variables.size());
  for (std::size_t v = 0; v < std::min(assumed.size(), seen.size()); ++v) {
    const expr::Variable& variable = expr.variables[v];
    if (variable.is_table()) continue;
    const bool is_constant =
        seen[v].lo == seen[v].hi && !seen[v].or_nan && makes_simple_power(seen[v].lo) && is_exponent(expr, v);
    assumed[v] = is_constant ? seen[v] : widened(variable.type, seen[v]);
    assumed[v].or_nan = seen[v].or_nan && ir::is_float(variable.type) && !assumed[v].is_anything();
  }
  const auto anything = [](const kir::Assumed& a) { return a.is_anything(); };
  if (std::all_of(assumed.begin(), assumed.end(), anything)) assumed.clear();
  return assumed;
}

}  // namespace trident::pipeline
