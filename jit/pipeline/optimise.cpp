// The optimising tier, as it reads aloud: see run_first_passes() at the end. Candidates are forms (forms.h) times
// variants of the code generator. Nothing runs in this process: candidates run in sandboxed children.
//
// The winner among the forms is offered as soon as it is found and checked. Small steps from these forms (refine.h) are
// searched afterwards, and their last form must beat that winner.
//
// Budget: the meaning of the forms is checked within kMeaningShare of what is left then, and so are small steps; that
// of the source's own form, without which there is nothing, may take kSourceShare, and the others get none then. The
// code of the candidates is checked in what is left but for kEndTournaments times what the tournament takes, and the
// winner's form in what is left then but for a reserve, in which the best of the source's own code is found otherwise.
// When checks run out of time the candidates already checked go on; without a checked baseline there is no answer
// (budget_spent). The budget of a large expression, whose checks take seconds, ends by the clock (kLargeClockNs):
// what was offered until then stays. The last checks of a kernel twice as fast may end later (wait_for_checks_of). Code
// for assumed ranges has time of its own, however much was used before (kSpeculationLeastNs, kJoinShare).
#include <algorithm>

#include "jit/pipeline/optimisation.h"
#include "jit/pipeline/refine.h"

namespace trident::pipeline {
namespace {

constexpr const char* kTooLittle = "nothing is so much faster than the kernel that it would stand beside";

}  // namespace

void Optimisation::take_source(expr::Expr source) {
  source_ = std::move(source);
  if (!is_large() || options_.rival != nullptr) return;  // a rival is in use already: nobody waits
  const auto share_ns = static_cast<std::uint64_t>(kLargeClockShare * static_cast<double>(passes_.left_ns()));
  passes_.limit_clock(std::max(kLargeClockNs, share_ns) * options_.budget.effort, options_.budget.two_threads);
  if (options_.budget.cpu_ns == 0) passes_.extend(kLargeMoreNs, 0);
}

Result<bool> Optimisation::may_pay() {
  if (options_.rival == nullptr) return true;
  signature_ = judge::signature_of(tried_[0].form.kernel);
  const equiv::Samples points = points_to_time(source_, options_.search.seed);
  const TimedCall call(source_, points, size_of_call().elements);
  TRY(const bool may, may_beat(*options_.rival, tried_, options_, call.workload()));
  if (!may) result.note = kTooLittle;
  return may;
}

Result<bool> Optimisation::pays(const Candidate& c, const judge::Workload& workload) {
  if (options_.rival == nullptr) return true;
  TRY(const bool useful, beats(*options_.rival, c.mapped, signature_, workload));
  outrun_ = outrun_ || !useful;
  return useful;
}

Result<bool> Optimisation::refine_forms(const judge::Verdict& verdict) {
  if (!passes_.enabled("careful") || !tried_[0].form.kernel.before.empty()) return false;  // steps know no passes
  begin_checks();
  const auto holds = [this](std::size_t f) { return holds_at_rare_points(f); };
  const auto may_win = [&](const Tried& last) { return may_beat_winner(verdict, last); };
  TRY(auto found, refine({source_, tried_, *checker_, *checks_, holds, options_, passes_, worth_a_swap_, may_win}));
  if (!found) return false;
  tried_.push_back(std::move(*found));
  return true;
}

void Optimisation::offer(const judge::Verdict& verdict) const {
  if (options_.interim && verdict.gain)
    options_.interim({candidates_[verdict.winner].image, verdict.incumbent_ns, verdict.winner_ns});
}

Optimised Optimisation::so_far(const judge::Verdict& verdict) const {
  const Candidate& winner = candidates_[verdict.winner];
  Optimised now;
  now.baseline_checked = result.baseline_checked;
  now.outcome = verdict.gain ? Outcome::published : Outcome::no_gain;
  now.baseline_ns = verdict.incumbent_ns, now.winner_ns = verdict.winner_ns;
  now.errors = winner.verdict;
  now.detail = name_of(tried_, winner);
  if (verdict.gain) now.winner = {tried_[winner.form].form.kernel, winner.code, winner.variant, winner.image};
  return now;
}

void Optimisation::conclude(const judge::Verdict& verdict) {
  if (!verdict.incumbent_ran()) return conclude_refused(verdict_of_baseline());
  Optimised now = so_far(verdict);
  now.bounds = std::move(result.bounds);
  result = std::move(now);
  report_candidates();
  if (!verdict.gain) {
    result.note = outrun_ ? kTooLittle : "not optimised: " + why_no_gain();
    // A search that could measure nothing in its time is not one that found nothing: it may be tried again.
    if (count_rivals_timed() == 0 && count_unchecked(tried_, candidates_) != 0) result.outcome = Outcome::budget_spent;
  }
}

// The code of other forms than the source is not checked again, and rarer points are sought once, where points were
// drawn.
void Optimisation::drop_checked() {
  for (std::size_t f = 1; f < tried_.size(); ++f) {
    if (!tried_[f].prepared) continue;
    equiv::Checker::Prepared& prepared = *tried_[f].prepared;
    prepared.full = {}, prepared.tails = {}, prepared.tail_calls = {};
    if (!tried_[f].holds() || tried_[f].rare_checked) prepared.errors = {};
  }
}

// A large expression's clock runs, and nothing but regions may have been found for it: small steps come first.
void Optimisation::speculate(const judge::Verdict& first) {
  if (is_large() || passes_.stopped() || passes_.cancelled()) return;
  if (speculations_.begin(source_, so_far(first), passes_.left_for_speculation_ns())) worth_a_swap_ = kWorthJoining;
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
  if (interim_ && !passes_.stopped() && !passes_.cancelled()) return conclude(*interim_);
  result.outcome = Outcome::budget_spent;
  result.detail = end.message;
  const bool by_checks = !passes_.stopped() && !passes_.spent() && check_end_.reached();
  result.note = "not optimised: " + (by_checks ? passes_.why_checks_ended() : passes_.why_ended()) + ", with " +
                std::to_string(submitted_.nodes.size()) + " operations";
}

void Optimisation::report_candidates() {
  result.candidates.insert(result.candidates.end(), passes_.given_up().begin(), passes_.given_up().end());
  const std::vector<CandidateReport> list = reports(tried_, candidates_, result.baseline_checked);
  result.candidates.insert(result.candidates.end(), list.begin(), list.end());
}

std::size_t Optimisation::count_rivals_timed() const {
  const auto timed = [](const Candidate& c) { return c.ratio > 0; };
  return static_cast<std::size_t>(std::count_if(candidates_.begin() + 1, candidates_.end(), timed));
}

std::string Optimisation::why_no_gain() const {
  const std::size_t timed = count_rivals_timed();
  std::string text = timed == 0 ? "nothing but the baseline could be measured"
                                : "none of " + std::to_string(timed) + " candidates beats the baseline";
  if (const std::size_t late = count_unchecked(tried_, candidates_); late != 0)
    text += "; " + std::to_string(late) + " were not checked within the limit of processor time";
  if (!passes_.given_up().empty())
    text += "; " + passes_.given_up().front().form + " was " + passes_.given_up().front().verdict;
  return text;
}

namespace {

/// Where rewriting as a whole was refused, or did not find everything, smaller steps may hold. Returns the winner with
/// what they lead to.
Result<judge::Verdict> winner_with_small_steps(Optimisation& o, PassScope& passes, const judge::Verdict& first) {
  TRY(const bool any,
      passes.run(
          "refine", [&] { return o.refine_forms(first); }, [&](bool found) { return o.print_refined(found); }));
  if (!any) return first;
  return passes.run(
      "rematch", [&] { return o.rematch(first); }, [&](const judge::Verdict& v) { return o.print_ratios(v); });
}

// The spine, up to the first kernel.
Result<void> run_first_passes(Optimisation& o, PassScope& passes, const Options& options) {
  // No derivative is left: every node has a value of its own.
  TRY(expr::Expr source, passes.run(
                             "derivatives", [&] { return o.remove_derivatives(); }, expr::print_sexpr));
  o.take_source(std::move(source));

  // There are kernels that should mean what the source means, the unrewritten one first.
  TRY(std::vector<Form> forms,
      passes.run(
          "forms", [&] { return o.make_forms(); }, [](const auto& list) { return print(list); }));
  o.take_forms(std::move(forms));
  TRY(const bool may_pay, o.may_pay());
  if (!may_pay) return {};

  // The baseline is right, or must be revoked. Forms that do not mean what the source means are gone.
  TRY(const bool meant, passes.run(
                            "meaning", [&] { return o.check_forms(); }, [&](bool b) { return o.print_meanings(b); }));
  if (!meant) {
    o.conclude_refused(o.verdict_of_baseline());
    return {};
  }
  if (options.budget.check_only) return {};

  // Every form has machine code in its variants.
  TRY_VOID(passes.run(
      "emit", [&] { return o.emit_candidates(); }, [&](std::size_t n) { return o.print_code(n); }));

  // Candidates that do not do what their form means are gone.
  TRY_VOID(passes.run(
      "equiv", [&] { return o.check_candidates(); }, [&](std::size_t n) { return o.print_verdicts(n); }));

  // The fastest of the rest is known, and whether it beats the baseline by more than the noise. It may be used while
  // the search goes on.
  TRY(judge::Verdict verdict,
      passes.run(
          "judge", [&] { return o.judge_candidates(); }, [&](const judge::Verdict& v) { return o.print_ratios(v); }));
  if (verdict.incumbent_ran()) {
    o.offer(verdict);
    o.take_first(std::move(verdict));
  } else {
    o.conclude(verdict);
  }
  return {};
}

// The spine's other part, once there is a first verdict.
Result<void> run_last_passes(Optimisation& o, PassScope& passes, const Options& options, judge::Verdict verdict) {
  auto better = winner_with_small_steps(o, passes, verdict);
  if (!better.ok() && better.error().code != ErrorCode::kCancelled) return better.error();
  if (better.ok()) verdict = std::move(*better);
  if (options.trace.prove_error && verdict.incumbent_ran()) TRY_VOID(o.prove(verdict));
  o.conclude(verdict);
  return {};
}

/// Passes that ended early are an outcome, too.
Result<void> concluded(Optimisation& o, const Result<void>& done) {
  if (done.ok()) return {};
  if (done.error().code != ErrorCode::kCancelled) return done.error();
  o.conclude_ended(done.error());
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

TwoLooks::TwoLooks(expr::Expr expr, Options options, std::function<void(const Progress&)> progress)
    : expr_(std::move(expr)), options_(std::move(options)), progress_(std::move(progress)) {}

TwoLooks::~TwoLooks() = default;

Result<bool> TwoLooks::first() {
  TRY_VOID(check_names(options_.search, options_.trace));
  TRY_VOID(expr::check(expr_));
  passes_ = std::make_unique<PassScope>(options_, progress_);
  optimisation_ = std::make_unique<Optimisation>(expr_, options_, *passes_);
  TRY_VOID(concluded(*optimisation_, run_first_passes(*optimisation_, *passes_, options_)));
  if (!optimisation_->first()) return end(), false;
  optimisation_->drop_checked();
  passes_->pause();
  return true;
}

bool TwoLooks::has_found() const {
  return optimisation_->first()->gain;
}

Result<void> TwoLooks::second() {
  passes_->resume();
  optimisation_->resume();
  const judge::Verdict first = *optimisation_->first();
  optimisation_->speculate(first);
  TRY_VOID(concluded(*optimisation_, run_last_passes(*optimisation_, *passes_, options_, first)));
  end();
  return {};
}

void TwoLooks::end() {
  optimisation_->result.times = passes_->take_times();
  optimisation_->end();
}

Optimised TwoLooks::take() {
  return std::move(optimisation_->result);
}

Result<Optimised> optimise(const expr::Expr& expr, const Options& options,
                           const std::function<void(const Progress&)>& progress) {
  TwoLooks looks(expr, options, progress);
  TRY(const bool more, looks.first());
  if (more) TRY_VOID(looks.second());
  return looks.take();
}

}  // namespace trident::pipeline
