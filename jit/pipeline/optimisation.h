// The state of one run of the optimising tier, and its steps: the spine is in optimise.cpp. Checks of forms and of
// their code are in candidates.cpp, the search for the winner among them in winner.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/equiv/checker.h"
#include "jit/equiv/parts.h"
#include "jit/expr/rewrite/regions.h"
#include "jit/judge/tournament.h"
#include "jit/pipeline/form_checks.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/rival.h"
#include "jit/pipeline/speculations.h"
#include "jit/pipeline/timed_call.h"
#include "jit/pipeline/tried.h"
#include "jit/pipeline/two_threads.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {

class Optimisation {
 public:
  Optimisation(const expr::Expr& expr, const Options& options, PassScope& passes)
      : submitted_(expr), options_(options), passes_(passes) {}

  Optimised result;

  Result<expr::Expr> remove_derivatives() const {
    if (!has_derivatives(submitted_)) return submitted_;
    return expr::eliminate_derivatives(submitted_);
  }

  // A large expression's search ends by the clock, counted from here.
  void take_source(expr::Expr source);
  void take_forms(std::vector<Form> list) {
    for (Form& form : list) tried_.push_back({.form = std::move(form)});
  }

  // With two threads it makes the checker meanwhile, unless the search may end before that is needed.
  [[nodiscard]] Result<std::vector<Form>> make_forms();

  // Returns whether a form may be of use; if not, says so.
  Result<bool> may_pay();

  // Checks the meaning of all forms; false if the unrewritten one is wrong, or the baseline is not its code.
  Result<bool> check_forms();

  [[nodiscard]] std::string print_meanings(bool) const { return pipeline::print_meanings(tried_); }
  // Adds one more form if small steps find one that may beat the winner; returns whether they do.
  Result<bool> refine_forms(const judge::Verdict& verdict);
  [[nodiscard]] std::string print_refined(bool any) const {
    return any ? kir::print(tried_.back().form.kernel) : "no step passes the check, or may win\n";
  }

  // Emits the baseline, then the forms' variants in turn from the most promising on, the boldest form first. Code that
  // cannot be emitted is one candidate less, except the baseline.
  Result<std::size_t> emit_candidates();

  [[nodiscard]] std::string print_code(std::size_t) const {
    return pipeline::print_code(tried_, candidates_, options_.target.isa);
  }

  // Checks the code of the candidates; returns the number of those that do what their forms mean.
  Result<std::size_t> check_candidates();
  [[nodiscard]] std::string print_verdicts(std::size_t) const { return pipeline::print_verdicts(tried_, candidates_); }

  // Measures the candidates. Checks of the winner may take what is left of the budget, but for a reserve: if they do
  // not end in time, the best of what needs no such checks is found with that.
  Result<judge::Verdict> judge_candidates();

  // Offers the winner, if any, while the search goes on.
  void offer(const judge::Verdict& verdict) const;

  // Measures the form that refine_forms() has added beside the winner. Returns the verdict with it, if it is enough
  // faster and passes every check, else `first`.
  Result<judge::Verdict> rematch(const judge::Verdict& first);

  [[nodiscard]] std::string print_ratios(const judge::Verdict&) const {
    return pipeline::print_ratios(tried_, candidates_);
  }

  /// The verdict that small steps begin with, if passes came so far.
  void take_first(judge::Verdict verdict) { first_ = std::move(verdict); }
  [[nodiscard]] const std::optional<judge::Verdict>& first() const { return first_; }
  /// Frees what small steps need no more: most of the memory of the checks.
  void drop_checked();
  /// Goes on, maybe on another thread.
  void resume() { threads_.resume(); }

  void conclude(const judge::Verdict& verdict);
  /// Looks for a kernel that is faster in the assumed ranges than the first winner, before small steps.
  void speculate(const judge::Verdict& first);
  /// Ends all: the last winner is known.
  void end() { speculations_.end(source_, result, passes_.left_for_speculation_ns()); }

  // Proves a bound for the winner, which conclude() has not taken apart yet, or for the source.
  Result<void> prove(const judge::Verdict& verdict);
  void conclude_refused(const equiv::Verdict& verdict);

  // The passes ended early: what was offered meanwhile is the winner. Else the baseline stands, checked or not.
  void conclude_ended(const Error& end);
  [[nodiscard]] const equiv::Verdict& verdict_of_baseline() const {
    return tried_[0].holds() ? candidates_[0].verdict : tried_[0].prepared->meaning;
  }

 private:
  // A form that holds, and its variants, the most promising first.
  struct Sound {
    std::size_t form;
    std::vector<codegen::Variant> variants;
  };

  [[nodiscard]] std::size_t count_rivals_timed() const;  // the baseline, the first candidate, is none
  [[nodiscard]] std::string why_no_gain() const;

  [[nodiscard]] bool wanted(const codegen::Variant& v) const {
    return (v.vectors == 1 || passes_.enabled("interleave")) && (!v.schedule || passes_.enabled("schedule")) &&
           (!v.non_temporal || passes_.enabled("non_temporal")) && (!v.underflow_apart || passes_.enabled("underflow"));
  }

  // Computes the correct values that all checks of forms need.
  void make_checker();

  // Gives the following checks their part of the time that is left.
  void begin_checks();

