#include "runtime/report/html_page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace trident::report::html {
namespace {

constexpr int kLabelWidth = 170, kChartWidth = 960, kRowHeight = 22, kTop = 28, kBottom = 30;
/// Axis labels closer than this run into each other.
constexpr double kTickGap = 46;

constexpr const char* kStyle = R"css(
:root{--bg:#fbfbfa;--fg:#1d2126;--dim:#66707a;--line:#dfe3e6;--card:#fff;--good:#00706a;--bad:#b8500f;
--s0:#00706a;--s1:#5ab4ac;--s2:#8a94a0;--s3:#c2571a;--s4:#e8a33d;--s5:#6a51a3;--s6:#a99ad0;--s7:#3b78b5;--s8:#b7415e;--s9:#4d4d4d}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#98a2ac;--line:#2c3238;--card:#1b1f23;--good:#4ec9bd;--bad:#f0914e;
--s0:#4ec9bd;--s1:#2d8f86;--s2:#7d8893;--s3:#f0914e;--s4:#f3c26b;--s5:#a893e0;--s6:#7563ad;--s7:#74b0e8;--s8:#e77c96;--s9:#c9ced3}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:38px 0 4px}
p{margin:0 0 12px;color:var(--dim);max-width:75ch}.sub{white-space:pre-line;font-size:13px;max-width:none}.lead{font-size:18px;line-height:1.45;color:var(--fg);margin:14px 0 0;max-width:62ch}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 18px;min-width:140px}
.tile b{display:block;font-size:26px;line-height:1.2;color:var(--good);font-variant-numeric:tabular-nums}.tile.bad b{color:var(--bad)}.tile span{color:var(--dim);font-size:13px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px;overflow-x:auto}
svg{display:block;width:100%;min-width:640px;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--fg)}svg .dim{fill:var(--dim)}
svg .halo{paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}svg .zebra{fill:var(--line);opacity:.32}svg .pale{opacity:.38}svg .ring{stroke:var(--card);stroke-width:1.5}
svg .grid{stroke:var(--line);stroke-width:1}svg .one{stroke:var(--dim);stroke-width:1.5}svg .mark{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:4 3}
.good{fill:var(--good)}.bad{fill:var(--bad)}
.s0{fill:var(--s0);background:var(--s0)}.s1{fill:var(--s1);background:var(--s1)}.s2{fill:var(--s2);background:var(--s2)}.s3{fill:var(--s3);background:var(--s3)}.s4{fill:var(--s4);background:var(--s4)}
.s5{fill:var(--s5);background:var(--s5)}.s6{fill:var(--s6);background:var(--s6)}.s7{fill:var(--s7);background:var(--s7)}.s8{fill:var(--s8);background:var(--s8)}.s9{fill:var(--s9);background:var(--s9)}
.legend{display:flex;flex-wrap:wrap;gap:6px 16px;margin:0 0 10px;font-size:13px;color:var(--dim)}.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}th,td{padding:5px 9px;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}
th{cursor:pointer;color:var(--dim);font-weight:600;position:sticky;top:0;background:var(--card)}td.n{text-align:right}td:first-child,th:first-child{position:sticky;left:0;background:var(--card);z-index:1}td.wide{white-space:normal;min-width:320px}tr:hover td{background:color-mix(in srgb,var(--line) 40%,transparent)}
@media print{.card{border:none;overflow:visible}body{font-size:12px}}
@media(max-width:600px){main{padding:18px 12px 40px}h1{font-size:22px}.tile{flex:1 1 40%;min-width:0;padding:10px 12px}.tile b{font-size:22px}.lead{font-size:16px}}
)css";

constexpr const char* kScript = R"js(
for(const th of document.querySelectorAll('th'))th.addEventListener('click',()=>{
const body=th.closest('table').tBodies[0],i=th.cellIndex,down=th.dataset.down!=='1';th.dataset.down=down?'1':'0';
const key=r=>{const t=r.cells[i].textContent,n=parseFloat(t);return isNaN(n)?t:n};
[...body.rows].sort((a,b)=>{const x=key(a),y=key(b);return(typeof x===typeof y?(x<y?-1:x>y?1:0):typeof x==='number'?-1:1)*(down?1:-1)}).forEach(r=>body.append(r))})
)js";

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", v);
  return text;
}

std::string figure(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* css = "") {
  return "<text x='" + number(x) + "' y='" + number(y) + "' text-anchor='" + anchor + "' class='" + css + "'>" +
         escape(text) + "</text>";
}

std::string vertical(double x, double top, double bottom, const char* css) {
  return "<line x1='" + number(x) + "' x2='" + number(x) + "' y1='" + number(top) + "' y2='" + number(bottom) +
         "' class='" + css + "'/>";
}

std::string bar(double x, double y, double width, double height, const std::string& css, const std::string& hint) {
  return "<rect x='" + number(x) + "' y='" + number(y) + "' width='" + number(std::max(width, 0.5)) + "' height='" +
         number(height) + "' rx='2' class='" + css + "'><title>" + escape(hint) + "</title></rect>";
}

