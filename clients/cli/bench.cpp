#include "clients/cli/bench.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "clients/cli/answers.h"
#include "clients/cli/c_source.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/numexpr_peer.h"
#include "clients/cli/progress_bar.h"
#include "clients/cli/timing.h"
#include "jit/expr/builder.h"
#include "jit/expr/shape.h"
#include "jit/image/image.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"
#include "runtime/stats/robust.h"

namespace trident::cli {
namespace {

/// A kernel on its way through the benchmark.
struct Candidate {
  const CorpusKernel* source = nullptr;
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
      if (e.variables[v].scalar) continue;
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

/// Our side of one kernel: two tiers mapped as a client would map them, and the interpreter's form.
struct Ours {
  pipeline::Compiled baseline, best;
  bool optimised = false;
  std::optional<image::Mapped> baseline_code, best_code;
  std::optional<kir::Plan> interpreted;
};

Result<image::Mapped> map_image(const image::ImageBytes& bytes) {
  TRY(const os::Fd fd, image::seal(bytes));
  return image::Mapped::map(fd);
}

Result<std::unique_ptr<Ours>> compile_ours(const expr::Expr& e, const BenchOptions& options) {
  pipeline::Options o;
  o.policy = options.policy;
  o.isa = options.isa;
  o.seed = options.seed;
  o.elements = options.n;
  auto ours = std::make_unique<Ours>();
  TRY(ours->baseline, pipeline::compile_baseline(e, o));
  TRY(pipeline::Optimised optimised, pipeline::optimise(e, o));
  if (optimised.outcome == pipeline::Outcome::not_equivalent)
    return make_error(ErrorCode::kNotEquivalent, "our baseline kernel is wrong: %s", optimised.detail.c_str());
  ours->optimised = optimised.outcome == pipeline::Outcome::published;
  ours->best = ours->optimised ? std::move(optimised.winner) : ours->baseline;
  TRY(image::Mapped baseline, map_image(ours->baseline.image));
  TRY(image::Mapped best, map_image(ours->best.image));
  ours->baseline_code.emplace(std::move(baseline));
  ours->best_code.emplace(std::move(best));
  expr::LowerOptions lower;
  lower.policy = options.policy;
  lower.simplify = false;
  TRY(const kir::Kernel kernel, expr::lower(e, lower));
  ours->interpreted.emplace(kir::Plan::prepare(kernel));
  return ours;
}

std::string describe(const codegen::Variant& v, codegen::Isa isa) {
  const unsigned bits = v.vector_bits != 0            ? v.vector_bits
                        : isa == codegen::Isa::avx512 ? 512
                        : isa == codegen::Isa::avx2   ? 256
                                                      : 128;
  std::string text = std::to_string(v.vectors) + " x " + std::to_string(bits) + " bits";
  if (!v.schedule) text += ", unscheduled";
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

/// What one element of a loop takes, in words: "1.8 vector instructions of 512 bits an element".
std::string loop_in_words(const LoopProfile& p, unsigned output_bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "%.2f instructions of %u bits and %.3f divisions or roots an element",
                p.arithmetic / p.elements(output_bytes), p.vector_bits, p.divisions / p.elements(output_bytes));
  return text;
}

/// The functions that a loop calls, in words: "_ZGVeN16v_tanhf twice".
std::string calls_in_words(const LoopProfile& p) {
  std::string text;
  for (const auto& [name, times] : p.called)
    text += (text.empty() ? "" : ", ") + name + (times == 1 ? " once" : " " + std::to_string(times) + " times");
  return text.empty() ? "functions" : text;
}

/// Why the best compiler is ahead, as far as the two loops tell. Only loops whose work stands in them are compared: a
/// call's instructions are not seen, and a scalar loop's do not compare with a vector loop's.
std::string reason_of(const KernelResult& k, unsigned output_bytes) {
  if (!k.loop || output_bytes == 0 || k.loop->elements(output_bytes) <= 0) return "no profile of our loop";
  const LoopProfile& us = *k.loop;
  if (!k.best_loop || k.best_loop->elements(output_bytes) <= 0 || !k.best_loop->comparable())
    return k.best_loop && k.best_loop->calls > 0
               ? "the compiler's library does better: a turn of its loop calls " + calls_in_words(*k.best_loop)
               : "the compiler's main loop is not one vector loop: nothing to compare";
  const LoopProfile& them = *k.best_loop;
  const double ours = us.elements(output_bytes), theirs = them.elements(output_bytes);
  // Vectors of another width take as many instructions for more elements.
  const double our_work = us.arithmetic / ours * us.vector_bits,
               their_work = them.arithmetic / theirs * them.vector_bits;
  std::string why = "as much to compute: latency or scheduling";
  if (us.divisions / ours > 1.01 * them.divisions / theirs)
    why = "divisions or roots that the compiler estimates or has simplified away";
  else if (our_work > 1.1 * their_work)
    why = "the compiler's algebra leaves less to compute";
  else if (us.spills > them.spills)
    why = std::to_string(us.spills) + " spills in our loop";
  else if (k.small_ratio > 0 && k.small_ratio < 1.05)
    why = "memory at this size, not compute";
  return why + ": ours " + loop_in_words(us, output_bytes) + ", theirs " + loop_in_words(them, output_bytes);
}

class Bench {
 public:
  Bench(const std::vector<CorpusKernel>& kernels, const BenchOptions& options) : options_(options) {
    result_.options = options;
    result_.cpu = os::cpu_name();
    for (const CorpusKernel& k : kernels) {
      Candidate c;
      c.source = &k;
      auto e = to_expr(k, options.type);
      if (e.ok())
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
    TRY(result_.compilers, find_compilers(options_.isa));
    TRY_VOID(build());
    if (options_.numexpr) {
      auto peer = NumexprPeer::start();
      if (!peer)
        return make_error(ErrorCode::kNotFound, "%s\nThe benchmark is defined against it; --no-numexpr leaves it out.",
                          peer.error().message.c_str());
      numexpr_.emplace(std::move(*peer));
      result_.numexpr_version = numexpr_->version();
    }
    {
      ProgressBar bar("measuring", candidates_.size());
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        TRY_VOID(check_interrupted());
        bar.update(i, candidates_[i].source->name);
        result_.kernels.push_back(measure(candidates_[i]));
      }
      TRY_VOID(check_interrupted());
    }
    summarise_all();
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
    ProgressBar bar("compiling", builds_.size());
    return build_all(builds_, options_.jobs, [&](std::size_t done) { bar.update(done, "C, by the contestants"); });
  }

