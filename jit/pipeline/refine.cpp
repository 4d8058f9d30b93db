#include "jit/pipeline/refine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jit/expr/rewrite/regions.h"
#include "jit/expr/rewrite/steps.h"
#include "jit/expr/shape.h"
#include "jit/expr/shared_divisors.h"
#include "jit/expr/simplify.h"
#include "jit/kir/early_end.h"

namespace trident::pipeline {
namespace {

/// Limits of steps that are checked: in all, and without one that holds.
constexpr std::size_t kAskedMax = 40;
constexpr std::size_t kRefusedMax = 10;
/// Limit of earlier forms that stand in for the last.
constexpr std::size_t kStandInsMax = 2;

/// Returns the last of the chain that holds at rarer points, with some of those before it. Those in question are halved
/// each time one does not.
Result<std::optional<Tried>> last_that_holds(const RefineQuestion& q, std::vector<Tried> chain) {
  while (!chain.empty()) {
    TRY(const bool holds, q.checks.at_rare_points(chain.back()));
    if (holds) break;
    chain.resize(chain.size() / 2);
  }
  if (chain.empty()) return std::optional<Tried>();
  Tried last = std::move(chain.back());
  chain.pop_back();
  const auto stand_ins = static_cast<std::ptrdiff_t>(std::min(chain.size(), kStandInsMax));
  last.before.assign(std::make_move_iterator(chain.end() - stand_ins), std::make_move_iterator(chain.end()));
  return std::optional(std::move(last));
}

class Descent {
 public:
  Descent(const RefineQuestion& q, const Form& start)
      : q_(q), start_(start.expr), how_(start.how), steps_(q.source, rewriting(q.options)) {
    how_.simplify = false;
  }

  Result<void> run() {
    const expr::Expr* from = &start_;
    for (bool on = true; on;) {
      TRY(on, step(*from));
      if (on) from = &chain_.back().form.expr;
    }
    return {};
  }

  std::vector<Tried> take_chain() { return std::move(chain_); }

 private:
  // Tries the steps from `from`; true if one holds, which is then the last of the chain.
  Result<bool> step(const expr::Expr& from) {
    std::size_t refused = 0;
    for (const expr::Expr& next : steps_.cheaper(from)) {
      expr::Expr form = expr::drop_idle_operations(next, how_);
      if (!is_new(form)) continue;
      auto kernel = expr::lower(form, how_);
      if (!kernel.ok() || !kir::keeps_early_ends(q_.tried[0].form.kernel, *kernel)) continue;
      keep_totals(q_.tried[0].form.kernel, *kernel);
      if (asked_++ >= kAskedMax || refused >= kRefusedMax) return false;
      TRY(auto prepared, q_.checks.at_drawn_points(*kernel, q_.tried[0]));
      q_.passes.report(Stage::lower, asked_, kAskedMax);
      if (prepared.meaning.same()) {
        chain_.push_back({.form = {"careful", std::move(kernel).value(), false, std::move(form), how_},
                          .prepared = std::move(prepared),
                          .chosen_by_checks = true});
        return true;
      }
      ++refused;
    }
    return false;
  }

  bool is_new(const expr::Expr& form) {
    std::vector<std::byte> bytes = expr::canonical_bytes(form);
    if (std::find(seen_.begin(), seen_.end(), bytes) != seen_.end()) return false;
    seen_.push_back(std::move(bytes));
    return true;
  }

  const RefineQuestion& q_;
  const expr::Expr& start_;
  expr::LowerOptions how_;
  expr::rewrite::Steps steps_;
  std::vector<Tried> chain_;  ///< each made from the one before
  std::vector<std::vector<std::byte>> seen_;
  std::size_t asked_ = 0;
};

/// Limits of forms made of pieces that are checked: each takes as long as the first did.
constexpr std::size_t kPieceChecksMax = 24;

/// Puts as many regions of a large expression in their new forms as the policy allows together: halves of the list,
/// then halves of those that are refused, each with all that were accepted before.
class Assembly {
 public:
  Assembly(const RefineQuestion& q, const expr::rewrite::Pieces& pieces, kir::math::Accuracy accuracy)
      : q_(q),
        pieces_(pieces),
        how_{.policy = q.options.target.policy, .simplify = true, .accuracy = accuracy},
        renewed_(pieces.count, false) {}

