// The spine of the compiler: an expression goes in, kernel images come out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/equiv/proof.h"
#include "jit/equiv/verdict.h"
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

/// Compiles the baseline tier: no rewriting, no variants, source order. Takes microseconds.
Result<Compiled> compile_baseline(const expr::Expr& expr, const Options& options);

enum class Outcome : std::uint8_t { published, no_gain, budget_spent, not_equivalent };
std::string_view name_of(Outcome outcome);

struct Progress {
  Stage stage = Stage::lower;
  std::uint32_t done = 0, total = 0;
  double best_ratio = 1;          ///< best measured time over the baseline's
  bool baseline_checked = false;  ///< as of Optimised: the baseline was found right
};

/// Outcome of one candidate, for tables and `explain`.
struct CandidateReport {
  std::string form;  ///< how its kernel was made: "source", "simplified", ...
  codegen::Variant variant;
  std::string verdict;  ///< by the equivalence check
  bool same = false;
  double ratio = 0;  ///< measured time over the baseline's; 0 when it was not timed
};

struct PassTime {
  std::string pass;
  std::uint64_t ns = 0;       ///< by the clock
  std::uint64_t work_ns = 0;  ///< of processor time, children included
};

/// Times of a speculative kernel over those of the general one, in calls of one length.
struct SpeculationTime {
  std::uint64_t elements = 0;
  double general_ns = 0;  ///< per call on data in the ranges
  double matching = 0;    ///< on data in the ranges
  double missing = 0;     ///< on data that are never in the ranges
  double few = 0;         ///< on data of which one element in every two blocks is not; 0 in long calls: not timed
};

/// Outcome of a speculation on observed ranges (speculate.h).
struct Speculation {
  bool published = false;              ///< it is the winner
  std::string guard;                   ///< the fast kernel with its guard, as text
  std::vector<SpeculationTime> times;  ///< in order of length; none: not timed
  std::uint32_t shortest = 0;          ///< shorter calls are the general kernel's
  image::ImageBytes general;           ///< the general kernel by itself
  std::string refused;                 ///< the reason why it is not the winner
};

struct Optimised {
  Outcome outcome = Outcome::no_gain;
  bool baseline_checked = false;          ///< the baseline was found right, whatever the outcome of the others
  Compiled winner;                        ///< meaningful when published
  double baseline_ns = 0, winner_ns = 0;  ///< per call of Target::elements
  equiv::Verdict errors;                  ///< sampled, for the winner (for the baseline if there is none)
  std::string detail;                     ///< reason in words: the verdict that refused, the winner's variant
  /// Reason why nothing better than the baseline was found, or why the baseline must be revoked: one sentence with the
  /// limit and the number, if there was a limit. Empty when published.
  std::string note;
  std::vector<CandidateReport> candidates;
  std::vector<PassTime> times;  ///< those of a speculation are last: "assumed NAME", "guarded judge", "guarded check"
  std::optional<Speculation> speculation;  ///< if Target::assumed narrows a range
  std::vector<equiv::ErrorBound> bounds;   ///< for Trace::prove_error: the winner's form, or the source
};

class PassScope;
class Optimisation;

/// optimise() in two parts. The first look leaves a kernel that is checked and in use; speculation and small steps
/// follow, at once or when others have had their first look. What is found out in between is kept, some ten megabytes,
/// and no time counts. Costs, rules and weights of the options must outlive it; it may go on on another thread.
class TwoLooks {
 public:
  TwoLooks(expr::Expr expr, Options options, std::function<void(const Progress&)> progress = {});
  ~TwoLooks();
  TwoLooks(const TwoLooks&) = delete;
  TwoLooks& operator=(const TwoLooks&) = delete;

  /// Returns whether more can be found. Errors of optimise().
  Result<bool> first();
  /// Returns whether the first look, which was left with more to find, has found a better kernel than the baseline.
  /// Where it has not, callers wait for the second: it should follow at once.
  [[nodiscard]] bool has_found() const;
  /// Follows first(), if that has said so.
  Result<void> second();
  /// Ends it.
  Optimised take();

 private:
  void end();

  expr::Expr expr_;
  Options options_;
  std::function<void(const Progress&)> progress_;
  std::unique_ptr<PassScope> passes_;
  std::unique_ptr<Optimisation> optimisation_;
};

/// Optimising tier: candidates (variants and rewritten forms) are emitted, checked for equivalence, timed in a
/// sandboxed child against the baseline; the best measured one wins. The baseline itself is checked before anything
/// else: when it differs from the reference, or dies while it is timed, the outcome is not_equivalent and the caller
/// must revoke it. Without baseline_checked that is still unknown: call again (Budget::check_only is the cheap way).
/// Errors: those of the front end and the emitter (Unsupported, LimitExceeded, TypeError), OsError.
Result<Optimised> optimise(const expr::Expr& expr, const Options& options,
                           const std::function<void(const Progress&)>& progress = {});

}  // namespace trident::pipeline