std::string svg(std::size_t rows, const std::string& label, const std::string& body) {
  const std::size_t height = kTop + rows * kRowHeight + kBottom;
  return "<svg viewBox='0 0 " + std::to_string(kChartWidth) + " " + std::to_string(height) +
         "' role='img' aria-label='" + escape(label) + "'>" + body + "</svg>";
}

double row_y(std::size_t i) {
  return kTop + static_cast<double>(i) * kRowHeight;
}

/// Alternate rows are tinted, so that the eye finds a bar's label.
std::string zebra(std::size_t rows) {
  std::string out;
  for (std::size_t i = 1; i < rows; i += 2)
    out += "<rect x='0' y='" + number(row_y(i)) + "' width='" + std::to_string(kChartWidth) + "' height='" +
           std::to_string(kRowHeight) + "' class='zebra'/>";
  return out;
}

/// The caption below the axis.
std::string caption_at(double x, std::size_t rows, const std::string& caption) {
  return text_at(x, row_y(rows) + 20, "middle", caption, "dim");
}

/// A logarithmic axis over [lo, hi] with ticks at 1, 2, 5 times powers of ten, labels as far as there is room.
struct LogAxis {
  double lo, hi, left = kLabelWidth, right = kChartWidth - 70;
  std::string (*tick)(double) = figure;
  [[nodiscard]] double x(double v) const {
    return left + (std::log(std::clamp(v, lo, hi)) - std::log(lo)) / (std::log(hi) - std::log(lo)) * (right - left);
  }
  [[nodiscard]] double middle() const { return (left + right) / 2; }
  [[nodiscard]] std::string grid(std::size_t rows) const {
    std::string out = zebra(rows);
    const bool dense = x(lo * std::sqrt(10)) - x(lo) > kTickGap;  // room for two labels between powers of ten
    double last = -kTickGap;
    for (double power = std::pow(10, std::floor(std::log10(lo))); power <= hi; power *= 10)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double v = power * step;
        if (v < lo * 0.999 || v > hi * 1.001 || (!dense && step != 1.0)) continue;
        out += vertical(x(v), kTop - 6, row_y(rows), "grid");
        if (x(v) - last < kTickGap) continue;
        last = x(v);
        out += text_at(x(v), kTop - 10, "middle", tick(v), "dim");
      }
    return out;
  }
};

std::string duration(double seconds) {
  if (seconds < 0.999e-3) return figure(seconds * 1e6) + " \xC2\xB5s";
  return seconds < 0.999 ? figure(seconds * 1e3) + " ms" : figure(seconds) + " s";
}

std::string legend(const std::vector<Series>& series) {
  std::string out = "<div class='legend'>";
  for (const Series& s : series)
    out += "<span><i class='s" + std::to_string(s.colour) + "'></i>" + escape(s.name) + "</span>";
  return out + "</div>";
}

std::string label_of(std::size_t i, const std::string& label) {
  std::string shortened = label.size() > 21 ? label.substr(0, 20) + "\xE2\x80\xA6" : label;
  return text_at(kLabelWidth - 10, row_y(i) + 15, "end", shortened);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string ratio_chart(const std::vector<RatioRow>& rows, const std::string& caption) {
  double lo = 0.7, hi = 1.4;
  for (const RatioRow& r : rows) lo = std::min(lo, r.ratio), hi = std::max(hi, r.ratio);
  // Room for the text of the longest bars.
  const LogAxis axis{lo / 1.02, hi * 1.02, kLabelWidth + 95, kChartWidth - 105};
  std::string body = axis.grid(rows.size()) + vertical(axis.x(1), kTop - 6, row_y(rows.size()), "one");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double at = axis.x(rows[i].ratio), one = axis.x(1);
    const bool good = rows[i].ratio <= 1;
    body +=
        label_of(i, rows[i].label) +
        bar(std::min(at, one), row_y(i) + 4, std::abs(at - one), kRowHeight - 8, good ? "good" : "bad", rows[i].hint) +
        text_at(good ? at - 6 : at + 6, row_y(i) + 15, good ? "end" : "start", times_faster(rows[i].ratio), "halo");
  }
  return svg(rows.size(), "ratio per kernel", body + caption_at(axis.middle(), rows.size(), caption));
}

std::string dot_chart(const std::vector<Series>& series, const std::vector<DotRow>& rows, const std::string& unit) {
  double lo = 1e300, hi = 0;
  bool notes = false;
  for (const DotRow& r : rows) {
    notes = notes || !r.note.empty();
    for (const double v : r.values)
      if (v > 0) lo = std::min(lo, v), hi = std::max(hi, v);
  }
  if (hi == 0) return "";
  const LogAxis axis{lo * 0.9, hi * 1.1, kLabelWidth + 8, kChartWidth - (notes ? 110.0 : 24.0)};
  std::string body = axis.grid(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    body += label_of(i, rows[i].label) + text_at(kChartWidth - 8, row_y(i) + 15, "end", rows[i].note, "dim");
    // The first series is drawn last, on top.
    for (std::size_t s = series.size(); s-- > 0;) {
      const double v = s < rows[i].values.size() ? rows[i].values[s] : 0;
      if (v <= 0) continue;
      body += "<circle cx='" + number(axis.x(v)) + "' cy='" + number(row_y(i) + 11) + "' r='" + (s == 0 ? "7" : "5") +
              "' class='ring s" + std::to_string(series[s].colour) + "'><title>" +
              escape(rows[i].label + ", " + series[s].name + ": " + figure(v) + " " + unit) + "</title></circle>";
    }
  }
  return legend(series) + svg(rows.size(), unit + " per contestant",
                              body + caption_at(axis.middle(), rows.size(),
                                                unit + ", logarithmic; \xE2\x86\x90 further left is faster"));
}

