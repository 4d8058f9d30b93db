// Plots of lines over numbers, side by side in one self-contained SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trident::report {

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Panel {
  std::string title;
  std::vector<Line> lines;
  std::vector<std::pair<std::string, double>> marks;  ///< values on the upright axis that lines are compared with
};

inline constexpr double kPanelWidth = 360, kPanelHeight = 260;

/// One panel as a part of an SVG whose style has a class "dim".
std::string panel_svg(const Panel& panel, double left);
/// Axes span what there is; a panel without finite points says so.
std::string line_plot(const std::vector<Panel>& panels);

}  // namespace trident::report
