// Options of a compilation: target of the kernel, budget, search for better kernels, and
// reports.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/costs.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/image/image.h"
#include "jit/kir/guard.h"
#include "jit/pipeline/search_rules.h"
#include "jit/pipeline/search_weights.h"

namespace trident::pipeline {

inline constexpr std::uint64_t kDefaultBudgetNs = 10'000'000'000;
inline constexpr std::uint64_t kWallPerBudget = 10;
/// A large expression's search ends by the clock: the best until then is in use. It takes longer where the budget says
/// so.
inline constexpr std::uint64_t kLargeClockNs = 3'000'000'000;
inline constexpr double kLargeClockShare = 0.3;
/// Processor time that it gets beside the usual: each of its checks takes seconds, and those of code that assumes
/// ranges come last.
inline constexpr std::uint64_t kLargeMoreNs = 10'000'000'000;
/// Processor time that code for assumed ranges gets at least, however much the general search has used: most callers'
/// data lie in the ranges, and there is less to check in them.
inline constexpr std::uint64_t kSpeculationLeastNs = 4'000'000'000;
/// A kernel that takes less than this share of the baseline's time is worth a later end: its last checks get
/// kLargeClockNs more by the clock.
inline constexpr double kWorthWaiting = 0.5;
inline constexpr std::uint8_t kEffortMax = 16;

/// Target of the kernel.
struct Target {
  codegen::Isa isa = codegen::Isa::avx2;
  expr::Policy policy{};
  std::uint64_t elements = 4096;  ///< the call length that the judge times
  /// Ranges that the variables were seen in, by number; none: no speculation (speculate.h). They promise nothing.
  std::vector<kir::Assumed> assumed{};
};

/// Budget of the compilation.
struct Budget {
  /// CPU time of optimise(), its sandboxed children included; 0: kDefaultBudgetNs. A loaded machine takes longer, but
  /// is as careful; after kWallPerBudget times as long by the clock the run ends all the same.
  std::uint64_t cpu_ns = 0;
  /// Nodes that a search may make, as a multiple of the usual number, 1 to kEffortMax: for background searches. Not
  /// part of the key: the result replaces the kernel's other results.
  std::uint8_t effort = 1;
  const std::atomic<bool>* cancelled = nullptr;  ///< read between steps
  /// Checks are divided between two threads: where a processor may be idle, and the process is the compiler's own.
  bool two_threads = false;
  /// Only checks whether the baseline is right: no other form, no other variant, fewer points, no judge.
  bool check_only = false;
};

/// Options of the search for better kernels.
struct Search {
  std::uint64_t seed = 1;
  std::vector<std::string> disabled{};  ///< candidates switched off by name (passes.def), for bisecting
  /// Costs of ops, measured on this machine for one instruction set; not used for others.
  /// Null: the costs shipped for the instruction set and this processor. Must outlive the call.
  const expr::rewrite::OpCosts* costs = nullptr;
  /// Rules of the search; null: the built-in rules alone. Must outlive the call.
  const SearchRules* rules = nullptr;
  /// Weights of the guided search; null: those shipped with the program. Must outlive the call.
  const SearchWeights* weights = nullptr;
  /// Guides other than the network are for tests: they change which forms are found, and when, never the meaning.
  expr::rewrite::GuideKind guide = expr::rewrite::GuideKind::network;
};

/// Reports beside the kernel.
struct Trace {
  bool prove_error = false;  ///< ask for Optimised::bounds
  std::string stop_after{};  ///< the pass after which to stop; empty: none
  /// Called with the text of every pass's result and the pass's name; costs nothing if empty.
  std::function<void(std::string_view pass, std::string_view text)> dump{};
};

/// A checked kernel that is faster than the baseline, while the search for the best one goes on.
struct Interim {
  const image::ImageBytes& image;
  double baseline_ns = 0, winner_ns = 0;  ///< per call of Target::elements
  bool guarded = false;                   ///< it is fast in Target::assumed alone (speculate.h)
};

struct Rival;

struct Options {
  Target target{};
  Budget budget{};
  Search search{};
  Trace trace{};
  bool checked = false;             ///< the expression has passed expr::check(): compile_baseline() does not repeat it
  std::optional<image::Key> key{};  ///< expr_key() of these options, if the caller has made it
  /// Called for each kernel that is better than those before, while the search goes on; empty: nobody wants it.
  std::function<void(const Interim&)> interim{};
  /// Asked once for Target::assumed when there is a general kernel, if there was none at the start; empty: nobody knows
  /// more.
  std::function<std::vector<kir::Assumed>()> observe{};
  /// A kernel that does not beat it is not looked for (rival.h); null: the baseline is all there is to beat. Must
  /// outlive the call.
  const Rival* rival = nullptr;
};

/// Returns Search::costs if they are for `isa`; else null.
const expr::rewrite::OpCosts* measured_costs(codegen::Isa isa, const Search& search);

}  // namespace trident::pipeline
