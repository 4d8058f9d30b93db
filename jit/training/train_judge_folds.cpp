#include "jit/training/train_judge_folds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/json/json.h"
#include "runtime/train/schedule.h"

namespace trident::training {
namespace {

/// The samples `of` in two parts: those of fold `fold`, and the others. Families stay together.
struct Parts {
  std::vector<std::uint32_t> fold, rest;
};
Parts parts_of(const learn::JudgeSamples& samples, std::span<const std::uint32_t> of, std::uint32_t folds,
               std::uint32_t fold, std::uint64_t seed) {
  std::vector<std::uint32_t> families;
  for (const std::uint32_t i : of) families.push_back(samples.samples[i].family);
  const std::vector<std::uint32_t> fold_of = train::folds_by_group(families, folds, seed);
  Parts parts;
  for (std::size_t k = 0; k < of.size(); ++k) (fold_of[k] == fold ? parts.fold : parts.rest).push_back(of[k]);
  return parts;
}

/// Returns the values per fold, keyed by quantity.
template <class Of>
FoldMean over(const std::vector<const learn::JudgeFigures*>& folds, const Of& value) {
  std::vector<double> values;
  for (const learn::JudgeFigures* figures : folds) values.push_back(value(*figures));
  return mean_of(values);
}

JudgeFolds::Split split_of(const std::string& name, const std::vector<const learn::JudgeFigures*>& folds) {
  using Figures = learn::JudgeFigures;
  JudgeFolds::Split split;
  split.name = name;
  split.kernels = over(folds, [](const Figures& f) { return static_cast<double>(f.samples); });
  split.families = over(folds, [](const Figures& f) { return static_cast<double>(f.families); });
  for (std::size_t g = 0; g < folds[0]->guesses.size(); ++g)
    split.guesses.push_back({folds[0]->guesses[g].name,
                             over(folds, [g](const Figures& f) { return f.guesses[g].spearman; }),
                             over(folds, [g](const Figures& f) { return f.guesses[g].pairs; }),
                             over(folds, [g](const Figures& f) { return f.guesses[g].median_error; }),
                             over(folds, [g](const Figures& f) { return f.guesses[g].regret; })});
  for (std::size_t e = 0; e < folds[0]->extraction.size(); ++e)
    split.extraction.push_back({over(folds, [e](const Figures& f) { return f.extraction[e].margin; }).mean,
                                over(folds, [e](const Figures& f) { return f.extraction[e].gain; }),
                                over(folds, [e](const Figures& f) { return f.extraction[e].faster; }),
                                over(folds, [e](const Figures& f) { return f.extraction[e].slower; }),
                                over(folds, [e](const Figures& f) { return f.extraction[e].possible; })});
  return split;
}

constexpr std::uint32_t kChoosing = 5;  // one family in so many of those trained on chooses the epoch
constexpr const char* kSplits[] = {"families of the fold", "generators left out", "written by hand"};

}  // namespace

FoldMean mean_of(const std::vector<double>& values) {
  FoldMean out;
  const auto count = static_cast<double>(values.size());
  for (const double v : values) out.mean += v / count;
  double squares = 0;
  for (const double v : values) squares += (v - out.mean) * (v - out.mean);
  if (values.size() > 1) out.deviation = std::sqrt(squares / (count - 1));
  return out;
}

Result<JudgeFolds> train_judge_folds(const TrainJudgeOptions& options) {
  JudgeFolds out;
  out.folds = options.folds;
  TRY(const JudgeKernels kernels, judge_kernels(options));
  const learn::JudgeSamples& samples = kernels.samples;
  out.ceiling = kernels.ceiling.kept, out.machine = kernels.machine;
  out.kernels = samples.samples.size(), out.families = samples.families.size();
  const learn::JudgeSplit split = judge_split(samples, options.without);
  std::vector<std::uint32_t> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::sort(all.begin(), all.end());  // families together
  std::vector<learn::JudgeFigures> figures[std::size(kSplits)];
  for (std::uint32_t fold = 0; fold < options.folds; ++fold) {
    const Parts tested = parts_of(samples, all, options.folds, fold, options.seed);
    const Parts choosing = parts_of(samples, tested.rest, kChoosing, 0, options.seed + 1);
    const std::string number = std::to_string(fold + 1);
    TRY(const TaughtJudge taught, teach_judge(options, kernels, choosing.rest, choosing.fold,
                                              options.folder + "/fold" + number, "fold " + number + ", "));
    out.interrupted = taught.result.interrupted;
    if (out.interrupted) return out;
    const std::vector<std::uint32_t>* parts[] = {&tested.fold, &split.left_out, &split.by_hand};
    for (std::size_t s = 0; s < std::size(kSplits); ++s)
      if (!parts[s]->empty())
        figures[s].push_back(learn::figures_of(*taught.network, samples, choosing.rest, *parts[s]));
  }
  for (std::size_t s = 0; s < std::size(kSplits); ++s) {
    std::vector<const learn::JudgeFigures*> folds;
    for (const learn::JudgeFigures& f : figures[s]) folds.push_back(&f);
    if (!folds.empty()) out.splits.push_back(split_of(kSplits[s], folds));
  }
  return out;
}

}  // namespace trident::training