  // Checks the unrewritten form and its code. The baseline is in use already, so its code comes before all
  // other checks.
  Result<bool> check_unrewritten();

  [[nodiscard]] bool is_large() const { return expr::rewrite::inner_nodes(source_) > expr::rewrite::kWholeNodesMax; }

  // Offers the fastest variant of the source's own code while a large expression is searched; returns whether the
  // baseline survives being timed.
  Result<bool> offer_interim();

  // Checks the other forms, as long as there is time.
  Result<void> check_rewritten();
  // Checks the form whose place `f` has taken and could not keep; returns its number if it holds.
  Result<std::optional<std::size_t>> replacement_of(std::size_t f);

  // Lists sound forms, the boldest first.
  [[nodiscard]] std::vector<Sound> sound_forms() const;
  Result<void> emit(std::size_t form, const codegen::Variant& variant);
  // Emits unless there is such a candidate; records why it cannot be emitted.
  Result<void> try_to_emit(std::size_t form, const codegen::Variant& variant);
  Result<void> check_baseline();
  Result<void> check_code(Candidate& c, equiv::Effort effort);
  // Notes what check_code() has answered; streaming code that was checked fully is checked in long calls, too.
  Result<void> take_verdict(Candidate& c, equiv::Verdict verdict, equiv::Effort effort);
  // Checks those of the candidates that are not checked yet: one of each form at every point.
  Result<void> check_codes(std::span<Candidate> candidates);

  [[nodiscard]] std::uint64_t tournament_ns() const { return size_of_call().tournament_ns(); }

  // Candidates that may win: all, those of forms that passed every check, those whose code has passed all of its own
  // too.
  enum class Entrants : std::uint8_t { all, of_checked_forms, checked };
  // Measures the candidates; the winner is checked at every point (and, if it streams, in calls that do) first. When
  // there is no time for that, those win that need no such check.
  Result<judge::Verdict> find_winner(std::uint64_t cpu_ns);
  // Gives a large kernel's last checks more time, once, if it is so much faster that this pays. Returns whether it did.
  bool wait_for_checks_of(const judge::Verdict& verdict);

  // Asks a quick look, before the dear checks of a form, whether it may beat the winner.
  Result<bool> may_beat_winner(const judge::Verdict& verdict, const Tried& form);
  // Lists the winner's rivals: the baseline, the winner, and the candidates of forms from `form` on.
  [[nodiscard]] std::vector<std::size_t> entrants_of_rematch(const judge::Verdict& first, std::size_t form) const;
  // Returns whether a candidate that beats the baseline is of use; if not, says so.
  Result<bool> pays(const Candidate& c, const judge::Workload& workload);
  // Makes the checks that only winners are asked for.
  Result<void> check_whole(std::size_t candidate);
  Result<void> check_form(std::size_t f);  // those of them that ask about its form
  [[nodiscard]] bool may_win(const Candidate& c, Entrants who) const;

  // Checks once whether a form is careful in all its parts; if not, its candidates are dropped.
  Result<void> check_parts(std::size_t f);
  // Checks once whether a form holds at rarer points; if not, the form that it was to replace is checked.
  Result<bool> holds_at_rare_points(std::size_t f);
  // Does the same for a form that has code, and asks once about other points; if it fails, another takes its place.
  Result<void> check_rare(std::size_t f);
  Result<void> look_again(std::size_t f);
  Result<void> check_runner_up();
  Result<void> stand_in(std::size_t f);
  // Emits a form's variants and checks their code.
  Result<void> enter(std::size_t f);
  // Drops the candidates of a form.
  void refuse(std::size_t f, const equiv::Verdict& verdict);

  [[nodiscard]] bool out_of_time() { return passes_.spent() || check_end_.reached(); }
  [[nodiscard]] CallSize size_of_call() const { return call_size(source_, signature_, options_.target.elements); }

  void baseline_died(const judge::Verdict& verdict, std::uint64_t elements);
  Result<judge::Verdict> hold_tournament(const std::vector<std::size_t>& entrants, const judge::Workload& workload,
                                         std::uint64_t cpu_ns);

  void report_candidates();
  [[nodiscard]] Optimised so_far(const judge::Verdict& verdict) const;
  const expr::Expr& submitted_;
  const Options& options_;
  PassScope& passes_;
  expr::Expr source_;
  std::vector<Tried> tried_;  ///< the unrewritten form first
  judge::Signature signature_;
  image::Key key_{};
  std::vector<Candidate> candidates_;
  equiv::CheckOptions check_;
  std::optional<Result<std::unique_ptr<equiv::Checker>>> made_;  ///< make_checker()'s answer
  std::unique_ptr<equiv::Checker> checker_;
  std::optional<FormChecks> checks_;
  equiv::PartVerdicts parts_;  ///< of all forms
  Deadline check_end_;         ///< end of the current checks
  TwoThreads threads_{[this] { return out_of_time(); }};
  std::optional<judge::Verdict> interim_, first_;
  Speculations speculations_{options_};
  double worth_a_swap_ = 0.99;  ///< the greatest time, over the winner's, of a kernel that is worth another swap
  bool has_reserve_ = false;    ///< of time, for the winner's code: `check_end_` ends the checks of its form before
  bool waited_ = false;         ///< by wait_for_checks_of()
  bool outrun_ = false;         ///< what beats the baseline is of no use
};

}  // namespace trident::pipeline
