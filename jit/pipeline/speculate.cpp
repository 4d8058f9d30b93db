#include "jit/pipeline/speculate.h"

#include <algorithm>
#include <optional>

#include "jit/codegen/speculative.h"
#include "jit/kir/early_end.h"
#include "jit/pipeline/assumed_ranges.h"
#include "jit/pipeline/deadline.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/rival.h"
#include "jit/pipeline/speculative_check.h"
#include "jit/pipeline/speculative_division.h"
#include "jit/pipeline/speculative_points.h"
#include "jit/pipeline/speculative_times.h"
#include "runtime/os/clock.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

constexpr std::uint32_t kScanVectors = 4;
/// Share of the processor time for the kernel of the ranges: the rest joins both, times and checks that.
constexpr double kFastShare = 0.7;

/// An image of both kernels, under test.
struct Joined {
  codegen::MachineCode code;
  image::ImageBytes image;
  image::Mapped mapped;
};

Result<image::Mapped> mapped(const image::ImageBytes& image) {
  TRY(const os::Fd fd, image::seal(image));
  return image::Mapped::map(fd);
}

/// Both kernels may answer: the greater errors count.
void take_greater(equiv::Verdict& errors, const equiv::Verdict& other) {
  errors.max_error_ulp = std::max(errors.max_error_ulp, other.max_error_ulp);
  errors.bound_share = std::max(errors.bound_share, other.bound_share);
  errors.either_side = std::max(errors.either_side, other.either_side);
}

double bytes_of_element(const judge::Signature& signature) {
  double bytes = 0;
  for (const auto input : signature.input_bytes) bytes += static_cast<double>(input);
  for (const auto& output : signature.outputs) bytes += static_cast<double>(output.bytes);
  return bytes;
}

class Speculating {
 public:
  Speculating(const expr::Expr& expr, const expr::Expr& narrow, const Options& options, std::uint64_t left_ns,
              Optimised& result, std::optional<FastKernel>& found)
      : expr_(expr),
        narrow_(narrow),
        options_(options),
        left_ns_(left_ns),
        end_({.work_ns = left_ns}),
        result_(result),
        told_(*result.speculation),
        found_(found) {}

  // The spine. Returns the reason why nothing is published; empty: it is.
  Result<std::string> run() {
    // There are two kernels with one signature, each checked by itself where it is to run.
    if (left_ns_ == 0) return std::string("the general search has used up the limit of processor time");
    TRY_VOID(take_general());
    if (kir::converts_elements(general_.kernel))
      return std::string("kernels with narrow elements are not made for assumed ranges");
    if (kir::first_pass_ends_early(general_.kernel))
      return std::string("the kernel ends early, and a scan of its inputs would read all of them");
    std::string why;
    if (!found_) {
      TRY(why, find_fast());
    }
    if (!why.empty()) return why;
    end_ = Deadline::later(end_, Deadline({.work_ns = join_ns()}));
    if (needs_no_ranges(found_->compiled, general_.kernel, options_.target.isa))
      return std::string("the assumed ranges lead to no other operations");
    TRY_VOID(guard_fast());

    // One image has both. It pays on data in the ranges, and costs little on others, or there is none.
    TRY(why, timed("guarded judge", [&] { return choose_join(); }));
    if (!why.empty()) return why;

    // It does what its parts mean. (It has only run in sandboxed children so far.)
    const bool exact = options_.target.policy.kind == expr::PolicyKind::exact;
    TRY(why, timed("guarded check", [&] {
          SpeculativeQuestion q{expr_,     tested_, fast_.kernel, general_.kernel,     joined_->mapped,
                                division_, whole_,  exact,        options_.search.seed};
          q.cancelled = [this] { return late(); };
          return fault_of_speculative(q);
        }));
    if (!why.empty()) return "the check as a whole found a fault: " + why;
    publish();
    return why;
  }

 private:
  /// Does `step` and adds its time to the result's.
  template <class Step>
  Result<std::string> timed(const char* name, Step step) {
    const std::uint64_t begin_ns = os::monotonic_ns(), begin_work_ns = os::thread_work_ns();
    auto why = step();
    result_.times.push_back({name, os::monotonic_ns() - begin_ns, os::thread_work_ns() - begin_work_ns});
    return why;
  }

