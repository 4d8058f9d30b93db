#include "jit/rulecheck/targets.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/rulecheck/strict_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;

constexpr std::size_t kTargetsMax = 36;
constexpr int kNoVariable = -1, kManyVariables = -2;

int met(int v, int w) {
  return v == w || w == kNoVariable ? v : v == kNoVariable ? w : kManyVariables;
}

// The one variable that each term depends on.
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
    for (double size = std::numeric_limits<double>::max(); size > 1e-30; size /= size > 1e6 || size < 1e-6 ? 1e4 : 1.7)
      magnitudes_.push_back(size);
    magnitudes_.push_back(0);
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

  std::vector<std::vector<double>> found() { return std::move(found_); }

 private:
  void add(double value) {
    std::vector<double>& all = found_[variable_];
    if (std::isfinite(value) && all.size() < kTargetsMax && std::find(all.begin(), all.end(), value) == all.end())
      all.insert(order_at(value) == 0 ? all.begin() : all.end(), value);
  }

  // Below, equal or above; NaN is below.
  int order_at(double x) {
    values_[variable_] = x;
    const double a = strict_value(a_, values_, expr::Type::f64, sorts_),
                 b = strict_value(b_, values_, expr::Type::f64, sorts_);
    return a > b ? 1 : a == b ? 0 : -1;
  }

  void solve() {
    for (const double sign : {1.0, -1.0}) {
      for (std::size_t i = 0; i + 1 < magnitudes_.size(); ++i) {
        const double high = sign * magnitudes_[i], low = sign * magnitudes_[i + 1];
        const int at_high = order_at(high), at_low = order_at(low);
        if (at_high == at_low) continue;
        for (const int step : {0, 1})
          if ((at_high >= step) != (at_low >= step)) bisect(low, high, step);
      }
    }
  }

  // To where "at least equal" (step 0) or "above" (step 1) turns over.
  void bisect(double low, double high, int step) {
    const bool of_high = order_at(high) >= step;
    for (int i = 0; i < 200; ++i) {
      const double middle = low / 2 + high / 2;
      if (middle == low || middle == high) break;
      ((order_at(middle) >= step) == of_high ? high : low) = middle;
    }
    for (const double value :
         {high, low, std::nextafter(high, 2 * high), std::nextafter(low, 0.0), high * (1 + 1e-12), low * (1 - 1e-12)})
      add(value);
  }

  const Sorts& sorts_;
  std::vector<double> values_;
  std::vector<std::vector<double>> found_;
  std::vector<double> magnitudes_;
  Pattern a_, b_;
  std::size_t variable_ = 0;
};

}  // namespace

std::vector<std::vector<double>> targets_of(const egraph::Rule& rule, const Sorts& sorts) {
  Finder finder(rule, sorts);
  if (!sorts.slopes && sorts.types.empty())
    for (const Pattern* side : {&rule.left, &rule.right}) finder.visit(*side);
  return finder.found();
}

}  // namespace trident::rulecheck
