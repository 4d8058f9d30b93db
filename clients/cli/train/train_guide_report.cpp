// The report of `trident train guide`, as text, JSON and SVG.
#include <fmt/format.h>

#include "clients/cli/train/calibration_panel.h"
#include "clients/cli/train/training_reports.h"
#include "jit/training/pretrain.h"
#include "jit/training/train_guide.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"
#include "runtime/report/line_plot.h"

namespace trident::cli {
namespace {

void add_figures(std::string& text, const char* what, const learn::GuideFigures& f) {
  if (f.samples == 0) return;
  text += fmt::format("{}: {}, of which the best term needs {}\n", what, counted(f.samples, "rewrite"), f.needed);
  for (const auto& [name, auc] : {std::pair{"network", f.auc},
                                  {"network, without the change that a rewrite makes", f.auc_no_delta},
                                  {"network, among rewrites of one graph", f.within},
                                  {"... without the change that a rewrite makes", f.within_no_delta},
                                  {"change of static cost", f.auc_static},
                                  {"how often the rule was needed in training", f.auc_rule}})
    text += fmt::format("  {:<50} AUC {:.4f}\n", name, auc);
}

Json json_of(const learn::GuideFigures& f) {
  return {{"samples", f.samples},           {"needed", f.needed},    {"auc", f.auc},
          {"auc_no_delta", f.auc_no_delta}, {"within", f.within},    {"within_no_delta", f.within_no_delta},
          {"auc_static", f.auc_static},     {"auc_rule", f.auc_rule}};
}

std::string pretraining_text(const learn::Pretrained& pretrained) {
  if (pretrained.lengths.empty()) return "";
  std::string text = "pretrained on backward walks; how often the way back is ranked first, on walks not trained on\n";
  for (const auto& of : pretrained.lengths) {
    text += fmt::format(
        "  {} rewrite{}: {} walks, {} epochs; of all states {:.1f} % (chance {:.1f} %, change of static ", of.steps,
        of.steps == 1 ? "" : "s", of.walks, of.epochs, 100 * of.network.first, 100 * of.network.chance);
    text +=
        fmt::format("cost {:.1f} %), of the last ones {:.1f} %, before training {:.1f} %{}\n", 100 * of.by_cost.first,
                    100 * of.ends, 100 * of.ends_before, of.enough ? "" : ": not enough, longer walks were not begun");
  }
  return text + fmt::format("  depth that was reached: {}\n", pretrained.reached);
}

Json pretraining_json(const learn::Pretrained& pretrained) {
  Json depths = Json::array();
  for (const auto& of : pretrained.lengths)
    depths.push_back({{"depth", of.steps},
                      {"walks", of.walks},
                      {"samples", of.samples},
                      {"epochs", of.epochs},
                      {"walks_tested", of.walks_tested},
                      {"states_tested", of.network.states},
                      {"first", of.network.first},
                      {"first_chance", of.network.chance},
                      {"first_static", of.by_cost.first},
                      {"ends_first", of.ends},
                      {"ends_first_before", of.ends_before},
                      {"enough", of.enough}});
  return {{"depth_reached", pretrained.reached}, {"depths", depths}};
}

}  // namespace

std::string guide_text(const training::TrainedGuide& trained) {
  std::string text =
      fmt::format("trained on {} of {}\n", counted(trained.samples, "rewrite"), counted(trained.graphs, "graph"));
  if (trained.gain_most > 0)
    text += fmt::format("log gain of a graph: {:.3f} on average, {:.3f} at most\n", trained.gain, trained.gain_most);
  if (trained.decisions > 0)
    text += fmt::format(
        "reinforced by {} decisions in {} steps; its labels separate needed rewrites with AUC {:.4f}; {:.0f} % of the "
        "last "
        "ways back found, from {} rewrites away\n",
        trained.decisions, trained.learning_steps, trained.auc_labels, 100 * trained.way_back, trained.scramble);
  text += pretraining_text(trained.pretrained);
  if (trained.epochs.size() > 1) text += fmt::format("chosen: round {}\n", trained.round_chosen + 1);
  add_figures(text, "held out", trained.figures);
  text += fmt::format("  {:<50} AUC {:.4f}\n", "network, in integers", trained.auc_integers);
  text += fmt::format("  different rewrites of one state that it tells apart: {:.2f} %\n", 100 * trained.told_apart);
  text += fmt::format("what searches find, as a share of what they began with (epochs are chosen by the first)\n");
  for (const auto& [name, chosen, other] :
       {std::tuple{"network", trained.ratio_chosen, trained.ratio},
        std::tuple{"change of static cost", trained.ratio_static_chosen, trained.ratio_static},
        std::tuple{"all rewrites alike", trained.ratio_constant_chosen, trained.ratio_constant}})
    text += fmt::format("  {:<50} {:.4f}, in other cases {:.4f}\n", name, chosen, other);
  add_figures(text, "searches about domains left out of training", trained.left_out);
  add_figures(text, "... rules of these domains alone", trained.left_out_rules);
  add_figures(text, "expressions tested on", trained.tested);
  if (trained.tested.samples > 0)
    text += fmt::format("  {:<50} {:.4f}, by change of static cost {:.4f}\n", "what searches find in them",
                        trained.ratio_tested, trained.ratio_static_tested);
  return text;
}

std::string guide_json(const training::TrainedGuide& trained) {
  Json root = {{"samples", trained.samples},
               {"graphs", trained.graphs},
               {"gain", trained.gain},
               {"gain_most", trained.gain_most}};
  root["held_out"] = json_of(trained.figures);
  root["held_out"]["auc_integers"] = trained.auc_integers;
  root["held_out"]["told_apart"] = trained.told_apart;
  root["ratio"] = {{"chosen_by", trained.ratio_chosen},
                   {"others", trained.ratio},
                   {"static_chosen_by", trained.ratio_static_chosen},
                   {"static_others", trained.ratio_static},
                   {"constant_chosen_by", trained.ratio_constant_chosen},
                   {"constant_others", trained.ratio_constant}};
  if (!trained.pretrained.lengths.empty()) root["pretraining"] = pretraining_json(trained.pretrained);
  if (trained.decisions > 0)
    root["reinforced"] = {{"decisions", trained.decisions},
                          {"steps", trained.learning_steps},
                          {"auc_labels", trained.auc_labels},
                          {"scramble", trained.scramble},
                          {"way_back", trained.way_back}};
  root["round_chosen"] = trained.round_chosen + 1;
  if (trained.left_out.samples > 0) root["left_out"] = json_of(trained.left_out);
  if (trained.left_out_rules.samples > 0) root["left_out_rules"] = json_of(trained.left_out_rules);
  if (trained.tested.samples > 0) {
    root["tested"] = json_of(trained.tested);
    root["tested"]["ratio"] = trained.ratio_tested, root["tested"]["ratio_static"] = trained.ratio_static_tested;
  }
  root["rounds"] = Json::array();
  for (const auto& round : trained.epochs) {
    Json epochs = Json::array();
    for (const training::TrainedGuide::Epoch& e : round)
      epochs.push_back({{"loss", e.loss}, {"auc", e.auc}, {"ratio", e.ratio}});
    root["rounds"].push_back(epochs);
  }
  root["calibration"] = trained.calibration;
  return root.dump(1) + "\n";
}

std::string guide_plot(const training::TrainedGuide& trained) {
  report::Panel loss{"loss by epoch", {}, {}}, auc{"area under the curve, held out", {}, {}};
  for (std::size_t r = 0; r < trained.epochs.size(); ++r) {
    const std::string name = fmt::format("round {}", r + 1);
    report::Line l{name, {}}, a{name, {}};
    for (std::size_t e = 0; e < trained.epochs[r].size(); ++e) {
      l.points.emplace_back(static_cast<double>(e + 1), trained.epochs[r][e].loss);
      a.points.emplace_back(static_cast<double>(e + 1), trained.epochs[r][e].auc);
    }
    loss.lines.push_back(std::move(l)), auc.lines.push_back(std::move(a));
  }
  for (const auto& [name, value] :
       {std::pair{"static cost", trained.figures.auc_static}, {"rule alone", trained.figures.auc_rule}})
    auc.marks.emplace_back(name, value);
  const report::Panel calibration = calibration_panel("needed, by what the network says", trained.calibration);
  return report::line_plot({loss, auc, calibration});
}

}  // namespace trident::cli
