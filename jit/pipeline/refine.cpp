#include "jit/pipeline/refine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jit/expr/rewrite/regions.h"
#include "jit/expr/rewrite/steps.h"
#include "jit/expr/shape.h"
#include "jit/expr/simplify.h"

namespace trident::pipeline {
namespace {

/// Limits of steps that are checked: in all, and without one that holds.
constexpr std::size_t kAskedMax = 40;
constexpr std::size_t kRefusedMax = 10;
/// Limit of earlier forms that stand in for the last.
constexpr std::size_t kStandInsMax = 2;

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

  // Returns the last form that holds, with those before it.
  std::optional<Tried> found() {
    if (chain_.empty()) return std::nullopt;
    Tried last = std::move(chain_.back());
    chain_.pop_back();
    const auto stand_ins = static_cast<std::ptrdiff_t>(std::min(chain_.size(), kStandInsMax));
    last.before.assign(std::make_move_iterator(chain_.end() - stand_ins), std::make_move_iterator(chain_.end()));
    return last;
  }

 private:
  // Tries the steps from `from`; true if one holds, which is then the last of the chain.
  Result<bool> step(const expr::Expr& from) {
    std::size_t refused = 0;
    for (const expr::Expr& next : steps_.cheaper(from)) {
      expr::Expr form = expr::drop_idle_operations(next, how_);
      if (!is_new(form)) continue;
      auto kernel = expr::lower(form, how_);
      if (!kernel.ok()) continue;
      keep_totals(q_.tried[0].form.kernel, *kernel);
      if (asked_++ >= kAskedMax || refused >= kRefusedMax) return false;
      TRY(auto prepared, q_.checker.check_meaning(*kernel, equiv::Demand::any_set, &*q_.tried[0].prepared));
      q_.passes.report(Stage::lower, asked_, kAskedMax);
      if (prepared.meaning.same()) {
        chain_.push_back({.form = {"careful", std::move(kernel).value(), false, std::move(form), how_},
                          .prepared = std::move(prepared),
                          .looked_again = false});
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

  std::optional<Tried> found() { return std::move(accepted_); }

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
    if (!kernel.ok()) return false;
    keep_totals(q_.tried[0].form.kernel, *kernel);
    TRY(auto prepared, q_.checker.check_meaning(*kernel, equiv::Demand::any_set, &*q_.tried[0].prepared));
    q_.passes.report(Stage::lower, asked_, kPieceChecksMax);
    if (!prepared.meaning.same()) return false;
    renewed_ = std::move(renewed);
    accepted_ = Tried{.form = {"careful", std::move(kernel).value(), false, std::move(form), how},
                      .prepared = std::move(prepared),
                      .looked_again = false};
    return true;
  }

  const RefineQuestion& q_;
  const expr::rewrite::Pieces& pieces_;
  expr::LowerOptions how_;
  std::vector<bool> renewed_;  ///< the pieces that were accepted
  std::optional<Tried> accepted_;
  std::size_t asked_ = 0;
};

/// Returns the cheapest form that holds, or null. The unrewritten one is `source`.
const Form* cheapest(const RefineQuestion& q, const Form& source) {
  const egraph::CostModel costs = costs_of(q.options.target.isa, q.options.search).model();
  const Form* found = nullptr;
  double least = 0;
  for (const Tried& tried : q.tried) {
    const Form& form = &tried == &q.tried[0] ? source : tried.form;
    const auto cost = expr::rewrite::cost_of(form.expr, costs);
    if (!cost.ok() || !tried.holds() || (found != nullptr && least <= cost->dag)) continue;
    found = &form;
    least = cost->dag;
  }
  return found;
}

}  // namespace

namespace {

/// Returns what `attempt` has found, however far it came.
template <class Attempt>
Result<std::optional<Tried>> end_of(Attempt& attempt) {
  const auto end = attempt.run();
  if (!end.ok() && end.error().code != ErrorCode::kCancelled) return end.error();
  return attempt.found();
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
  return end_of(assembly);
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
  const Form* start = cheapest(question, source);
  if (start == nullptr) return std::optional<Tried>();
  Descent descent(question, *start);
  return end_of(descent);
}

}  // namespace trident::pipeline
