#include "clients/cli/search/search_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "clients/cli/bench/timing.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/time_model.h"
#include "jit/image/image.h"
#include "runtime/os/cpu.h"
#include "runtime/report/html_page.h"
#include "runtime/report/line_plot.h"

namespace trident::cli {
namespace html = report::html;
namespace {

namespace rw = expr::rewrite;

constexpr std::uint64_t kSampleSeed = 7;

rw::RewriteOptions rewriting(const StoryOptions& options, const rw::OpCosts& costs) {
  rw::RewriteOptions how;
  how.policy = options.policy;
  how.seed = options.seed;
  how.costs = costs.model();
  how.rules = options.rules != nullptr ? &options.rules->compiled() : nullptr;
  return how;
}

Result<image::Mapped> compiled(const kir::Kernel& kernel, codegen::Isa isa) {
  TRY(const codegen::MachineCode code, codegen::emit(kernel, isa, codegen::variants(kernel, isa).front()));
  TRY(const os::Fd fd, image::seal(image::build(code, image::counts_of(kernel), isa, TRIDENT_TIER_OPTIMISED, {})));
  return image::Mapped::map(fd);
}

/// Times all forms that can be compiled, interleaved.
Result<void> time_all(const expr::Expr& source, const std::vector<std::optional<image::Mapped>>& codes,
                      std::uint64_t elements, std::vector<StoryStep>& steps) {
  const Workload workload(source, source.variables, elements, kSampleSeed);
  std::vector<Contestant> contestants;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i]) contestants.push_back({.name = std::to_string(i), .entry = codes[i]->entry()}), of.push_back(i);
  if (contestants.empty()) return {};
  TRY(const TimingRun run, time_contestants(contestants, workload, {.sizes = {elements}, .rounds = 31}));
  for (std::size_t c = 0; c < of.size(); ++c)
    if (run.contestants[c].failure.empty())
      steps[of[c]].measured_ns = run.contestants[c].median_ns(0) / static_cast<double>(elements);
  return {};
}

/// Adds one curve a strategy: what it has found after how many rewrites.
Result<void> add_curves(const expr::Expr& source, rw::RewriteOptions how, const rw::OpCosts& costs,
                        SearchStory& story) {
  constexpr std::uint64_t kLeast = 4, kMost = 1 << 13;
  for (const auto strategy : {egraph::Strategy::best_first, egraph::Strategy::pulse, egraph::Strategy::guided}) {
    std::vector<std::pair<double, double>> points;
    for (std::uint64_t applications = kLeast; applications <= kMost; applications *= 2) {
      how.strategy = strategy;
      TRY(const rw::AnyGuide guide, rw::AnyGuide::make(rw::GuideKind::network));
      how.guide = strategy == egraph::Strategy::guided ? guide.get() : nullptr;
      how.budget.applications = applications;
      TRY(const rw::Rewritten found, rw::rewrite(source, how));
      TRY(rw::TermCost cost, rw::cost_of(source, costs.model()));
      if (!found.forms.empty()) {
        TRY(const rw::TermCost best, rw::cost_of(found.forms.front(), costs.model()));
        cost = best;
      }
      points.emplace_back(std::log2(static_cast<double>(applications)), cost.dag);
    }
    story.curves.emplace_back(egraph::name_of(strategy), std::move(points));
  }
  return {};
}

std::string shortened(const std::string& text, std::size_t length) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line.size() <= length ? line : line.substr(0, length - 3) + "...";
}

/// The expression alone, without the declarations of its variables.
std::string form_text(const expr::Expr& form) {
  std::string text = expr::print_infix(form);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t declared = text.find(";\n");
  return declared == std::string::npos ? text : text.substr(declared + 2);
}

}  // namespace

Result<SearchStory> tell(const expr::Expr& source, const StoryOptions& options) {
  const rw::OpCosts& costs = rw::default_op_costs(codegen::name_of(options.isa), os::cpu_model());
  rw::RewriteOptions how = rewriting(options, costs);
  SearchStory story;
  how.explain = true;
  TRY(const rw::Rewritten found, rw::rewrite(source, how));
  TRY(const std::vector<rw::ChainLink> chain, rw::chain_of(source, found));
  std::vector<std::optional<image::Mapped>> codes;
  for (const rw::ChainLink& link : chain) {
    StoryStep step{.rules = link.rules, .text = form_text(link.form)};
    TRY(const rw::TermCost cost, rw::cost_of(link.form, costs.model()));
    step.cost = cost.dag;
    codes.emplace_back();
    const expr::LowerOptions lowering{
        .policy = options.policy, .simplify = false, .accuracy = kir::math::Accuracy::ulp4};
    if (const auto kernel = expr::lower(link.form, lowering); kernel.ok()) {
      step.predicted_ns = rw::static_ns(rw::work_of(*kernel, costs.table()), costs.table());
      if (const rw::TimeModel* judge = rw::shipped_time_model())
        if (const auto log_ns = judge->log_ns(link.form, *kernel, costs.table()); log_ns.ok())
          step.judged_ns = std::exp(*log_ns);
      if (auto code = compiled(*kernel, options.isa); code.ok()) codes.back() = std::move(code).value();
    }
    story.steps.push_back(std::move(step));
  }
  TRY_VOID(time_all(source, codes, options.elements, story.steps));
  how.explain = false;
  if (options.curves) TRY_VOID(add_curves(source, how, costs, story));
  return story;
}

