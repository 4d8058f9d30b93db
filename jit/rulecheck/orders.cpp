#include "jit/rulecheck/orders.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;

/// Variables, the least first.
using Order = std::vector<std::size_t>;

// Ascending distinct values, by i below n.
using Shape = double (*)(double i, double n);
constexpr Shape kShapes[] = {
    [](double i, double) { return i + 2; },                     // integers, also for what has to be one of two or more
    [](double i, double n) { return (i + 1) / (n + 1); },       // within one
    [](double i, double n) { return i - n; },                   // negative
    [](double i, double n) { return (i - n / 2 + 0.25) / n; },  // around zero, within one
    [](double i, double n) { return std::pow(10.0, 2 * i - n); },  // far apart
    [](double i, double n) {                                       // far apart, of both signs
      const double from_middle = i - std::floor(n / 2);
      return from_middle < 0 ? -std::pow(10.0, -from_middle) : std::pow(10.0, from_middle);
    },
};

Order numbers_of(const egraph::Rule& rule, const Sorts& sorts) {
  Order numbers;
  for (std::size_t v = 0; v < rule.variables.size(); ++v)
    if (!sorts.truth[v]) numbers.push_back(v);
  return numbers;
}

/// Returns pairs of compared variables, the one that is to be less first.
std::vector<std::pair<std::size_t, std::size_t>> comparisons_of(const egraph::Rule& rule) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const Pattern* side : {&rule.left, &rule.right}) {
    for (const PatternTerm& t : side->terms) {
      if (t.kind != PatternTerm::Kind::node || expr::info(static_cast<Op>(t.op)).signature != expr::Signature::Compare)
        continue;
      const PatternTerm &a = side->terms[t.child[0]], &b = side->terms[t.child[1]];
      if (a.kind != PatternTerm::Kind::variable || b.kind != PatternTerm::Kind::variable) continue;
      const bool swapped = static_cast<Op>(t.op) == Op::Gt || static_cast<Op>(t.op) == Op::Ge;
      pairs.emplace_back(swapped ? b.variable : a.variable, swapped ? a.variable : b.variable);
    }
  }
  return pairs;
}

// Repeatedly takes the variable that the fewest comparisons place above a remaining one.
Order by_comparisons(const egraph::Rule& rule, Order rest) {
  const auto pairs = comparisons_of(rule);
  Order order;
  while (!rest.empty()) {
    const auto above = [&](std::size_t v) {
      return std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
        return pair.second == v && pair.first != v && std::find(rest.begin(), rest.end(), pair.first) != rest.end();
      });
    };
    const auto least =
        std::min_element(rest.begin(), rest.end(), [&](std::size_t v, std::size_t w) { return above(v) < above(w); });
    order.push_back(*least);
    rest.erase(least);
  }
  return order;
}

std::vector<Order> orders_of(const egraph::Rule& rule, const Order& numbers) {
  Order by_name = numbers;
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t v, std::size_t w) { return rule.variables[v] < rule.variables[w]; });
  std::set<Order> seen;
  std::vector<Order> orders;
  for (Order order : {numbers, by_name, by_comparisons(rule, numbers)}) {
    for (int turned = 0; turned < 2; ++turned, std::reverse(order.begin(), order.end())) {
      for (std::size_t shift = 0; shift < order.size(); ++shift) {
        if (seen.insert(order).second) orders.push_back(order);
        std::rotate(order.begin(), order.begin() + 1, order.end());
      }
    }
  }
  return orders;
}

}  // namespace

std::vector<std::vector<double>> ordered_values(const egraph::Rule& rule, const Sorts& sorts, std::size_t most) {
  std::vector<std::vector<double>> found;
  const Order numbers = numbers_of(rule, sorts);
  if (sorts.slopes || numbers.size() < 2) return found;
  const std::vector<Order> orders = orders_of(rule, numbers);
  const std::size_t n = numbers.size();
  for (std::size_t tie = 0; tie < n; ++tie) {  // 0: none
    for (const Shape shape : kShapes) {
      for (const Order& order : orders) {
        if (found.size() == most) return found;
        std::vector<double>& values = found.emplace_back(rule.variables.size(), 1.0);
        for (std::size_t i = 0; i < n; ++i)
          values[order[i]] = shape(static_cast<double>(tie != 0 && i == tie ? i - 1 : i), static_cast<double>(n));
      }
    }
  }
  return found;
}

}  // namespace trident::rulecheck
