#include "jit/expr/rewrite/chain.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

using Roots = std::vector<std::uint32_t>;

/// Nodes without duplicates, whose operands have smaller numbers.
class Nodes {
 public:
  std::uint32_t intern(egraph::ENode node) {
    const egraph::OpRow& row = op_rows()[node.op];
    if (row.commutes && node.child[0] > node.child[1]) std::swap(node.child[0], node.child[1]);
    std::array<std::uint32_t, sizeof(egraph::ENode) / 4> key{};
    static_assert(sizeof key == sizeof node);
    std::memcpy(key.data(), &node, sizeof node);
    const auto [at, fresh] = places_.emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back(node);
    return at->second;
  }

  Roots intern(const egraph::Term& term) {
    std::vector<std::uint32_t> place(term.nodes.size());
    for (std::size_t n = 0; n < term.nodes.size(); ++n) {
      egraph::ENode node = term.nodes[n];
      for (std::uint8_t c = 0; c < op_rows()[node.op].children; ++c) node.child[c] = place[node.child[c]];
      place[n] = intern(node);
    }
    Roots roots;
    for (const std::uint32_t root : term.roots) roots.push_back(place[root]);
    return roots;
  }

  /// Returns the roots with every `from` replaced by `to`.
  Roots replaced(const Roots& roots, std::uint32_t from, std::uint32_t to) {
    std::map<std::uint32_t, std::uint32_t> made{{from, to}};
    for (const std::uint32_t n : below(roots)) {
      if (n == from) continue;
      egraph::ENode node = nodes_[n];
      for (std::uint8_t c = 0; c < op_rows()[node.op].children; ++c) node.child[c] = made.at(node.child[c]);
      made.emplace(n, intern(node));
    }
    Roots out;
    for (const std::uint32_t root : roots) out.push_back(made.at(root));
    return out;
  }

  /// Everything that roots need, ascending.
  [[nodiscard]] std::set<std::uint32_t> below(const Roots& roots) const {
    std::set<std::uint32_t> all;
    std::vector<std::uint32_t> open(roots);
    while (!open.empty()) {
      const std::uint32_t n = open.back();
      open.pop_back();
      if (!all.insert(n).second) continue;
      for (std::uint8_t c = 0; c < op_rows()[nodes_[n].op].children; ++c) open.push_back(nodes_[n].child[c]);
    }
    return all;
  }

  [[nodiscard]] bool is_leaf(std::uint32_t n) const { return op_rows()[nodes_[n].op].children == 0; }

  [[nodiscard]] egraph::Term term_of(const Roots& roots) const {
    egraph::Term term;
    std::map<std::uint32_t, std::uint32_t> place;
    for (const std::uint32_t n : below(roots)) {
      egraph::ENode node = nodes_[n];
      for (std::uint8_t c = 0; c < op_rows()[node.op].children; ++c) node.child[c] = place.at(node.child[c]);
      place.emplace(n, static_cast<std::uint32_t>(term.nodes.size()));
      term.nodes.push_back(node);
    }
    for (const std::uint32_t root : roots) term.roots.push_back(place.at(root));
    return term;
  }

 private:
  std::vector<egraph::ENode> nodes_;
  std::map<std::array<std::uint32_t, sizeof(egraph::ENode) / 4>, std::uint32_t> places_;
};

struct Equation {
  std::string rule;
  std::uint32_t left, right;
  bool used = false;
};

}  // namespace

Result<std::vector<ChainLink>> chain_of(const Expr& source, const Rewritten& rewritten) {
  std::vector<ChainLink> chain{{{}, source}};
  if (rewritten.forms.empty()) return chain;
  const Expr& last = rewritten.forms.front();
  Nodes nodes;
  TRY(const egraph::Term first_term, to_term(source));
  TRY(const egraph::Term last_term, to_term(last));
  Roots now = nodes.intern(first_term);
  const Roots end = nodes.intern(last_term);
  std::vector<Equation> equations;
  for (const DerivationStep& step : rewritten.derivation) {
    TRY(const egraph::Term sides, to_term(step.sides));
    const Roots roots = nodes.intern(sides);
    if (roots.size() == 2) equations.push_back({step.rule.empty() ? "collect" : step.rule, roots[0], roots[1]});
  }
  // Equations in the order of the derivation, in both directions; an earlier form is no progress.
  std::set<Roots> seen{now};
  for (bool moved = true; moved && now != end;) {
    moved = false;
    for (Equation& e : equations) {
      if (e.used) continue;
      const std::set<std::uint32_t> have = nodes.below(now);
      for (const auto& [from, to] : {std::pair{e.left, e.right}, {e.right, e.left}}) {
        // A constant or a variable may stand anywhere: the term that it came from is not written out again.
        if (from == to || !have.contains(from) || nodes.is_leaf(from)) continue;
        const Roots next = nodes.replaced(now, from, to);
        if (!seen.insert(next).second) continue;
        now = next, e.used = moved = true;
        chain.push_back({{e.rule}, to_expr(nodes.term_of(now), source)});
        break;
      }
      if (now == end) break;
    }
  }
  if (now == end) {
    if (chain.size() > 1) chain.back().form = last;
    return chain;
  }
  ChainLink rest{{}, last};
  for (const Equation& e : equations)
    if (!e.used && std::find(rest.rules.begin(), rest.rules.end(), e.rule) == rest.rules.end())
      rest.rules.push_back(e.rule);
  chain.push_back(std::move(rest));
  return chain;
}

}  // namespace trident::expr::rewrite
