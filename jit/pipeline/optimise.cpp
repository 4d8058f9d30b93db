// The optimising tier, as it reads aloud: see run_passes() at the end. Candidates are forms (forms.h) times variants of
// the code generator. Nothing runs in this process: candidates run in sandboxed children.
//
// Budget: the meaning of the forms is checked within kMeaningShare of what is left then, the code of the candidates in
// what is left but for kEndTournaments times what the tournament takes. When checks run out of time the candidates
// already checked go on; without a checked baseline there is no answer (budget_spent).
#include <algorithm>

#include "jit/equiv/checker.h"
#include "jit/equiv/parts.h"
#include "jit/expr/rewrite/regions.h"
#include "jit/judge/tournament.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/form_checks.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/refine.h"
#include "jit/pipeline/sift.h"
#include "jit/pipeline/speculate.h"
#include "jit/pipeline/timed_call.h"
#include "jit/pipeline/tried.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

constexpr double kMeaningShare = 0.6;
/// Share of the end, in tournaments: the tournament, and the checks of the winner's parts and of all of its code.
constexpr std::uint64_t kEndTournaments = 3;
constexpr std::uint64_t kCheckOnlyPoints = 2048;
constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// Limits variants of a form with the source's roundings if a bolder one means the same: it rarely wins
/// then. But it may: fewer operations are not less work where products and sums have pipes of their own.
constexpr std::size_t kSourceVariants = 5;

/// Where the budget is spent before the tournament, this part of its time is left for it: what passed every check until
/// then is worth a look.
constexpr std::uint64_t kLateShare = 4;

/// Candidates whose code is checked at once: a child for each would take most of the time.
constexpr std::size_t kCheckedTogether = 32;
/// The first look at the times of many candidates takes a part of the time of a tournament.
constexpr std::uint64_t kSiftShare = 4;

/// The interim kernel is the best of so many variants, found in a part of the time of a tournament.
constexpr std::size_t kInterimVariants = 3;
constexpr std::uint64_t kInterimShare = 4;

/// Returns the meaning of a form that is not checked.
equiv::Checker::Prepared refused(const char* why) {
  equiv::Checker::Prepared prepared;
  prepared.meaning.kind = equiv::Verdict::Kind::differs;
  prepared.meaning.counterexample.emplace().why = why;
  return prepared;
}
constexpr const char* kNotEvident = "no sampled point takes one of the source's branches";
constexpr const char* kNotNeeded = "not checked: the same form with less accurate functions holds";

class Optimisation {
 public:
  Optimisation(const expr::Expr& expr, const Options& options, PassScope& passes)
      : submitted_(expr), options_(options), passes_(passes) {}

  Optimised result;

  Result<expr::Expr> remove_derivatives() const {
    if (!has_derivatives(submitted_)) return submitted_;
    return expr::eliminate_derivatives(submitted_);
  }

  void take_source(expr::Expr source) { source_ = std::move(source); }
  void take_forms(std::vector<Form> list) {
    for (Form& form : list) tried_.push_back({.form = std::move(form)});
  }

  [[nodiscard]] Result<std::vector<Form>> make_forms() const { return forms(submitted_, source_, options_, passes_); }

  // Checks the meaning of all forms; false if the unrewritten one is wrong, or the baseline is not its code.
  Result<bool> check_forms();

  [[nodiscard]] std::string print_meanings(bool) const { return pipeline::print_meanings(tried_); }

