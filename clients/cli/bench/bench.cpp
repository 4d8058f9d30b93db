#include "clients/cli/bench/bench.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "clients/cli/bench/answers.h"
#include "clients/cli/bench/bench_figures.h"
#include "clients/cli/bench/c_source.h"
#include "clients/cli/bench/numexpr_peer.h"
#include "clients/cli/bench/offers.h"
#include "clients/cli/bench/timing.h"
#include "jit/expr/builder.h"
#include "jit/expr/shape.h"
#include "jit/image/image.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/observed.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"
#include "runtime/os/cpu_quota.h"
#include "runtime/os/interrupt.h"
#include "runtime/report/progress_bar.h"

namespace trident::cli {
namespace {

/// A kernel on its way through the benchmark.
struct Candidate {
  const corpus::CorpusKernel* source = nullptr;
  expr::Expr expr;
  std::vector<expr::Variable> sampled;  ///< expr's variables with the ranges that inputs are drawn from
  std::string failure;
  std::size_t first_build = 0;  ///< index of the first of its builds, one per compiler
  std::size_t copy_build = 0;
};

/// The kernel that moves the same streams and computes next to nothing: every output is the sum of the inputs.
expr::Expr copy_of(const expr::Expr& e) {
  expr::Expr copy;
  copy.variables = e.variables;
  expr::Builder b(copy);
  const std::vector<expr::Shape> shapes = expr::shapes_of(e);
  for (const expr::Output& output : e.outputs) {
    const ir::Type type =
        ir::is_mask(e.at(output.node).type) ? ir::int_of(e.at(output.node).type) : e.at(output.node).type;
    expr::NodeId sum = ir::is_float(type) ? b.constant(type, 0) : b.constant_int(type, 0);
    for (std::uint32_t v = 0; v < e.variables.size(); ++v) {
      if (e.variables[v].kind != expr::VariableKind::array) continue;
      expr::NodeId value = b.variable(v);
      if (b.type_of(value) != type) value = b.cast(type, value);
      sum = b.op(expr::Op::Add, sum, value);
    }
    const bool total = shapes[output.node.index] == expr::Shape::total;
    copy.outputs.push_back({output.name, total ? b.op(expr::Op::Sum, sum) : sum});
  }
  return copy;
}

Compiler copy_compiler(codegen::Isa isa, const std::vector<Compiler>& compilers) {
  Compiler c = compilers[0];
  c.name = "copy";
  c.pinned = false;
  c.flags.emplace_back(isa == codegen::Isa::avx512 ? "-mprefer-vector-width=512" : "-mprefer-vector-width=256");
  return c;
}

/// Our side of one kernel: two tiers mapped as a client would map them, the optimised one once more without what
/// BenchOptions::disabled names, and the interpreter's form.
struct Ours {
  pipeline::Compiled baseline, best;
  bool optimised = false, speculates = false;
  std::string why_not_speculating;
  double first_s = 0, optimise_s = 0, missing = 0;
  std::optional<image::Mapped> baseline_code, best_code, without_code;
  std::optional<kir::Plan> interpreted;
};

Result<image::Mapped> map_image(const image::ImageBytes& bytes) {
  TRY(const os::Fd fd, image::seal(bytes));
  return image::Mapped::map(fd);
}

/// Seconds that the passes took, without those of a speculation: the general kernel is in use by then.
double seconds_of(const std::vector<pipeline::PassTime>& times) {
  std::uint64_t ns = 0;
  for (const pipeline::PassTime& time : times)
    if (!time.pass.starts_with("assumed ") && !time.pass.starts_with("guarded ")) ns += time.ns;
  return 1e-9 * static_cast<double>(ns);
}

/// Returns the seconds to the general kernel that `optimised` ended with: all that the search took where it was not
/// offered, as where the last one is better still, or nothing is.
double seconds_to_last(const Offers& offers, const pipeline::Optimised& optimised) {
  const bool guarded = optimised.speculation && optimised.speculation->published;
  const bool offered = offers.any() && (guarded || offers.is_last(optimised.winner.image.bytes));
  return offered ? offers.last_s() : seconds_of(optimised.times);
}

void take_speculation(const std::optional<pipeline::Speculation>& speculation, Ours& ours) {
  if (speculation) ours.why_not_speculating = speculation->refused;
  if (!speculation || !speculation->published) return;
  ours.speculates = true;
  for (const pipeline::SpeculationTime& time : speculation->times) ours.missing = std::max(ours.missing, time.missing);
}

/// `seen`: ranges of the inputs that nothing is promised of; none: no speculation.
Result<std::unique_ptr<Ours>> compile_ours(const expr::Expr& e, std::span<const kir::Assumed> seen,
                                           const BenchOptions& options) {
  pipeline::Options o;
  o.target = {
      .isa = options.isa, .policy = options.policy, .elements = options.n, .assumed = pipeline::widened(e, seen)};
  o.search = {.seed = options.seed, .rules = options.rules};
  o.budget.two_threads = os::affordable_cpus() > 1;  // as in the daemon
  auto ours = std::make_unique<Ours>();
  TRY(ours->baseline, pipeline::compile_baseline(e, o));
  Offers offers;
  const std::uint64_t begin_ns = os::monotonic_ns();
  o.interim = [&](const pipeline::Interim& offer) {
    if (!offer.guarded) offers.take(offer.image.bytes, os::monotonic_ns() - begin_ns);
  };
  TRY(pipeline::Optimised optimised, pipeline::optimise(e, o));
  o.interim = {};
  ours->optimise_s = seconds_to_last(offers, optimised);
  ours->first_s = offers.any() ? offers.first_s() : ours->optimise_s;
  take_speculation(optimised.speculation, *ours);
  if (optimised.outcome == pipeline::Outcome::not_equivalent)
    return make_error(ErrorCode::kNotEquivalent, "Trident's baseline kernel is wrong: %s", optimised.detail.c_str());
  ours->optimised = optimised.outcome == pipeline::Outcome::published;
  ours->best = ours->optimised ? std::move(optimised.winner) : ours->baseline;
  TRY(image::Mapped baseline, map_image(ours->baseline.image));
  TRY(image::Mapped best, map_image(ours->best.image));
  ours->baseline_code.emplace(std::move(baseline));
  ours->best_code.emplace(std::move(best));
  if (!options.disabled.empty()) {
    o.search.disabled = options.disabled;
    TRY(const pipeline::Optimised less, pipeline::optimise(e, o));
    TRY(image::Mapped without,
        map_image(less.outcome == pipeline::Outcome::published ? less.winner.image : ours->baseline.image));
    ours->without_code.emplace(std::move(without));
  }
  expr::LowerOptions lower;
  lower.policy = options.policy;
  lower.simplify = false;
  TRY(const kir::Kernel kernel, expr::lower(e, lower));
  ours->interpreted.emplace(kir::Plan::prepare(kernel, interpreter_level(options.isa)));
  return ours;
}

std::string describe(const codegen::Variant& v, codegen::Isa isa) {
  const unsigned bits = v.vector_bits != 0            ? v.vector_bits
                        : isa == codegen::Isa::avx512 ? 512
                        : isa == codegen::Isa::avx2   ? 256
                                                      : 128;
  std::string text = std::to_string(v.vectors) + " x " + std::to_string(bits) + " bits";
  if (!v.schedule) text += ", unscheduled";
  if (v.lockstep) text += ", in step";
  if (v.underflow_apart) text += ", underflow apart";
  if (v.non_temporal) text += ", streaming";
  return text;
}

std::optional<LoopProfile> profile_ours(const Ours& ours, codegen::Isa isa) {
  const auto text = codegen::disassemble(ours.best.code, isa);
  if (!text) return std::nullopt;
  auto profile = profile_main_loop(*text);
  return profile ? std::optional(*profile) : std::nullopt;
}

std::optional<LoopProfile> profile_object(const std::string& object) {
  const auto text = disassemble_object(object);
  if (!text) return std::nullopt;
  auto profile = profile_main_loop(*text);
  return profile ? std::optional(*profile) : std::nullopt;
}

Result<expr::Expr> expr_of(const corpus::CorpusKernel& kernel, const BenchOptions& options) {
  TRY(const expr::Expr parsed, corpus::parse_definition_under(options.policy, kernel, options.type));
  const auto is_narrow = [](const auto& array) { return array.storage != expr::Storage::own; };
  if (std::ranges::any_of(parsed.variables, is_narrow) || std::ranges::any_of(parsed.outputs, is_narrow))
    return make_error(
        ErrorCode::kUnsupported,
        "compilers here get arrays of f32, f64, i32 and i64 only; `make bench NAME=pixels` compares others");
  return expr::eliminate_derivatives(parsed);
}

class Bench {
 public:
  Bench(const std::vector<corpus::CorpusKernel>& kernels, const BenchOptions& options) : options_(options) {
    result_.options = options;
    result_.cpu = os::cpu_name();
    for (const corpus::CorpusKernel& k : kernels) {
      Candidate c;
      c.source = &k;
      if (auto e = expr_of(k, options); e.ok())
        c.expr = std::move(*e);
      else
        c.failure = e.error().message;
      c.sampled = c.expr.variables;
      if (!options.promise_ranges)
        for (expr::Variable& v : c.expr.variables) v.hi = std::numeric_limits<double>::infinity(), v.lo = -v.hi;
      candidates_.push_back(std::move(c));
    }
  }

