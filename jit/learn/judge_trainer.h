// Trains the judge on kernels that were timed (timed_kernels.h): first the linear function of its scalars, by ridge
// regression, then the head and the embedding below it, which learn what that leaves over.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/expr/rewrite/judge.h"
#include "jit/learn/network.h"
#include "jit/learn/timed_kernels.h"
#include "runtime/train/trainer.h"

namespace trident::learn {

/// A kernel that was timed, as the judge sees it.
struct JudgeSample {
  std::uint32_t first = 0, end = 0;  ///< in JudgeSamples::features
  std::uint32_t nodes = 1;           ///< of its term
  std::uint32_t family = 0;          ///< number in JudgeSamples::families
  expr::rewrite::JudgeScalars scalars{};
  double log_ns = 0;         ///< measured, per element
  double static_log = 0;     ///< the analytical model's
  bool static_best = false;  ///< what a search without a judge would take of its family
};

struct JudgeSamples {
  struct Family {
    std::string name, generator;
    friend bool operator==(const Family&, const Family&) = default;
  };
  std::vector<std::uint32_t> features;
  std::vector<JudgeSample> samples;  ///< those of a family together
  std::vector<Family> families;

  /// Adds the kernel that `expr` was lowered to. Nothing, and false, where the expression is no term.
  bool add(const expr::Expr& expr, const kir::Kernel& kernel, const cost::Table& costs, double ns, std::uint32_t family,
           unsigned depth = nnue::kDefaultDepth);
  [[nodiscard]] Example example_of(const JudgeSample& sample) const;
};

/// All kernels of a cache that were timed on one machine, those that are no terms left out. The costs are those that
/// are shipped for its processor. `progress`: kernels done.
Result<JudgeSamples> samples_of(const TimedKernels& timed, std::uint32_t machine, unsigned depth = nnue::kDefaultDepth,
                                const std::function<void(std::size_t done)>& progress = {});

/// Rank correlation of the two measurements of a machine's kernels: the most that a guess can reach.
struct Ceiling {
  double kept = 0;   ///< of the attempts that were kept, those that repeat best: too high, if by little
  double first = 0;  ///< of all first attempts; 0 where the cache does not know them
};
Ceiling ceiling_of(const TimedKernels& timed, std::uint32_t machine);

/// Whole families: which are trained on, which choose among what training has made (the epoch, the margin, whether it
/// is promoted), and which nothing but a report's figures sees.
struct JudgeSplit {
  std::vector<std::uint32_t> train, validation;            ///< numbers of samples
  std::vector<std::uint32_t> held_out, by_hand, left_out;  ///< ... of those for reports
};
/// One family in five is held out, by its name, and of the others one in eight validates; those written by hand
/// (generator `by_hand`) are all held out, and those of the generators `without`.
JudgeSplit split_of(const JudgeSamples& samples, const std::string& by_hand, std::span<const std::string> without);

/// What guesses are worth on samples that they were not fitted to.
struct GuessFigures {
  std::string name;
  double spearman = 0;      ///< rank correlation with the measured times, over all samples
  double pairs = 0;         ///< share of pairs of one family more than 5 % apart that it puts in order; 0.5: guessing
  double median_error = 0;  ///< of logarithms
  double regret = 0;  ///< mean over families of how much slower its first choice is than the fastest, as logarithm
};
/// What the family's form that the network thinks fastest takes, beside the statically cheapest, as measured. It is
/// taken where the network promises at least `margin` by it.
struct Extraction {
  double margin = 0;
  double gain = 1;      ///< geometric mean over families of static time / learned time
  double slower = 0;    ///< share of families where the learned one takes over 1 % longer
  double faster = 0;    ///< ... over 1 % less
  double possible = 1;  ///< the gain of always taking the fastest
};

struct JudgeFigures {
  std::size_t samples = 0, families = 0;
  std::vector<Extraction> extraction;  ///< without a margin, and by the network's own
  std::vector<GuessFigures> guesses;   ///< the network's first, then the baselines'
};
/// Beside the network: the judge that comes with the program, the linear function that the network starts from, and
/// others on single scalars; the functions are fitted to the training samples.
JudgeFigures figures_of(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> train,
                        std::span<const std::uint32_t> held_out);

/// Kernels of one family that are compared with each other: what JudgeTraining::trainer counts as a sample.
inline constexpr std::size_t kGroup = 8, kShards = 2;
std::vector<std::vector<std::uint32_t>> groups_of(const JudgeSamples& samples, std::span<const std::uint32_t> train);

/// The logarithm of the nanoseconds that it guesses.
double guess_of(const Network& network, const JudgeSamples& samples, const JudgeSample& sample);

/// 1 less the mean of rank correlation and share of pairs in order: what epochs are chosen by.
double judge_fault(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> of);

/// Ridge regression of the logarithms of times on all scalars, without a margin.
nn::LinearGuess fit_base(const JudgeSamples& samples, std::span<const std::uint32_t> train);

struct JudgeTraining {
  train::TrainerOptions trainer;
  double pairwise = 1;  ///< weight of the order within families, beside the error of logarithms
  double drop = 0.8;    ///< share of features that each kernel is shown without, others each time
  std::function<bool(const train::Report&)> progress{};
};
/// The network begins with fit_base() alone and ends with the best epoch's weights, by judge_fault() of `validation`;
/// with its score made smaller where that is better still; and with the margin of best_margin().
Result<train::TrainingResult> train_judge(Network& network, const JudgeSamples& samples,
                                          std::span<const std::uint32_t> train,
                                          std::span<const std::uint32_t> validation, const JudgeTraining& options);

/// By which choosing is the fastest in the geometric mean, of those by which at most `slower_max` of the families get
/// slower; the largest that there is where none is so careful.
double best_margin(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> of,
                   double slower_max = 0.03);

std::vector<std::uint64_t> hits_of(const JudgeSamples& samples, std::span<const std::uint32_t> of);

}  // namespace trident::learn