  // Adds one more form if small steps find one; returns whether they do.
  Result<bool> refine_forms();
  [[nodiscard]] std::string print_refined(bool any) const {
    return any ? kir::print(tried_.back().form.kernel) : "no step passes the check\n";
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

  // Measures the candidates. Checks of the winner may take what is left of the budget.
  Result<judge::Verdict> judge_candidates() {
    check_end_ = os::WorkLimit(kNoLimit);
    return find_winner(tournament_ns());
  }

  [[nodiscard]] std::string print_ratios(const judge::Verdict&) const {
    return pipeline::print_ratios(tried_, candidates_);
  }

  void conclude(const judge::Verdict& verdict);
  /// Offers the general kernel, then looks for one that is faster in the assumed ranges.
  void speculate();

  // Proves a bound for the winner, which conclude() has not taken apart yet, or for the source.
  Result<void> prove(const judge::Verdict& verdict);
  void conclude_refused(const equiv::Verdict& verdict);

  // The passes ended early; the baseline stands, checked or not.
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

  [[nodiscard]] std::string why_no_gain() const;

  [[nodiscard]] bool wanted(const codegen::Variant& v) const {
    return (v.vectors == 1 || passes_.enabled("interleave")) && (!v.schedule || passes_.enabled("schedule")) &&
           (!v.non_temporal || passes_.enabled("non_temporal"));
  }

  // Checks the unrewritten form and its code. The baseline is in use already, so its code comes before all
  // other checks.
  Result<bool> check_unrewritten();

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

  // Measures the candidates; the winner is checked at every point (and, if it streams, in calls that do) first. When
  // there is no time for that, those win that need no such check.
  Result<judge::Verdict> find_winner(std::uint64_t cpu_ns);

  // Makes the checks that only winners are asked for.
  Result<void> check_whole(std::size_t candidate);
  [[nodiscard]] bool is_checked_whole(const Candidate& c) const;

  // Checks once whether a form is careful in all its parts; if not, its candidates are dropped.
  Result<void> check_parts(std::size_t f);
  // Checks once whether a form holds at rarer points; if not, the form that it was to replace is checked.
  Result<bool> holds_at_rare_points(std::size_t f);
  // Does the same for a form that has code, and checks once whether it holds at other points; if not, another takes
  // its place.
  Result<void> check_rare(std::size_t f);
  Result<void> look_again(std::size_t f);
  Result<void> check_runner_up();
  Result<void> stand_in(std::size_t f);
  // Emits a form's variants and checks their code.
  Result<void> enter(std::size_t f);
  /// Drops the candidates of a form.
  void refuse(std::size_t f, const equiv::Verdict& verdict);

  [[nodiscard]] bool out_of_time() { return passes_.spent() || check_end_.reached(); }

  [[nodiscard]] CallSize size_of_call() const { return call_size(source_, signature_, options_.target.elements); }

  void baseline_died(const judge::Verdict& verdict, std::uint64_t elements);
  Result<judge::Verdict> hold_tournament(const std::vector<std::size_t>& entrants, const judge::Workload& workload,
                                         std::uint64_t cpu_ns);

  void report_candidates() {
    result.candidates.insert(result.candidates.end(), passes_.given_up().begin(), passes_.given_up().end());
    const std::vector<CandidateReport> list = reports(tried_, candidates_, result.baseline_checked);
    result.candidates.insert(result.candidates.end(), list.begin(), list.end());
  }

  const expr::Expr& submitted_;
  const Options& options_;
  PassScope& passes_;
  expr::Expr source_;
  std::vector<Tried> tried_;  ///< the unrewritten form first
  judge::Signature signature_;
  image::Key key_{};
  std::vector<Candidate> candidates_;
  equiv::CheckOptions check_;
  std::unique_ptr<equiv::Checker> checker_;
  std::optional<FormChecks> checks_;
  os::WorkLimit check_end_{0};  ///< end of the current checks
};

Result<bool> Optimisation::check_forms() {
  check_end_ = os::WorkLimit(os::thread_work_ns() +
                             static_cast<std::uint64_t>(static_cast<double>(passes_.left_ns()) * kMeaningShare));
  const std::uint64_t points = equiv::suggested_points(source_);
  check_.samples = {.points = options_.budget.check_only ? std::min(points, kCheckOnlyPoints) : points,
                    .seed = options_.search.seed};
  check_.cancelled = [this] { return out_of_time(); };
  TRY(checker_, equiv::Checker::make(source_, options_.target.policy, check_));
  checks_.emplace(source_, options_.target.policy, check_, *checker_);
  TRY(result.baseline_checked, check_unrewritten());
  passes_.set_baseline_checked(result.baseline_checked);
  if (!result.baseline_checked || options_.budget.check_only) return result.baseline_checked;
  if (options_.interim && expr::rewrite::inner_nodes(source_) > expr::rewrite::kWholeNodesMax) {
    const auto survives = offer_interim();
    if (!survives.ok() && survives.error().code != ErrorCode::kCancelled) return survives.error();
    if (survives.ok() && !*survives) return false;
  }
  TRY_VOID(check_rewritten());
  return true;
}

Result<bool> Optimisation::refine_forms() {
  if (!passes_.enabled("careful")) return false;
  const auto holds = [this](std::size_t f) { return holds_at_rare_points(f); };
  TRY(auto found, refine({source_, tried_, *checker_, *checks_, holds, options_, passes_}));
  if (!found) return false;
  tried_.push_back(std::move(*found));
  return true;
}

Result<std::size_t> Optimisation::emit_candidates() {
  const std::vector<Sound> sound = sound_forms();
  std::size_t ranks = 0;
  for (const Sound& s : sound) ranks = std::max(ranks, s.variants.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const Sound& s : sound) {
      if (rank >= s.variants.size() || passes_.spent()) continue;
      const codegen::Variant& variant = s.variants[rank];
      if (wanted(variant)) TRY_VOID(try_to_emit(s.form, variant));
    }
    passes_.report(Stage::emit, rank + 1, ranks);
  }
  return candidates_.size();
}