  Result<BenchResult> run() {
    TRY(result_.compilers, find_compilers(options_.isa, options_.against));
    TRY_VOID(build());
    if (options_.numexpr) {
      auto peer = NumexprPeer::start();
      if (!peer)
        return make_error(ErrorCode::kNotFound, "%s\nThe benchmark compares with it; --no-numexpr leaves it out.",
                          peer.error().message.c_str());
      numexpr_.emplace(std::move(*peer));
      result_.numexpr_version = numexpr_->version();
    }
    {
      report::ProgressBar bar("measuring", candidates_.size());
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        TRY_VOID(os::check_interrupted());
        bar.update(i, candidates_[i].source->name);
        result_.kernels.push_back(measure(candidates_[i]));
      }
      TRY_VOID(os::check_interrupted());
    }
    summarise_groups(result_);
    return std::move(result_);
  }

 private:
  Result<void> build() {
    copy_compiler_ = copy_compiler(options_.isa, result_.compilers);
    for (Candidate& c : candidates_) {
      if (!c.failure.empty()) continue;
      c.first_build = builds_.size();
      const std::string source = c_source(c.expr);
      for (const Compiler& compiler : result_.compilers) builds_.push_back({source, &compiler, "", "", false});
      c.copy_build = builds_.size();
      builds_.push_back({c_source(copy_of(c.expr)), &copy_compiler_, "", "", false});
    }
    report::ProgressBar bar("compiling", builds_.size());
    return build_all(builds_, options_.jobs, [&](std::size_t done) { bar.update(done, "C, by the contestants"); });
  }

