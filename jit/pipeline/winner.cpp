// The fastest candidate that passes every check. Checks that take ten times as long as the others are asked only of
// what has won a tournament; where one refuses it, the next best is asked.
#include <algorithm>
#include <utility>

#include "jit/pipeline/optimisation.h"

namespace trident::pipeline {
namespace {

/// Where the budget is spent before the tournament, this part of its time is left for it: what passed every check until
/// then is worth a look.
constexpr std::uint64_t kLateShare = 4;

/// Checks of the winner end a tournament's time before the budget does. A tournament takes this part of it, and the
/// check of one candidate's code the rest.
constexpr std::uint64_t kReserveShare = 2;

/// The tournament of few takes a part of the time of one of all.
constexpr std::uint64_t kRematchShare = 2;

/// The end of checks that leave the tournament its time.
Deadline before_tournament(const Left& left, std::uint64_t tournament_ns) {
  return Deadline(left.without(std::min(tournament_ns, left.ns() / kLateShare)));
}

}  // namespace

Result<judge::Verdict> Optimisation::judge_candidates() {
  has_reserve_ = true;
  check_end_ = before_tournament(passes_.left(), tournament_ns());
  return find_winner(tournament_ns());
}

bool Optimisation::wait_for_checks_of(const judge::Verdict& verdict) {
  const bool ends_by_clock = is_large() && options_.rival == nullptr;
  if (!ends_by_clock || verdict.ratio >= kWorthWaiting || std::exchange(waited_, true)) return false;
  passes_.extend(0, kLargeClockNs);
  check_end_ = before_tournament(passes_.left(), tournament_ns());
  return true;
}

Result<judge::Verdict> Optimisation::find_winner(std::uint64_t cpu_ns) {
  const TimedCall call(source_, checker_->sets()[0], size_of_call().elements);
  for (Entrants who = Entrants::all;;) {
    std::vector<std::size_t> entrants;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (may_win(candidates_[i], who)) entrants.push_back(i);
    const std::uint64_t share = who == Entrants::of_checked_forms ? kReserveShare : 1;
    TRY(judge::Verdict verdict, hold_tournament(entrants, call.workload(), cpu_ns / share));
    if (!verdict.incumbent_ran()) {
      baseline_died(verdict, call.workload().elements);
      return verdict;
    }
    for (std::size_t e = 0; e < entrants.size(); ++e) candidates_[entrants[e]].ratio = verdict.ratios[e];
    verdict.winner = entrants[verdict.winner];
    // The baseline itself may beat a rival, which knows less of the data.
    if (!verdict.gain && options_.rival == nullptr) return verdict;
    TRY(verdict.gain, pays(candidates_[verdict.winner], call.workload()));
    if (!verdict.gain) return verdict;
    const bool waits = wait_for_checks_of(verdict);
    const auto checked = check_whole(verdict.winner);
    if (waits) passes_.shorten_clock(kLargeClockNs);
    if (!checked.ok() && checked.error().code != ErrorCode::kCancelled) return checked.error();
    if (!checked.ok() && passes_.cancelled()) return checked.error();
    if (checked.ok() && candidates_[verdict.winner].verdict.same()) return verdict;
    if (checked.ok() && who != Entrants::all) continue;
    const auto next = checked.ok() ? check_runner_up() : checked;
    if (!next.ok() && next.error().code != ErrorCode::kCancelled) return next.error();
    if (next.ok()) continue;
    who = who == Entrants::all && has_reserve_ ? Entrants::of_checked_forms : Entrants::checked;
    if (has_reserve_) check_end_ = {};
  }
}

Result<bool> Optimisation::may_beat_winner(const judge::Verdict& verdict, const Tried& form) {
  const Candidate& first = candidates_[verdict.gain ? verdict.winner : 0];
  const Rival winner{first.mapped, worth_a_swap_, first.variant};
  const TimedCall call(source_, checker_->sets()[0], size_of_call().elements);
  const Rival& rival = options_.rival != nullptr && !verdict.gain ? *options_.rival : winner;
  return may_beat(rival, std::span(&form, 1), options_, call.workload());
}

Result<judge::Verdict> Optimisation::rematch(const judge::Verdict& first) {
  check_end_ = {};
  const std::size_t refined = tried_.size() - 1;
  TRY_VOID(enter(refined));
  const TimedCall call(source_, checker_->sets()[0], size_of_call().elements);
  for (;;) {
    const std::vector<std::size_t> entrants = entrants_of_rematch(first, refined);
    if (candidates_[entrants.back()].form < refined) return first;
    TRY(judge::Verdict verdict, hold_tournament(entrants, call.workload(), tournament_ns() / kRematchShare));
    if (!verdict.incumbent_ran()) {
      baseline_died(verdict, call.workload().elements);
      return verdict;
    }
    for (std::size_t e = 0; e < entrants.size(); ++e) candidates_[entrants[e]].ratio = verdict.ratios[e];
    verdict.winner = entrants[verdict.winner];
    Candidate& winner = candidates_[verdict.winner];
    if (!verdict.gain || winner.form < refined) return first;
    if (first.gain && winner.ratio > worth_a_swap_ * candidates_[first.winner].ratio) return first;
    TRY(const bool useful, pays(winner, call.workload()));
    if (!useful) return first;
    TRY_VOID(check_whole(verdict.winner));
    if (candidates_[verdict.winner].verdict.same()) return verdict;
  }
}

std::vector<std::size_t> Optimisation::entrants_of_rematch(const judge::Verdict& first, std::size_t form) const {
  std::vector<std::size_t> entrants = {0};
  if (first.gain && first.winner != 0) entrants.push_back(first.winner);
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].form >= form && candidates_[i].holds()) entrants.push_back(i);
  return entrants;
}

