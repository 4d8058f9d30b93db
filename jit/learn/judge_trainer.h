// Trains the judge on timed kernels (timed_kernels.h): first the linear function of its scalars, by ridge
// regression, then the head and the embedding below it, which learn the remaining error.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/expr/rewrite/time_model.h"
#include "jit/learn/network.h"
#include "jit/learn/timed_kernels.h"
#include "runtime/train/trainer.h"

namespace trident::learn {

/// A timed kernel as the judge sees it.
struct JudgeSample {
  std::uint32_t first = 0, end = 0;  ///< in JudgeSamples::features
  std::uint32_t nodes = 1;           ///< nodes of its term
  std::uint32_t family = 0;          ///< number in JudgeSamples::families
  expr::rewrite::TimeScalars scalars{};
  double log_ns = 0;         ///< measured, per element
  double static_log = 0;     ///< the analytical model's
  bool static_best = false;  ///< the choice of a search without a judge in its family
};

struct JudgeSamples {
  struct Family {
    std::string name, generator;
    friend bool operator==(const Family&, const Family&) = default;
  };
  std::vector<std::uint32_t> features;
  std::vector<JudgeSample> samples;  ///< kernels of a family stand together
  std::vector<Family> families;

  /// Adds the kernel that `expr` was lowered to. Returns false, and adds nothing, if the expression is not a term.
  bool add(const expr::Expr& expr, const kir::Kernel& kernel, const cost::Table& costs, double ns, std::uint32_t family,
           unsigned depth = nnue::kDefaultDepth);
  [[nodiscard]] Example example_of(const JudgeSample& sample) const;
};

/// Makes samples from all kernels of a cache that were timed on one machine, without those that are not terms. Costs
/// are the shipped ones for its processor. `progress`: kernels done.
Result<JudgeSamples> samples_of(const TimedKernels& timed, std::uint32_t machine, unsigned depth = nnue::kDefaultDepth,
                                const std::function<void(std::size_t done)>& progress = {});

/// Rank correlation of the two measurements of a machine's kernels: an upper bound for any guess.
struct Ceiling {
  double kept = 0;   ///< over the kept attempts, those that repeat best: slightly too high
  double first = 0;  ///< over all first attempts; 0 if the cache does not know them
};
Ceiling ceiling_of(const TimedKernels& timed, std::uint32_t machine);

/// Split by whole families: for training, for choices after training (the epoch, the margin, whether it
/// is promoted), and for a report's figures alone.
struct JudgeSplit {
  std::vector<std::uint32_t> train, validation;            ///< numbers of samples
  std::vector<std::uint32_t> held_out, by_hand, left_out;  ///< numbers of samples for reports
};
/// Holds out one family in five, by its name; one in eight of the others validates. Families written by hand
/// (generator `by_hand`) are all held out, and those of the generators `without` are left out.
JudgeSplit split_of(const JudgeSamples& samples, const std::string& by_hand, std::span<const std::string> without);

/// Quality of guesses on samples that they were not fitted to.
struct GuessFigures {
  std::string name;
  double spearman = 0;      ///< rank correlation with the measured times, over all samples
  double pairs = 0;         ///< share of pairs of one family more than 5 % apart that it puts in order; 0.5: guessing
  double median_error = 0;  ///< error of logarithms
  double regret = 0;  ///< mean over families of how much slower its first choice is than the fastest, as logarithm
};
/// Measured time of the form that the network thinks fastest in its family, compared with the statically cheapest. The
/// network's form is taken if it promises a gain of at least `margin`.
struct Extraction {
  double margin = 0;
  double gain = 1;      ///< geometric mean over families of static time / learned time
  double slower = 0;    ///< share of families where the learned one takes over 1 % longer
  double faster = 0;    ///< share where it takes over 1 % less
  double possible = 1;  ///< the gain of always taking the fastest
};

struct JudgeFigures {
  std::size_t samples = 0, families = 0;
  std::vector<Extraction> extraction;  ///< without a margin, and by the network's own
  std::vector<GuessFigures> guesses;   ///< the network's first, then the baselines'
};
/// Compares the network with the shipped judge, the linear function that the network starts from, and
/// others on single scalars; the functions are fitted to the training samples.
JudgeFigures figures_of(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> train,
                        std::span<const std::uint32_t> held_out);

/// Number of kernels of one family that are compared with each other: one sample of JudgeTraining::trainer.
inline constexpr std::size_t kGroup = 8, kShards = 2;
std::vector<std::vector<std::uint32_t>> groups_of(const JudgeSamples& samples, std::span<const std::uint32_t> train);

/// Returns the logarithm of the guessed nanoseconds.
double guess_of(const Network& network, const JudgeSamples& samples, const JudgeSample& sample);

/// Returns 1 minus the mean of rank correlation and share of pairs in order: it chooses epochs.
double judge_fault(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> of);

/// Fits the logarithms of times on all scalars by ridge regression, without a margin.
nn::LinearGuess fit_base(const JudgeSamples& samples, std::span<const std::uint32_t> train);

struct JudgeTraining {
  train::TrainerOptions trainer;
  double pairwise = 1;  ///< weight of the order within families; the error of logarithms has 1
  double drop = 0.8;    ///< share of features hidden from each kernel, others each time
  std::function<bool(const train::Report&)> progress{};
};
/// Begins with fit_base() alone and ends with the best epoch's weights, by judge_fault() of `validation`. Scales
/// the score down if that is better still, and sets the margin of best_margin().
Result<train::TrainingResult> train_judge(Network& network, const JudgeSamples& samples,
                                          std::span<const std::uint32_t> train,
                                          std::span<const std::uint32_t> validation, const JudgeTraining& options);

/// Returns the margin with the fastest choices in the geometric mean, among those that make at most `slower_max` of the
/// families slower; the largest margin if none does.
double best_margin(const Network& network, const JudgeSamples& samples, std::span<const std::uint32_t> of,
                   double slower_max = 0.03);

std::vector<std::uint64_t> hits_of(const JudgeSamples& samples, std::span<const std::uint32_t> of);

}  // namespace trident::learn