Result<std::size_t> Optimisation::check_candidates() {
  // Checks take place however long the meanings took: each is quick, and the plainest candidates are the last.
  const std::uint64_t left = passes_.left_ns(), end = kEndTournaments * size_of_call().tournament_ns();
  check_end_ = os::WorkLimit(std::max(check_end_.end_ns(), os::thread_work_ns() + left - std::min(left, end)));
  const TimedCall call(source_, checker_->sets()[0], size_of_call().elements);
  TRY_VOID(sift(candidates_, signature_, call.workload(), tournament_ns() / kSiftShare));
  for (std::size_t i = 1; i < candidates_.size(); i += kCheckedTogether) {
    const std::size_t count = std::min(kCheckedTogether, candidates_.size() - i);
    const auto checked = check_codes(std::span(candidates_).subspan(i, count));
    if (!checked.ok() && checked.error().code != ErrorCode::kCancelled) return checked.error();
    if (!checked.ok()) break;  // the ones checked so far go on to the judge
    passes_.report(Stage::equiv, i + count, candidates_.size());
  }
  return static_cast<std::size_t>(
      std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.holds(); }));
}

Result<judge::Verdict> Optimisation::find_winner(std::uint64_t cpu_ns) {
  const TimedCall call(source_, checker_->sets()[0], size_of_call().elements);
  for (bool in_time = true;;) {
    std::vector<std::size_t> entrants;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].holds() && (in_time || is_checked_whole(candidates_[i]))) entrants.push_back(i);
    TRY(judge::Verdict verdict, hold_tournament(entrants, call.workload(), cpu_ns));
    if (!verdict.incumbent_ran()) {
      baseline_died(verdict, call.workload().elements);
      return verdict;
    }
    for (std::size_t e = 0; e < entrants.size(); ++e) candidates_[entrants[e]].ratio = verdict.ratios[e];
    verdict.winner = entrants[verdict.winner];
    if (!verdict.gain) return verdict;
    const auto checked = check_whole(verdict.winner);
    if (!checked.ok() && checked.error().code != ErrorCode::kCancelled) return checked.error();
    if (!checked.ok() && passes_.cancelled()) return checked.error();
    if (checked.ok() && candidates_[verdict.winner].verdict.same()) return verdict;
    in_time = in_time && checked.ok();
    if (!in_time) continue;
    const auto next = check_runner_up();
    if (!next.ok() && next.error().code != ErrorCode::kCancelled) return next.error();
    in_time = next.ok();
  }
}

Result<void> Optimisation::check_whole(std::size_t candidate) {
  const std::size_t form = candidates_[candidate].form;
  TRY_VOID(check_rare(form));
  if (candidates_[candidate].verdict.same()) TRY_VOID(look_again(form));
  if (candidates_[candidate].verdict.same()) TRY_VOID(check_parts(form));
  Candidate& c = candidates_[candidate];
  if (c.verdict.same() && !c.checked_fully) TRY_VOID(check_code(c, equiv::Effort::full));
  return {};
}

