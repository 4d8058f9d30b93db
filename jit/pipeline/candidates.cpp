// Forms become candidates: their meaning is checked, their code is emitted in variants, and checked too.
#include <algorithm>
#include <utility>

#include "jit/equiv/checker.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/optimisation.h"
#include "jit/pipeline/sift.h"

namespace trident::pipeline {
namespace {

constexpr double kMeaningShare = 0.6;
/// Share of what is left for the source's own form and its code: nothing is published without these.
constexpr double kSourceShare = 0.9;
/// Share of the end, in tournaments: the tournament, and the checks of the winner's parts and of all of its code.
constexpr std::uint64_t kEndTournaments = 3;
constexpr std::uint64_t kCheckOnlyPoints = 2048;

/// Limits variants of a form with the source's roundings if a bolder one means the same: it rarely wins
/// then. But it may: fewer operations are not less work where products and sums have pipes of their own.
constexpr std::size_t kSourceVariants = 5;

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

}  // namespace

void Optimisation::begin_checks() {
  check_end_ = Deadline(passes_.left().share(kMeaningShare));
}

void Optimisation::make_checker() {
  const std::uint64_t points = equiv::suggested_points(source_);
  check_.samples = {.points = options_.budget.check_only ? std::min(points, kCheckOnlyPoints) : points,
                    .seed = options_.search.seed};
  check_.cancelled = [this] { return threads_.cancelled(); };
  if (options_.budget.two_threads) check_.together = [this](auto tasks) { threads_.run(tasks); };
  made_ = equiv::Checker::make(source_, options_.target.policy, check_);
}

Result<std::vector<Form>> Optimisation::make_forms() {
  if (!options_.budget.two_threads || options_.rival != nullptr) return forms(submitted_, source_, options_, passes_);
  begin_checks();
  std::optional<Result<std::vector<Form>>> made;
  threads_.run_beside([&] { made = forms(submitted_, source_, options_, passes_); }, [&] { make_checker(); });
  return std::move(*made);
}

Result<bool> Optimisation::check_forms() {
  begin_checks();
  if (!made_) make_checker();
  TRY(checker_, std::move(*made_));
  checks_.emplace(source_, options_.target.policy, check_, *checker_);
  const Deadline end_of_rewritten = std::exchange(check_end_, Deadline(passes_.left().share(kSourceShare)));
  TRY(result.baseline_checked, check_unrewritten());
  passes_.set_baseline_checked(result.baseline_checked);
  if (!result.baseline_checked || options_.budget.check_only) return result.baseline_checked;
  if (options_.interim && is_large()) {
    const auto survives = offer_interim();
    if (!survives.ok() && survives.error().code != ErrorCode::kCancelled) return survives.error();
    if (survives.ok() && !*survives) return false;
  }
  check_end_ = end_of_rewritten;
  TRY_VOID(check_rewritten());
  return true;
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
  if (!verdict.incumbent_ran()) return false;
  offer(verdict);
  if (verdict.gain) interim_ = verdict;
  return true;
}

Result<void> Optimisation::check_rewritten() {
  for (std::size_t f = 1; f < tried_.size(); ++f) {
    Tried& one = tried_[f];
    const bool evident = !checker_->unexplored() || one.form.keeps_roundings;
    if (!evident || replaced(tried_, one)) {
      one.prepared = refused(evident ? kNotNeeded : kNotEvident);
      continue;
    }
    auto prepared = checks_->at_first(one.form, tried_[0]);
    if (!prepared.ok() && prepared.error().code == ErrorCode::kCancelled) return {};  // the ones checked so far go on
    if (!prepared.ok()) return prepared.error();
    one.prepared = std::move(prepared).value();
    passes_.report(Stage::lower, f + 1, tried_.size());
  }
  return {};
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

Result<std::size_t> Optimisation::check_candidates() {
  // Checks take place however long the meanings took: each is quick, and the plainest candidates are the last.
  const std::uint64_t end_ns = kEndTournaments * size_of_call().tournament_ns();
  check_end_ = Deadline::later(check_end_, Deadline(passes_.left().without(end_ns)));
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

}  // namespace trident::pipeline
