#include "jit/pipeline/speculate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "jit/codegen/speculative.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/rival.h"
#include "jit/pipeline/speculative_check.h"
#include "jit/pipeline/speculative_points.h"
#include "jit/pipeline/speculative_times.h"
#include "runtime/os/clock.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

constexpr std::uint32_t kChunk = 4096;  ///< under policies that do not fix the bits
/// The longest call that may be left to the general kernel because the driver costs too much there. Calls that can be
/// left to it are, where the driver seems to cost this much: what is measured again may be worse by a hundredth.
constexpr std::uint64_t kShortestMax = 4096;
constexpr double kShortLoss = 1.04;
constexpr std::uint32_t kScanVectors = 4;
constexpr int kPlacesMax = 3;

/// Returns the f64 before an end beyond 1, for which the upper halves of bits decide (jit/codegen/x86_ranges.h).
double before(ir::Type type, double end) {
  return type == ir::Type::f64 && std::fabs(end) > 1 && std::isfinite(end) ? std::nextafter(end, 0) : end;
}

/// `expr` with the assumed ranges, where they narrow the declared ones.
expr::Expr narrowed(const expr::Expr& expr, std::span<const kir::Assumed> assumed) {
  expr::Expr result = expr;
  for (std::size_t v = 0; v < assumed.size() && v < result.variables.size(); ++v) {
    expr::Variable& variable = result.variables[v];
    if (variable.is_table()) continue;
    const double lo = assumed[v].lo, hi = assumed[v].hi;
    if (lo > variable.lo) variable.lo = lo < 0 ? before(variable.type, lo) : lo;
    if (hi < variable.hi) variable.hi = hi > 0 ? before(variable.type, hi) : hi;
    if (variable.lo > variable.hi) variable = expr.variables[v];  // nothing that was promised was observed
  }
  return result;
}

/// Returns the range that the guard tests a variable for: one that is assumed and not promised.
kir::Assumed to_test(const expr::Variable& declared, const expr::Variable& assumed) {
  if (same_range(declared, assumed)) return {};
  return {assumed.lo, assumed.hi};
}

/// Returns whether the kernel, or a pass before it, reads input or parameter `number`.
bool reads(const kir::Kernel& kernel, kir::Op op, std::uint64_t number) {
  const auto names = [&](const kir::Inst& inst) { return inst.op == op && inst.imm == number; };
  return std::any_of(kernel.insts.begin(), kernel.insts.end(), names) ||
         std::any_of(kernel.before.begin(), kernel.before.end(),
                     [&](const kir::Kernel& before) { return reads(before, op, number); });
}

/// Takes back the ranges of variables that neither kernel reads: any value fits.
expr::Expr without_unread(const expr::Expr& expr, expr::Expr narrow, const kir::Kernel& a, const kir::Kernel& b) {
  std::uint64_t inputs = 0, params = 0;
  for (std::size_t v = 0; v < narrow.variables.size(); ++v) {
    const bool scalar = narrow.variables[v].is_scalar();
    const kir::Op op = scalar ? kir::Op::Param : kir::Op::Input;
    const std::uint64_t number = scalar ? params++ : inputs++;
    if (!reads(a, op, number) && !reads(b, op, number)) narrow.variables[v] = expr.variables[v];
  }
  return narrow;
}

/// Returns a kernel that reads the elements of a call and computes nothing; a guard gives it its use.
kir::Kernel scan_for(const kir::Kernel& kernel) {
  kir::Kernel scan;
  scan.inputs = kernel.inputs, scan.params = kernel.params;
  return scan;
}

Result<void> add_guard(kir::Kernel& kernel, const expr::Expr& expr, const expr::Expr& narrow) {
  std::vector<kir::Assumed> inputs, params;
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    auto& list = expr.variables[v].is_scalar() ? params : inputs;
    list.push_back(to_test(expr.variables[v], narrow.variables[v]));
  }
  params.resize(kernel.params.size());  // behind the scalars, lengths of tables
  if (!kir::guard(kernel, inputs, params))
    return make_error(ErrorCode::kUnsupported, "the assumed ranges leave nothing to test");
  return kir::check(kernel);
}

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

bool loses(const SpeculationTime& time, double loss = kSpeculationLoss) {
  return std::max(time.matching, time.missing) > loss || time.few > kSpeculationLossOfFew;
}

