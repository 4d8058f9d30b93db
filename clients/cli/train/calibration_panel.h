#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/report/line_plot.h"

namespace trident::cli {

/// Plots observed against predicted values, with the diagonal of perfect calibration.
inline report::Panel calibration_panel(std::string title, const std::vector<std::pair<double, double>>& calibration) {
  report::Line said{"network", {}}, right{"as it should be", {}};
  for (const auto& [guessed, measured] : calibration) {
    said.points.emplace_back(guessed, measured);
    right.points.emplace_back(guessed, guessed);
  }
  report::Panel panel{std::move(title), {}, {}};
  panel.lines = {said, right};
  return panel;
}

}  // namespace trident::cli