std::string share_chart(const std::vector<Series>& names, const std::vector<ShareRow>& rows, double mark,
                        const std::string& caption) {
  constexpr double kLeft = kLabelWidth, kRight = kChartWidth - 60;
  double most = 1.1;
  for (const ShareRow& r : rows) most = std::max(most, std::max(r.share, r.pale));
  const auto x = [&](double share) { return kLeft + share / most * (kRight - kLeft); };
  std::string body = zebra(rows.size());
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0})
    body += vertical(x(tick), kTop - 6, row_y(rows.size()), tick == 1 ? "one" : "grid") +
            text_at(x(tick), kTop - 10, "middle", figure(tick * 100) + "%", "dim");
  body += vertical(x(mark), kTop - 6, row_y(rows.size()), "mark");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ShareRow& r = rows[i];
    body += label_of(i, r.label);
    if (r.pale > r.share)
      body += bar(kLeft, row_y(i) + 4, x(r.pale) - kLeft, kRowHeight - 8, "pale s" + std::to_string(names[1].colour),
                  r.hint);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f%%", r.share * 100);
    body +=
        bar(kLeft, row_y(i) + 4, x(r.share) - kLeft, kRowHeight - 8, "s" + std::to_string(names[0].colour), r.hint) +
        text_at(x(std::max(r.share, r.pale)) + 6, row_y(i) + 15, "start", percent, "halo");
  }
  return legend(names) +
         svg(rows.size(), "share of the roof", body + caption_at((kLeft + kRight) / 2, rows.size(), caption));
}

std::string band_chart(const std::vector<Series>& series, const std::vector<BandRow>& rows,
                       const std::string& caption) {
  double lo = 1e300, hi = 0;
  for (const BandRow& r : rows)
    for (const Span& s : r.spans) {
      if (s.from > 0) lo = std::min(lo, s.from);
      hi = std::max(hi, s.to);
    }
  if (hi <= 0) return "";
  const LogAxis axis{std::min(lo, hi / 2) / 4, hi, kLabelWidth, kChartWidth - 150, duration};
  std::string body = axis.grid(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    body += label_of(i, rows[i].label);
    for (const Span& s : rows[i].spans)
      body += bar(axis.x(s.from), row_y(i) + 4, axis.x(s.to) - axis.x(s.from), kRowHeight - 8,
                  "s" + std::to_string(s.colour), s.hint);
    body += text_at(axis.right + 10, row_y(i) + 15, "start", rows[i].note, "dim");
  }
  return legend(series) + svg(rows.size(), "time line", body + caption_at(axis.middle(), rows.size(), caption));
}

std::string table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<table><thead><tr>";
  for (const std::string& h : headings) out += "<th scope='col'>" + escape(h) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) {
      const bool numeric = cell == "-" || (!cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0])) != 0);
      constexpr std::size_t kWideCell = 60;
      out += std::string("<td") +
             (cell.size() > kWideCell ? " class='wide'>"
              : numeric               ? " class='n'>"
                                      : ">") +
             escape(cell) + "</td>";
    }
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

std::string tiles(const std::vector<Tile>& all) {
  std::string out = "<div class='tiles'>";
  for (const Tile& t : all)
    out += std::string("<div class='tile") + (t.good ? "" : " bad") + "'><b>" + escape(t.figure) + "</b><span>" +
           escape(t.label) + "</span></div>";
  return out + "</div>";
}

std::string lead(const std::string& text) {
  return "<p class='lead'>" + escape(text) + "</p>";
}

std::string times_faster(double ratio) {
  if (ratio > 0.995 && ratio < 1.005) return "as fast";
  const double times = ratio < 1 ? 1 / ratio : ratio;
  char text[48];
  std::snprintf(text, sizeof text, times < 10 ? "%.2f\xC3\x97 %s" : "%.0f\xC3\x97 %s", times,
                ratio < 1 ? "faster" : "slower");
  return text;
}

std::string section(const std::string& heading, const std::string& explanation, const std::string& body) {
  return "<h2>" + escape(heading) + "</h2><p>" + escape(explanation) + "</p><div class='card'>" + body + "</div>";
}

std::string page(const std::string& title, const std::string& subtitle, const std::string& body) {
  return "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
         "content='width=device-width,initial-scale=1'><title>" +
         escape(title) + "</title><style>" + kStyle + "</style></head><body><main><h1>" + escape(title) +
         "</h1><p class='sub'>" + escape(subtitle) + "</p>" + body + "</main><script>" + kScript +
         "</script></body></html>\n";
}

}  // namespace trident::report::html