Result<void> Optimisation::check_whole(std::size_t candidate) {
  TRY_VOID(check_form(candidates_[candidate].form));
  Candidate& c = candidates_[candidate];
  if (c.verdict.same() && !c.checked_fully) TRY_VOID(check_code(c, equiv::Effort::full));
  return {};
}

// Parts come first: they refuse most of what is refused, in a tenth of the time of rarer points. A large expression has
// many parts, and small steps whose last form is refused stand in for it one by one.
Result<void> Optimisation::check_form(std::size_t f) {
  if (!is_large() && tried_[f].before.empty() && !tried_[f].rare_checked) {
    TRY_VOID(check_parts(f));
    if (!tried_[f].holds()) return stand_in(f);
  }
  TRY_VOID(check_rare(f));
  if (tried_[f].holds()) TRY_VOID(look_again(f));
  if (tried_[f].holds()) TRY_VOID(check_parts(f));
  return {};
}

bool Optimisation::may_win(const Candidate& c, Entrants who) const {
  if (!c.holds() || who == Entrants::all) return c.holds();
  return tried_[c.form].is_checked() && (c.checked_fully || who == Entrants::of_checked_forms);
}

Result<bool> Optimisation::holds_at_rare_points(std::size_t f) {
  TRY(const bool holds, checks_->at_rare_points(tried_[f]));
  if (holds) return true;
  refuse(f, tried_[f].prepared->meaning);
  TRY_VOID(replacement_of(f));
  return false;
}

Result<void> Optimisation::check_rare(std::size_t f) {
  if (tried_[f].rare_checked) return {};
  TRY(const bool holds, checks_->at_rare_points(tried_[f]));
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

// Checks the forms of the fastest candidates that are left, until one holds: forms of one search often have the
// careless part in common, and to find that out by one tournament after another takes longer than the checks.
Result<void> Optimisation::check_runner_up() {
  for (;;) {
    const Candidate* best = nullptr;
    for (const Candidate& c : candidates_)
      if (c.form != 0 && c.holds() && c.ratio > 0 && (best == nullptr || c.ratio < best->ratio)) best = &c;
    if (best == nullptr || tried_[best->form].is_checked()) return {};
    TRY_VOID(check_form(best->form));
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

Result<void> Optimisation::check_parts(std::size_t f) {
  Tried& tried = tried_[f];
  if (tried.form.keeps_roundings || tried.parts_checked) return {};
  equiv::CheckOptions options;
  options.samples.seed = options_.search.seed;
  options.cancelled = [this] { return threads_.cancelled(); };
  if (options_.budget.two_threads) options.together = [this](auto tasks) { threads_.run(tasks); };
  TRY(const equiv::Verdict verdict, equiv::check_parts(source_, tried.form.expr, tried.form.how, options, parts_));
  tried.parts_checked = true;
  if (verdict.same()) return {};
  tried.prepared->meaning = verdict;
  refuse(f, verdict);
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

}  // namespace trident::pipeline