Result<bool> Optimisation::holds_at_rare_points(std::size_t f) {
  TRY(const bool holds, checks_->at_rare_points(tried_[f], tried_[0]));
  if (!holds) TRY_VOID(replacement_of(f));
  return holds;
}

Result<void> Optimisation::check_rare(std::size_t f) {
  if (tried_[f].rare_checked) return {};
  TRY(const bool holds, checks_->at_rare_points(tried_[f], tried_[0]));
  const equiv::Verdict meaning = tried_[f].prepared->meaning;
  for (Candidate& c : candidates_)
    if (c.form == f && c.holds()) c.verdict = meaning;
  return holds ? Result<void>() : stand_in(f);
}

Result<void> Optimisation::look_again(std::size_t f) {
  TRY(const bool holds, checks_->at_other_points(tried_[f]));
  if (holds) return {};
  refuse(f, tried_[f].prepared->meaning);
  return stand_in(f);
}

// Checks the forms of the fastest candidates that are left at rarer points, until one holds: that costs less than
// another tournament.
Result<void> Optimisation::check_runner_up() {
  for (;;) {
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_)
      if (c.form != 0 && c.holds() && c.ratio > 0 && (best == nullptr || c.ratio < best->ratio)) best = &c;
    if (best == nullptr || tried_[best->form].rare_checked) return {};
    TRY_VOID(check_rare(best->form));
  }
}

Result<void> Optimisation::stand_in(std::size_t f) {
  std::vector<Tried> before = std::move(tried_[f].before);
  if (before.empty()) {
    TRY(const auto replacement, replacement_of(f));
    return replacement ? enter(*replacement) : Result<void>();
  }
  Tried next = std::move(before.back());
  before.pop_back();
  next.before = std::move(before);
  tried_.push_back(std::move(next));
  return enter(tried_.size() - 1);
}

Result<std::optional<std::size_t>> Optimisation::replacement_of(std::size_t f) {
  for (std::size_t r = 1; r < tried_.size(); ++r) {
    if (tried_[r].form.in_place_of != f) continue;
    TRY(tried_[r].prepared, checks_->at_drawn_points(tried_[r].form.kernel, tried_[0]));
    if (tried_[r].holds()) return std::optional(r);
  }
  return std::optional<std::size_t>();
}

Result<void> Optimisation::enter(std::size_t f) {
  const std::size_t first = candidates_.size();
  const auto variants =
      codegen::variants(tried_[f].form.kernel, options_.target.isa, divider_of(options_.target.isa, options_.search));
  for (const codegen::Variant& variant : variants)
    if (wanted(variant)) TRY_VOID(try_to_emit(f, variant));
  return check_codes(std::span(candidates_).subspan(first));
}

bool Optimisation::is_checked_whole(const Candidate& c) const {
  const Tried& tried = tried_[c.form];
  return c.checked_fully && tried.rare_checked && tried.looked_again &&
         (tried.form.keeps_roundings || tried.parts_checked);
}

void Optimisation::conclude(const judge::Verdict& verdict) {
  if (!verdict.incumbent_ran()) return conclude_refused(verdict_of_baseline());
  result.baseline_ns = verdict.incumbent_ns;
  result.winner_ns = verdict.winner_ns;
  Candidate& winner = candidates_[verdict.winner];
  result.errors = winner.verdict;
  result.detail = name_of(tried_, winner);
  result.outcome = verdict.gain ? Outcome::published : Outcome::no_gain;
  report_candidates();
  if (!verdict.gain) {
    result.note = "not optimised: " + why_no_gain();
    return;
  }
  result.winner = {std::move(tried_[winner.form].form.kernel), std::move(winner.code), winner.variant,
                   std::move(winner.image)};
}

void Optimisation::speculate() {
  if (options_.interim && result.outcome == Outcome::published)
    options_.interim({result.winner.image, result.baseline_ns, result.winner_ns});
  pipeline::speculate(source_, options_, passes_.left_ns(), result);
}