  Result<void> run() { return halves(0, pieces_.count); }

  std::vector<Tried> take_chain() { return std::move(chain_); }

 private:
  // The pieces from `begin` to before `end` are refused together: tries each half.
  Result<void> halves(std::size_t begin, std::size_t end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (end - begin < 2) return {};
    for (const auto& [from, to] : {std::pair(begin, middle), std::pair(middle, end)}) {
      TRY(const bool held, add(from, to));
      if (!held) TRY_VOID(halves(from, to));
    }
    return {};
  }

  Result<bool> add(std::size_t begin, std::size_t end) {
    if (asked_++ >= kPieceChecksMax) return true;  // no more halves
    std::vector<bool> renewed = renewed_;
    std::fill(renewed.begin() + static_cast<std::ptrdiff_t>(begin), renewed.begin() + static_cast<std::ptrdiff_t>(end),
              true);
    const std::optional<expr::Expr> made = pieces_.form(renewed);
    if (!made) return false;
    expr::Expr form = expr::simplify(*made, how_);
    expr::LowerOptions how = how_;
    how.simplify = false;
    auto kernel = expr::lower(form, how);
    if (!kernel.ok() || !kir::keeps_early_ends(q_.tried[0].form.kernel, *kernel)) return false;
    keep_totals(q_.tried[0].form.kernel, *kernel);
    TRY(auto prepared, q_.checks.at_drawn_points(*kernel, q_.tried[0]));
    q_.passes.report(Stage::lower, asked_, kPieceChecksMax);
    if (!prepared.meaning.same()) return false;
    renewed_ = std::move(renewed);
    chain_.push_back({.form = {"careful", std::move(kernel).value(), false, std::move(form), how},
                      .prepared = std::move(prepared),
                      .chosen_by_checks = true});
    return true;
  }

