// Self-contained HTML reports: one file, inline styles, charts as inline SVG, no request to anywhere. Readable in light
// and dark, with a keyboard and printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trident::report::html {

/// `text` with &, <, > and quotes escaped.
std::string escape(std::string_view text);

/// A figure that stands on its own: "0.52" over "geomean ratio".
struct Tile {
  std::string figure, label;
  bool good = true;  ///< coloured by it
};

/// One series of a chart: its name and the class s0..s9 of its colour.
struct Series {
  std::string name;
  unsigned colour = 0;
};

/// A horizontal bar that starts at 1 on a logarithmic axis: to the left faster, to the right slower, and how many
/// times.
struct RatioRow {
  std::string label;
  double ratio = 1;
  std::string hint;  ///< shown when pointed at
};
std::string ratio_chart(const std::vector<RatioRow>& rows, const std::string& caption);

/// One dot per series on a logarithmic axis.
struct DotRow {
  std::string label;
  std::vector<double> values;  ///< per series; 0: none
  std::string note;            ///< at the right end
};
std::string dot_chart(const std::vector<Series>& series, const std::vector<DotRow>& rows, const std::string& unit);

/// A bar from 0 to 1, a paler one behind it, and a mark.
struct ShareRow {
  std::string label;
  double share = 0, pale = 0;
  std::string hint;
};
std::string share_chart(const std::vector<Series>& legend, const std::vector<ShareRow>& rows, double mark,
                        const std::string& caption);

/// Steps over time, on a logarithmic axis: each row is a band of coloured spans.
struct Span {
  double from = 0, to = 0;  ///< seconds; a `from` of 0 is the left end
  unsigned colour = 0;
  std::string hint;
};
struct BandRow {
  std::string label;
  std::vector<Span> spans;
  std::string note;  ///< at the right end
};
std::string band_chart(const std::vector<Series>& series, const std::vector<BandRow>& rows, const std::string& caption);

/// A table that sorts by a click on a heading. Cells are escaped; a cell that starts with a figure is aligned right.
std::string table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows);

std::string tiles(const std::vector<Tile>& tiles);
/// The conclusion for the reader, in a sentence or two.
std::string lead(const std::string& text);
/// "2.9\u00d7 faster", "1.5\u00d7 slower", "as fast" of a ratio of times.
std::string times_faster(double ratio);
/// A section with a heading and a sentence that says how to read what follows.
std::string section(const std::string& heading, const std::string& explanation, const std::string& body);
/// The whole page; `subtitle` says what was measured where.
std::string page(const std::string& title, const std::string& subtitle, const std::string& body);

}  // namespace trident::report::html
