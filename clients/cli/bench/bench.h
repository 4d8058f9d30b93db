// `trident bench`: every kernel of a corpus, compiled by Trident and by the pinned compilers, checked against the
// reference, timed in turns, compared. Answers come first: a wrong one is reported as such and never timed into a
// ratio.
//
//   corpus --> expr --> pipeline (baseline, optimised) --+
//                   +-> C source --> compilers ----------+--> timing child --> errors against MPFR --> rows --> summary
//                   +-> kir interpreter, numexpr --------+
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/bench/compilers.h"
#include "clients/cli/bench/loop_profile.h"
#include "jit/codegen/codegen.h"
#include "jit/corpus/corpus_reader.h"
#include "jit/expr/expr.h"
#include "jit/pipeline/search_rules.h"

namespace trident::cli {

/// A ratio above this counts as lost and is listed with its reason.
inline constexpr double kLostRatio = 1.15;
/// The second size, small enough that every stream stays in the first-level cache: where compute is judged.
inline constexpr std::uint64_t kSmallElements = 512;

struct BenchOptions {
  ir::Type type = ir::Type::f64;
  std::uint64_t n = 4096;
  expr::Policy policy;
  codegen::Isa isa = codegen::Isa::avx2;
  std::uint64_t check_points = 0;  ///< answers are checked on at least this many points (0: on those that are timed)
  unsigned rounds = 101;
  unsigned jobs = 2;  ///< compilers at a time
  std::uint64_t seed = 1;
  const pipeline::SearchRules* rules = nullptr;  ///< pipeline::Search::rules
  bool numexpr = true;
  bool promise_ranges = true;  ///< false: inputs are sampled from the declared ranges, but nothing is promised of them
  bool speculate = true;       ///< without promises: our kernels are for the ranges that the inputs are seen in
  Against against = Against::fast_math;
  /// Candidates (passes.def) that one more contestant of ours is optimised without; none: no such contestant.
  std::vector<std::string> disabled{};
  std::string without{};  ///< what that contestant is without, in a word
};

/// One contestant of one kernel.
struct Entry {
  std::string name;
  bool own = false;  ///< must be right, and under exact have the interpreter's bits
  bool pinned = false;
  std::string missing;            ///< why it has no figures; empty when it has
  double ns = 0, small_ns = 0;    ///< medians per call of n and of kSmallElements elements; 0: not measured
  double error_ulp = 0;           ///< greatest over all outputs and points, in ulp of the correct value
  double bound_share = 0;         ///< the same as a share of what is allowed there
  std::vector<double> rounds_ns;  ///< per round, for ratios of neighbours
  std::vector<double> small_rounds_ns;
};

struct KernelResult {
  std::string name, group;
  bool transcendental = false;
  std::string failure;  ///< wrong answer or failed contestant, in a sentence; empty when all is well
  /// Ours, baseline, interpreter, ours without what is disabled (where anything is), the compilers', numexpr.
  std::vector<Entry> entries;
  std::size_t best = 0;               ///< index of the best pinned compiler
  double ratio = 0, small_ratio = 0;  ///< ours / best compiler: median over rounds
  double gain = 0;                    ///< ours / ours without what is disabled; 0: there is no such contestant
  bool optimised = false;             ///< false: the judge found nothing better than the baseline
  bool speculates = false;            ///< ours is fast in the ranges that the inputs are seen in
  std::string why_not_speculating;    ///< the reason where it was tried and refused
  double missing = 0;                 ///< then: the greatest time over the general kernel's on data that never fit
  double first_s = 0;                 ///< from the expression to the first better kernel, or to the search's end
  double optimise_s = 0;              ///< from the expression to the last better kernel, before speculation
  std::string variant;                ///< "4 vectors of 512 bits"
  std::optional<LoopProfile> loop, best_loop;
  double clock_ghz = 0;
  double roof_share = 0, small_roof_share = 0;  ///< of the nearer roof, 1 = at it; 0: unknown
  double small_limit_share = 0;                 ///< the same at the small size, with the divider's time as a third roof
  bool bandwidth_bound = false, small_bandwidth_bound = false;
  std::string reason;  ///< of a ratio above kLostRatio
  [[nodiscard]] const Entry& ours() const { return entries[0]; }
};

/// Figures over a set of kernels.
struct Summary {
  [[nodiscard]] double wins_share() const { return static_cast<double>(wins) / static_cast<double>(count); }
  std::size_t count = 0, wins = 0;
  double geomean = 0, median = 0, worst = 0;
  double small_geomean = 0;
  double roof_share_median = 0, small_roof_share_median = 0, small_roof_share_geomean = 0;
  double small_limit_share_median = 0;
  double gain = 0;  ///< geomean
  double first_s_median = 0, first_s_max = 0;
  double optimise_s_median = 0, optimise_s_p95 = 0, optimise_s_max = 0;
  std::size_t speculate = 0;  ///< kernels that speculate
  double missing_worst = 0;   ///< their greatest KernelResult::missing
  /// Geomeans against the compilers that are shown and do not count, in their order; 0: none had a right answer.
  std::vector<std::pair<std::string, double>> beside;
};

struct BenchResult {
  BenchOptions options;
  std::string cpu;
  std::vector<Compiler> compilers;
  std::string numexpr_version;  ///< empty when absent
  std::vector<KernelResult> kernels;
  Summary all, transcendental, algebraic, derivatives;
  [[nodiscard]] bool failed() const;
};

/// Runs the benchmark; progress on standard error. An Error means that it could not be held at all (a pinned compiler
/// is missing, an expression does not parse).
Result<BenchResult> run_bench(const std::vector<corpus::CorpusKernel>& kernels, const BenchOptions& options);

// --- reports -------------------------------------------------------------------------------------------------------

/// "best of the four pinned compilers", or the only one's name.
std::string pinned_in_words(const BenchResult& result);

std::string bench_text(const BenchResult& result);
std::string bench_json(const BenchResult& result);
std::string bench_html(const BenchResult& result);

}  // namespace trident::cli
