#include "runtime/report/flame_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/report/html_page.h"

namespace trident::report {
namespace {

constexpr double kWidth = 1200, kRow = 20, kTop = 44, kMargin = 8, kVisible = 0.5;
/// Width of a monospaced letter at 12 px.
constexpr double kLetter = 7.3;
constexpr const char* kColours[] = {"#f59e0b", "#fb923c", "#f87171", "#facc15", "#fbbf24", "#fdba74"};

/// Gives a name its colour, in every graph the same.
const char* colour_of(const std::string& name) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return kColours[hash % std::size(kColours)];
}

}  // namespace

std::vector<std::uint64_t> totals_of(const std::vector<Flame>& flames) {
  std::vector<std::uint64_t> totals(flames.size());
  for (std::size_t i = flames.size(); i-- > 0;) {
    totals[i] += flames[i].own;
    if (i > 0) totals[flames[i].parent] += totals[i];
  }
  return totals;
}

std::string flame_svg(const std::vector<Flame>& flames, const std::string& title, const std::string& unit) {
  const std::vector<std::uint64_t> totals = totals_of(flames);
  const std::uint64_t whole = totals.empty() ? 0 : totals[0];
  const double scale = whole == 0 ? 0 : (kWidth - 2 * kMargin) / static_cast<double>(whole);
  // For each flame: its left edge, the left edge of the next flame below it, and its depth.
  std::vector<double> left(flames.size(), kMargin), next(flames.size(), kMargin);
  std::vector<std::size_t> depth(flames.size(), 0);
  std::size_t deepest = 0;
  std::string rows;
  for (std::size_t i = 0; i < flames.size(); ++i) {
    const double width = static_cast<double>(totals[i]) * scale;
    if (i > 0) {
      const std::size_t parent = flames[i].parent;
      left[i] = next[i] = next[parent];
      next[parent] += width;
      depth[i] = depth[parent] + 1;
    }
    if (width < kVisible) continue;
    deepest = std::max(deepest, depth[i]);
    const double top = kTop + static_cast<double>(depth[i]) * kRow;
    const std::string& name = flames[i].name;
    const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetter));
    const std::string shown = name.size() <= letters ? name : letters < 3 ? "" : name.substr(0, letters - 2) + "..";
    rows += fmt::format(
        "<g><title>{}: {} {} ({:.1f} %), {} of its own</title><rect x='{:.2f}' y='{:.0f}' width='{:.2f}' "
        "height='{:.0f}' "
        "fill='{}'/><text x='{:.2f}' y='{:.0f}'>{}</text></g>\n",
        html::escape(name), totals[i], unit, 100.0 * static_cast<double>(totals[i]) / static_cast<double>(whole),
        flames[i].own, left[i], top, width, kRow - 1, colour_of(name), left[i] + 3, top + 14, html::escape(shown));
  }
  const double height = kTop + static_cast<double>(deepest + 1) * kRow + kMargin;
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' "
      "font-family='monospace' font-size='12'>\n"
      "<style>text{{fill:#111}} .head{{font:600 15px sans-serif}} g:hover rect{{stroke:#111}} "
      "svg{{background:#fff}}</style>\n"
      "<text class='head' x='{2:.0f}' y='24'>{3}</text>\n{4}</svg>\n",
      kWidth, height, kMargin, html::escape(title), whole == 0 ? "<text x='8' y='60'>nothing to show</text>\n" : rows);
}

}  // namespace trident::report
