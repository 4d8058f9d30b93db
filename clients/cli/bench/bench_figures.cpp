#include "clients/cli/bench/bench_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "jit/expr/builder.h"
#include "jit/expr/shape.h"
#include "runtime/stats/robust.h"

namespace trident::cli {
namespace {

/// Index of the times of kSmallElements.
std::size_t small_size(const BenchOptions& options) {
  return options.n == kSmallElements ? 0 : 1;
}

/// The quickest pinned compiler that is right, by `ns`; 0, which is ours, when there is none.
std::size_t best_of(const std::vector<Entry>& entries, double Entry::*ns) {
  std::size_t best = 0;
  for (std::size_t e = 0; e < entries.size(); ++e)
    if (entries[e].pinned && entries[e].missing.empty() && (best == 0 || entries[e].*ns < entries[best].*ns)) best = e;
  return best;
}

/// A measured share of what may be a limit: see kLimitErrorMax. 0: it is none.
double share_of_limit(double share) {
  return share > kLimitErrorMax ? 0 : std::min(share, 1.0);
}

/// Work of a loop for one element, in words: "1.80 instructions of 512 bits and 0.125 divisions or roots an element".
std::string loop_in_words(const LoopProfile& p, unsigned bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "%.2f instructions of %u bits and %.3f divisions or roots an element",
                p.arithmetic / p.elements(bytes), p.vector_bits, p.divisions / p.elements(bytes));
  return text;
}

/// The functions that a loop calls, in words: "_ZGVeN16v_tanhf twice".
std::string calls_in_words(const LoopProfile& p) {
  std::string text;
  for (const auto& [name, times] : p.called)
    text += (text.empty() ? "" : ", ") + name + (times == 1 ? " once" : " " + std::to_string(times) + " times");
  return text.empty() ? "functions" : text;
}

double geomean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : stats::median(values);
}

/// Returns the least value that at least `share` of the values do not exceed.
double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

bool is_transcendental(const expr::Expr& e) {
  using expr::Op;
  return std::any_of(e.nodes.begin(), e.nodes.end(), [&](const expr::Node& n) {
    if (n.op == Op::Pow) {
      const expr::Node& exponent = e.at(n.b);
      if (exponent.op != Op::Constant) return true;
      const double v = expr::value_of(exponent.type, exponent.imm);
      return v != std::nearbyint(v);
    }
    const expr::OpInfo& row = expr::info(n.op);
    return row.rounding == expr::Rounding::approximate && !row.c_function.empty() && n.op != Op::Hypot;
  });
}

bool is_derivative(const std::string& kernel) {
  return kernel.size() >= 2 && kernel[0] == 'd' && kernel[1] >= '0' && kernel[1] <= '9';
}

os::SimdLevel interpreter_level(codegen::Isa isa) {
  switch (isa) {
    case codegen::Isa::avx512: return os::SimdLevel::avx512;
    case codegen::Isa::avx2: return os::SimdLevel::avx2;
    case codegen::Isa::neon: return os::SimdLevel::portable;
  }
  CHECK(false);
}

unsigned stored_bytes(const expr::Expr& e) {
  unsigned bytes = 0;
  const std::vector<expr::Shape> shapes = expr::shapes_of(e);
  for (const expr::Output& o : e.outputs)
    if (shapes[o.node.index] != expr::Shape::total) bytes += ir::bytes_of(e.at(o.node).type);
  return bytes;
}