  [[nodiscard]] std::uint64_t join_ns() const {
    const std::uint64_t all_ns = options_.budget.cpu_ns != 0 ? options_.budget.cpu_ns : kDefaultBudgetNs;
    return static_cast<std::uint64_t>(kJoinShare * static_cast<double>(all_ns));
  }

  [[nodiscard]] bool late() {
    return end_.reached() || (options_.budget.cancelled != nullptr && options_.budget.cancelled->load());
  }
  /// Ends the speculation between two measurements.
  Result<void> go_on() {
    if (late()) return make_error(ErrorCode::kCancelled, "the limit of processor time was reached while it was timed");
    return {};
  }

  Result<void> take_general() {
    if (result_.outcome == Outcome::published) {
      general_ = result_.winner;
    } else {
      TRY(general_, compile_baseline(expr_, options_));
    }
    told_.general = general_.image;
    TRY(general_map_, mapped(general_.image));
    return {};
  }

  /// Optimises within the assumed ranges. Nobody gets that kernel as it is: it has no guard.
  Result<std::string> find_fast() {
    Options inner;
    inner.target = options_.target;
    inner.target.assumed.clear();
    inner.budget = options_.budget;
    inner.budget.cpu_ns = static_cast<std::uint64_t>(kFastShare * static_cast<double>(left_ns_));
    inner.search = options_.search;
    const Rival rival{*general_map_, kSpeculationGain, general_.variant};
    inner.rival = &rival;
    TRY(Optimised fast, optimise(narrow_, inner));
    for (const PassTime& pass : fast.times) result_.times.push_back({"assumed " + pass.pass, pass.ns, pass.work_ns});
    if (fast.outcome != Outcome::published) return "nothing faster was found in the assumed ranges: " + fast.note;
    found_.emplace(FastKernel{std::move(fast.winner), fast.errors, fast.detail});
    return std::string();
  }

  Result<void> guard_fast() {
    fast_ = found_->compiled;
    whole_ = !codegen::runs_in_parts(general_.kernel) || !codegen::runs_in_parts(fast_.kernel);
    tested_ = without_unread(expr_, narrow_, general_.kernel, fast_.kernel);
    guarded_ = whole_ ? scan_for(general_.kernel) : fast_.kernel;
    TRY_VOID(add_guard(guarded_, expr_, tested_));
    told_.guard = kir::print(guarded_);
    return {};
  }

  /// Both kernels stream in long calls, or none does: in memory, one that does not takes half as long again.
  Result<codegen::MachineCode> join_parts(codegen::Isa isa) {
    const auto part = [&](const kir::Kernel& kernel, codegen::Variant variant) {
      variant.part = variant.non_temporal = division_.streams;
      return codegen::emit(kernel, isa, variant);
    };
    TRY(const codegen::MachineCode fast, part(guarded_, fast_.variant));
    TRY(const codegen::MachineCode general, part(general_.kernel, general_.variant));
    return codegen::join_speculative(fast, general, codegen::array_bytes(general_.kernel), division_, isa);
  }

  Result<codegen::MachineCode> join_whole(codegen::Isa isa) {
    TRY(const codegen::MachineCode scan, codegen::emit(guarded_, isa, {.vectors = kScanVectors}));
    return codegen::join_selected({scan, fast_.code, general_.code}, division_.shortest, isa);
  }

  Result<void> join(const JoinPlan& plan) {
    if (plan.elsewhere) places_.push_back(std::move(*joined_));
    fast_.variant = plan.shape, division_ = plan.division;
    const codegen::Isa isa = options_.target.isa;
    TRY(codegen::MachineCode code, whole_ ? join_whole(isa) : join_parts(isa));
    const image::Key key = options_.key ? *options_.key : expr_key(expr_, options_.target, options_.search);
    image::ImageBytes image = image::build_speculative(code, image::counts_of(general_.kernel), isa, key);
    TRY_VOID(check_size(image));
    TRY(image::Mapped map, mapped(image));
    joined_.emplace(Joined{std::move(code), std::move(image), std::move(map)});
    return {};
  }