std::string describe_loss(const SpeculationTime& time) {
  const double most = std::max({time.matching, time.missing, time.few});
  const char* const data = most == time.matching  ? "data in the ranges"
                           : most == time.missing ? "data that never fit"
                                                  : "data of which some do not fit";
  char text[160];
  std::snprintf(text, sizeof text,
                "it loses too much in calls of %llu elements: %.2f of the general kernel's time on %s",
                static_cast<unsigned long long>(time.elements), most, data);
  return text;
}

/// Returns the shape that won without a guard, and others of the same code.
std::vector<codegen::Variant> shapes_to_time(const codegen::Variant& winner) {
  std::vector<codegen::Variant> shapes = {winner};
  for (const std::uint8_t vectors : {std::uint8_t{2}, std::uint8_t{4}}) {
    codegen::Variant shape = winner;
    shape.vectors = vectors;
    if (shape != winner) shapes.push_back(shape);
  }
  return shapes;
}

/// Longer calls than this are to show what memory costs.
constexpr std::uint64_t kCachedLength = 65'536;
/// Time of a long call that is enough to show it.
constexpr double kLongCallNs = 10e6;

double bytes_of_element(const judge::Signature& signature) {
  double bytes = 0;
  for (const auto input : signature.input_bytes) bytes += static_cast<double>(input);
  for (const auto& output : signature.outputs) bytes += static_cast<double>(output.bytes);
  return bytes;
}

/// Returns how long a long call need be, by the time of a shorter one. Where each byte takes a nanosecond, memory has
/// no part in the time, and a million elements would take longer than most searches.
std::uint64_t enough_elements(std::uint64_t elements, const judge::Signature& signature,
                              const SpeculationTime& shorter) {
  const double each_ns = shorter.general_ns / static_cast<double>(shorter.elements);
  const std::uint64_t least = std::max(kCachedLength, shorter.elements);
  const bool waits_for_memory = !(each_ns > bytes_of_element(signature));
  const bool is_short = elements <= least || !(each_ns * static_cast<double>(elements) > kLongCallNs);
  if (waits_for_memory || is_short) return elements;
  return std::max(least, static_cast<std::uint64_t>(kLongCallNs / each_ns));
}

std::string describe_small_gain(double matching) {
  char text[120];
  std::snprintf(text, sizeof text, "it gains too little on data in the ranges: %.2f of the general kernel's time",
                matching);
  return text;
}

class Speculating {
 public:
  Speculating(const expr::Expr& expr, const expr::Expr& narrow, const Options& options, std::uint64_t left_ns,
              Optimised& result)
      : expr_(expr),
        narrow_(narrow),
        options_(options),
        left_ns_(left_ns),
        result_(result),
        told_(*result.speculation) {}

