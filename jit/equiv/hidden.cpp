#include "jit/equiv/hidden.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace trident::equiv {
namespace {

using expr::Node;
using expr::Op;

/// By variable: whether it is in the set.
using Set = std::vector<bool>;

/// Variables of which every set is NaN; more have too many sets.
constexpr std::size_t kAllSetsMax = 10;
constexpr std::size_t kPointsOfAllSets = 1024;
constexpr std::size_t kPointsOfMixtures = 512;
constexpr std::size_t kPointsPerNode = 64, kPointsOfNodesMax = 2048;
/// Sets per node: the least ones.
constexpr std::size_t kSetsMax = 6;

bool is_extremum(Op op) {
  return expr::info(op).identities == expr::Identities::extremum;
}

// Returns whether an operation on floats may have an ordinary value where an operand has none.
bool hides(const expr::Expr& expr, const Node& n) {
  const expr::OpInfo& row = expr::info(n.op);
  if (row.signature == expr::Signature::Select) return ir::is_float(n.type);
  const bool compares = row.signature == expr::Signature::Compare;
  const bool joins_extrema = row.signature == expr::Signature::Reduce && is_extremum(row.joined_by);
  return (compares || joins_extrema || is_extremum(n.op)) && ir::is_float(expr.at(n.a).type);
}

Set united(const Set& a, const Set& b) {
  Set both = a;
  for (std::size_t v = 0; v < b.size(); ++v) both[v] = both[v] || b[v];
  return both;
}
Set without(const Set& a, const Set& b) {
  Set rest = a;
  for (std::size_t v = 0; v < b.size(); ++v) rest[v] = rest[v] && !b[v];
  return rest;
}
std::size_t size(const Set& set) {
  return static_cast<std::size_t>(std::count(set.begin(), set.end(), true));
}

/// Finds, for each node on floats, sets of variables that make it special when all of a set are.
class Sets {
 public:
  Sets(const expr::Expr& expr, const Set& may_be_special) : expr_(expr), sets_(expr.nodes.size()) {
    for (std::size_t i = 0; i < expr.nodes.size(); ++i) {
      if (!ir::is_float(expr.nodes[i].type)) continue;
      find(expr.nodes[i], may_be_special, sets_[i]);
      keep_least(sets_[i]);
    }
  }
  [[nodiscard]] const std::vector<Set>& of(expr::NodeId id) const { return id.valid() ? sets_[id.index] : none_; }

 private:
  void find(const Node& n, const Set& may_be_special, std::vector<Set>& found) const {
    if (n.op == Op::Variable) {
      if (!may_be_special[n.imm]) return;
      found.emplace_back(may_be_special.size(), false);
      found.back()[n.imm] = true;
      return;
    }
    const bool selects = n.op == Op::Select;
    const auto &a = selects ? of(n.b) : of(n.a), &b = selects ? of(n.c) : of(n.b), &c = selects ? none_ : of(n.c);
    if ((selects || is_extremum(n.op)) && !a.empty() && !b.empty())
      for (const Set& one : a)
        for (const Set& other : b) found.push_back(united(one, other));
    else
      for (const auto* sets : {&a, &b, &c}) found.insert(found.end(), sets->begin(), sets->end());
  }
  static void keep_least(std::vector<Set>& sets) {
    std::stable_sort(sets.begin(), sets.end(), [](const Set& a, const Set& b) { return size(a) < size(b); });
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    if (sets.size() > kSetsMax) sets.resize(kSetsMax);
  }

  const expr::Expr& expr_;
  std::vector<std::vector<Set>> sets_;
  std::vector<Set> none_;
};

class Hidden {
 public:
  explicit Hidden(PointDrawer& drawer) : drawer_(drawer), random_(drawer.random()) {
    for (const auto& variable : drawer.expr().variables) {
      may_be_nan_.push_back(ir::is_float(variable.type) && allowed(variable, bits_of(variable.type, NAN)));
      const auto can = [&](double x) { return allowed(variable, bits_of(variable.type, x)); };
      may_be_special_.push_back(ir::is_float(variable.type) && std::any_of(kSpecial.begin(), kSpecial.end(), can));
    }
  }