void judge_answers(const TimingRun& run, const BenchOptions& options, AnswerChecker& checker, KernelResult& k) {
  const std::size_t small = small_size(options);
  for (std::size_t e = 0; e < k.entries.size(); ++e) {
    Entry& entry = k.entries[e];
    const Timing& t = run.contestants[e];
    if (entry.missing.empty()) entry.missing = t.failure;
    if (!entry.missing.empty()) {
      // Ours and the compilers must take part; numexpr may be absent.
      if (e + 1 < k.entries.size() && k.failure.empty()) k.failure = entry.name + ": " + entry.missing;
      continue;
    }
    Answer answer = entry.own ? checker.ours(t.outputs, options.policy) : checker.theirs(t.outputs);
    entry.error_ulp = answer.max_ulp;
    entry.bound_share = answer.bound_share;
    if (entry.own && options.policy.kind == expr::PolicyKind::exact)
      answer = checker.same_bits(run.contestants[2].outputs, t.outputs);
    if (!answer.wrong.empty()) {
      entry.missing = answer.wrong;
      if (entry.own && k.failure.empty()) k.failure = entry.name + ": " + answer.wrong;
      continue;
    }
    entry.ns = t.median_ns(0);
    entry.small_ns = t.median_ns(small);
    entry.rounds_ns = t.ns[0];
    if (small < t.ns.size()) entry.small_rounds_ns = t.ns[small];
  }
}

void compare(KernelResult& k) {
  k.best = best_of(k.entries, &Entry::ns);
  if (k.best == 0) {
    k.failure = "no pinned compiler computed a correct answer";
    return;
  }
  k.ratio = median_ratio(k.ours().rounds_ns, k.entries[k.best].rounds_ns);
  k.small_ratio =
      median_ratio(k.ours().small_rounds_ns, k.entries[best_of(k.entries, &Entry::small_ns)].small_rounds_ns);
  const auto without = std::find_if(k.entries.begin() + std::min<std::ptrdiff_t>(3, std::ssize(k.entries)),
                                    k.entries.end(), [](const Entry& e) { return e.own; });
  if (without != k.entries.end()) k.gain = median_ratio(k.ours().rounds_ns, without->rounds_ns);
}

void share_of_roof(const TimingRun& run, const BenchOptions& options, unsigned bytes, KernelResult& k) {
  const Timing& copy = run.contestants.back();
  if (!k.loop || !copy.failure.empty()) return;
  const double elements = k.loop->elements(bytes);
  const std::size_t small = small_size(options);
  if (elements <= 0 || run.rates[small].empty() || !run.rates[small][0].known()) return;
  const auto loops_share = [&](std::size_t size, std::uint64_t n, const std::vector<double>& ours,
                               double (LoopProfile::*limit)(const MachineRates&) const) {
    std::vector<double> ns;
    for (const MachineRates& rates : run.rates[size])
      ns.push_back(((*k.loop).*limit)(rates) / elements * static_cast<double>(n));
    return share_of_limit(median_ratio(ns, ours));
  };
  const auto share = [&](std::size_t size, std::uint64_t n, const std::vector<double>& ours, bool& bandwidth) {
    const double port = std::max(loops_share(size, n, ours, &LoopProfile::defined_port_ns),
                                 loops_share(size, n, ours, &LoopProfile::port_ns));
    const double copied = share_of_limit(median_ratio(copy.ns[size], ours));
    bandwidth = copied > port;
    return std::max(port, copied);
  };
  const std::vector<double>& small_ours = k.ours().small_rounds_ns;
  k.roof_share = share(0, options.n, k.ours().rounds_ns, k.bandwidth_bound);
  k.small_roof_share = share(small, kSmallElements, small_ours, k.small_bandwidth_bound);
  k.small_limit_share =
      std::max(k.small_roof_share, loops_share(small, kSmallElements, small_ours, &LoopProfile::divider_ns));
}