Result<void> Optimisation::prove(const judge::Verdict& verdict) {
  const std::size_t winner = verdict.gain ? candidates_[verdict.winner].form : 0;
  const Form& form = tried_[winner].form;
  const bool source = winner == 0;
  TRY(result.bounds,
      equiv::prove_error(source_, source ? source_ : form.expr, source ? unrewritten(options_.target.policy) : form.how,
                         {.cancelled = [this] { return passes_.spent(); }}));
  return {};
}

void Optimisation::conclude_refused(const equiv::Verdict& verdict) {
  result.outcome = Outcome::not_equivalent;
  result.errors = verdict;
  result.detail = equiv::print(verdict);
  result.note = "withdrawn: the baseline differs from the reference";
  if (verdict.counterexample) result.note += ": " + verdict.counterexample->why;
  report_candidates();
}

void Optimisation::conclude_ended(const Error& end) {
  result.outcome = Outcome::budget_spent;
  result.detail = end.message;
  result.note =
      "not optimised: " + passes_.why_ended() + ", with " + std::to_string(submitted_.nodes.size()) + " operations";
}

std::string Optimisation::why_no_gain() const {
  const auto timed =
      std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.ratio > 0; });
  std::string text = timed <= 1 ? "nothing but the baseline could be measured"
                                : "none of " + std::to_string(timed - 1) + " candidates beats the baseline";
  if (const std::size_t late = count_unchecked(tried_, candidates_); late != 0)
    text += "; " + std::to_string(late) + " were not checked within the limit of processor time";
  if (!passes_.given_up().empty())
    text += "; " + passes_.given_up().front().form + " was " + passes_.given_up().front().verdict;
  return text;
}

Result<bool> Optimisation::check_unrewritten() {
  Tried& source = tried_[0];
  TRY(source.prepared, checker_->check_meaning(source.form.kernel, equiv::Demand::policy));
  source.rare_checked = source.looked_again = true;  // nothing is to take its place
  passes_.report(Stage::lower, 1, tried_.size());
  if (!source.holds()) return false;
  TRY_VOID(check_baseline());
  return candidates_[0].verdict.same();
}

Result<bool> Optimisation::offer_interim() {
  const Form& source = tried_[0].form;
  const auto variants =
      codegen::variants(source.kernel, options_.target.isa, divider_of(options_.target.isa, options_.search));
  for (std::size_t i = 0; i < std::min(variants.size(), kInterimVariants); ++i)
    if (wanted(variants[i])) TRY_VOID(try_to_emit(0, variants[i]));
  TRY_VOID(check_codes(candidates_));
  TRY(const judge::Verdict verdict, find_winner(tournament_ns() / kInterimShare));
  if (verdict.incumbent_ran() && verdict.gain)
    options_.interim({candidates_[verdict.winner].image, verdict.incumbent_ns, verdict.winner_ns});
  return verdict.incumbent_ran();
}

Result<void> Optimisation::check_rewritten() {
  for (std::size_t f = 1; f < tried_.size(); ++f) {
    Tried& one = tried_[f];
    const bool evident = !checker_->unexplored() || one.form.keeps_roundings;
    if (!evident || replaced(tried_, one)) {
      one.prepared = refused(evident ? kNotNeeded : kNotEvident);
      continue;
    }
    auto prepared = checks_->at_drawn_points(one.form.kernel, tried_[0]);
    if (!prepared.ok() && prepared.error().code == ErrorCode::kCancelled) return {};  // the ones checked so far go on
    if (!prepared.ok()) return prepared.error();
    one.prepared = std::move(prepared).value();
    passes_.report(Stage::lower, f + 1, tried_.size());
  }
  return {};
}

std::vector<Optimisation::Sound> Optimisation::sound_forms() const {
  const codegen::DividerCycles divider = divider_of(options_.target.isa, options_.search);
  std::vector<Sound> sound;
  for (std::size_t f = tried_.size(); f-- > 0;) {
    if (!tried_[f].holds()) continue;
    const Form& form = tried_[f].form;
    auto variants = codegen::variants(form.kernel, options_.target.isa, divider);
    if (form.keeps_roundings && !sound.empty()) variants.resize(std::min(variants.size(), kSourceVariants));
    sound.push_back({f, std::move(variants)});
  }
  return sound;
}

