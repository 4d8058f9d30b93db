// The optimising tier, as it reads aloud: see run_passes() at the end. Candidates are forms (forms.h) times variants of
// the code generator. Nothing runs in this process: candidates run in sandboxed children.
//
// Budget: the meaning of the forms is checked within kMeaningShare of what is left then, the code of the candidates in
// what is left but for kEndTournaments times what the tournament takes. When checks run out of time the candidates
// already checked go on; without a checked baseline there is no answer (budget_spent).
#include <algorithm>
#include <cstring>

#include "jit/equiv/checker.h"
#include "jit/equiv/parts.h"
#include "jit/judge/tournament.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/refine.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

constexpr const char* kUnchecked = "not checked in time";
constexpr double kMeaningShare = 0.6;
/// The tournament, and the looks at the winner's parts and at all of its code.
constexpr std::uint64_t kEndTournaments = 3;
constexpr std::uint64_t kCheckOnlyPoints = 2048;
constexpr std::uint64_t kTournamentNs = 250'000'000;
/// Calls that stream through memory take tens of milliseconds each: their tournament may take this long per byte that a
/// call moves, or no candidate would get a second round.
constexpr std::uint64_t kTournamentNsPerByte = 100;
/// Memory for the arrays that kernels are timed on.
constexpr std::uint64_t kWorkloadBytesMax = std::uint64_t{512} << 20;

/// Variants that are tried of a form with the source's roundings where a bolder one means the same: it rarely wins
/// then. But it may: fewer operations are not less work where products and sums have pipes of their own.
constexpr std::size_t kSourceVariants = 5;

struct Candidate {
  std::size_t form = 0;
  codegen::Variant variant;
  codegen::MachineCode code;
  image::ImageBytes image;
  image::Mapped mapped;
  equiv::Verdict verdict;
  bool checked = false;
  bool checked_fully = false;
  double ratio = 0;
};