  /// Joins by measured times. Returns why that is not to be published, or nothing.
  Result<std::string> choose_join() {
    const judge::Signature signature = judge::signature_of(general_.kernel);
    const auto rivals = [&] {
      return Rivals{expr_, tested_, signature, *general_map_, joined_->mapped, options_, whole_};
    };
    const DivisionTrials trials = {.join = [&](const JoinPlan& plan) -> Result<void> {
                                     TRY_VOID(go_on());
                                     return join(plan);
                                   },
                                   .time_matching = [&] { return time_matching(rivals()); },
                                   .time = [&](std::uint64_t elements) -> Result<SpeculationTime> {
                                     TRY_VOID(go_on());
                                     return time_speculative(rivals(), elements);
                                   }};
    TRY(DivisionChoice choice, choose_division(question(signature), trials));
    told_.times = std::move(choice.times);
    told_.shortest = division_.shortest;
    return choice.refused;
  }

  [[nodiscard]] DivisionQuestion question(const judge::Signature& signature) const {
    return {.shape = fast_.variant,
            .whole = whole_,
            .exact = options_.target.policy.kind == expr::PolicyKind::exact,
            .streams = !whole_ && (fast_.variant.non_temporal || general_.variant.non_temporal),
            .can_stream = options_.target.isa != codegen::Isa::neon,
            .usual_elements = options_.target.elements,
            .element_bytes = bytes_of_element(signature),
            .lengths = timed_lengths(expr_, signature, options_.target.elements)};
  }

  void publish() {
    result_.outcome = Outcome::published;
    result_.winner_ns *= usual_time(told_.times, options_.target.elements).matching;
    take_greater(result_.errors, found_->errors);
    result_.detail = "guarded " + found_->detail;
    result_.winner = {whole_ ? std::move(fast_.kernel) : std::move(guarded_), std::move(joined_->code), fast_.variant,
                      std::move(joined_->image)};
    result_.note.clear();
  }

  const expr::Expr &expr_, &narrow_;
  expr::Expr tested_;  ///< with the ranges that the guard tests
  const Options& options_;
  std::uint64_t left_ns_;
  Deadline end_;
  Optimised& result_;
  Speculation& told_;
  std::optional<FastKernel>& found_;
  Compiled general_, fast_;
  std::optional<image::Mapped> general_map_;
  bool whole_ = false;   ///< a call is one kernel's as a whole
  kir::Kernel guarded_;  ///< the fast kernel with its guard; of whole calls the scan
  codegen::Division division_;
  std::optional<Joined> joined_;
  std::vector<Joined> places_;  ///< of images that were timed before
};

/// Speculates on an expression without Diff.
Result<std::string> why_refused(const expr::Expr& expr, const expr::Expr& narrow, const Options& options,
                                std::uint64_t left_ns, Optimised& result, std::optional<FastKernel>& fast) {
  TRY_VOID(expr::check(narrow));
  return Speculating(expr, narrow, options, left_ns, result, fast).run();
}

}  // namespace

bool needs_no_ranges(const Compiled& fast, const kir::Kernel& general, codegen::Isa isa) {
  const auto code = codegen::emit(general, isa, fast.variant);
  return code.ok() && code->bytes == fast.code.bytes;
}

void speculate(const expr::Expr& expr, const Options& options, std::uint64_t left_ns, Optimised& result,
               std::optional<FastKernel>& fast) {
  const expr::Expr narrow = narrowed(expr, options.target.assumed);
  const bool narrows = !std::equal(expr.variables.begin(), expr.variables.end(), narrow.variables.begin(), same_range);
  const bool wrong = result.outcome == Outcome::not_equivalent;
  if (!narrows || wrong || !result.baseline_checked || options.budget.check_only) return;
  result.speculation.emplace();
  const Result<std::string> why = why_refused(expr, narrow, options, left_ns, result, fast);
  result.speculation->refused = why.ok() ? *why : why.error().message;
  result.speculation->published = why.ok() && why->empty();
}

}  // namespace trident::pipeline