  KernelResult measure(const Candidate& c) {
    KernelResult k;
    k.name = c.source->name;
    k.group = c.source->group;
    const auto add_entry = [&](std::string name, bool own, bool pinned) {
      k.entries.emplace_back();
      k.entries.back().name = std::move(name);
      k.entries.back().own = own;
      k.entries.back().pinned = pinned;
    };
    for (const char* name : {"ours", "baseline", "interpreter"}) add_entry(name, true, false);
    if (!options_.disabled.empty()) add_entry("without " + options_.without, true, false);
    for (const Compiler& compiler : result_.compilers) add_entry(compiler.name, false, compiler.pinned);
    add_entry("numexpr", false, false);
    if (!c.failure.empty()) return failed(std::move(k), c.failure);
    k.transcendental = is_transcendental(c.expr);
    const Workload workload(c.expr, c.sampled, std::max({options_.n, kSmallElements, options_.check_points}),
                            options_.seed);
    const bool speculate = options_.speculate && !options_.promise_ranges;
    auto ours =
        compile_ours(c.expr, speculate ? std::span(workload.seen()) : std::span<const kir::Assumed>(), options_);
    if (!ours) return failed(std::move(k), ours.error().message);
    k.optimised = (*ours)->optimised, k.first_s = (*ours)->first_s, k.optimise_s = (*ours)->optimise_s;
    k.speculates = (*ours)->speculates, k.missing = (*ours)->missing;
    k.why_not_speculating = (*ours)->why_not_speculating;
    k.variant = describe((*ours)->best.variant, options_.isa);

    auto checker = AnswerChecker::make(c.expr, workload);
    if (!checker) return failed(std::move(k), checker.error().message);
    k.loop = profile_ours(**ours, options_.isa);
    auto run = time(c, **ours, workload, k);
    if (!run) return failed(std::move(k), run.error().message);
    k.clock_ghz = run->clock_ghz;
    judge_answers(*run, options_, **checker, k);
    if (k.failure.empty()) compare(k);
    if (!k.failure.empty()) return k;
    const unsigned bytes = stored_bytes(c.expr);
    share_of_roof(*run, options_, bytes, k);
    k.best_loop = profile_object(builds_[c.first_build + (k.best - own_entries())].object);
    if (k.ratio > kLostRatio) k.reason = reason_of_loss(k, bytes);
    return k;
  }