  // The spine. Returns the reason why nothing is published; empty: it is.
  Result<std::string> run() {
    // There are two kernels with one signature, each checked by itself where it is to run.
    if (left_ns_ == 0) return std::string("the general search has used up the limit of processor time");
    TRY_VOID(take_general());
    if (kir::converts_elements(general_.kernel))
      return std::string("kernels with narrow elements are not made for assumed ranges");
    TRY(std::string why, find_fast());
    if (!why.empty()) return why;

    // One image has both. It pays on data in the ranges, and costs little on others, or there is none.
    TRY(why, timed("guarded judge", [&] { return choose_division(); }));
    if (!why.empty()) return why;

    // It does what its parts mean. (It has only run in sandboxed children so far.)
    const bool exact = options_.target.policy.kind == expr::PolicyKind::exact;
    TRY(why, timed("guarded check", [&] {
          return fault_of_speculative({expr_, tested_, fast_.kernel, general_.kernel, joined_->mapped, division_,
                                       whole_, exact, options_.search.seed});
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

  Result<void> take_general() {
    if (result_.outcome == Outcome::published) {
      general_ = result_.winner;
    } else {
      TRY(general_, compile_baseline(expr_, options_));
    }
    TRY(general_map_, mapped(general_.image));
    return {};
  }

  /// Optimises within the assumed ranges. Nobody gets that kernel as it is: it has no guard.
  Result<std::string> find_fast() {
    Options inner;
    inner.target = options_.target;
    inner.target.assumed.clear();
    inner.budget = options_.budget;
    inner.budget.cpu_ns = left_ns_;
    inner.search = options_.search;
    const Rival rival{*general_map_, kSpeculationGain, general_.variant};
    inner.rival = &rival;
    TRY(Optimised fast, optimise(narrow_, inner));
    for (const PassTime& pass : fast.times) result_.times.push_back({"assumed " + pass.pass, pass.ns, pass.work_ns});
    if (fast.outcome != Outcome::published) return "nothing faster was found in the assumed ranges: " + fast.note;
    fast_ = std::move(fast.winner);
    fast_errors_ = fast.errors;
    fast_detail_ = fast.detail;
    whole_ = !codegen::runs_in_parts(general_.kernel) || !codegen::runs_in_parts(fast_.kernel);
    tested_ = without_unread(expr_, narrow_, general_.kernel, fast_.kernel);
    guarded_ = whole_ ? scan_for(general_.kernel) : fast_.kernel;
    TRY_VOID(add_guard(guarded_, expr_, tested_));
    told_.guard = kir::print(guarded_);
    return std::string();
  }

  /// Both kernels stream in long calls, or none does: in memory, one that does not takes half as long again.
  Result<codegen::MachineCode> join_parts(codegen::Isa isa) {
    division_.streams = streams_ || fast_.variant.non_temporal || general_.variant.non_temporal;
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

  Result<void> join() {
    const codegen::Isa isa = options_.target.isa;
    TRY(codegen::MachineCode code, whole_ ? join_whole(isa) : join_parts(isa));
    const image::Key key = options_.key ? *options_.key : expr_key(expr_, options_.target, options_.search);
    image::ImageBytes image = image::build_speculative(code, image::counts_of(general_.kernel), isa, key);
    TRY_VOID(check_size(image));
    TRY(image::Mapped map, mapped(image));
    joined_.emplace(Joined{std::move(code), std::move(image), std::move(map)});
    return {};
  }

  /// Times all lengths. Where calls of some length lose, those up to the next length are left to the general kernel.
  Result<std::string> choose_division();

  /// The general kernel does short calls, after one jump. Where they seem to take longer all the same, it was not the
  /// code: 4.1 was measured once in four runs, in all tries of one mapping. Another mapping is tried; clients have
  /// theirs.
  Result<void> join_for_short_calls(std::uint64_t shortest);

  /// Joins the fast kernel in the shape that is fastest with its guard. The stores of a step wait for the guard, so
  /// fewer vectors at once than without one may be what fits into the registers. Returns why there is no gain, or
  /// nothing.
  Result<std::string> take_fastest_shape();

  Result<void> time_below(std::uint64_t end) {
    const judge::Signature signature = judge::signature_of(general_.kernel);
    const Rivals rivals{expr_, tested_, signature, *general_map_, joined_->mapped, options_, whole_};
    const std::vector<std::uint64_t> lengths = timed_lengths(rivals);
    told_.times.resize(lengths.size());
    for (std::size_t i = 0; i < lengths.size() && lengths[i] < end; ++i) {
      const std::uint64_t elements = i == 0 ? lengths[i] : enough_elements(lengths[i], signature, told_.times[i - 1]);
      TRY(told_.times[i], time_speculative(rivals, elements));
    }
    told_.shortest = division_.shortest;
    return {};
  }

  /// Returns whether long calls alone lose, with stores that could stream.
  [[nodiscard]] bool loses_in_memory() const {
    const bool could_stream = !whole_ && !division_.streams && options_.target.isa != codegen::Isa::neon;
    return could_stream && told_.times.back().elements > kShortestMax && loses(told_.times.back());
  }

  /// The time of calls that are as long as most are said to be.
  [[nodiscard]] const SpeculationTime& usual() const {
    const std::uint64_t elements = std::min(options_.target.elements, told_.times.back().elements);
    return *std::find_if(told_.times.begin(), told_.times.end(),
                         [&](const SpeculationTime& time) { return time.elements >= elements; });
  }

  void publish() {
    result_.outcome = Outcome::published;
    result_.winner_ns *= usual().matching;
    take_greater(result_.errors, fast_errors_);
    result_.detail = "guarded " + fast_detail_;
    result_.winner = {whole_ ? std::move(fast_.kernel) : std::move(guarded_), std::move(joined_->code), fast_.variant,
                      std::move(joined_->image)};
    result_.note.clear();
  }

  const expr::Expr &expr_, &narrow_;
  expr::Expr tested_;  ///< with the ranges that the guard tests
  const Options& options_;
  std::uint64_t left_ns_;
  Optimised& result_;
  Speculation& told_;
  Compiled general_, fast_;
  std::optional<image::Mapped> general_map_;
  equiv::Verdict fast_errors_;
  std::string fast_detail_;
  bool whole_ = false;   ///< a call is one kernel's as a whole
  kir::Kernel guarded_;  ///< the fast kernel with its guard; of whole calls the scan
  codegen::Division division_;
  bool streams_ = false;  ///< both kernels stream, whether or not one did that won
  std::optional<Joined> joined_;
  std::vector<Joined> places_;  ///< of images that were timed before
};

Result<std::string> Speculating::choose_division() {
  division_.chunk = whole_ || options_.target.policy.kind == expr::PolicyKind::exact ? 0 : kChunk;
  // Most that are refused gain nothing on the data that they are for: no other data or lengths are timed then.
  TRY(std::string why, take_fastest_shape());
  if (!why.empty()) return why;
  TRY_VOID(time_below(UINT64_MAX));
  if (loses_in_memory()) {
    streams_ = true;
    TRY_VOID(join());
    TRY_VOID(time_below(UINT64_MAX));
  }
  const std::uint64_t leave_max = std::min(kShortestMax, options_.target.elements);
  std::uint64_t shortest = 0;
  for (std::size_t i = 0; i < told_.times.size(); ++i) {
    const bool may_leave = i + 1 < told_.times.size() && told_.times[i + 1].elements <= leave_max;
    if (!loses(told_.times[i], may_leave ? kShortLoss : kSpeculationLoss)) continue;
    if (!may_leave) return describe_loss(told_.times[i]);
    shortest = told_.times[i + 1].elements;
  }
  if (shortest != 0) {
    division_.shortest = static_cast<std::uint32_t>(shortest);
    TRY_VOID(join_for_short_calls(shortest));
    const auto lost =
        std::find_if(told_.times.begin(), told_.times.end(), [](const SpeculationTime& time) { return loses(time); });
    if (lost != told_.times.end()) return describe_loss(*lost);
  }
  return usual().matching > kSpeculationGain ? describe_small_gain(usual().matching) : std::string();
}

Result<void> Speculating::join_for_short_calls(std::uint64_t shortest) {
  for (int tries = 0; tries < kPlacesMax; ++tries) {
    TRY_VOID(join());
    TRY_VOID(time_below(shortest));
    const auto short_one = [&](const SpeculationTime& time) { return time.elements < shortest && loses(time); };
    if (std::none_of(told_.times.begin(), told_.times.end(), short_one) || tries + 1 == kPlacesMax) break;
    places_.push_back(std::move(*joined_));  // so that the next mapping lies elsewhere
  }
  return {};
}

Result<std::string> Speculating::take_fastest_shape() {
  const judge::Signature signature = judge::signature_of(general_.kernel);
  codegen::Variant fastest = fast_.variant;
  double least = std::numeric_limits<double>::infinity();
  // The fast kernel of whole calls has no guard: its shape is the winner's.
  for (const codegen::Variant& shape : whole_ ? std::vector{fastest} : shapes_to_time(fastest)) {
    fast_.variant = shape;
    TRY_VOID(join());
    TRY(const double matching,
        time_matching({expr_, tested_, signature, *general_map_, joined_->mapped, options_, whole_}));
    if (matching < least) least = matching, fastest = shape;
  }
  fast_.variant = fastest;
  TRY_VOID(join());
  return least > kSpeculationGain ? describe_small_gain(least) : std::string();
}

/// Speculates on an expression without Diff.
Result<std::string> why_refused(const expr::Expr& expr, const expr::Expr& narrow, const Options& options,
                                std::uint64_t left_ns, Optimised& result) {
  TRY_VOID(expr::check(narrow));
  return Speculating(expr, narrow, options, left_ns, result).run();
}

}  // namespace

void speculate(const expr::Expr& expr, const Options& options, std::uint64_t left_ns, Optimised& result) {
  const expr::Expr narrow = narrowed(expr, options.target.assumed);
  const bool narrows = !std::equal(expr.variables.begin(), expr.variables.end(), narrow.variables.begin(), same_range);
  const bool right = result.outcome == Outcome::published || result.outcome == Outcome::no_gain;
  if (!narrows || !right || !result.baseline_checked || options.budget.check_only) return;
  result.speculation.emplace();
  const Result<std::string> why = why_refused(expr, narrow, options, left_ns, result);
  result.speculation->refused = why.ok() ? *why : why.error().message;
  result.speculation->published = why.ok() && why->empty();
}

}  // namespace trident::pipeline