std::string story_text(const SearchStory& story) {
  std::string text = fmt::format("; search: {} steps by rules\n;   {:>8} {:>12} {:>10} {:>11}\n",
                                 story.steps.size() - 1, "cost", "model ns", "judge ns", "measured ns");
  for (const StoryStep& s : story.steps) {
    const auto figure = [](double ns) { return ns > 0 ? fmt::format("{:.4f}", ns) : std::string("-"); };
    text +=
        fmt::format(";   {:>8.2f} {:>12} {:>10} {:>11}  {}\n", s.cost, figure(s.predicted_ns), figure(s.judged_ns),
                    figure(s.measured_ns), s.rules.empty() ? "source" : fmt::format("{}", fmt::join(s.rules, ", ")));
    text += "      " + shortened(s.text, 400) + "\n";
  }
  return text + "\n";
}

std::string story_svg(const SearchStory& story) {
  constexpr double kBoxWidth = 620, kBoxHeight = 46, kGap = 30, kBarWidth = 220, kTop = 40;
  constexpr std::size_t kLetters = 88;
  double cost_max = 1e-9, ns_max = 1e-9;
  for (const StoryStep& s : story.steps) {
    cost_max = std::max(cost_max, s.cost);
    ns_max = std::max({ns_max, s.predicted_ns, s.judged_ns, s.measured_ns});
  }
  std::string body = fmt::format(
      "<text x='10' y='20' font-weight='600'>from the source to the form that was found</text>"
      "<text x='{:.0f}' y='20' font-weight='600'>static cost; ns an element: "
      "<tspan fill='#2563eb'>model</tspan>, <tspan fill='#9333ea'>judge</tspan>, "
      "<tspan fill='#059669'>measured</tspan></text>",
      kBoxWidth + 40);
  double y = kTop;
  for (std::size_t i = 0; i < story.steps.size(); ++i) {
    const StoryStep& s = story.steps[i];
    if (i > 0) {
      body += fmt::format(
          "<line x1='40' x2='40' y1='{:.0f}' y2='{:.0f}' stroke='#888' marker-end='url(#to)'/>"
          "<text x='52' y='{:.0f}' class='dim'>{}</text>",
          y - kGap, y - 3, y - kGap / 2 + 4,
          html::escape(shortened(fmt::format("{}", fmt::join(s.rules, ", ")), kLetters)));
    }
    body += fmt::format(
        "<rect x='10' y='{:.0f}' width='{:.0f}' height='{:.0f}' rx='6' fill='#f1f5f9' "
        "stroke='#94a3b8'><title>{}</title>"
        "</rect><text x='20' y='{:.0f}' font-family='ui-monospace,monospace' font-size='11'>{}</text>",
        y, kBoxWidth, kBoxHeight, html::escape(s.text), y + kBoxHeight / 2 + 4,
        html::escape(shortened(s.text, kLetters)));
    const auto bar = [&](double line, double share, const char* colour, const std::string& label) {
      const double top = y + line * kBoxHeight / 4;
      body += fmt::format(
          "<rect x='{:.0f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'/>"
          "<text x='{:.1f}' y='{:.1f}' class='dim' font-size='9'>{}</text>",
          kBoxWidth + 40, top + 1, std::max(share * kBarWidth, 1.0), kBoxHeight / 4 - 2, colour,
          kBoxWidth + 46 + share * kBarWidth, top + kBoxHeight / 4 - 2, label);
    };
    bar(0, s.cost / cost_max, "#94a3b8", fmt::format("{:.1f}", s.cost));
    bar(1, s.predicted_ns / ns_max, "#2563eb", fmt::format("{:.3f}", s.predicted_ns));
    bar(2, s.judged_ns / ns_max, "#9333ea", s.judged_ns > 0 ? fmt::format("{:.3f}", s.judged_ns) : "-");
    bar(3, s.measured_ns / ns_max, "#059669", s.measured_ns > 0 ? fmt::format("{:.3f}", s.measured_ns) : "-");
    y += kBoxHeight + kGap;
  }
  report::Panel panel{"cost of the best form, by rewrites (log2)", {}, {}};
  for (const auto& [name, points] : story.curves) panel.lines.push_back({name, points});
  const std::string curves =
      story.curves.empty() ? std::string()
                           : fmt::format("<g transform='translate(0,{:.0f})'>{}</g>", y, report::panel_svg(panel, 0));
  const double height = y + (story.curves.empty() ? 0 : report::kPanelHeight);
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {:.0f} {:.0f}' font-family='system-ui,sans-serif' "
      "font-size='12'><style>.dim{{fill:#777}}</style><defs><marker id='to' viewBox='0 0 8 8' refX='7' refY='4' "
      "markerWidth='8' markerHeight='8' orient='auto'><path d='M0,0 L8,4 L0,8 z' fill='#888'/></marker></defs>"
      "<rect width='100%' height='100%' fill='#fff'/>{}{}</svg>\n",
      kBoxWidth + kBarWidth + 100, height, body, curves);
}

}  // namespace trident::cli
