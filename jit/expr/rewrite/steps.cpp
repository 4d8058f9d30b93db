#include "jit/expr/rewrite/steps.h"

#include <algorithm>

#include "jit/egraph/neighbours.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {
namespace {

/// First steps that are followed by a second one.
constexpr std::size_t kDetoursMax = 48;

}  // namespace

std::vector<Expr> Steps::cheaper(const Expr& from) const {
  const auto term = to_term(from);
  if (!term.ok()) return {};
  struct Found {
    double cost = 0;
    egraph::Term term;
  };
  std::vector<Found> found;
  std::vector<egraph::Term> detours;
  const double before = egraph::dag_cost(*term, op_rows(), costs_);
  for (egraph::Term& next : egraph::neighbours(rules_.space(), *term)) {
    const double cost = egraph::dag_cost(next, op_rows(), costs_);
    if (cost < before)
      found.push_back({cost, std::move(next)});
    else if (cost == before && detours.size() < kDetoursMax)
      detours.push_back(std::move(next));
  }
  for (const egraph::Term& detour : detours) {
    for (egraph::Term& next : egraph::neighbours(rules_.space(), detour)) {
      const double cost = egraph::dag_cost(next, op_rows(), costs_);
      if (cost < before) found.push_back({cost, std::move(next)});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.cost < b.cost; });
  std::vector<Expr> forms;
  std::vector<std::vector<std::byte>> seen;
  for (const Found& f : found) {
    Expr form = to_expr(f.term, from);
    drop_unused(form);
    if (!check(form).ok()) continue;
    std::vector<std::byte> bytes = canonical_bytes(form);
    if (std::find(seen.begin(), seen.end(), bytes) != seen.end()) continue;
    seen.push_back(std::move(bytes));
    forms.push_back(std::move(form));
  }
  return forms;
}

}  // namespace trident::expr::rewrite