  /// Number of a kernel's entries that are ours; the compilers' entries follow.
  [[nodiscard]] std::size_t own_entries() const { return options_.disabled.empty() ? 3 : 4; }

  static KernelResult failed(KernelResult k, std::string why) {
    k.failure = std::move(why);
    for (Entry& e : k.entries) e.missing = "the kernel failed";
    return k;
  }

  Result<TimingRun> time(const Candidate& c, const Ours& ours, const Workload& workload, KernelResult& k) {
    std::vector<Contestant> contestants(k.entries.size() + 1);
    for (std::size_t e = 0; e < k.entries.size(); ++e) contestants[e].name = k.entries[e].name;
    contestants[0].entry = ours.best_code->entry();
    contestants[1].entry = ours.baseline_code->entry();
    contestants[2].interpreted = &*ours.interpreted;
    if (ours.without_code) contestants[3].entry = ours.without_code->entry();
    for (std::size_t i = 0; i < result_.compilers.size(); ++i) {
      const Build& build = builds_[c.first_build + i];
      contestants[own_entries() + i].object = build.object;
      if (build.object.empty())
        return make_error(ErrorCode::kOsError, "%s: %s", build.compiler->name.c_str(), build.error.c_str());
    }
    if (std::string why = load_numexpr(c.expr, workload); !why.empty())
      k.entries.back().missing = why;
    else
      contestants[k.entries.size() - 1].numexpr = &*numexpr_;
    contestants.back().name = "copy";
    contestants.back().object = builds_[c.copy_build].object;

    TimingOptions timing;
    timing.sizes = {options_.n};
    if (options_.n != kSmallElements) timing.sizes.push_back(kSmallElements);
    timing.rounds = options_.rounds;
    if (k.loop) timing.rates_bits = k.loop->vector_bits >= 512 ? 512 : 256;
    timing.rates_type = options_.type;
    return time_contestants(contestants, workload, timing);
  }

  /// Empty when numexpr takes part, else why not.
  std::string load_numexpr(const expr::Expr& e, const Workload& workload) {
    if (!options_.numexpr) return "left out";
    const auto loaded = numexpr_->load(e, workload.n(), workload.inputs());
    return loaded ? "" : loaded.error().message;
  }

  BenchOptions options_;
  BenchResult result_;
  std::vector<Candidate> candidates_;
  std::vector<Build> builds_;
  Compiler copy_compiler_;
  std::optional<NumexprPeer> numexpr_;
};

}  // namespace

Result<BenchResult> run_bench(const std::vector<corpus::CorpusKernel>& kernels, const BenchOptions& options) {
  return Bench(kernels, options).run();
}

}  // namespace trident::cli
