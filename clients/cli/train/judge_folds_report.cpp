// Reports of `trident train judge --folds`, as text and JSON.
#include <fmt/format.h>

#include "clients/cli/train/judge_json.h"
#include "clients/cli/train/training_reports.h"

namespace trident::cli {

std::string folds_text(const training::JudgeFolds& folds) {
  const auto cell = [](training::FoldMean m, int digits) {
    return fmt::format("{:.{}f} +- {:.{}f}", m.mean, digits, m.deviation, digits);
  };
  std::string text = fmt::format(
      "{} kernels in {} families, timed on {}; mean and standard deviation over {} folds by family; no weights are "
      "written\n",
      folds.kernels, folds.families, folds.machine, folds.folds);
  text += fmt::format("rank correlation of two measurements, the upper limit for any model: {:.4f}\n", folds.ceiling);
  for (const training::JudgeFolds::Split& split : folds.splits) {
    text += fmt::format("{}: {:.0f} kernels in {:.0f} families each\n", split.name, split.kernels.mean,
                        split.families.mean);
    text +=
        fmt::format("  {:<20} {:>17} {:>17} {:>17} {:>17}\n", "", "Spearman", "pairs right", "median error", "regret");
    for (const training::JudgeFolds::Guess& g : split.guesses)
      text += fmt::format("  {:<20} {:>17} {:>17} {:>17} {:>17}\n", g.name, cell(g.spearman, 4), cell(g.pairs, 4),
                          cell(g.median_error, 4), cell(g.regret, 4));
  }
  text += "the form of a family that the network thinks fastest, beside the statically cheapest, as measured\n";
  text += fmt::format("  {:<22} {:>6} {:>17} {:>17} {:>15} {:>15}\n", "", "margin", "gain", "possible", "faster, %",
                      "slower, %");
  const auto percent = [&cell](training::FoldMean m) { return cell({100 * m.mean, 100 * m.deviation}, 1); };
  for (const training::JudgeFolds::Split& split : folds.splits)
    for (const training::JudgeFolds::Extraction& e : split.extraction)
      text += fmt::format("  {:<22} {:>6.2f} {:>17} {:>17} {:>15} {:>15}\n", split.name, e.margin, cell(e.gain, 4),
                          cell(e.possible, 4), percent(e.faster), percent(e.slower));
  return text;
}

std::string folds_json(const training::JudgeFolds& folds) {
  const auto json = [](training::FoldMean m) { return Json{{"mean", m.mean}, {"deviation", m.deviation}}; };
  Json root = {{"folds", folds.folds},       {"machine", folds.machine}, {"kernels", folds.kernels},
               {"families", folds.families}, {"ceiling", folds.ceiling}, {"weights_written", false}};
  root["splits"] = Json::array();
  for (const training::JudgeFolds::Split& split : folds.splits) {
    Json guesses = Json::array(), extraction = guesses;
    for (const training::JudgeFolds::Guess& g : split.guesses) guesses.push_back(guess_json(g, json));
    for (const training::JudgeFolds::Extraction& e : split.extraction) extraction.push_back(extraction_json(e, json));
    root["splits"].push_back({{"name", split.name},
                              {"kernels", json(split.kernels)},
                              {"families", json(split.families)},
                              {"guesses", guesses},
                              {"extraction", extraction}});
  }
  return root.dump(1) + "\n";
}

}  // namespace trident::cli
