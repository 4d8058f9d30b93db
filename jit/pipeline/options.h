// What a compilation is told, whatever goes in: what the kernel is for, what it may cost, how it is searched for and
// what is reported.
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
#include "jit/pipeline/search_rules.h"
#include "jit/pipeline/search_weights.h"

namespace trident::pipeline {

inline constexpr std::uint64_t kDefaultBudgetNs = 10'000'000'000;
inline constexpr std::uint64_t kWallPerBudget = 10;
inline constexpr std::uint8_t kEffortMax = 16;

/// What the kernel is for.
struct Target {
  codegen::Isa isa = codegen::Isa::avx2;
  expr::Policy policy{};
  std::uint64_t elements = 4096;  ///< the call length that the judge times
};

/// What the compilation may cost.
struct Budget {
  /// CPU time of optimise(), its sandboxed children included; 0: kDefaultBudgetNs. A loaded machine takes longer, not
  /// less care; kWallPerBudget times as long by the clock ends it all the same.
  std::uint64_t cpu_ns = 0;
  /// Nodes that a search may make, as a multiple of the usual number, 1 to kEffortMax: for background searches. No part
  /// of the key: what comes of it stands for the kernel as any other result does.
  std::uint8_t effort = 1;
  const std::atomic<bool>* cancelled = nullptr;  ///< looked at between steps
  /// Only the question whether the baseline is right: no other form, no other variant, fewer points, no judge.
  bool check_only = false;
};

/// How better kernels are searched for.
struct Search {
  std::uint64_t seed = 1;
  std::vector<std::string> disabled{};  ///< candidates switched off by name (passes.def), for bisecting
  /// What the search weighs forms by, measured on this machine; it counts for the instruction set that it was measured
  /// for. Without one: what is shipped for the instruction set and this processor. Must outlive the call.
  const expr::rewrite::OpCosts* costs = nullptr;
  /// What the search rewrites by; null: the built-in rules alone. Must outlive the call.
  const SearchRules* rules = nullptr;
  /// What the guided search goes by; null: the weights that come with the program. Must outlive the call.
  const SearchWeights* weights = nullptr;
  /// Guides other than the network are for tests: they change what is found, and when, never what a kernel means.
  expr::rewrite::GuideKind guide = expr::rewrite::GuideKind::network;
};

/// What is reported beside the kernel.
struct Trace {
  bool prove_error = false;  ///< ask for Optimised::bounds
  std::string stop_after{};  ///< the pass after which to stop; empty: none
  /// Told the text of every pass's result, by the pass's name; costs nothing when empty.
  std::function<void(std::string_view pass, std::string_view text)> dump{};
};

struct Options {
  Target target{};
  Budget budget{};
  Search search{};
  Trace trace{};
  bool checked = false;             ///< the expression has passed expr::check(): compile_baseline() does not ask again
  std::optional<image::Key> key{};  ///< expr_key() of these options, where the caller has made it
};

/// Search::costs, if it is for `isa`; else null.
const expr::rewrite::OpCosts* measured_costs(codegen::Isa isa, const Search& search);

}  // namespace trident::pipeline
