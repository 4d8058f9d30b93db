// Rewrites an expression to cheaper ones that mean the same over the reals: rules and collection under a policy,
// searched by jit/egraph. The results are candidates; jit/equiv says whether they keep the policy's bound, and
// jit/judge which is fastest.
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

/// One step of a derivation: an instance of a rule, a collection of sums and products, a power written in another way,
/// or the derivatives of the plain pass.
struct DerivationStep {
  std::string rule;  ///< its name; empty for the collection and powers; kPlainPass
  Expr sides;        ///< over the source's variables; the outputs "left" and "right" are equal
};

/// A large expression, which was searched by regions: in how many of them something cheaper was found, and the
/// expression with some of these in their new form; none where the parts do not fit together.
struct Pieces {
  std::size_t count = 0;
  std::function<std::optional<Expr>(const std::vector<bool>& renewed)> form;
};

struct Rewritten {
  std::vector<Expr> forms;  ///< the statically cheapest first; without those equal to the source
  Pieces pieces;
  egraph::SearchStats stats;  ///< of the graph that differentiates and the search together
  Differentiated differentiated = Differentiated::none;
  /// RewriteOptions::explain: instances of rules that together show that the first form equals the source, by replacing
  /// equal parts and folding constants; each may use earlier ones.
  std::vector<DerivationStep> derivation;
  /// The fault, if any, that a replay of the derivation in its own graph found; it checks the rules' conditions anew.
  std::optional<std::string> replay_fault;
};

/// Rules and facts of variables for a search. Must not move; must not outlive the targets of `options`.
class Rules {
 public:
  /// `unknown`: nothing is known of the variables from this one on.
  Rules(const Expr& source, const RewriteOptions& options,
        std::size_t unknown = std::numeric_limits<std::size_t>::max());
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  [[nodiscard]] const RuleSet& set() const { return set_; }
  [[nodiscard]] const egraph::SearchSpace& space() const { return space_; }
  [[nodiscard]] const Language& language() const { return language_; }
  /// Returns the search space of the graph that differentiates.
  [[nodiscard]] egraph::SearchSpace differentiating_space() const;

 private:
  Rules(const Expr& source, const RewriteOptions& options, std::size_t unknown, const CompiledRules& rules);

  const RuleSet& set_;
  CompiledRules::Matchers matchers_;
  Language language_;
  egraph::SearchSpace space_;
};

/// Rewrites `source`, which has passed check(). Its Diff nodes are differentiated first (differentiate.h), within the
/// same budget; forms have none, and there is always a form then. Errors: those of to_term() and of
/// eliminate_derivatives().
Result<Rewritten> rewrite(const Expr& source, const RewriteOptions& options);

}  // namespace trident::expr::rewrite
