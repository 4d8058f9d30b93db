// The report of `trident train judge`, as text, JSON and SVG.
#include <fmt/format.h>

#include "clients/cli/train/calibration_panel.h"
#include "clients/cli/train/judge_json.h"
#include "clients/cli/train/training_reports.h"
#include "jit/training/train_judge.h"
#include "runtime/report/line_plot.h"

namespace trident::cli {

std::string judge_text(const training::TrainedJudge& trained) {
  std::string text = fmt::format("{} kernels in {} families, timed on {}; trained on {}\n", trained.kernels,
                                 trained.families, trained.machine, trained.trained_on);
  text += fmt::format("rank correlation of two measurements, the upper limit for any model: {:.4f}{}\n",
                      trained.ceiling.kept,
                      trained.ceiling.first > 0 ? fmt::format("; of first attempts alone {:.4f}", trained.ceiling.first)
                                                : std::string());
  for (const training::TrainedJudge::Split& split : trained.splits) {
    text += fmt::format("{}: {} kernels in {} families\n", split.name, split.figures.samples, split.figures.families);
    text +=
        fmt::format("  {:<20} {:>9} {:>12} {:>13} {:>8}\n", "", "Spearman", "pairs right", "median error", "regret");
    for (const learn::GuessFigures& g : split.figures.guesses)
      text += fmt::format("  {:<20} {:>9.4f} {:>12.3f} {:>13.3f} {:>8.3f}\n", g.name, g.spearman, g.pairs,
                          g.median_error, g.regret);
  }
  if (!trained.splits.empty()) {
    text += "the form of a family that the network thinks fastest, beside the statically cheapest, as measured\n";
    text +=
        fmt::format("  {:<22} {:>7} {:>7} {:>9} {:>9} {:>9}\n", "", "margin", "gain", "possible", "faster", "slower");
    for (const training::TrainedJudge::Split& split : trained.splits)
      for (const learn::Extraction& e : split.figures.extraction)
        text += fmt::format("  {:<22} {:>7.2f} {:>7.4f} {:>9.4f} {:>7.1f} % {:>7.1f} %\n", split.name, e.margin, e.gain,
                            e.possible, 100 * e.faster, 100 * e.slower);
  }
  return text;
}

std::string judge_json(const training::TrainedJudge& trained) {
  const auto figure = [](double x) { return Json(x); };
  Json root = {{"machine", trained.machine},      {"kernels", trained.kernels},
               {"families", trained.families},    {"trained_on", trained.trained_on},
               {"ceiling", trained.ceiling.kept}, {"ceiling_of_first_attempts", trained.ceiling.first}};
  root["splits"] = Json::array();
  for (const training::TrainedJudge::Split& split : trained.splits) {
    Json guesses = Json::array();
    for (const learn::GuessFigures& g : split.figures.guesses) guesses.push_back(guess_json(g, figure));
    Json extraction = Json::array();
    for (const learn::Extraction& e : split.figures.extraction) extraction.push_back(extraction_json(e, figure));
    root["splits"].push_back({{"name", split.name},
                              {"extraction", extraction},
                              {"kernels", split.figures.samples},
                              {"families", split.figures.families},
                              {"guesses", guesses}});
  }
  root["epochs"] = Json::array();
  for (const training::TrainedJudge::Epoch& e : trained.epochs)
    root["epochs"].push_back({{"loss", e.loss}, {"error", e.error}});
  root["calibration"] = trained.calibration;
  return root.dump(1) + "\n";
}

std::string judge_plot(const training::TrainedJudge& trained) {
  report::Panel loss{"loss by epoch", {}, {}},
      error{"1 - mean of rank correlation and pairs, of families that validate", {}, {}};
  report::Line l{"training", {}}, e{"network", {}};
  for (std::size_t i = 0; i < trained.epochs.size(); ++i) {
    l.points.emplace_back(static_cast<double>(i + 1), trained.epochs[i].loss);
    e.points.emplace_back(static_cast<double>(i + 1), trained.epochs[i].error);
  }
  loss.lines = {l}, error.lines = {e};
  report::Panel rank{"rank correlation by split (1: families, 2: others)", {}, {}};
  if (!trained.splits.empty())
    for (std::size_t g = 0; g < trained.splits[0].figures.guesses.size(); ++g) {
      report::Line line{trained.splits[0].figures.guesses[g].name, {}};
      for (std::size_t s = 0; s < trained.splits.size(); ++s)
        line.points.emplace_back(static_cast<double>(s + 1), trained.splits[s].figures.guesses[g].spearman);
      rank.lines.push_back(std::move(line));
    }
  rank.marks.emplace_back("two measurements", trained.ceiling.kept);
  const report::Panel calibration = calibration_panel("measured, by what is guessed (ln ns)", trained.calibration);
  return report::line_plot({loss, error, rank, calibration});
}

}  // namespace trident::cli
