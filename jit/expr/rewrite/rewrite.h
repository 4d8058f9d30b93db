// From an expression to cheaper ones that mean the same over the reals: rules and collection under a policy, searched
// by jit/egraph. What comes out are candidates; whether they keep the policy's bound is for jit/equiv to say, and which
// is fastest for jit/judge.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/egraph/search.h"
#include "jit/egraph/view.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/compiled_rules.h"
#include "jit/expr/rewrite/costs.h"
#include "jit/expr/rewrite/differentiate.h"
#include "jit/expr/rewrite/language.h"
#include "jit/expr/rewrite/rules.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// Bounded by counts alone, so that the same expression and seed give the same forms everywhere: some 20 ms.
inline constexpr egraph::SearchBudget kSearchBudget{
    .nodes = 4'000, .nanoseconds = 0, .applications = 60'000, .graph_nodes = 15'000};

struct RewriteOptions {
  Policy policy{};
  egraph::Strategy strategy = egraph::Strategy::best_first;
  egraph::Guide* guide = nullptr;  ///< of strategy guided, which needs one; for one search at a time
  bool guide_alone = false;        ///< egraph::SearchOptions::guide_alone
  egraph::SearchBudget budget = kSearchBudget;
  egraph::Objective objective = egraph::Objective::dag;
  egraph::CostModel costs = default_costs();
  std::uint64_t seed = 1;
  std::size_t keep = 3;
  bool records = false;                                             ///< egraph::SearchOptions::records
  std::size_t rules_max = std::numeric_limits<std::size_t>::max();  ///< only the best of those that may fire
  std::vector<std::uint32_t> nonzero{};                             ///< variables that are promised not to be zero
  const CompiledRules* rules = nullptr;  ///< in place of the built-in ones; all have passed jit/rulecheck
  bool explain = false;                  ///< say how the first form comes from the source
  /// Shown the first graph of the search and every later one that held a cheaper form.
  std::function<void(const egraph::GraphView& view)> look{};
};

/// The name of the step that eliminate_derivatives() makes.
inline constexpr std::string_view kPlainPass = "differentiation";

/// One step of a derivation: an instance of a rule, of the collection of sums and products, or of what is the same
/// power written otherwise; and the plain pass's derivatives.
struct DerivationStep {
  std::string rule;  ///< its name; empty for the collection and powers; kPlainPass
  Expr sides;        ///< over the source's variables; the outputs "left" and "right" are equal
};

struct Rewritten {
  std::vector<Expr> forms;    ///< the statically cheapest first; without those equal to the source
  egraph::SearchStats stats;  ///< of the graph that differentiates and the search together
  Differentiated differentiated = Differentiated::none;
  /// RewriteOptions::explain: instances of rules from which it follows, with equal parts put for each other and
  /// constants folded, that the first form equals the source; each may use what earlier ones say.
  std::vector<DerivationStep> derivation;
  /// What a replay of the derivation in a graph of its own, which asks for the rules' conditions anew, says is wrong.
  std::optional<std::string> replay_fault;
};

/// What a search needs of rules and variables. Stays where it is; what `options` points to must outlive it.
class Rules {
 public:
  /// `unknown`: from this variable on nothing is known of any.
  Rules(const Expr& source, const RewriteOptions& options,
        std::size_t unknown = std::numeric_limits<std::size_t>::max());
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  [[nodiscard]] const RuleSet& set() const { return set_; }
  [[nodiscard]] const egraph::SearchSpace& space() const { return space_; }
  /// Of the graph that differentiates.
  [[nodiscard]] egraph::SearchSpace differentiating_space() const;

 private:
  Rules(const Expr& source, const RewriteOptions& options, std::size_t unknown, const CompiledRules& rules);

  const RuleSet& set_;
  CompiledRules::Matchers matchers_;
  Language language_;
  egraph::SearchSpace space_;
};

/// `source` has passed check(). What it has of Diff nodes is differentiated first (differentiate.h), at the cost of the
/// same budget; no form has any, and there is always one then. Errors: what to_term() refuses, and what
/// eliminate_derivatives() does.
Result<Rewritten> rewrite(const Expr& source, const RewriteOptions& options);

}  // namespace trident::expr::rewrite