Result<void> Optimisation::try_to_emit(std::size_t form, const codegen::Variant& variant) {
  const auto is_same = [&](const Candidate& c) { return c.form == form && c.variant == variant; };
  if (std::any_of(candidates_.begin(), candidates_.end(), is_same)) return {};
  const auto emitted = emit(form, variant);
  if (!emitted.ok() && emitted.error().code == ErrorCode::kOsError) return emitted.error();
  if (!emitted.ok()) passes_.give_up(tried_[form].form.name + ", " + print(variant), emitted.error());
  return {};
}

Result<void> Optimisation::emit(std::size_t form, const codegen::Variant& variant) {
  const kir::Kernel& kernel = tried_[form].form.kernel;
  TRY(codegen::MachineCode code, codegen::emit(kernel, options_.target.isa, variant));
  image::ImageBytes image =
      image::build(code, image::counts_of(kernel), options_.target.isa, TRIDENT_TIER_OPTIMISED, key_);
  TRY_VOID(check_size(image));
  TRY(const os::Fd fd, image::seal(image));
  TRY(image::Mapped mapped, image::Mapped::map(fd));
  candidates_.push_back({form, variant, std::move(code), std::move(image), std::move(mapped)});
  return {};
}

Result<void> Optimisation::check_baseline() {
  signature_ = judge::signature_of(tried_[0].form.kernel);
  key_ = options_.key ? *options_.key : expr_key(submitted_, options_.target, options_.search);
  TRY_VOID(emit(0, kBaselineVariant));
  tried_[0].code_checked = true;
  return check_code(candidates_[0], equiv::Effort::full);
}

Result<void> Optimisation::check_code(Candidate& c, equiv::Effort effort) {
  const equiv::Execute execute = execute_in_sandbox(source_, signature_, c.mapped);
  TRY(equiv::Verdict verdict, checker_->check_code(*tried_[c.form].prepared, execute, effort));
  return take_verdict(c, std::move(verdict), effort);
}

Result<void> Optimisation::take_verdict(Candidate& c, equiv::Verdict verdict, equiv::Effort effort) {
  c.verdict = std::move(verdict);
  c.checked = true;
  if (effort != equiv::Effort::full) return {};
  // The checker's own calls are shorter than those that stream.
  if (c.verdict.same() && c.variant.non_temporal) {
    const Tried& tried = tried_[c.form];
    const equiv::Execute execute = execute_in_sandbox(source_, signature_, c.mapped);
    TRY(c.verdict,
        checker_->check_long_calls(*tried.prepared, tried.form.kernel, execute, streaming_elements(signature_)));
  }
  c.checked_fully = true;
  return {};
}

Result<void> Optimisation::check_codes(std::span<Candidate> candidates) {
  std::vector<Candidate*> asked;
  std::vector<const image::Mapped*> images;
  std::vector<equiv::Checker::CodeQuestion> questions;
  for (Candidate& c : candidates) {
    if (c.checked || c.sifted_out) continue;
    Tried& tried = tried_[c.form];
    questions.push_back({*tried.prepared, tried.code_checked ? equiv::Effort::brief : equiv::Effort::full});
    tried.code_checked = true;
    asked.push_back(&c);
    images.push_back(&c.mapped);
  }
  TRY(auto verdicts, checker_->check_codes(questions, execute_in_sandbox(source_, signature_, images)));
  for (std::size_t i = 0; i < asked.size(); ++i) TRY_VOID(take_verdict(*asked[i], verdicts[i], questions[i].effort));
  return {};
}

Result<void> Optimisation::check_parts(std::size_t f) {
  Tried& tried = tried_[f];
  if (tried.form.keeps_roundings || tried.parts_checked) return {};
  equiv::CheckOptions options;
  options.samples.seed = options_.search.seed;
  options.cancelled = [this] { return passes_.spent(); };
  TRY(const equiv::Verdict verdict, equiv::check_parts(source_, tried.form.expr, tried.form.how, options));
  tried.parts_checked = true;
  if (!verdict.same()) refuse(f, verdict);
  return {};
}