  std::vector<Point> run() {
    const auto& nodes = drawer_.expr().nodes;
    const auto hidden = [&](const Node& n) { return hides(drawer_.expr(), n); };
    if (size(may_be_special_) < 2 || std::none_of(nodes.begin(), nodes.end(), hidden)) return {};
    add_all_sets();
    add_mixtures();
    add_sets_of_nodes();
    return std::move(points_);
  }

 private:
  static constexpr std::array<double, 5> kSpecial{NAN, INFINITY, -INFINITY, 0.0, -0.0};

  Point& add_ordinary() {
    const bool any_way = random_.below(4) == 0;
    return points_.emplace_back(drawer_.independent(any_way ? kWays[random_.below(std::size(kWays))] : Way::uniform));
  }
  void put(Point& p, const Set& set, double special) {
    for (std::size_t v = 0; v < p.size(); ++v)
      if (set[v]) put(p, v, special);
  }
  void put(Point& p, std::size_t v, double special) {
    const auto& variable = drawer_.expr().variables[v];
    const Bits bits = bits_of(variable.type, special);
    if (may_be_special_[v] && allowed(variable, bits)) p[v] = bits;
  }
  // Returns NaN half of the time: most identities that fail for infinities or zeros fail for NaN too.
  double any_special() { return random_.below(2) == 0 ? NAN : kSpecial[random_.below(kSpecial.size())]; }

  void add_all_sets() {
    std::vector<std::size_t> which;
    for (std::size_t v = 0; v < may_be_nan_.size(); ++v)
      if (may_be_nan_[v]) which.push_back(v);
    if (which.size() < 2 || which.size() > kAllSetsMax) return;
    const std::size_t sets = std::size_t{1} << which.size();
    const std::size_t orders = std::clamp<std::size_t>(kPointsOfAllSets / sets, 1, 16);
    for (std::size_t i = 0; i < sets * orders; ++i) {
      Point& p = add_ordinary();
      for (std::size_t k = 0; k < which.size(); ++k)
        if (((i % sets) >> k & 1) != 0) put(p, which[k], NAN);
    }
  }

  // Makes sets of all sizes alike often: two of many variables that are NaN are likelier in data than half of them.
  void add_mixtures() {
    const std::size_t variables = drawer_.variables();
    for (std::size_t i = 0; i < kPointsOfMixtures; ++i) {
      Point& p = add_ordinary();
      const std::size_t most = 1 + random_.below(variables);
      const double one = any_special();
      const bool mixed = random_.below(4) == 0;
      for (std::size_t k = 0; k < most; ++k) put(p, random_.below(variables), mixed ? any_special() : one);
    }
  }

  void add_sets_of_nodes() {
    const Sets sets(drawer_.expr(), may_be_special_);
    std::vector<std::pair<const std::vector<Set>*, const std::vector<Set>*>> siblings;
    for (const Node& n : drawer_.expr().nodes) {
      const bool selects = n.op == Op::Select;
      const auto &a = sets.of(selects ? n.b : n.a), &b = sets.of(selects ? n.c : n.b);
      if (!a.empty() || !b.empty()) siblings.emplace_back(a.empty() ? &b : &a, b.empty() ? &a : &b);
    }
    const std::size_t most = std::min(kPointsOfNodesMax, siblings.size() * kPointsPerNode);
    for (std::size_t i = 0; i < most; ++i) {
      if (drawer_.cancelled()) return;
      const auto& [a, b] = siblings[i % siblings.size()];
      const auto& other = random_.below(4) == 0 ? *siblings[random_.below(siblings.size())].second : *b;
      add_two((*a)[random_.below(a->size())], other[random_.below(other.size())]);
    }
  }

  void add_two(const Set& a, const Set& b) {
    const bool swapped = random_.below(2) == 0;
    const Set &one = swapped ? b : a, &other = swapped ? a : b;
    const double special = any_special();
    Point& p = add_ordinary();
    switch (random_.below(5)) {
      case 0: return put(p, one, special);
      case 1: return put(p, without(one, other), special);
      case 2: return put(p, united(one, other), special);
      case 3: return put(p, without(may_be_special_, one), special);
      default: put(p, one, special), put(p, without(other, one), any_special());
    }
  }

  PointDrawer& drawer_;
  Random& random_;  ///< the drawer's
  Set may_be_nan_, may_be_special_;
  std::vector<Point> points_;
};

}  // namespace

std::vector<Point> hidden_specials(PointDrawer& drawer) {
  return Hidden(drawer).run();
}

}  // namespace trident::equiv