  KernelResult measure(const Candidate& c) {
    KernelResult k;
    k.name = c.source->name;
    k.group = c.source->group;
    const auto add_entry = [&](std::string name, bool pinned) {
      k.entries.emplace_back();
      k.entries.back().name = std::move(name);
      k.entries.back().pinned = pinned;
    };
    for (const char* name : {"ours", "baseline", "interpreter"}) add_entry(name, false);
    for (const Compiler& compiler : result_.compilers) add_entry(compiler.name, compiler.pinned);
    add_entry("numexpr", false);
    if (!c.failure.empty()) return failed(std::move(k), c.failure);
    k.transcendental = is_transcendental(c.expr);
    auto ours = compile_ours(c.expr, options_);
    if (!ours) return failed(std::move(k), ours.error().message);
    k.optimised = (*ours)->optimised;
    k.variant = describe((*ours)->best.variant, options_.isa);

    const Workload workload(c.expr, c.sampled, std::max({options_.n, kSmallElements, options_.check_points}),
                            options_.seed);
    auto checker = AnswerChecker::make(c.expr, c.sampled, workload);
    if (!checker) return failed(std::move(k), checker.error().message);
    k.loop = profile_ours(**ours, options_.isa);
    auto run = time(c, **ours, workload, k);
    if (!run) return failed(std::move(k), run.error().message);
    k.clock_ghz = run->clock_ghz;
    judge_answers(*run, **checker, k);
    if (k.failure.empty()) compare(c, *run, k);
    return k;
  }

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
    for (std::size_t i = 0; i < result_.compilers.size(); ++i) {
      const Build& build = builds_[c.first_build + i];
      contestants[3 + i].object = build.object;
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

  void judge_answers(const TimingRun& run, AnswerChecker& checker, KernelResult& k) {
    const std::size_t small = options_.n == kSmallElements ? 0 : 1;
    for (std::size_t e = 0; e < k.entries.size(); ++e) {
      Entry& entry = k.entries[e];
      const Timing& t = run.contestants[e];
      if (entry.missing.empty()) entry.missing = t.failure;
      if (!entry.missing.empty()) {
        // Ours and the compilers must take part; numexpr may be absent.
        if (e + 1 < k.entries.size() && k.failure.empty()) k.failure = entry.name + ": " + entry.missing;
        continue;
      }
      const bool own = e < 3;
      Answer answer = own ? checker.ours(t.outputs, options_.policy) : checker.theirs(t.outputs);
      entry.error_ulp = answer.max_ulp;
      if (own && options_.policy.kind == expr::PolicyKind::exact)
        answer = checker.same_bits(run.contestants[2].outputs, t.outputs);
      if (!answer.wrong.empty()) {
        entry.missing = answer.wrong;
        if (own && k.failure.empty()) k.failure = entry.name + ": " + answer.wrong;
        continue;
      }
      entry.ns = t.median_ns(0);
      entry.small_ns = t.median_ns(small);
      entry.rounds_ns = t.ns[0];
      if (small < t.ns.size()) entry.small_rounds_ns = t.ns[small];
    }
    k.strict_error_ulp = checker.strict_ulp();
    k.allowed_error_ulp = checker.allowed_ulp(options_.policy);
  }

  void compare(const Candidate& c, const TimingRun& run, KernelResult& k) {
    k.best = 0;
    for (std::size_t e = 0; e < k.entries.size(); ++e)
      if (k.entries[e].pinned && k.entries[e].missing.empty() &&
          (k.best == 0 || k.entries[e].ns < k.entries[k.best].ns))
        k.best = e;
    if (k.best == 0) {
      k.failure = "no pinned compiler has a right answer";
      return;
    }
    k.ratio = median_ratio(k.ours().rounds_ns, k.entries[k.best].rounds_ns);
    std::size_t small_best = 0;
    for (std::size_t e = 0; e < k.entries.size(); ++e)
      if (k.entries[e].pinned && k.entries[e].missing.empty() &&
          (small_best == 0 || k.entries[e].small_ns < k.entries[small_best].small_ns))
        small_best = e;
    k.small_ratio = median_ratio(k.ours().small_rounds_ns, k.entries[small_best].small_rounds_ns);
    k.best_loop = profile_object(builds_[c.first_build + (k.best - 3)].object);
    roof(c.expr, run, k);
    if (k.ratio > kLostRatio) k.reason = reason_of(k, output_bytes(c.expr));
  }

  static unsigned output_bytes(const expr::Expr& e) {
    unsigned bytes = 0;
    const std::vector<expr::Shape> shapes = expr::shapes_of(e);
    for (const expr::Output& o : e.outputs)
      if (shapes[o.node.index] != expr::Shape::total) bytes += ir::bytes_of(e.at(o.node).type);
    return bytes;
  }

  /// Shares of the nearer roof: the larger of port time and the measured copy over our time, medians over rounds of
  /// neighbours in time.
  void roof(const expr::Expr& e, const TimingRun& run, KernelResult& k) {
    const Timing& copy = run.contestants.back();
    if (!k.loop || !copy.failure.empty()) return;
    const double elements = k.loop->elements(output_bytes(e));
    const std::size_t small = options_.n == kSmallElements ? 0 : 1;
    if (elements <= 0 || run.rates[small].empty() || !run.rates[small][0].known()) return;
    const auto loops_ns = [&](std::size_t size, std::uint64_t n,
                              double (LoopProfile::*roof)(const MachineRates&) const) {
      std::vector<double> ns;
      for (const MachineRates& rates : run.rates[size])
        ns.push_back(((*k.loop).*roof)(rates) / elements * static_cast<double>(n));
      return ns;
    };
    const auto share = [&](std::size_t size, std::uint64_t n, const std::vector<double>& ours, bool& bandwidth) {
      const double port = median_ratio(loops_ns(size, n, &LoopProfile::port_ns), ours);
      const double copied = median_ratio(copy.ns[size], ours);
      bandwidth = copied > port;
      return std::max(port, copied);
    };
    k.roof_share = share(0, options_.n, k.ours().rounds_ns, k.bandwidth_bound);
    k.small_roof_share = share(small, kSmallElements, k.ours().small_rounds_ns, k.small_bandwidth_bound);
    k.small_limit_share =
        std::max(k.small_roof_share,
                 median_ratio(loops_ns(small, kSmallElements, &LoopProfile::divider_ns), k.ours().small_rounds_ns));
  }

  void summarise_all() {
    std::vector<const KernelResult*> all, transcendental, algebraic;
    for (const KernelResult& k : result_.kernels) {
      if (!k.failure.empty()) continue;
      all.push_back(&k);
      (k.transcendental ? transcendental : algebraic).push_back(&k);
    }
    result_.all = summarise(all);
    result_.transcendental = summarise(transcendental);
    result_.algebraic = summarise(algebraic);
  }

  BenchOptions options_;
  BenchResult result_;
  std::vector<Candidate> candidates_;
  std::vector<Build> builds_;
  Compiler copy_compiler_;
  std::optional<NumexprPeer> numexpr_;
};

double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : stats::median(values);
}

}  // namespace

bool BenchResult::failed() const {
  return std::any_of(kernels.begin(), kernels.end(), [](const KernelResult& k) { return !k.failure.empty(); });
}

bool is_transcendental(const expr::Expr& e) {
  using expr::Op;
  return std::any_of(e.nodes.begin(), e.nodes.end(), [&](const expr::Node& n) {
    if (n.op == Op::Pow) {
      const expr::Node& exponent = e.at(n.b);
      if (exponent.op != Op::Constant) return true;
      const double v = expr::value_of(exponent.type, exponent.imm);
      return v != std::nearbyint(v);
    }
    constexpr Op kFunctions[] = {Op::Sin,  Op::Cos,  Op::Tan,   Op::Asin,  Op::Acos,  Op::Atan, Op::Atan2, Op::Sinh,
                                 Op::Cosh, Op::Tanh, Op::Asinh, Op::Acosh, Op::Atanh, Op::Exp,  Op::Exp2,  Op::Expm1,
                                 Op::Log,  Op::Log2, Op::Log10, Op::Log1p, Op::Cbrt,  Op::Erf,  Op::Erfc};
    return std::find(std::begin(kFunctions), std::end(kFunctions), n.op) != std::end(kFunctions);
  });
}

Summary summarise(const std::vector<const KernelResult*>& kernels) {
  Summary s;
  std::vector<double> ratios, small_ratios, shares, small_shares, limit_shares;
  for (const KernelResult* k : kernels) {
    ratios.push_back(k->ratio);
    if (k->small_ratio > 0) small_ratios.push_back(k->small_ratio);
    if (k->roof_share > 0) shares.push_back(k->roof_share);
    if (k->small_roof_share > 0) small_shares.push_back(k->small_roof_share);
    if (k->small_limit_share > 0) limit_shares.push_back(k->small_limit_share);
    s.wins += k->ratio < 1 ? 1 : 0;
    s.worst = std::max(s.worst, k->ratio);
  }
  s.count = ratios.size();
  s.geomean = geomean(ratios);
  s.median = median_or_zero(ratios);
  s.small_geomean = geomean(small_ratios);
  s.roof_share_median = median_or_zero(shares);
  s.small_roof_share_median = median_or_zero(small_shares);
  s.small_roof_share_geomean = geomean(small_shares);
  s.small_limit_share_median = median_or_zero(limit_shares);
  return s;
}

Result<BenchResult> run_bench(const std::vector<CorpusKernel>& kernels, const BenchOptions& options) {
  return Bench(kernels, options).run();
}

}  // namespace trident::cli
