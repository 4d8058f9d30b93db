#include "clients/cli/html_page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

namespace trident::cli::html {
namespace {

constexpr int kLabelWidth = 190, kChartWidth = 960, kRowHeight = 20, kTop = 26;

constexpr const char* kStyle = R"css(
:root{--bg:#fbfbfa;--fg:#1d2126;--dim:#66707a;--line:#dfe3e6;--card:#fff;--good:#00706a;--bad:#b8500f;
--s0:#00706a;--s1:#5ab4ac;--s2:#8a94a0;--s3:#c2571a;--s4:#e8a33d;--s5:#6a51a3;--s6:#a99ad0;--s7:#3b78b5;--s8:#b7415e;--s9:#4d4d4d}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#98a2ac;--line:#2c3238;--card:#1b1f23;--good:#4ec9bd;--bad:#f0914e;
--s0:#4ec9bd;--s1:#2d8f86;--s2:#7d8893;--s3:#f0914e;--s4:#f3c26b;--s5:#a893e0;--s6:#7563ad;--s7:#74b0e8;--s8:#e77c96;--s9:#c9ced3}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:38px 0 4px}
p{margin:0 0 12px;color:var(--dim);max-width:75ch}.sub{white-space:pre-line;font-size:13px}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 18px;min-width:140px}
.tile b{display:block;font-size:26px;line-height:1.2;color:var(--good);font-variant-numeric:tabular-nums}.tile.bad b{color:var(--bad)}.tile span{color:var(--dim);font-size:13px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px;overflow-x:auto}
svg{display:block;width:100%;min-width:640px;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--fg)}svg .dim{fill:var(--dim)}
svg .grid{stroke:var(--line);stroke-width:1}svg .one{stroke:var(--dim);stroke-width:1.5}svg .mark{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:4 3}
.good{fill:var(--good)}.bad{fill:var(--bad)}
.s0{fill:var(--s0);background:var(--s0)}.s1{fill:var(--s1);background:var(--s1)}.s2{fill:var(--s2);background:var(--s2)}.s3{fill:var(--s3);background:var(--s3)}.s4{fill:var(--s4);background:var(--s4)}
.s5{fill:var(--s5);background:var(--s5)}.s6{fill:var(--s6);background:var(--s6)}.s7{fill:var(--s7);background:var(--s7)}.s8{fill:var(--s8);background:var(--s8)}.s9{fill:var(--s9);background:var(--s9)}
.legend{display:flex;flex-wrap:wrap;gap:6px 16px;margin:0 0 10px;font-size:13px;color:var(--dim)}.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}th,td{padding:5px 9px;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}
th{cursor:pointer;color:var(--dim);font-weight:600;position:sticky;top:0;background:var(--card)}td.n{text-align:right}tr:hover td{background:color-mix(in srgb,var(--line) 40%,transparent)}
@media print{.card{border:none}}
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
  const std::size_t height = kTop + rows * kRowHeight + 8;
  return "<svg viewBox='0 0 " + std::to_string(kChartWidth) + " " + std::to_string(height) +
         "' role='img' aria-label='" + escape(label) + "'>" + body + "</svg>";
}

double row_y(std::size_t i) {
  return kTop + static_cast<double>(i) * kRowHeight;
}

/// A logarithmic axis over [lo, hi] with ticks at 1, 2, 5 times powers of ten.
struct LogAxis {
  double lo, hi, left = kLabelWidth, right = kChartWidth - 70;
  [[nodiscard]] double x(double v) const {
    return left + (std::log(std::clamp(v, lo, hi)) - std::log(lo)) / (std::log(hi) - std::log(lo)) * (right - left);
  }
  [[nodiscard]] std::string grid(std::size_t rows) const {
    std::string out;
    const bool dense = hi / lo < 50;
    for (double power = std::pow(10, std::floor(std::log10(lo))); power <= hi; power *= 10)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double v = power * step;
        if (v < lo * 0.999 || v > hi * 1.001 || (!dense && step != 1.0)) continue;
        out += vertical(x(v), kTop - 6, row_y(rows), "grid") + text_at(x(v), kTop - 10, "middle", figure(v), "dim");
      }
    return out;
  }
};

std::string legend(const std::vector<Series>& series) {
  std::string out = "<div class='legend'>";
  for (const Series& s : series)
    out += "<span><i class='s" + std::to_string(s.colour) + "'></i>" + escape(s.name) + "</span>";
  return out + "</div>";
}

