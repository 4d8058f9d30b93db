// Rules, random graphs and random terms of the toy language; costs and values of terms.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "jit/egraph/extract.h"
#include "jit/egraph/pattern.h"
#include "jit/egraph/toy_language.h"

namespace trident::egraph::toy {

inline const char* const kRules[] = {
    "add-zero: (add ?a 0) => ?a",
    "factor: (add (mul ?a ?b) (mul ?a ?c)) => (mul ?a (add ?b ?c))",
    "distribute: (mul ?a (add ?b ?c)) => (add (mul ?a ?b) (mul ?a ?c))",
    "assoc: (add ?a (add ?b ?c)) => (add (add ?a ?b) ?c)",
    "sub-self: (sub ?a ?a) => 0",
    "sub-add: (sub (add ?a ?b) ?b) => ?a",
    "neg-neg: (neg (neg ?a)) => ?a",
    "fma: (add (mul ?a ?b) ?c) => (fma ?a ?b ?c)",
    "fma-deep: (fma ?a ?b (fma ?a ?c ?e)) => (fma ?a (add ?b ?c) ?e)",
    "square: (mul (add ?a ?b) (add ?a ?b)) => (add (mul ?a ?a) (add (mul 2 (mul ?a ?b)) (mul ?b ?b)))",
    "sub-neg: (sub ?a ?b) => (add ?a (neg ?b))",
    "indep: (mul ?a ?b) => (mul ?b ?a) if indep(?a, ?b), sym(?a)",
};

inline std::vector<Rule> rules() {
  std::vector<Rule> parsed;
  for (const char* text : kRules) {
    Result<Rule> rule = parse_rule(text, kOps);
    EXPECT_TRUE(rule.ok()) << text;
    if (rule.ok()) parsed.push_back(std::move(rule).value());
  }
  return parsed;
}

inline ClassId random_graph(EGraph& graph, std::mt19937& random, int size) {
  std::vector<ClassId> classes;
  for (int i = 0; i < 3; ++i) classes.push_back(graph.add(leaf(i)));
  for (int i = 0; i < 3; ++i) classes.push_back(graph.add(number(i)));
  for (int i = 0; i < size; ++i) {
    const auto op = static_cast<Op>(kAdd + random() % 5);
    const auto pick = [&] { return classes[random() % classes.size()]; };
    const std::uint8_t arity = kOps[op].children;
    classes.push_back(graph.add(node(op, pick(), arity > 1 ? pick() : 0, arity > 2 ? pick() : 0)));
  }
  return classes.back();
}

inline double toy_cost(const void*, const ENode& n, std::uint8_t) {
  constexpr double kCosts[] = {0, 0, 4, 4, 5, 1, 6};
  return kCosts[n.op];
}
inline constexpr CostModel kCosts{nullptr, &toy_cost};

/// Computes the value by arithmetic on numbers.
inline double value(const Term& term, const std::array<double, 3>& leaves) {
  std::vector<double> values;
  for (const ENode& n : term.nodes) {
    const auto at = [&](int i) { return values[n.child[static_cast<std::size_t>(i)]]; };
    switch (n.op) {
      case kNumber: values.push_back(static_cast<std::int32_t>(n.child[0])); break;
      case kLeaf: values.push_back(leaves[n.child[0]]); break;
      case kAdd: values.push_back(at(0) + at(1)); break;
      case kSub: values.push_back(at(0) - at(1)); break;
      case kMul: values.push_back(at(0) * at(1)); break;
      case kNeg: values.push_back(-at(0)); break;
      default: values.push_back(at(0) * at(1) + at(2)); break;
    }
  }
  return values[term.roots[0]];
}

inline Term random_term(std::uint32_t seed) {
  std::mt19937 random(seed);
  EGraph graph(kOps, semantics(), {});
  const ClassId root = random_graph(graph, random, 14);
  Extractor extractor(graph, kCosts);
  return extractor.tree({{graph.find(root)}});
}

}  // namespace trident::egraph::toy
