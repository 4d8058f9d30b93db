// The spine of the compiler: an expression goes in, kernel images come out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/equiv/proof.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/costs.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/image/image.h"
#include "jit/pipeline/search_rules.h"
#include "jit/pipeline/search_weights.h"
#include "runtime/base/result.h"

namespace trident::pipeline {

struct Options {
  expr::Policy policy{};
  codegen::Isa isa = codegen::Isa::avx2;
  std::uint64_t seed = 1;
  /// CPU time of optimise(), its sandboxed children included; 0: kDefaultBudgetNs. A loaded machine takes longer, not
  /// less care; kWallPerBudget times as long by the clock ends it all the same.
  std::uint64_t budget_ns = 0;
  std::uint64_t elements = 4096;        ///< the call length that the judge times
  std::vector<std::string> disabled{};  ///< passes and candidates switched off by name (passes.def), for bisecting
  bool checked = false;             ///< the expression has passed expr::check(): compile_baseline() does not ask again
  std::optional<image::Key> key{};  ///< key_of() under these options, from who has made it already
  /// What the search weighs forms by, measured on this machine; it counts for the instruction set that it was measured
  /// for. Without one: what is shipped for `isa` and this processor. Must outlive the call.
  const expr::rewrite::OpCosts* costs = nullptr;
  /// What the search rewrites by; null: the built-in rules alone. Must outlive the call.
  const SearchRules* rules = nullptr;
  /// What the guided search goes by; null: the weights that come with the program. Must outlive the call.
  const SearchWeights* weights = nullptr;
  /// Guides other than the network are for tests: they change what is found, and when, never what a kernel means.
  expr::rewrite::GuideKind guide = expr::rewrite::GuideKind::network;
  /// How many times as many nodes a search may make, 1 to kEffortMax: for who is not waited for. No part of the key:
  /// what comes of it stands for the kernel as any other result does.
  std::uint8_t effort = 1;
  const std::atomic<bool>* cancelled = nullptr;  ///< looked at between steps
  /// Only the question whether the baseline is right: no other form, no other variant, fewer points, no judge.
  bool check_only = false;
  bool prove_error = false;  ///< ask for Optimised::bounds
  std::string stop_after{};  ///< the pass after which to stop; empty: none
  /// Told the text of every pass's result, by the pass's name; costs nothing when empty.
  std::function<void(std::string_view pass, std::string_view text)> dump{};
};

/// Options::costs, if it is for Options::isa; else null.
const expr::rewrite::OpCosts* measured_costs(const Options& options);

inline constexpr std::uint64_t kDefaultBudgetNs = 10'000'000'000;
inline constexpr std::uint64_t kWallPerBudget = 10;
inline constexpr std::uint8_t kEffortMax = 16;

/// The identity of a kernel: SHA-256 over domain tag, protocol, canonical IR, ISA, policy, how much
/// memory a call of Options::elements moves (four classes), code generator's build id, the figures of measured_costs(),
/// the text of Options::rules, the bytes of Options::weights.
image::Key key_of(const expr::Expr& expr, const Options& options);
/// The same from expr::canonical_bytes() of the expression.
image::Key key_of(const expr::Expr& expr, std::span<const std::byte> canonical, const Options& options);

struct Compiled {
  kir::Kernel kernel;
  codegen::MachineCode code;
  codegen::Variant variant;
  image::ImageBytes image;
};

/// Baseline tier: no rewriting, no variants, source order. Microseconds.
Result<Compiled> compile_baseline(const expr::Expr& expr, const Options& options);

enum class Outcome : std::uint8_t { published, no_gain, budget_spent, not_equivalent };
std::string_view name_of(Outcome outcome);

struct Progress {
  std::string stage;  ///< "lower", "emit", "equiv", "judge"
  std::uint32_t done = 0, total = 0;
  double best_ratio = 1;  ///< best measured time over the baseline's
};

/// What became of one candidate, for tables and `explain`.
struct CandidateReport {
  std::string form;  ///< how its kernel was made: "source", "simplified", ...
  codegen::Variant variant;
  std::string verdict;  ///< of the equivalence check
  bool same = false;
  double ratio = 0;  ///< measured time over the baseline's; 0 when it was not timed
};

struct PassTime {
  std::string pass;
  std::uint64_t ns = 0;
};

struct Optimised {
  Outcome outcome = Outcome::no_gain;
  bool baseline_checked = false;          ///< the baseline was found right, whatever became of the others
  Compiled winner;                        ///< meaningful when published
  double baseline_ns = 0, winner_ns = 0;  ///< per call of Options::elements
  double max_error_ulp = 0;               ///< sampled, of the winner (of the baseline when there is none)
  std::string detail;                     ///< why, in words: the verdict that refused, the winner's variant
  /// Why nothing better than the baseline was found, or why the baseline must go: one sentence with the limit and the
  /// number, where there was a limit. Empty when published.
  std::string note;
  std::vector<CandidateReport> candidates;
  std::vector<PassTime> times;
  std::vector<equiv::ErrorBound> bounds;  ///< Options::prove_error: of the winner's form, or of the source
};

/// Optimising tier: candidates (variants and rewritten forms) are emitted, checked for equivalence, timed in a
/// sandboxed child against the baseline; the best measured one wins. The baseline itself is checked before anything
/// else: when it differs from the reference, or dies while it is timed, the outcome is not_equivalent and the caller
/// must revoke it. Without baseline_checked nobody knows yet: ask again (Options::check_only is the cheap question).
/// Errors: what the front end or the emitter refuses (Unsupported, LimitExceeded, TypeError), OsError.
Result<Optimised> optimise(const expr::Expr& expr, const Options& options,
                           const std::function<void(const Progress&)>& progress = {});

}  // namespace trident::pipeline
