// Is a compiled candidate the same as its source? The checker asks two questions, in this order:
//
// meaning   the kernel's kir, run by the interpreter, against the meaning of the source expression (compare.h)
//   code      the machine code, run by the caller's Execute in a sandbox, against the interpreter, bit for bit
//
// Together they say that the code computes what the source means. All variants of one kernel share its meaning, so the
// first question is asked once per kernel. The second is asked at every point for one variant of each instruction set,
// and at corners, tails and odd placements for the others (`Effort::brief`).
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "jit/equiv/compare.h"
#include "jit/equiv/lost_numbers.h"
#include "jit/equiv/screen.h"
#include "jit/equiv/tail.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/kir.h"

namespace trident::equiv {

struct CheckOptions {
  SampleOptions samples;
  /// MPFR evaluations per set and output, where the quick reference is not sharp enough (tens of microseconds each).
  /// Where more would be needed, the other points are left out and not counted as checked.
  std::size_t refined_max = 512;
  /// Asked every few dozen points and before each MPFR evaluation; a check cut short ends as Error Cancelled.
  std::function<bool()> cancelled{};
  /// Does all tasks, in any order or at once; empty: one after the other. `cancelled` is asked by whoever does them.
  std::function<void(std::span<const std::function<void()>> tasks)> together{};
  /// Computes the reference of a set of points when it is first judged, not all at first: for one kernel, which may be
  /// refused at the first set.
  bool late_references = false;
  /// Leaves out points at which this kernel surely keeps the policy (screen.h), and counts them: for long campaigns.
  const kir::Kernel* screened = nullptr;
};

/// Calls of a candidate on points of `samples`. With flush_start the arrays begin where accessible memory begins, else
/// they end where it ends.
struct CodeRun {
  const Samples& samples;
  const std::vector<Call>& calls;
  bool flush_start = false;
};
/// Result of a run.
struct Executed {
  std::string failure;  ///< "crashed (SIGSEGV) in a call of 3 elements", or empty
  Outputs outputs;
};
/// Makes the runs in turn and returns their results, up to the first with a failure. An Error means that nothing could
/// be run at all.
using Execute = std::function<Result<std::vector<Executed>>(std::span<const CodeRun> runs)>;
/// Does the same for several candidates, each with runs of its own: results by candidate.
using ExecuteAll =
    std::function<Result<std::vector<std::vector<Executed>>>(std::span<const std::vector<CodeRun>> runs)>;
/// Makes each run by itself.
Execute one_by_one(std::function<Result<Executed>(const CodeRun& run)> execute);

enum class Effort : std::uint8_t { full, brief };

/// Demands on a kernel's meaning.
enum class Demand : std::uint8_t {
  drawn,    ///< the policy at the points drawn alone: for kernels of which more is asked before they are used
  policy,   ///< also where the kernel's own values overflow and underflow
  any_set,  ///< also at rarer points that are sought from these (tail.h), with a margin: for rewritten kernels
};

class Checker {
 public:
  /// `source` holds no Diff, has passed expr::check() and must outlive the checker. The reference is computed here,
  /// unless it is asked for late.
  static Result<std::unique_ptr<Checker>> make(const expr::Expr& source, const expr::Policy& policy,
                                               const CheckOptions& options);

  /// A kernel whose meaning was checked, with the interpreter's results at the points where code is compared.
  struct Prepared {
    Verdict meaning;
    std::vector<Outputs> full;                  ///< per set
    std::vector<std::vector<Errors>> errors;    ///< per set and output
    bool as_unrewritten = false;                ///< its values are those of the unrewritten kernel at all drawn points
    bool edges_judged = false;                  ///< by Demand::policy
    std::vector<std::vector<Call>> tail_calls;  ///< per placement (flush end, flush start)
    std::vector<Outputs> tails;                 ///< per placement
  };

  /// Runs a kernel at the points drawn and judges nothing: for the results that check_meaning() compares others with.
  [[nodiscard]] Prepared run(const kir::Kernel& kernel) const;
  /// Asks whether `kernel` (of the source's signature) means what the source means. A kernel that gives the values of
  /// `unrewritten` at all drawn points is held to the same demand as that. One that gives others where the reference
  /// cannot decide is refused when there are too many such points (kOpenShareMax).
  Result<Prepared> check_meaning(const kir::Kernel& kernel, Demand demand = Demand::policy,
                                 const Prepared* unrewritten = nullptr);
  /// Asks more of `kernel`, of which `prepared` tells that less was found to hold: what was asked is not asked again.
  Result<void> ask_more(const kir::Kernel& kernel, Demand demand, Prepared& prepared);
  /// Asks whether a candidate computes the results in `prepared`, whose meaning is right. Keeps the meaning's figures.
  Result<Verdict> check_code(const Prepared& prepared, const Execute& execute, Effort effort);
  /// Code whose form has the meaning `prepared`.
  struct CodeQuestion {
    const Prepared& prepared;
    Effort effort = Effort::full;
  };
  /// Asks check_code() about several candidates at once.
  Result<std::vector<Verdict>> check_codes(std::span<const CodeQuestion> candidates, const ExecuteAll& execute);

