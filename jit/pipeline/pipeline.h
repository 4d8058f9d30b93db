// The spine of the compiler: an expression goes in, kernel images come out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/equiv/proof.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "jit/pipeline/options.h"
#include "runtime/base/result.h"
#include "schemas/stages.h"

namespace trident::pipeline {

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
  Stage stage = Stage::lower;
  std::uint32_t done = 0, total = 0;
  double best_ratio = 1;          ///< best measured time over the baseline's
  bool baseline_checked = false;  ///< as of Optimised: the baseline was found right
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
  double baseline_ns = 0, winner_ns = 0;  ///< per call of Target::elements
  double max_error_ulp = 0;               ///< sampled, of the winner (of the baseline when there is none)
  std::string detail;                     ///< why, in words: the verdict that refused, the winner's variant
  /// Why nothing better than the baseline was found, or why the baseline must go: one sentence with the limit and the
  /// number, where there was a limit. Empty when published.
  std::string note;
  std::vector<CandidateReport> candidates;
  std::vector<PassTime> times;
  std::vector<equiv::ErrorBound> bounds;  ///< Trace::prove_error: of the winner's form, or of the source
};

/// Optimising tier: candidates (variants and rewritten forms) are emitted, checked for equivalence, timed in a
/// sandboxed child against the baseline; the best measured one wins. The baseline itself is checked before anything
/// else: when it differs from the reference, or dies while it is timed, the outcome is not_equivalent and the caller
/// must revoke it. Without baseline_checked nobody knows yet: ask again (Budget::check_only is the cheap question).
/// Errors: what the front end or the emitter refuses (Unsupported, LimitExceeded, TypeError), OsError.
Result<Optimised> optimise(const expr::Expr& expr, const Options& options,
                           const std::function<void(const Progress&)>& progress = {});

}  // namespace trident::pipeline