std::string label_of(std::size_t i, const std::string& label) {
  std::string shortened = label.size() > 28 ? label.substr(0, 27) + "\xE2\x80\xA6" : label;
  return text_at(kLabelWidth - 10, row_y(i) + 14, "end", shortened);
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

std::string ratio_chart(const std::vector<RatioRow>& rows) {
  double lo = 0.5, hi = 2;
  for (const RatioRow& r : rows) lo = std::min(lo, r.ratio * 0.9), hi = std::max(hi, r.ratio * 1.1);
  const LogAxis axis{lo, hi};
  std::string body = axis.grid(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double at = axis.x(rows[i].ratio), one = axis.x(1);
    const bool good = rows[i].ratio <= 1;
    body +=
        label_of(i, rows[i].label) +
        bar(std::min(at, one), row_y(i) + 3, std::abs(at - one), kRowHeight - 6, good ? "good" : "bad", rows[i].hint) +
        text_at(good ? at - 5 : at + 5, row_y(i) + 14, good ? "end" : "start", figure(rows[i].ratio), "dim");
  }
  return svg(rows.size(), "ratio per kernel", body + vertical(axis.x(1), kTop - 6, row_y(rows.size()), "one"));
}

std::string dot_chart(const std::vector<Series>& series, const std::vector<DotRow>& rows, const std::string& unit) {
  double lo = 1e300, hi = 0;
  for (const DotRow& r : rows)
    for (const double v : r.values)
      if (v > 0) lo = std::min(lo, v), hi = std::max(hi, v);
  if (hi == 0) return "";
  const LogAxis axis{lo * 0.8, hi * 1.25};
  std::string body = axis.grid(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    body += label_of(i, rows[i].label);
    // The first series is drawn last, on top.
    for (std::size_t s = series.size(); s-- > 0;) {
      const double v = s < rows[i].values.size() ? rows[i].values[s] : 0;
      if (v <= 0) continue;
      body += "<circle cx='" + number(axis.x(v)) + "' cy='" + number(row_y(i) + 10) + "' r='" + (s == 0 ? "6" : "4.5") +
              "' class='s" + std::to_string(series[s].colour) + "' fill-opacity='0.85'><title>" +
              escape(series[s].name + ": " + figure(v) + " " + unit) + "</title></circle>";
    }
  }
  return legend(series) + svg(rows.size(), unit + " per contestant", body);
}

std::string share_chart(const std::vector<ShareRow>& rows, double mark) {
  constexpr double kLeft = kLabelWidth, kRight = kChartWidth - 70;
  const auto x = [](double share) { return kLeft + std::clamp(share, 0.0, 1.1) / 1.1 * (kRight - kLeft); };
  std::string body;
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0})
    body += vertical(x(tick), kTop - 6, row_y(rows.size()), "grid") +
            text_at(x(tick), kTop - 10, "middle", figure(tick * 100) + "%", "dim");
  for (std::size_t i = 0; i < rows.size(); ++i)
    body += label_of(i, rows[i].label) +
            bar(kLeft, row_y(i) + 3, x(rows[i].share) - kLeft, kRowHeight - 6, rows[i].share >= mark ? "good" : "bad",
                rows[i].hint) +
            text_at(x(rows[i].share) + 5, row_y(i) + 14, "start", figure(rows[i].share * 100) + "%", "dim");
  return svg(rows.size(), "share of the roof", body + vertical(x(mark), kTop - 6, row_y(rows.size()), "mark"));
}

std::string band_chart(const std::vector<Series>& series, const std::vector<BandRow>& rows, const std::string& unit) {
  double hi = 0;
  for (const BandRow& r : rows)
    for (const Span& s : r.spans) hi = std::max(hi, s.to);
  if (hi <= 0) return "";
  constexpr double kLeft = kLabelWidth, kRight = kChartWidth - 150;
  const auto x = [&](double v) { return kLeft + v / hi * (kRight - kLeft); };
  std::string body;
  const double raw = hi / 5, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 2 ? 2 : raw / power < 5 ? 5 : 10);
  for (double v = 0; v <= hi; v += step)
    body += vertical(x(v), kTop - 6, row_y(rows.size()), "grid") +
            text_at(x(v), kTop - 10, "middle", figure(v) + (v == 0 ? " " + unit : ""), "dim");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    body += label_of(i, rows[i].label);
    for (const Span& s : rows[i].spans)
      body += bar(x(s.from), row_y(i) + 3, x(s.to) - x(s.from), kRowHeight - 6, "s" + std::to_string(s.colour), s.hint);
    body += text_at(kRight + 8, row_y(i) + 14, "start", rows[i].note, "dim");
  }
  return legend(series) + svg(rows.size(), "time line", body);
}

std::string table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<table><thead><tr>";
  for (const std::string& h : headings) out += "<th scope='col'>" + escape(h) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) {
      const bool numeric = !cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0])) != 0;
      out += std::string("<td") + (numeric ? " class='n'>" : ">") + escape(cell) + "</td>";
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

}  // namespace trident::cli::html
