#include "runtime/report/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/report/html_page.h"

namespace trident::report {
namespace {

/// Space around the axes.
constexpr double kMarginLeft = 56, kMarginRight = 16, kMarginTop = 34, kMarginBottom = 46;
constexpr const char* kLineColours[] = {"#2563eb", "#dc2626", "#059669", "#9333ea", "#d97706"};

struct Range {
  double lo = std::numeric_limits<double>::infinity(), hi = -std::numeric_limits<double>::infinity();
  void take(double v) {
    if (!std::isfinite(v)) return;
    lo = std::min(lo, v), hi = std::max(hi, v);
  }
  void widen() {
    if (lo < hi) return;
    lo -= 0.5, hi += 0.5;
  }
  [[nodiscard]] double share(double v) const { return (v - lo) / (hi - lo); }
};

}  // namespace

std::string panel_svg(const Panel& panel, double left) {
  Range x, y;
  for (const Line& line : panel.lines)
    for (const auto& [px, py] : line.points) x.take(px), y.take(py);
  std::string svg =
      fmt::format("<text x='{:.0f}' y='18' font-weight='600'>{}</text>", left + kMarginLeft, html::escape(panel.title));
  if (!(x.lo <= x.hi) || !(y.lo <= y.hi))
    return svg + fmt::format("<text x='{:.0f}' y='{:.0f}'>nothing to show</text>", left + kMarginLeft, kMarginTop + 30);
  for (const auto& [name, value] : panel.marks) y.take(value);
  x.widen(), y.widen();
  const double right = kPanelWidth - kMarginRight, bottom = kPanelHeight - kMarginBottom;
  const auto at_x = [&](double v) { return left + kMarginLeft + x.share(v) * (right - kMarginLeft); };
  const auto at_y = [&](double v) { return bottom - y.share(v) * (bottom - kMarginTop); };
  for (int tick = 0; tick <= 4; ++tick) {
    const double v = y.lo + (y.hi - y.lo) * tick / 4, h = x.lo + (x.hi - x.lo) * tick / 4;
    svg += fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#8884'/>", left + kMarginLeft,
                       left + right, at_y(v), at_y(v));
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end' class='dim'>{:.3g}</text>",
                       left + kMarginLeft - 6, at_y(v) + 4, v);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle' class='dim'>{:.3g}</text>", at_x(h),
                       bottom + 16, h);
  }
  for (const auto& [name, value] : panel.marks) {
    svg += fmt::format(
        "<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#888' stroke-dasharray='4 3'/><text x='{:.1f}' "
        "y='{:.1f}' text-anchor='end' class='dim'>{}</text>",
        left + kMarginLeft, left + right, at_y(value), at_y(value), left + right, at_y(value) - 4, html::escape(name));
  }
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const char* const colour = kLineColours[i % std::size(kLineColours)];
    std::string points;
    for (const auto& [px, py] : panel.lines[i].points) {
      if (!std::isfinite(px) || !std::isfinite(py)) continue;
      points += fmt::format("{:.1f},{:.1f} ", at_x(px), at_y(py));
      svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5' fill='{}'/>", at_x(px), at_y(py), colour);
    }
    svg += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='1.5'/>", points, colour);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' fill='{}'>{}</text>",
                       left + kMarginLeft + 100 * static_cast<double>(i), kPanelHeight - 10, colour,
                       html::escape(panel.lines[i].name));
  }
  return svg;
}

std::string line_plot(const std::vector<Panel>& panels) {
  std::string body;
  for (std::size_t i = 0; i < panels.size(); ++i) body += panel_svg(panels[i], kPanelWidth * static_cast<double>(i));
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {:.0f} {:.0f}' font-family='system-ui,sans-serif' "
      "font-size='12'><style>.dim{{fill:#777}}</style><rect width='100%' height='100%' fill='#fff'/>{}</svg>\n",
      kPanelWidth * static_cast<double>(std::max<std::size_t>(panels.size(), 1)), kPanelHeight, body);
}

}  // namespace trident::report
