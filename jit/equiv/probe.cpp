#include "jit/equiv/probe.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/equiv/draw.h"

namespace trident::equiv {
namespace {

using expr::Op;

/// Steps of close_in(): as many halvings as there are bits in a double.
constexpr int kHalvings = 64;
/// Sweeps of descend() over the variables; steps are halved after one without progress.
constexpr int kSweepsMax = 120;
/// First step, as a share of a variable's range, where it has one.
constexpr double kFirstStep = 0.25;
constexpr double kOpenRange = 16;

Samples one_point(const expr::Expr& expr) {
  Samples s;
  s.n = 1;
  for (const auto& variable : expr.variables) s.columns.emplace_back(ir::bytes_of(variable.type));
  return s;
}

}  // namespace

Probe::Probe(const expr::Expr& expr)
    : expr_(expr),
      one_(one_point(expr)),
      evaluator_(expr, one_, 1),
      readers_(expr.variables.size()),
      below_(expr.nodes.size()),
      outdated_(expr.nodes.size(), 0) {
  for (std::size_t v = 0; v < readers_.size(); ++v) {
    std::vector<char> reads(expr.nodes.size(), 0);
    for (std::uint32_t i = 0; i < reads.size(); ++i) {
      const expr::Node& node = expr.nodes[i];
      const auto from = [&](expr::NodeId id) { return id.valid() && reads[id.index] != 0; };
      const bool is_it = node.op == Op::Variable && node.imm == v;
      if (is_it || from(node.a) || from(node.b) || from(node.c)) reads[i] = 1, readers_[v].push_back(i);
    }
  }
}

void Probe::look(const Point& point) {
  const bool by_node = looked_ && evaluator_.has_one_pass();
  for (std::size_t v = 0; v < point.size(); ++v) {
    std::vector<std::byte>& column = one_.columns[v];
    if (by_node && std::memcmp(column.data(), &point[v], column.size()) == 0) continue;
    std::memcpy(column.data(), &point[v], column.size());
    if (by_node)
      for (const std::uint32_t i : readers_[v]) outdated_[i] = 1;
  }
  if (!by_node) evaluator_.run_elements(0, 1);
  looked_ = true;
}

const std::vector<std::uint32_t>& Probe::below(std::uint32_t node) {
  std::vector<std::uint32_t>& list = below_[node];
  if (!list.empty()) return list;
  std::vector<char> needed(node + 1, 0);
  needed[node] = 1;
  for (std::uint32_t i = node + 1; i-- > 0;) {
    if (needed[i] == 0) continue;
    list.push_back(i);
    for (const expr::NodeId id : {expr_.nodes[i].a, expr_.nodes[i].b, expr_.nodes[i].c})
      if (id.valid()) needed[id.index] = 1;
  }
  std::reverse(list.begin(), list.end());
  return list;
}

void Probe::renew(std::uint32_t node) {
  if (outdated_[node] == 0) return;
  for (const std::uint32_t i : below(node)) {
    if (outdated_[i] == 0) continue;
    evaluator_.run_node(i, 0, 1);
    outdated_[i] = 0;
  }
}

double Probe::value(expr::NodeId id) {
  renew(id.index);
  const auto& lanes = evaluator_.lanes(id);
  return ir::is_float(expr_.at(id).type) ? lanes.s[0] : static_cast<double>(lanes.si[0]);
}

double Probe::side_of(std::uint32_t index, const Point& point) {
  look(point);
  const expr::Node& node = expr_.nodes[index];
  if (node.op == Op::Abs || node.op == Op::Sign) return value(node.a) < 0 ? 1 : 0;
  if (node.op == Op::Min || node.op == Op::Max) return value(node.a) < value(node.b) ? 1 : 0;
  return value(expr::NodeId(index));
}

bool Probe::takes(const std::vector<Turn>& turns, const Point& point) {
  look(point);
  return std::all_of(turns.begin(), turns.end(),
                     [&](const Turn& turn) { return (value(expr_.nodes[turn.node].a) != 0 ? 0 : 1) == turn.side; });
}

bool Probe::close_in(std::uint32_t node, Point& low, Point& high) {
  const double low_side = side_of(node, low);
  if (low_side == side_of(node, high)) return false;
  for (int step = 0; step < kHalvings; ++step) {
    Point middle;
    for (std::size_t v = 0; v < low.size(); ++v) {
      const expr::Type type = expr_.variables[v].type;
      const double mean = value_of(type, low[v]) / 2 + value_of(type, high[v]) / 2;
      middle.push_back(bits_of(type, mean));
    }
    if (middle == low || middle == high) break;
    (side_of(node, middle) == low_side ? low : high) = middle;
  }
  return true;
}

std::vector<bool> Probe::variables_of(const Target& target) const {
  std::vector<bool> list = equiv::variables_of(expr_, target.a);
  if (!target.b.valid()) return list;
  const std::vector<bool> more = equiv::variables_of(expr_, target.b);
  for (std::size_t v = 0; v < list.size(); ++v) list[v] = list[v] || more[v];
  return list;
}

bool Probe::make_zero(const Target& target, Point& start) {
  const std::vector<bool> moves = variables_of(target);
  const auto value_at = [&](const Point& point) {
    look(point);
    return target.b.valid() ? value(target.a) - value(target.b) : value(target.a);
  };
  const double here = value_at(start);
  for (std::size_t v = 0; v < start.size(); ++v) {
    const auto& variable = expr_.variables[v];
    if (!moves[v] || !ir::is_float(variable.type)) continue;
    const double x = value_of(variable.type, start[v]);
    for (const double step : {1.0, -1.0}) {
      Point point = start;
      point[v] = bits_of(variable.type, x + step);
      const double slope = (value_at(point) - here) / step;
      if (slope == 0 || !std::isfinite(slope)) continue;
      point[v] = bits_of(variable.type, x - here / slope);
      if (!allowed(variable, point[v]) || value_at(point) != 0) continue;
      start = std::move(point);
      return true;
    }
  }
  return false;
}

Point Probe::descend(const Target& target, Point start) {
  const std::vector<bool> moves = variables_of(target);
  const auto height = [&](const Point& point) {
    look(point);
    return std::fabs(target.b.valid() ? value(target.a) - value(target.b) : value(target.a));
  };
  double least = height(start);
  double part = kFirstStep;
  for (int sweep = 0; sweep < kSweepsMax && least != 0; ++sweep) {
    bool moved = false;
    for (std::size_t v = 0; v < start.size(); ++v) {
      const auto& variable = expr_.variables[v];
      if (!moves[v]) continue;
      const double range = variable.hi - variable.lo;
      const double step = part * (std::isfinite(range) ? range : kOpenRange);
      for (const double by : {step, -step}) {
        const Bits before = start[v];
        const Bits after = bits_of(variable.type, value_of(variable.type, before) + by);
        if (after == before || !allowed(variable, after)) continue;
        start[v] = after;
        const double here = height(start);
        if (here < least) {
          least = here, moved = true;
          break;
        }
        start[v] = before;
      }
    }
    if (!moved) part /= 2;
  }
  return start;
}

}  // namespace trident::equiv