// Compares only loops whose work stands in them: a call's instructions are not seen, and a scalar loop's do not
// compare with a vector loop's.
std::string reason_of_loss(const KernelResult& k, unsigned bytes) {
  if (bytes == 0)
    return "our reductions keep 256 bytes of partial results in one documented order (jit/kir/reduction.h), and join "
           "them every 4,096 elements: the compiler chooses its order";
  if (!k.loop || k.loop->elements(bytes) <= 0) return "no profile of our loop";
  const LoopProfile& us = *k.loop;
  if (!k.best_loop || k.best_loop->elements(bytes) <= 0 || !k.best_loop->comparable())
    return k.best_loop && k.best_loop->calls > 0
               ? "the compiler's library is faster: an iteration of its loop calls " + calls_in_words(*k.best_loop)
               : "the compiler's main loop is not one vector loop: nothing to compare";
  const LoopProfile& them = *k.best_loop;
  const double ours = us.elements(bytes), theirs = them.elements(bytes);
  // Vectors of another width take as many instructions for more elements.
  const double our_work = us.arithmetic / ours * us.vector_bits,
               their_work = them.arithmetic / theirs * them.vector_bits;
  std::string why = "equal amounts of work: latency or scheduling makes the difference";
  if (us.divisions / ours > 1.01 * them.divisions / theirs)
    why = "the compiler estimates divisions or roots, or has simplified them away";
  else if (our_work > 1.1 * their_work)
    why = "the compiler's simplifications leave fewer operations";
  else if (us.spills > them.spills)
    why = std::to_string(us.spills) + " spills in our loop";
  else if (k.small_ratio > 0 && k.small_ratio < 1.05)
    why = "memory bandwidth, not computation, is the limit at this size";
  return why + ": ours " + loop_in_words(us, bytes) + ", theirs " + loop_in_words(them, bytes);
}

std::string pinned_in_words(const BenchResult& result) {
  std::size_t count = 0;
  std::string name;
  for (const Compiler& c : result.compilers)
    if (c.pinned) ++count, name = c.name;
  return count == 1 ? name : "best of the " + std::to_string(count) + " pinned compilers";
}

bool BenchResult::failed() const {
  return std::any_of(kernels.begin(), kernels.end(), [](const KernelResult& k) { return !k.failure.empty(); });
}

/// Geomeans against compilers that are shown only: neither ours, nor pinned, nor numexpr, which is last.
std::vector<std::pair<std::string, double>> beside(const std::vector<const KernelResult*>& kernels) {
  std::vector<std::pair<std::string, double>> all;
  for (std::size_t e = 0; !kernels.empty() && e + 1 < kernels[0]->entries.size(); ++e) {
    if (kernels[0]->entries[e].own || kernels[0]->entries[e].pinned) continue;
    std::vector<double> ratios;
    for (const KernelResult* k : kernels)
      if (k->entries[e].missing.empty()) ratios.push_back(median_ratio(k->ours().rounds_ns, k->entries[e].rounds_ns));
    all.emplace_back(kernels[0]->entries[e].name, geomean(ratios));
  }
  return all;
}

Summary summarise(const std::vector<const KernelResult*>& kernels) {
  Summary s;
  std::vector<double> ratios, small_ratios, shares, small_shares, limit_shares, gains, seconds, first_seconds;
  for (const KernelResult* k : kernels) {
    ratios.push_back(k->ratio);
    if (k->small_ratio > 0) small_ratios.push_back(k->small_ratio);
    if (k->roof_share > 0) shares.push_back(k->roof_share);
    if (k->small_roof_share > 0) small_shares.push_back(k->small_roof_share);
    if (k->small_limit_share > 0) limit_shares.push_back(k->small_limit_share);
    if (k->gain > 0) gains.push_back(k->gain);
    seconds.push_back(k->optimise_s), first_seconds.push_back(k->first_s);
    s.speculate += k->speculates ? 1 : 0;
    s.missing_worst = std::max(s.missing_worst, k->missing);
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
  s.gain = geomean(gains);
  s.optimise_s_median = median_or_zero(seconds), s.optimise_s_p95 = percentile(seconds, 0.95);
  s.optimise_s_max = percentile(seconds, 1);
  s.first_s_median = median_or_zero(first_seconds), s.first_s_max = percentile(first_seconds, 1);
  s.beside = beside(kernels);
  return s;
}

void summarise_groups(BenchResult& result) {
  std::vector<const KernelResult*> all, transcendental, algebraic, derivatives;
  for (const KernelResult& k : result.kernels) {
    if (!k.failure.empty()) continue;
    all.push_back(&k);
    (k.transcendental ? transcendental : algebraic).push_back(&k);
    if (is_derivative(k.name)) derivatives.push_back(&k);
  }
  result.all = summarise(all);
  result.transcendental = summarise(transcendental);
  result.algebraic = summarise(algebraic);
  result.derivatives = summarise(derivatives);
}

}  // namespace trident::cli
