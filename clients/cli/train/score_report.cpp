// Reports of `trident train guide --score`, as text and JSON.
#include <fmt/format.h>

#include "clients/cli/train/training_reports.h"
#include "runtime/base/counted.h"
#include "runtime/json/json.h"

namespace trident::cli {

std::string score_text(const training::GuideScore& s) {
  std::string text = fmt::format("{}: {} held out, of which the best term needs {}\n", s.weights,
                                 counted(s.samples, "rewrite"), s.needed);
  for (const auto& [name, auc] : {std::pair{"network, in integers", s.auc},
                                  {"network, without the change that a rewrite makes", s.auc_no_delta},
                                  {"network, without the rule", s.auc_no_rule},
                                  {"network, among rewrites of one graph", s.within},
                                  {"... without the change that a rewrite makes", s.within_no_delta},
                                  {"... without the rule", s.within_no_rule},
                                  {"change of static cost", s.auc_static},
                                  {"how often the rule was needed in training", s.auc_rule},
                                  {"all rewrites alike", 0.5}})
    text += fmt::format("  {:<50} AUC {:.4f}\n", name, auc);
  text += fmt::format("  different rewrites of one state that it tells apart: {:.2f} %\n", 100 * s.told_apart);
  text += "what searches find, as a share of what they began with\n";
  for (const auto& [name, other, chosen] : {std::tuple{"network", s.ratio, s.ratio_chosen},
                                            {"change of static cost", s.ratio_static, s.ratio_static_chosen},
                                            {"all rewrites alike", s.ratio_constant, s.ratio_constant_chosen}})
    text += fmt::format("  {:<50} {:.4f}, in the cases that epochs are chosen by {:.4f}\n", name, other, chosen);
  return text;
}

std::string score_json(const training::GuideScore& s) {
  const Json root = {{"weights", s.weights},
                     {"held_out",
                      {{"samples", s.samples},
                       {"needed", s.needed},
                       {"auc_integers", s.auc},
                       {"auc_no_delta", s.auc_no_delta},
                       {"auc_no_rule", s.auc_no_rule},
                       {"within", s.within},
                       {"within_no_delta", s.within_no_delta},
                       {"within_no_rule", s.within_no_rule},
                       {"auc_static", s.auc_static},
                       {"auc_rule", s.auc_rule},
                       {"auc_constant", 0.5},
                       {"told_apart", s.told_apart}}},
                     {"ratio",
                      {{"chosen_by", s.ratio_chosen},
                       {"others", s.ratio},
                       {"static_chosen_by", s.ratio_static_chosen},
                       {"static_others", s.ratio_static},
                       {"constant_chosen_by", s.ratio_constant_chosen},
                       {"constant_others", s.ratio_constant}}}};
  return root.dump(1) + "\n";
}

}  // namespace trident::cli