  /// Asks the same for calls of about `elements` elements and a little more, aligned and not, in place, between guard
  /// pages: for a candidate with a different code path from that length on, which check_code() never reaches.
  Result<Verdict> check_long_calls(const Prepared& prepared, const kir::Kernel& kernel, const Execute& execute,
                                   std::uint64_t elements);

  [[nodiscard]] const std::vector<Samples>& sets() const { return sets_; }
  /// Returns whether a selection may take a branch that none of the points takes: that branch is untested.
  [[nodiscard]] bool unexplored() const;

 private:
  Checker(const expr::Expr& source, const expr::Policy& policy, const CheckOptions& options)
      : source_(source), policy_(policy), options_(options) {}
  void do_all(std::span<const std::function<void()>> tasks) const;
  Result<void> compute_references();
  Result<void> compute_reference(std::size_t set);
  Result<void> leave_out_screened();
  [[nodiscard]] Result<void> go_on() const;
  /// Asks for Demand::drawn.
  Result<Prepared> judge_drawn(const kir::Kernel& kernel, const Prepared* unrewritten);
  /// How a kernel stands at the points of one set.
  struct OfSet {
    Verdict verdict;
    bool as_unrewritten = false;
    std::optional<Counterexample> difference;
  };
  Result<OfSet> judge_kernel(std::size_t set, const kir::Kernel& kernel, const Prepared* unrewritten,
                             Prepared& prepared);
  [[nodiscard]] std::vector<std::size_t> order_of_sets() const;
  std::optional<Counterexample> judge_set(std::size_t set, const Outputs& ours, const Outputs* fallback,
                                          Verdict& verdict, std::vector<Errors>& errors);
  std::optional<Counterexample> count(std::uint64_t n, bool replaces, const std::vector<Errors>& errors,
                                      Verdict& verdict) const;
  /// Adds the places where the source's own values overflow and underflow to the sets.
  Result<void> add_edges();
  /// Judges `kernel` where its values overflow and underflow, possibly elsewhere than the source's.
  Result<std::optional<Counterexample>> judge_edges(const kir::Kernel& kernel, Verdict& verdict);
  Result<std::optional<Counterexample>> judge_edges(const Samples& samples, const kir::Kernel& kernel,
                                                    Verdict& verdict);
  /// Judges `kernel` where it gives no number and the source as written does (lost_numbers.h).
  Result<std::optional<Counterexample>> judge_lost_numbers(const kir::Kernel& kernel, Verdict& verdict);
  /// A set and an output of which tails are explored.
  struct TailPlace {
    std::size_t set = 0, output = 0;
  };
  [[nodiscard]] std::vector<TailPlace> tail_places() const;
  Result<Tail> tail_at(const TailPlace& place, const kir::Kernel& kernel,
                       const std::vector<std::vector<Errors>>& errors);
  [[nodiscard]] std::optional<Counterexample> fault_of(const TailPlace& place, const Tail& tail) const;
  Result<std::optional<Counterexample>> judge_tails(const kir::Kernel& kernel,
                                                    const std::vector<std::vector<Errors>>& errors, Verdict& verdict);
  /// A run of a candidate with the results of the interpreter.
  struct Question {
    CodeRun run;
    const Outputs& wanted;
  };
  [[nodiscard]] std::vector<Question> questions_of(const CodeQuestion& candidate) const;
  [[nodiscard]] Result<Verdict> compare_code(const Verdict& meaning, std::span<const Question> questions,
                                             std::span<const Executed> executed) const;

  const expr::Expr& source_;
  expr::Policy policy_;
  CheckOptions options_;
  kir::Kernel unrewritten_;  ///< the source by its own steps
  std::vector<Samples> sets_;
  std::vector<Screened> screened_;                    ///< per set
  std::vector<std::optional<Reference>> references_;  ///< per set; none under the exact policy
  LostNumbers lost_numbers_;
  std::vector<Outputs> exact_;          ///< per set, under the exact policy
  std::vector<std::uint32_t> refused_;  ///< per set: kernels that it has refused
};

/// Runs the interpreter on `calls`.
Outputs interpret_calls(const expr::Expr& source, const kir::Kernel& kernel, const Samples& samples,
                        const std::vector<Call>& calls);
/// Runs `plan`, which was made of `kernel` without storage.
Outputs run_calls(const kir::Plan& plan, const expr::Expr& source, const kir::Kernel& kernel, const Samples& samples,
                  const std::vector<Call>& calls);
/// Returns the bits of the scalar variables of a call, in the order of the kernel's params.
std::vector<std::uint64_t> params_of(const expr::Expr& source, const Samples& samples, const Call& call);

}  // namespace trident::equiv