  const RefineQuestion& q_;
  const expr::rewrite::Pieces& pieces_;
  expr::LowerOptions how_;
  std::vector<bool> renewed_;  ///< the pieces that were accepted
  std::vector<Tried> chain_;   ///< each with more of them in new forms than the one before
  std::size_t asked_ = 0;
};

/// Small steps are the search's own rules, so they hardly ever lead to less than the search has found, refused forms
/// included. Where that promises no more than this, a measured gain is luck.
constexpr double kPromise = 0.97;

/// Returns whether a form of the search shows that some form may cost so little that it is worth the steps to it.
bool promises(const RefineQuestion& q, const Form& start) {
  const egraph::CostModel costs = costs_of(q.options.target.isa, q.options.search).model();
  const auto of_start = expr::rewrite::cost_of(start.expr, costs);
  if (!of_start.ok()) return true;
  bool was_searched = false;
  double least = of_start->dag;
  for (const Tried& tried : q.tried) {
    was_searched = was_searched || tried.form.name == "searched" || tried.form.name == "guided";
    if (tried.form.expr.nodes.empty()) continue;
    const auto cost = expr::rewrite::cost_of(tried.form.expr, costs);
    if (cost.ok()) least = std::min(least, cost->dag);
  }
  return !was_searched || least <= std::min(kPromise, q.worth) * of_start->dag;
}

/// Returns the number of the cheapest form that holds; none if no cost is known. The unrewritten one is `source`.
std::optional<std::size_t> cheapest(const RefineQuestion& q, const Form& source) {
  const egraph::CostModel costs = costs_of(q.options.target.isa, q.options.search).model();
  std::optional<std::size_t> found;
  double least = 0;
  for (std::size_t f = 0; f < q.tried.size(); ++f) {
    if (!q.tried[f].holds()) continue;
    const Form& form = f == 0 ? source : q.tried[f].form;
    const auto shared = form.how.share_divisors ? expr::share_divisors(form.expr, form.how) : std::nullopt;
    const auto cost = expr::rewrite::cost_of(shared ? *shared : form.expr, costs);
    if (!cost.ok() || (found && least <= cost->dag)) continue;
    found = f;
    least = cost->dag;
  }
  return found;
}

/// Returns the cheapest form that holds at rarer points too.
Result<std::optional<std::size_t>> start_of(const RefineQuestion& q, const Form& source) {
  for (;;) {
    const std::optional<std::size_t> f = cheapest(q, source);
    if (!f || *f == 0) return f;
    TRY(const bool holds, q.holds_at_rare_points(*f));
    if (holds) return f;
  }
}

}  // namespace

namespace {

/// Returns what `attempt` has found, however far it came.
template <class Attempt>
Result<std::optional<Tried>> end_of(const RefineQuestion& question, Attempt& attempt) {
  const auto end = attempt.run();
  if (!end.ok() && end.error().code != ErrorCode::kCancelled) return end.error();
  std::vector<Tried> chain = attempt.take_chain();
  if (!chain.empty() && question.may_pay) {
    TRY(const bool may_pay, question.may_pay(chain.back()));
    if (!may_pay) return std::optional<Tried>();
  }
  auto found = last_that_holds(question, std::move(chain));
  if (!found.ok() && found.error().code == ErrorCode::kCancelled) return std::optional<Tried>();
  return found;
}

/// For an expression that was searched by regions, whose single steps are too many.
Result<std::optional<Tried>> refine_pieces(const RefineQuestion& question) {
  using kir::math::Accuracy;
  const auto pieced = std::find_if(question.tried.begin(), question.tried.end(),
                                   [](const Tried& t) { return t.form.pieces.count > 1; });
  const bool found = std::any_of(question.tried.begin(), question.tried.end(),
                                 [](const Tried& t) { return t.form.pieces.count > 0 && t.holds(); });
  if (pieced == question.tried.end() || found) return std::optional<Tried>();
  const bool less_accurate = std::any_of(question.tried.begin(), question.tried.end(), [](const Tried& t) {
    return t.holds() && !t.form.keeps_roundings && t.form.how.accuracy == Accuracy::ulp4;
  });
  Assembly assembly(question, pieced->form.pieces, less_accurate ? Accuracy::ulp4 : Accuracy::ulp1);
  return end_of(question, assembly);
}

}  // namespace

Result<std::optional<Tried>> refine(const RefineQuestion& question) {
  const bool may_round = question.options.target.policy.kind != expr::PolicyKind::exact;
  const bool all =
      std::all_of(question.tried.begin(), question.tried.end(), [](const Tried& t) { return t.prepared.has_value(); });
  const bool one_pass = expr::passes_of(question.source) == 1;  // as the search demands
  if (!may_round || !one_pass || question.checker.unexplored() || !all) return std::optional<Tried>();
  if (expr::rewrite::inner_nodes(question.source) > expr::rewrite::kWholeNodesMax) return refine_pieces(question);
  const Form source{"source", {}, true, question.source, unrewritten(question.options.target.policy)};
  const std::optional<std::size_t> likely = cheapest(question, source);
  if (likely && !promises(question, *likely == 0 ? source : question.tried[*likely].form))
    return std::optional<Tried>();
  const auto start = start_of(question, source);
  if (!start.ok() && start.error().code != ErrorCode::kCancelled) return start.error();
  if (!start.ok() || !*start) return std::optional<Tried>();
  Descent descent(question, **start == 0 ? source : question.tried[**start].form);
  return end_of(question, descent);
}

}  // namespace trident::pipeline
