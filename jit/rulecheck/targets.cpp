#include "jit/rulecheck/targets.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/rulecheck/places.h"
#include "jit/rulecheck/strict_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;

constexpr std::size_t kTargetsMax = 200, kTurnsOfComparison = 12;
constexpr int kNoVariable = -1, kManyVariables = -2;

int met(int v, int w) {
  return v == w || w == kNoVariable ? v : v == kNoVariable ? w : kManyVariables;
}

// Finds the one variable that each term depends on.
std::vector<int> variables_of(const Pattern& side) {
  std::vector<int> found;
  for (const PatternTerm& t : side.terms) {
    int of = t.kind == PatternTerm::Kind::variable ? t.variable : kNoVariable;
    if (t.kind == PatternTerm::Kind::node)
      for (std::uint8_t k = 0; k < expr::info(static_cast<Op>(t.op)).arity; ++k) of = met(of, found[t.child[k]]);
    found.push_back(of);
  }
  return found;
}

class Finder {
 public:
  Finder(const egraph::Rule& rule, const Sorts& sorts)
      : sorts_(sorts), values_(rule.variables.size()), found_(rule.variables.size()) {
    places_ = even_places();
    for (double size = std::numeric_limits<double>::max(); size > 1e-30; size /= size > 1e6 || size < 1e-6 ? 1e4 : 1.7)
      places_.insert(places_.end(), {size, -size});
    places_.push_back(0);
    put_in_order(places_);
  }

  void visit(const Pattern& side) {
    const std::vector<int> of = variables_of(side);
    for (std::size_t i = 0; i < side.terms.size(); ++i) {
      const PatternTerm& t = side.terms[i];
      if (t.kind != PatternTerm::Kind::node || of[i] < 0) continue;
      const Op op = static_cast<Op>(t.op);
      const bool compares = expr::info(op).signature == expr::Signature::Compare || op == Op::Min || op == Op::Max;
      if (!compares || sorts_.truth[static_cast<std::size_t>(of[i])]) continue;
      a_ = term_alone(side, t.child[0]), b_ = term_alone(side, t.child[1]);
      variable_ = static_cast<std::size_t>(of[i]);
      solve();
    }
  }

  std::vector<Targets> found() { return std::move(found_); }

 private:
  /// The terms' difference, and whether the first is below, equal or above; NaN is below.
  struct Height {
    double off = 0;
    int order = 0;
  };

  Height height_at(double x) {
    values_[variable_] = x;
    const double a = strict_value(a_, values_, expr::Type::f64, sorts_),
                 b = strict_value(b_, values_, expr::Type::f64, sorts_);
    return {a - b, a > b ? 1 : a == b ? 0 : -1};
  }

  void add(double value) {
    Targets& all = found_[variable_];
    std::vector<double>& of_order = height_at(value).order == 0 ? all.equal : all.beside;
    if (std::isfinite(value) && all.equal.size() + all.beside.size() < kTargetsMax &&
        std::find(of_order.begin(), of_order.end(), value) == of_order.end())
      of_order.push_back(value);
  }

  void solve() {
    std::vector<Height> heights;
    for (const double x : places_) heights.push_back(height_at(x));
    // Returns whether the terms approach each other towards a place from both sides, and are not known to meet.
    const auto dips = [&](std::size_t i) {
      if (i + 1 >= places_.size()) return false;
      const Height &a = heights[i - 1], &b = heights[i], &c = heights[i + 1];
      const bool one_sign = a.order == b.order && b.order == c.order && b.order != 0;
      return one_sign && std::isfinite(a.off) && std::isfinite(c.off) && std::fabs(b.off) <= std::fabs(a.off) &&
             std::fabs(b.off) <= std::fabs(c.off) && (a.off != b.off || b.off != c.off);
    };
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < places_.size(); ++i)
      if (heights[i - 1].order != heights[i].order || dips(i)) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) {
      return std::fabs(places_[i - 1] + places_[i]) < std::fabs(places_[k - 1] + places_[k]);
    });
    spread_beyond(kTurnsOfComparison / 2, order);
    if (order.size() > kTurnsOfComparison) order.resize(kTurnsOfComparison);
    for (const std::size_t i : order) {
      between(places_[i - 1], heights[i - 1].order, places_[i], heights[i].order);
      if (!dips(i)) continue;
      const double sign = heights[i].order;
      const double low = places_[i - 1], high = places_[i + 1];
      const double x = lowest_between(low, high, [&](double at) { return sign * height_at(at).off; });
      const int at_x = height_at(x).order;
      if (at_x == heights[i].order) continue;
      add(x);
      between(low, heights[i - 1].order, x, at_x);
      between(x, at_x, high, heights[i + 1].order);
    }
  }

  void between(double low, int at_low, double high, int at_high) {
    if (at_low == at_high) return;
    for (const int step : {0, 1})
      if ((at_high >= step) != (at_low >= step)) bisect(low, high, step);
  }

  // Bisects to where "at least equal" (step 0) or "above" (step 1) changes.
  void bisect(double low, double high, int step) {
    const bool of_high = height_at(high).order >= step;
    for (int i = 0; i < 200; ++i) {
      const double middle = low / 2 + high / 2;
      if (middle == low || middle == high) break;
      ((height_at(middle).order >= step) == of_high ? high : low) = middle;
    }
    for (const double value : {high, low, std::nextafter(high, HUGE_VAL), std::nextafter(low, -HUGE_VAL),
                               high + 1e-12 * std::fabs(high), low - 1e-12 * std::fabs(low)})
      add(value);
  }

  const Sorts& sorts_;
  std::vector<double> values_;
  std::vector<Targets> found_;
  std::vector<double> places_;
  Pattern a_, b_;
  std::size_t variable_ = 0;
};

}  // namespace

std::vector<Targets> targets_of(const egraph::Rule& rule, const Sorts& sorts) {
  Finder finder(rule, sorts);
  if (!sorts.slopes && sorts.types.empty())
    for (const Pattern* side : {&rule.left, &rule.right}) finder.visit(*side);
  return finder.found();
}

}  // namespace trident::rulecheck
