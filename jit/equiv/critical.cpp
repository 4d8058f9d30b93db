#include "jit/equiv/critical.h"

#include <algorithm>

#include "jit/expr/ranges.h"

namespace trident::equiv {

using expr::Op;

namespace {

/// Beyond this from zero the functions below are flat, in f32 at the latest.
constexpr double kFarOut = 80;

}  // namespace

std::vector<Probe::Target> critical_values(const expr::Expr& expr, Probe& probe,
                                           const std::function<Point()>& uniform) {
  constexpr std::size_t kDivisorsMax = 4, kStepsMax = 4, kPeaksMax = 4;
  constexpr int kLooks = 32;
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  expr::Ranges ranges(expr);
  std::vector<Probe::Target> divisors, steps, peaks;
  const auto add = [&](std::vector<Probe::Target>& list, std::size_t most, Probe::Target target) {
    const expr::Node& a = expr.at(target.a);
    const bool leaf = expr::info(a.op).signature == expr::Signature::Leaf;
    if (list.size() == most || !ir::is_float(a.type) || (leaf && !target.b.valid())) return;
    if (shapes[target.a.index] == expr::Shape::total) return;
    if (target.b.valid() && shapes[target.b.index] == expr::Shape::total) return;
    if (std::find(list.begin(), list.end(), target) == list.end()) list.push_back(target);
  };
  for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
    const expr::Node& node = expr.nodes[i];
    const bool singular = expr::info(node.op).at_zero != expr::AtZero::regular ||
                          (node.op == Op::Powi && static_cast<std::int64_t>(node.imm) < 0);
    const expr::NodeId divisor = node.op == Op::Div ? node.b : singular ? node.a : expr::NodeId{};
    if (divisor.valid() && !ranges.at(divisor).nonzero()) add(divisors, kDivisorsMax, {divisor, {}});
    if (expr::has(node.op, expr::kSaturates)) {
      const expr::Fact argument = ranges.at(node.a);
      if (argument.lo < -kFarOut || argument.hi > kFarOut) add(peaks, kPeaksMax, {node.a, {}});
    }
    const bool compares =
        expr::info(node.op).signature == expr::Signature::Compare || node.op == Op::Min || node.op == Op::Max;
    if (!compares || shapes[i] != expr::Shape::element || steps.size() == kStepsMax) continue;
    const double side = probe.side_of(i, uniform());
    bool one_side = true;
    for (int look = 1; look < kLooks && one_side; ++look) one_side = probe.side_of(i, uniform()) == side;
    if (one_side) add(steps, kStepsMax, {node.a, node.b});
  }
  divisors.insert(divisors.end(), steps.begin(), steps.end());
  divisors.insert(divisors.end(), peaks.begin(), peaks.end());
  return divisors;
}

std::vector<Probe::Target> sign_values(const expr::Expr& expr) {
  constexpr std::size_t kSignsMax = 8;
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  std::vector<Probe::Target> list;
  const auto add = [&](expr::NodeId id) {
    const bool leaf = expr::info(expr.at(id).op).signature == expr::Signature::Leaf;
    const Probe::Target target{id, {}};
    if (list.size() == kSignsMax || leaf || shapes[id.index] == expr::Shape::total) return;
    if (std::find(list.begin(), list.end(), target) == list.end()) list.push_back(target);
  };
  for (const expr::Node& node : expr.nodes) {
    if (node.op == Op::Atan2) add(node.a), add(node.b);
    if (node.op == Op::Copysign) add(node.b);
  }
  return list;
}

}  // namespace trident::equiv