std::string print_variant(const codegen::Variant& v) {
  std::string text = std::to_string(v.vectors) + (v.vectors == 1 ? " vector" : " vectors");
  if (v.vector_bits != 0) text += " of " + std::to_string(v.vector_bits) + " bits";
  text += v.schedule ? ", scheduled" : ", source order";
  return v.non_temporal ? text + ", streaming stores" : text;
}

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
    forms_ = std::move(list);
    parts_checked_.assign(forms_.size(), false);
  }

  [[nodiscard]] Result<std::vector<Form>> make_forms() const { return forms(submitted_, source_, options_, passes_); }

  // Which forms mean what the source means; false when the unrewritten one does not, or the baseline is not its code.
  Result<bool> check_forms() {
    check_end_ns_ =
        os::thread_work_ns() + static_cast<std::uint64_t>(static_cast<double>(passes_.left_ns()) * kMeaningShare);
    const std::uint64_t points = equiv::suggested_points(source_);
    check_.samples = {.points = options_.budget.check_only ? std::min(points, kCheckOnlyPoints) : points,
                      .seed = options_.search.seed};
    check_.cancelled = [this] { return out_of_time(); };
    TRY(checker_, equiv::Checker::make(source_, options_.target.policy, check_));
    second_looks_.emplace(source_, options_.target.policy, check_);
    for (std::size_t f = 0; f < forms_.size(); ++f) {
      if (checker_->unexplored() && !forms_[f].keeps_roundings) {
        prepared_.push_back(not_evident());
        continue;
      }
      if (replaced(f)) {
        prepared_.push_back(not_needed());
        continue;
      }
      const equiv::Demand demand = f == 0 ? equiv::Demand::own_steps : equiv::Demand::any_set;
      auto prepared = checker_->check_meaning(forms_[f].kernel, demand, f == 0 ? nullptr : prepared_.data());
      if (!prepared.ok() && (f == 0 || prepared.error().code != ErrorCode::kCancelled)) return prepared.error();
      if (!prepared.ok()) break;  // the forms checked so far go on
      if (f > 0 && prepared->meaning.same() && !forms_[f].keeps_roundings) {
        auto again = second_looks_->ask(forms_[f].kernel, prepared->meaning.max_error_ulp);
        if (!again.ok() && again.error().code != ErrorCode::kCancelled) return again.error();
        if (!again.ok()) break;
        if (!again->same()) prepared->meaning = std::move(again).value();
      }
      prepared_.push_back(std::move(prepared).value());
      passes_.report("lower", f + 1, forms_.size());
      if (f > 0) continue;
      // The baseline is at work already: its code comes before every other question.
      if (!prepared_[0].meaning.same()) return false;
      TRY_VOID(check_baseline());
      if (!candidates_[0].verdict.same()) return false;
      result.baseline_checked = true;
      if (options_.budget.check_only) break;
    }
    return true;
  }

  // Whether the form that this one would come for holds.
  [[nodiscard]] bool replaced(std::size_t f) const {
    return forms_[f].in_place_of && prepared_[*forms_[f].in_place_of].meaning.same();
  }
  // Of a form that nobody asks about.
  [[nodiscard]] static equiv::Checker::Prepared not_needed() {
    equiv::Checker::Prepared refused;
    refused.meaning.kind = equiv::Verdict::Kind::differs;
    refused.meaning.counterexample.emplace().why = "not asked: the same with less accurate functions holds";
    return refused;
  }

  // Of a form that does other things than the source in a branch that no point takes.
  [[nodiscard]] equiv::Checker::Prepared not_evident() const {
    equiv::Checker::Prepared refused;
    refused.meaning.kind = equiv::Verdict::Kind::differs;
    refused.meaning.counterexample.emplace().why = "no point was found that takes one of the source's branches";
    return refused;
  }

  [[nodiscard]] std::string print_meanings(bool) const {
    std::string text;
    for (std::size_t f = 0; f < forms_.size(); ++f)
      text += forms_[f].name + ": " + (f < prepared_.size() ? equiv::print(prepared_[f].meaning) : kUnchecked) + "\n";
    return text;
  }

  // One form more, perhaps, and whether there is one.
  Result<bool> refine_forms() {
    if (!passes_.enabled("careful")) return false;
    TRY(auto found, refine({source_, forms_, prepared_, *checker_, *second_looks_, options_, passes_}));
    if (!found) return false;
    forms_.push_back(std::move(found->form));
    prepared_.push_back(std::move(found->prepared));
    parts_checked_.push_back(false);
    return true;
  }
  [[nodiscard]] std::string print_refined(bool any) const {
    return any ? kir::print(forms_.back().kernel) : "no step holds\n";
  }

  // After the baseline, the forms' variants in turn from the most promising on, the boldest form first. What cannot be
  // emitted is one candidate less, the baseline aside.
  Result<std::size_t> emit_candidates() {
    std::vector<std::size_t> sound;
    std::vector<std::vector<codegen::Variant>> variants(forms_.size());
    std::size_t ranks = 0;
    for (std::size_t f = prepared_.size(); f-- > 0;) {
      if (!prepared_[f].meaning.same()) continue;
      variants[f] =
          codegen::variants(forms_[f].kernel, options_.target.isa, divider_of(options_.target.isa, options_.search));
      if (forms_[f].keeps_roundings && !sound.empty())
        variants[f].resize(std::min(variants[f].size(), kSourceVariants));
      ranks = std::max(ranks, variants[f].size());
      sound.push_back(f);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (const std::size_t f : sound) {
        if (rank >= variants[f].size() || passes_.spent()) continue;
        const codegen::Variant& variant = variants[f][rank];
        if (!wanted(variant) || (f == 0 && variant == kBaselineVariant)) continue;
        const auto emitted = emit(f, variant);
        if (!emitted.ok() && emitted.error().code == ErrorCode::kOsError) return emitted.error();
        if (!emitted.ok()) passes_.give_up(forms_[f].name + ", " + print_variant(variant), emitted.error());
      }
      passes_.report("emit", rank + 1, ranks);
    }
    return candidates_.size();
  }

  [[nodiscard]] std::string print_code(std::size_t) const {
    std::string text;
    for (const Candidate& c : candidates_) {
      auto lines = codegen::disassemble(c.code, options_.target.isa);
      text += "; " + name_of(c) + "\n" + (lines.ok() ? *lines : lines.error().message) + "\n";
    }
    return text;
  }

  // Which candidates do what their forms mean: their number.
  Result<std::size_t> check_candidates() {
    // However long the questions about meanings took: each candidate is quickly asked, and the plainest are the last.
    const std::uint64_t left = passes_.left_ns(), end = kEndTournaments * tournament_ns();
    check_end_ns_ = std::max(check_end_ns_, os::thread_work_ns() + left - std::min(left, end));
    std::vector<bool> asked(forms_.size(), false);
    asked[0] = true;  // by the baseline
    std::size_t sound = 1;
    for (std::size_t i = 1; i < candidates_.size(); ++i) {
      Candidate& c = candidates_[i];
      const auto checked = check_code(c, asked[c.form] ? equiv::Effort::brief : equiv::Effort::full);
      asked[c.form] = true;
      if (!checked.ok() && checked.error().code != ErrorCode::kCancelled) return checked.error();
      if (!checked.ok()) break;  // those checked so far go on to the judge
      sound += c.verdict.same() ? 1 : 0;
      passes_.report("equiv", i + 1, candidates_.size());
    }
    return sound;
  }

  [[nodiscard]] std::string print_verdicts(std::size_t) const {
    std::string text;
    for (const Candidate& c : candidates_)
      text += name_of(c) + ": " + (c.checked ? equiv::print(c.verdict) : kUnchecked) + "\n";
    return text;
  }

  // The measured winner, checked at every point (and, when it streams, in calls that do) before it may be one.
  Result<judge::Verdict> judge_candidates() {
    fill_workload();
    for (;;) {
      std::vector<std::size_t> entrants;
      for (std::size_t i = 0; i < candidates_.size(); ++i)
        if (candidates_[i].checked && candidates_[i].verdict.same()) entrants.push_back(i);
      TRY(judge::Verdict verdict, hold_tournament(entrants));
      if (!verdict.incumbent_ran()) {
        equiv::Counterexample e;
        e.why = "the baseline " + os::describe(verdict.ends[0]) + " while it was timed";
        e.elements = workload_.elements;
        candidates_[0].verdict.kind = equiv::Verdict::Kind::differs;
        candidates_[0].verdict.counterexample = std::move(e);
        return verdict;
      }
      for (std::size_t e = 0; e < entrants.size(); ++e) candidates_[entrants[e]].ratio = verdict.ratios[e];
      Candidate& winner = candidates_[entrants[verdict.winner]];
      verdict.winner = entrants[verdict.winner];
      if (!verdict.gain) return verdict;
      TRY_VOID(check_parts(winner.form));
      if (!winner.verdict.same()) continue;
      if (!winner.checked_fully) TRY_VOID(check_code(winner, equiv::Effort::full));
      if (winner.verdict.same()) return verdict;
    }
  }

  [[nodiscard]] std::string print_ratios(const judge::Verdict&) const {
    std::string text;
    char line[64];
    for (const Candidate& c : candidates_) {
      if (c.ratio == 0) continue;
      std::snprintf(line, sizeof line, "%8.3f  ", c.ratio);
      text += line + name_of(c) + "\n";
    }
    return text;
  }

  void conclude(const judge::Verdict& verdict) {
    if (!verdict.incumbent_ran()) return conclude_refused(verdict_of_baseline());
    result.baseline_ns = verdict.incumbent_ns;
    result.winner_ns = verdict.winner_ns;
    Candidate& winner = candidates_[verdict.winner];
    result.max_error_ulp = winner.verdict.max_error_ulp;
    result.detail = name_of(winner);
    result.outcome = verdict.gain ? Outcome::published : Outcome::no_gain;
    report_candidates();
    if (!verdict.gain) {
      result.note = "not optimised: " + why_no_gain();
      return;
    }
    result.winner = {std::move(forms_[winner.form].kernel), std::move(winner.code), winner.variant,
                     std::move(winner.image)};
  }

  // A bound for the winner, which conclude() has not taken apart yet, or for the source.
  Result<void> prove(const judge::Verdict& verdict) {
    const Form& form = forms_[verdict.gain ? candidates_[verdict.winner].form : 0];
    const bool source = &form == &forms_[0];
    TRY(result.bounds, equiv::prove_error(source_, source ? source_ : form.expr,
                                          source ? unrewritten(options_.target.policy) : form.how,
                                          {.cancelled = [this] { return passes_.spent(); }}));
    return {};
  }

  void conclude_refused(const equiv::Verdict& verdict) {
    result.outcome = Outcome::not_equivalent;
    result.max_error_ulp = verdict.max_error_ulp;
    result.detail = equiv::print(verdict);
    result.note = "withdrawn: the baseline differs from the reference";
    if (verdict.counterexample) result.note += ": " + verdict.counterexample->why;
    report_candidates();
  }

  // The passes ended early; the baseline stands, checked or not.
  void conclude_ended(const Error& end) {
    result.outcome = Outcome::budget_spent;
    result.detail = end.message;
    result.note =
        "not optimised: " + passes_.why_ended() + ", with " + std::to_string(submitted_.nodes.size()) + " operations";
  }
  [[nodiscard]] const equiv::Verdict& verdict_of_baseline() const {
    return prepared_[0].meaning.same() ? candidates_[0].verdict : prepared_[0].meaning;
  }

 private:
  // Forms and candidates that may have been faster, were there more time.
  [[nodiscard]] std::size_t unchecked() const {
    const auto late =
        std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return !c.checked; });
    return forms_.size() - prepared_.size() + static_cast<std::size_t>(late);
  }

  [[nodiscard]] std::string why_no_gain() const {
    const auto timed =
        std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.ratio > 0; });
    std::string text = timed <= 1 ? "nothing but the baseline could be measured"
                                  : "none of " + std::to_string(timed - 1) + " candidates beats the baseline";
    if (unchecked() != 0)
      text += "; " + std::to_string(unchecked()) + " were not checked within the limit of processor time";
    if (!passes_.given_up().empty())
      text += "; " + passes_.given_up().front().form + " was " + passes_.given_up().front().verdict;
    return text;
  }

  [[nodiscard]] bool wanted(const codegen::Variant& v) const {
    return (v.vectors == 1 || passes_.enabled("interleave")) && (!v.schedule || passes_.enabled("schedule")) &&
           (!v.non_temporal || passes_.enabled("non_temporal"));
  }

  [[nodiscard]] std::string name_of(const Candidate& c) const {
    return forms_[c.form].name + ", " + print_variant(c.variant);
  }

  Result<void> emit(std::size_t form, const codegen::Variant& variant) {
    TRY(codegen::MachineCode code, codegen::emit(forms_[form].kernel, options_.target.isa, variant));
    image::ImageBytes image =
        image::build(code, forms_[form].kernel, options_.target.isa, TRIDENT_TIER_OPTIMISED, key_);
    TRY_VOID(check_size(image));
    TRY(const os::Fd fd, image::seal(image));
    TRY(image::Mapped mapped, image::Mapped::map(fd));
    candidates_.push_back({form, variant, std::move(code), std::move(image), std::move(mapped), {}, false, false, 0});
    return {};
  }

  Result<void> check_baseline() {
    signature_ = judge::signature_of(forms_[0].kernel);
    key_ = options_.key ? *options_.key : expr_key(submitted_, options_.target, options_.search);
    TRY_VOID(emit(0, kBaselineVariant));
    return check_code(candidates_[0], equiv::Effort::full);
  }

  Result<void> check_code(Candidate& c, equiv::Effort effort) {
    TRY(c.verdict, checker_->check_code(prepared_[c.form], execute_in_sandbox(source_, signature_, c.mapped), effort));
    c.checked = true;
    c.checked_fully = effort == equiv::Effort::full;
    if (!c.checked_fully || !c.verdict.same() || !c.variant.non_temporal) return {};
    // The checker's own calls are shorter than those that stream.
    TRY(c.verdict, checker_->check_long_calls(prepared_[c.form], forms_[c.form].kernel,
                                              execute_in_sandbox(source_, signature_, c.mapped), streaming_elements()));
    return {};
  }

  // Asks once of a form whether it is careful in all its parts; if not, its candidates are out.
  Result<void> check_parts(std::size_t f) {
    if (forms_[f].keeps_roundings || parts_checked_[f]) return {};
    equiv::CheckOptions options;
    options.samples.seed = options_.search.seed;
    options.cancelled = [this] { return passes_.spent(); };
    TRY(const equiv::Verdict verdict, equiv::check_parts(source_, forms_[f].expr, forms_[f].how, options));
    parts_checked_[f] = true;
    if (verdict.same()) return {};
    for (Candidate& c : candidates_)
      if (c.form == f) c.verdict = verdict;
    return {};
  }

  // Elements of the shortest call in which non-temporal code streams.
  [[nodiscard]] std::uint64_t streaming_elements() const {
    std::uint64_t bytes = 0;
    for (const auto& output : signature_.outputs) bytes += output.scalar ? 0 : output.bytes;
    return (codegen::kStreamBytes + bytes - 1) / std::max<std::uint64_t>(bytes, 1);
  }

  [[nodiscard]] bool out_of_time() const { return passes_.spent() || os::thread_work_ns() >= check_end_ns_; }

  [[nodiscard]] std::uint64_t bytes_per_element() const {
    std::uint64_t bytes = 1;
    for (const auto& variable : source_.variables) bytes += ir::bytes_of(variable.type);
    for (const auto& output : signature_.outputs) bytes += output.bytes;
    return bytes;
  }
  [[nodiscard]] std::uint64_t workload_elements() const {
    return std::min(options_.target.elements, kWorkloadBytesMax / bytes_per_element());
  }
  [[nodiscard]] std::uint64_t tournament_ns() const {
    return std::max(kTournamentNs, workload_elements() * bytes_per_element() * kTournamentNsPerByte);
  }

  // Points of the uniform set, over and over, until the judge's call is filled.
  void fill_workload() {
    const equiv::Samples& points = checker_->sets()[0];
    workload_.elements = workload_elements();
    for (std::size_t v = 0; v < source_.variables.size(); ++v) {
      if (source_.variables[v].is_scalar()) continue;
      auto& column =
          columns_.emplace_back(static_cast<std::size_t>(workload_.elements) * ir::bytes_of(source_.variables[v].type));
      for (std::size_t at = 0; at < column.size();) {
        const std::size_t n = std::min(column.size() - at, points.columns[v].size());
        std::memcpy(column.data() + at, points.columns[v].data(), n);
        at += n;
      }
    }
    for (const auto& column : columns_) workload_.inputs.emplace_back(column);
    equiv::Call call = points.calls.front();
    call.table_length = std::min(workload_.elements, points.n);
    workload_.params = equiv::params_of(source_, points, call);
  }

  Result<judge::Verdict> hold_tournament(const std::vector<std::size_t>& entrants) {
    std::vector<const image::Mapped*> contestants;
    for (const std::size_t i : entrants) contestants.push_back(&candidates_[i].mapped);
    judge::TournamentRules rules;
    rules.cpu_ns = std::min(tournament_ns(), std::max<std::uint64_t>(passes_.left_ns(), 1));
    rules.cancelled = [this] { return passes_.spent(); };
    rules.progress = [this](std::size_t done, std::size_t total, double best) {
      passes_.report("judge", done, total, best);
    };
    return judge::hold_tournament(contestants, signature_, workload_, rules);
  }

  void report_candidates() {
    result.candidates.insert(result.candidates.end(), passes_.given_up().begin(), passes_.given_up().end());
    for (std::size_t f = prepared_.size(); f < forms_.size() && result.baseline_checked; ++f)
      result.candidates.push_back({forms_[f].name, {}, kUnchecked, false, 0});
    for (std::size_t f = 1; f < prepared_.size(); ++f)
      if (!prepared_[f].meaning.same() && !replaced(f))
        result.candidates.push_back({forms_[f].name, {}, equiv::print(prepared_[f].meaning), false, 0});
    for (const Candidate& c : candidates_)
      result.candidates.push_back({forms_[c.form].name, c.variant, c.checked ? equiv::print(c.verdict) : kUnchecked,
                                   c.checked && c.verdict.same(), c.ratio});
  }

  const expr::Expr& submitted_;
  const Options& options_;
  PassScope& passes_;
  expr::Expr source_;
  std::vector<Form> forms_;
  std::vector<bool> parts_checked_;  ///< per form
  judge::Signature signature_;
  image::Key key_{};
  std::vector<Candidate> candidates_;
  equiv::CheckOptions check_;
  std::unique_ptr<equiv::Checker> checker_;
  std::optional<SecondLooks> second_looks_;
  std::vector<equiv::Checker::Prepared> prepared_;  ///< per form whose meaning was checked in time
  std::uint64_t check_end_ns_ = 0;                  ///< of os::thread_work_ns(): of the checks at work
  std::vector<std::vector<std::byte>> columns_;
  judge::Workload workload_;
};

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
  return std::move(o.result);
}

}  // namespace trident::pipeline