void Optimisation::refuse(std::size_t f, const equiv::Verdict& verdict) {
  for (Candidate& c : candidates_)
    if (c.form == f) c.verdict = verdict;
}

void Optimisation::baseline_died(const judge::Verdict& verdict, std::uint64_t elements) {
  equiv::Counterexample e;
  e.why = "the baseline " + os::describe(verdict.ends[0]) + " while it was timed";
  e.elements = elements;
  candidates_[0].verdict.kind = equiv::Verdict::Kind::differs;
  candidates_[0].verdict.counterexample = std::move(e);
}

Result<judge::Verdict> Optimisation::hold_tournament(const std::vector<std::size_t>& entrants,
                                                     const judge::Workload& workload, std::uint64_t cpu_ns) {
  std::vector<const image::Mapped*> contestants;
  for (const std::size_t i : entrants) contestants.push_back(&candidates_[i].mapped);
  judge::TournamentRules rules;
  rules.cpu_ns = std::min(cpu_ns, std::max(passes_.left_ns(), cpu_ns / kLateShare));
  rules.cancelled = [this] { return passes_.spent(); };
  rules.progress = [this](std::size_t done, std::size_t total, double best) {
    passes_.report(Stage::judge, done, total, best);
  };
  return judge::hold_tournament(contestants, signature_, workload, rules);
}

// The spine.
Result<void> run_passes(Optimisation& o, PassScope& passes, const Options& options) {
  // No derivative is left: every node has a value of its own.
  TRY(expr::Expr source, passes.run(
                             "derivatives", [&] { return o.remove_derivatives(); }, expr::print_sexpr));
  o.take_source(std::move(source));

  // There are kernels that should mean what the source means, the unrewritten one first.
  TRY(std::vector<Form> forms,
      passes.run(
          "forms", [&] { return o.make_forms(); }, [](const auto& list) { return print(list); }));
  o.take_forms(std::move(forms));

  // The baseline is right, or must be revoked. Forms that do not mean what the source means are gone.
  TRY(const bool meant, passes.run(
                            "meaning", [&] { return o.check_forms(); }, [&](bool b) { return o.print_meanings(b); }));
  if (!meant) {
    o.conclude_refused(o.verdict_of_baseline());
    return {};
  }
  if (options.budget.check_only) return {};

  // Where rewriting as a whole was refused, smaller steps may have held.
  TRY_VOID(passes.run(
      "refine", [&] { return o.refine_forms(); }, [&](bool any) { return o.print_refined(any); }));

  // Every form has machine code in its variants.
  TRY_VOID(passes.run(
      "emit", [&] { return o.emit_candidates(); }, [&](std::size_t n) { return o.print_code(n); }));

  // Candidates that do not do what their form means are gone.
  TRY_VOID(passes.run(
      "equiv", [&] { return o.check_candidates(); }, [&](std::size_t n) { return o.print_verdicts(n); }));

  // The fastest of the rest is known, and whether it beats the baseline by more than the noise.
  TRY(const judge::Verdict verdict,
      passes.run(
          "judge", [&] { return o.judge_candidates(); }, [&](const judge::Verdict& v) { return o.print_ratios(v); }));
  if (options.trace.prove_error && verdict.incumbent_ran()) TRY_VOID(o.prove(verdict));
  o.conclude(verdict);
  return {};
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::published: return "published";
    case Outcome::no_gain: return "no gain";
    case Outcome::budget_spent: return "budget spent";
    case Outcome::not_equivalent: return "not equivalent";
  }
  CHECK(false);
}

Result<Optimised> optimise(const expr::Expr& expr, const Options& options,
                           const std::function<void(const Progress&)>& progress) {
  TRY_VOID(check_names(options.search, options.trace));
  TRY_VOID(expr::check(expr));
  PassScope passes(options, progress);
  Optimisation o(expr, options, passes);
  const auto done = run_passes(o, passes, options);
  if (!done.ok() && done.error().code != ErrorCode::kCancelled) return done.error();
  if (!done.ok()) o.conclude_ended(done.error());
  o.result.times = passes.take_times();
  if (!options.target.assumed.empty()) o.speculate();
  return std::move(o.result);
}

}  // namespace trident::pipeline
