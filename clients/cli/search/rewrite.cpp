#include "clients/cli/search/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "clients/cli/search/textbook.h"
#include "jit/equiv/compare.h"
#include "jit/equiv/reference.h"
#include "jit/expr/builder.h"
#include "jit/expr/print_plan.h"
#include "jit/expr/rewrite/special_values.h"
#include "jit/kir/interpreter.h"
#include "runtime/report/progress_bar.h"

namespace trident::cli {
namespace {

namespace rw = expr::rewrite;

// Number of points that are compared with the source over the reals, which is slow.
constexpr std::uint64_t kPrecisePoints = 4'000;
constexpr double kLeast = 0.01, kGreatest = 10;  // magnitudes of the coordinates where no range says otherwise
constexpr double kDecades = kGreatest / kLeast;
constexpr std::uint64_t kFarPoints = 20'000;  // of any magnitude, where only whether a form is finite is asked
constexpr std::uint64_t kPointSeed = 20'240'601;
// A value over the reals that is not known to this share of its ulp is worked out once more.
constexpr long double kSureUlp = 0.01L;
constexpr std::size_t kSuspectsMax = 4'000;  // points where a form is away from its source, looked into
constexpr std::size_t kRefinedMax = 20'000;  // such points, those that need more digits counted for what they cost

constexpr std::size_t kFormsTried = 4;
constexpr double kDigitsLost = 0x1p32;     // ulp: a form that is so far away somewhere is never shown
constexpr double kWorseConditioned = 1e3;  // how many times the source's error a form may have

/// The magnitudes that are drawn of one sign, where [least, most] are declared.
struct Magnitudes {
  double least, most;
};
Magnitudes magnitudes(double least, double most) {
  if (std::isinf(most))
    most = least < kGreatest / 2 ? kGreatest : std::min(least * kDecades, std::numeric_limits<double>::max());
  if (least <= corpus::kAboveZero) least = std::min(kLeast, most / kDecades);
  return {least, most};
}

/// All that f64 has, the numbers below the normal ones left out.
Magnitudes all_magnitudes(double least, double most) {
  using Limits = std::numeric_limits<double>;
  most = std::min(most, Limits::max());
  return {std::min(std::max(least, Limits::min()), most), most};
}

enum class Reach : std::uint8_t { ordinary, all };

double draw_coordinate(const expr::Variable& v, double sign, double place, Reach reach) {
  const bool may_be_positive = v.hi > 0, may_be_negative = v.lo < 0;
  if (!may_be_positive && !may_be_negative) return 0;
  const bool negative = may_be_negative && (!may_be_positive || sign < 0.5);
  const auto of_reach = reach == Reach::all ? all_magnitudes : magnitudes;
  const Magnitudes m = negative ? of_reach(std::max(0.0, -v.hi), -v.lo) : of_reach(std::max(0.0, v.lo), v.hi);
  const double x = reach == Reach::all
                       ? std::min(std::exp2(std::lerp(std::log2(m.least), std::log2(m.most), place)), m.most)
                       : m.least * std::pow(m.most / m.least, place);
  return std::clamp(negative ? -x : x, v.lo, v.hi);
}

equiv::Samples draw_points(const expr::Expr& e, std::uint64_t n, Reach reach = Reach::ordinary) {
  std::mt19937_64 random(kPointSeed);
  std::uniform_real_distribution<double> unit(0, 1);
  equiv::Samples samples;
  samples.name = "points";
  samples.n = n;
  samples.calls = {{0, n, false}};
  for (const expr::Variable& v : e.variables) {
    std::vector<std::byte> column(n * sizeof(double));
    for (std::uint64_t i = 0; i < n; ++i) {
      const double place = unit(random), sign = unit(random);
      const double x = draw_coordinate(v, sign, place, reach);
      std::memcpy(column.data() + i * sizeof x, &x, sizeof x);
    }
    samples.columns.push_back(std::move(column));
  }
  return samples;
}

/// Converts a kernel's output of `type` to doubles.
std::vector<double> as_numbers(ir::Type type, const std::vector<double>& written) {
  const auto read = [&]<typename T>(T) {
    std::vector<double> values;
    values.reserve(written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
      T value{};
      std::memcpy(&value, reinterpret_cast<const std::byte*>(written.data()) + i * sizeof value, sizeof value);
      values.push_back(static_cast<double>(value));
    }
    return values;
  };
  if (type == ir::Type::f64) return written;
  if (type == ir::Type::f32) return read(float{});
  return ir::bytes_of(type) == 4 ? read(std::int32_t{}) : read(std::int64_t{});
}

/// Values of all outputs at all points, by the interpreter, in the types that the outputs have.
Result<std::vector<std::vector<double>>> evaluate(const expr::Expr& e, const equiv::Samples& samples) {
  expr::LowerOptions options;
  options.simplify = false;
  TRY(const kir::Kernel kernel, expr::lower(e, options));
  std::vector<const void*> in;
  for (const auto& column : samples.columns) in.push_back(column.data());
  std::vector<std::vector<double>> values(e.outputs.size(), std::vector<double>(samples.n));
  std::vector<void*> out;
  for (auto& v : values) out.push_back(v.data());
  kir::interpret(kir::without_storage(kernel), samples.n, in.data(), out.data(), nullptr);
  for (std::size_t o = 0; o < values.size(); ++o) values[o] = as_numbers(e.at(e.outputs[o].node).type, values[o]);
  return values;
}

std::string point_text(const expr::Expr& e, const equiv::Samples& samples, std::uint64_t i) {
  std::string text;
  for (std::size_t v = 0; v < e.variables.size(); ++v) {
    double x = 0;
    std::memcpy(&x, samples.columns[v].data() + i * sizeof x, sizeof x);
    char value[64];
    std::snprintf(value, sizeof value, "%s%s = %.17g", text.empty() ? "" : ", ", e.variables[v].name.c_str(), x);
    text += value;
  }
  return text;
}

// Errors of one output: `near` are a form's values. `right` has the allowance's units.
FormError error_of(const equiv::OutputValues& right, const std::vector<double>& near,
                   const equiv::Allowance& allowance) {
  FormError error;
  for (std::size_t i = 0; i < near.size(); ++i) {
    const long double correct = right.correct[i];
    if (right.unsure[i] != 0 || !std::isfinite(correct) || !std::isfinite(near[i])) continue;
    const long double off = std::fabs(correct - static_cast<long double>(near[i]));
    const long double ulp = equiv::ulp_at(right.type, std::fabs(correct));
    const long double allowed = right.bound[i] + static_cast<long double>(allowance.slack_ulp) * ulp;
    if (correct != 0) error.ulp = std::max(error.ulp, static_cast<double>(off / ulp));
    if (off != 0) error.bound_share = std::max(error.bound_share, static_cast<double>(off / allowed));
  }
  return error;
}

/// Works out what is not known to kSureUlp, up to kRefinedMax points.
void make_sure(equiv::Reference& reference, std::size_t output) {
  const equiv::OutputValues& right = reference.outputs()[output];
  for (std::size_t i = 0; i < right.correct.size(); ++i) {
    const long double most = kSureUlp * equiv::ulp_at(right.type, std::fabs(right.correct[i]));
    if (right.error[i] <= most && right.unsure[i] != equiv::kRoundingDecides) continue;
    if (reference.refined() < kRefinedMax)
      reference.refine(output, i);
    else
      reference.leave_out(output, i);
  }
}

/// The points of `samples` at `numbers`.
equiv::Samples points_at(const equiv::Samples& samples, std::span<const std::uint64_t> numbers) {
  equiv::Samples chosen;
  chosen.name = samples.name;
  chosen.n = numbers.size();
  chosen.calls = {{0, chosen.n, false}};
  for (const std::vector<std::byte>& column : samples.columns) {
    auto& to = chosen.columns.emplace_back(chosen.n * sizeof(double));
    for (std::size_t k = 0; k < numbers.size(); ++k)
      std::memcpy(&to[k * sizeof(double)], &column[numbers[k] * sizeof(double)], sizeof(double));
  }
  return chosen;
}

/// Marks the points of `samples` at which floats differ that are one value over the reals.
std::vector<bool> special_points(const expr::Expr& source, const equiv::Samples& samples) {
  std::vector<bool> special(samples.n);
  std::vector<rw::LaneValues> columns(source.variables.size());
  for (std::size_t first = 0; first < samples.n; first += rw::kLanes) {
    const std::size_t count = std::min<std::size_t>(samples.n - first, rw::kLanes);
    for (std::size_t v = 0; v < columns.size(); ++v)
      std::memcpy(columns[v].data(), &samples.columns[v][first * sizeof(double)], count * sizeof(double));
    const std::uint64_t lanes = rw::special_values(source, columns, count).lanes;
    for (std::size_t i = 0; i < count; ++i) special[first + i] = ((lanes >> i) & 1) != 0;
  }
  return special;
}

bool is_off(ir::Type type, long double value, long double from) {  // also where it is not a number, or infinite
  const long double off = std::fabs(value - from);
  const double share = type == ir::Type::f32 ? kWrongShareOfF32 : kWrongShare;
  return !(off <= kWrongDifference || off <= share * std::fabs(from));
}

Result<void> measure_errors(const expr::Expr& source, const expr::Expr& result, const expr::Policy& policy,
                            std::uint64_t points, RewriteCase& c) {
  const equiv::Allowance allowance = equiv::allowance_of(policy);
  const equiv::Samples few = draw_points(source, points);
  TRY(equiv::Reference reference, equiv::Reference::make(source, few, {}, allowance.units));
  TRY(const auto before, evaluate(source, few));
  TRY(const auto after, evaluate(result, few));
  for (std::size_t o = 0; o < after.size(); ++o) {
    const equiv::OutputValues& right = reference.outputs()[o];
    if (right.per_call || !ir::is_float(right.type)) continue;
    make_sure(reference, o);
    const auto add = [](FormError& to, const FormError& more) {
      to.ulp = std::max(to.ulp, more.ulp), to.bound_share = std::max(to.bound_share, more.bound_share);
    };
    add(c.error_before, error_of(right, before[o], allowance));
    add(c.error, error_of(right, after[o], allowance));
  }
  return {};
}

// Points are drawn for values of elements; what a table holds is no such value.
bool reads_tables(const expr::Expr& e) {
  return std::any_of(e.variables.begin(), e.variables.end(), [](const expr::Variable& v) { return v.is_table(); });
}

}  // namespace

Result<void> look_far(const expr::Expr& source, const expr::Expr& result, std::uint64_t points, RewriteCase& c) {
  if (reads_tables(source)) return {};
  const equiv::Samples samples = draw_points(source, std::min(points, kFarPoints), Reach::all);
  TRY(const auto wanted, evaluate(source, samples));
  TRY(const auto got, evaluate(result, samples));
  std::uint64_t finite = 0, lost = 0;
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    for (std::uint64_t i = 0; i < samples.n; ++i) {
      if (!std::isfinite(wanted[o][i])) continue;
      ++finite;
      if (std::isfinite(got[o][i])) continue;
      if (lost++ == 0)
        c.not_finite_at =
            fmt::format("{} instead of {:.17g} at {}", std::isnan(got[o][i]) ? std::fabs(got[o][i]) : got[o][i],
                        wanted[o][i], point_text(source, samples, i));
    }
  }
  c.not_finite_share = lost == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(finite);
  return {};
}

Result<void> compare_with_source(const expr::Expr& source, const expr::Expr& result, const expr::Policy& policy,
                                 std::uint64_t points, RewriteCase& c) {
  if (reads_tables(source)) return {};
  const equiv::Samples samples = draw_points(source, points);
  TRY(const auto wanted, evaluate(source, samples));
  TRY(const auto got, evaluate(result, samples));
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    const ir::Type type = source.at(source.outputs[o].node).type;
    std::vector<std::uint64_t> suspects;
    for (std::uint64_t i = 0; i < points; ++i) {
      if (!std::isfinite(wanted[o][i])) continue;
      ++c.compared;
      if (is_off(type, got[o][i], wanted[o][i]) && suspects.size() < kSuspectsMax) suspects.push_back(i);
    }
    if (suspects.empty()) continue;
    // The source is evaluated in f64 too, and may be the one that is off.
    const equiv::Samples there = points_at(samples, suspects);
    TRY(equiv::Reference reference, equiv::Reference::make(source, there));
    const equiv::OutputValues& right = reference.outputs()[o];
    const bool has_values = !right.per_call && ir::is_float(right.type);
    if (has_values) make_sure(reference, o);
    const std::vector<bool> special = special_points(source, there);
    for (std::size_t k = 0; k < suspects.size() && c.wrong.empty(); ++k) {
      const double x = wanted[o][suspects[k]], y = got[o][suspects[k]];
      const long double exact = has_values ? right.correct[k] : 0;
      const bool known = has_values && right.unsure[k] == 0 && std::isfinite(exact);
      if (known && (!is_off(type, y, exact) || std::fabs(y - exact) <= std::fabs(x - exact))) continue;
      // Both sides of a step are as good where rounding decides on which the source is.
      if (has_values && right.unsure[k] == equiv::kRoundingDecides) continue;
      if (special[k] && !c.unlike.empty()) continue;
      (special[k] ? c.unlike : c.wrong) =
          fmt::format("{:.17g} instead of {:.17g} at {}", y, known ? static_cast<double>(exact) : x,
                      point_text(source, samples, suspects[k]));
    }
  }
  return measure_errors(source, result, policy, std::min(points, kPrecisePoints), c);
}

namespace {

/// One line, declarations left out.
std::string infix_line(const expr::Expr& e) {
  std::string text = expr::print_infix(e), line;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view part(text.data() + from, end - from);
    from = end + 1;
    const std::size_t name = part.find_first_of(":= ");
    if (name != std::string_view::npos && part[name] == ':') continue;
    if (!line.empty()) line += ' ';
    line += part;
  }
  return line;
}

/// The constants of some outputs, by their mantissa: changes of sign and scaling by powers of two are exact, so they do
/// not count.
std::map<double, std::string> constants_of(const expr::Expr& e, std::span<const expr::Output> outputs) {
  std::map<double, std::string> constants;
  std::vector<bool> used(e.nodes.size(), false);
  for (const expr::Output& o : outputs) used[o.node.index] = true;
  for (std::size_t i = e.nodes.size(); i-- > 0;) {
    if (!used[i]) continue;
    const expr::Node& n = e.nodes[i];
    for (const expr::NodeId operand : {n.a, n.b, n.c})
      if (operand.valid()) used[operand.index] = true;
    if (n.op != expr::Op::Constant || !ir::is_float(n.type)) continue;
    int exponent = 0;
    const double mantissa = std::frexp(std::fabs(expr::value_of(n.type, n.imm)), &exponent);
    constants.emplace(mantissa, expr::print_constant(n.type, n.imm));
  }
  return constants;
}

/// Constants that one side alone has, and not the source, were folded or come from the rule. They may be rounded where
/// they are no short binary fractions.
std::vector<std::string> rounded_constants(const expr::Expr& sides, const expr::Expr& source) {
  const auto left = constants_of(sides, std::span(sides.outputs).first(1));
  const auto right = constants_of(sides, std::span(sides.outputs).subspan(1));
  const auto known = constants_of(source, source.outputs);
  const auto is_long = [](double mantissa) {
    return std::isfinite(mantissa) && mantissa != std::ldexp(std::trunc(std::ldexp(mantissa, 24)), -24);
  };
  std::vector<std::string> rounded;
  for (const auto* side : {&left, &right}) {
    const auto& other = side == &left ? right : left;
    for (const auto& [mantissa, text] : *side)
      if (is_long(mantissa) && !other.contains(mantissa) && !known.contains(mantissa)) rounded.push_back(text);
  }
  return rounded;
}

/// The cheapest form that is right and not much worse conditioned than the source: 1/(1 + cos(2x)) loses all digits
/// near the poles of 1/cos(x)^2, and few points are near enough to show it. Without such a form, the cheapest
/// that is right and keeps some digits; without that, the source. Under bounded(k) no form is taken
/// whose error breaks the bound at the points. The result of the comparison goes to `c`.
Result<const expr::Expr*> best_conditioned(std::span<const expr::Expr> forms, const expr::Expr& source,
                                           const expr::Policy& policy, std::uint64_t points, RewriteCase& c) {
  const auto breaks_policy = [&policy](const RewriteCase& now) {
    return policy.kind == expr::PolicyKind::bounded && now.error.bound_share > 1;
  };
  const RewriteCase unknown = c;
  std::optional<RewriteCase> cheapest;
  for (const expr::Expr& form : forms) {
    c = unknown;
    c.passed_over = static_cast<std::uint32_t>(&form - forms.data());
    if (has_derivatives(form)) return &form;
    TRY_VOID(compare_with_source(source, form, policy, points, c));
    if (!c.wrong.empty() || !c.unlike.empty() || breaks_policy(c)) continue;
    if (c.error.ulp <= kWorseConditioned * (1 + c.error_before.ulp)) return &form;
    if (!cheapest && c.error.ulp <= kDigitsLost) cheapest = c;
  }
  if (cheapest) {
    c = std::move(*cheapest);
    return &forms[c.passed_over];
  }
  c = unknown;
  c.passed_over = static_cast<std::uint32_t>(forms.size());
  TRY_VOID(compare_with_source(source, source, policy, points, c));
  return &source;
}

Result<void> rewrite_case(const corpus::CorpusKernel& kernel, const RewriteSettings& settings, RewriteCase& c) {
  TRY(const expr::Expr source, corpus::parse_definition_under(settings.search.policy, kernel, ir::Type::f64));
  TRY(const expr::Expr plain, expr::eliminate_derivatives(source));
  rw::RewriteOptions options = settings.search;
  options.keep = kFormsTried;
  options.records = true;
  for (std::uint32_t v = 0; v < source.variables.size(); ++v) {
    const auto& promised = kernel.nonzero;
    if (std::find(promised.begin(), promised.end(), source.variables[v].name) != promised.end())
      options.nonzero.push_back(v);
  }
  if (settings.view) options.look = [&c](const egraph::GraphView& view) { c.graph = view; };
  TRY(const rw::Rewritten found, rw::rewrite(source, options));
  const std::vector<expr::Expr> forms = found.forms.empty() ? std::vector{source} : found.forms;
  TRY(const expr::Expr* const chosen, best_conditioned(forms, plain, options.policy, settings.points, c));
  const expr::Expr& result = *chosen;
  c.stats = found.stats;
  c.differentiated = found.differentiated;
  c.result = infix_line(result);
  c.derivative_left = has_derivatives(result);
  if (!c.derivative_left) TRY_VOID(look_far(plain, result, settings.points, c));
  for (const rw::DerivationStep& step : found.derivation) {
    expr::Expr side = step.sides;
    DerivationLine& line = c.derivation.emplace_back();
    line.rule = step.rule.empty() ? "collect" : step.rule;
    line.rounded = rounded_constants(step.sides, source);
    for (const std::size_t k : {0, 1}) {
      side.outputs = {{"out", step.sides.outputs[k].node}};
      (k == 0 ? line.left : line.right) = infix_line(side);
    }
  }
  c.replay_fault = found.replay_fault.value_or("");
  TRY(c.after, rw::cost_of(result, options.costs));
  if (has_derivatives(source)) {
    TRY(const expr::Expr textbook, textbook_derivatives(source));
    TRY(c.before, rw::cost_of(textbook, options.costs));
  } else {
    TRY(c.before, rw::cost_of(source, options.costs));
  }
  return {};
}

}  // namespace

double cost_ratio(const RewriteCase& c, double rw::TermCost::*cost) {
  constexpr double kOffset = 4;
  return c.derivative_left ? 1 : (c.after.*cost + kOffset) / (c.before.*cost + kOffset);
}

bool RewriteReport::failed() const {
  return std::any_of(cases.begin(), cases.end(), [](const RewriteCase& c) {
    return !c.failure.empty() || !c.wrong.empty() || !c.replay_fault.empty();
  });
}

RewriteReport rewrite_cases(const std::vector<corpus::CorpusKernel>& cases, const RewriteSettings& settings) {
  RewriteReport report;
  report::ProgressBar bar("rewriting", cases.size());
  double tree = 0, dag = 0;
  std::size_t good = 0;
  for (const corpus::CorpusKernel& kernel : cases) {
    bar.update(report.cases.size(), kernel.name);
    RewriteCase& c = report.cases.emplace_back();
    c.name = kernel.name;
    c.group = kernel.group;
    if (const auto done = rewrite_case(kernel, settings, c); !done.ok()) {
      c.failure = done.error().message;
      continue;
    }
    tree += std::log(cost_ratio(c, &rw::TermCost::tree));
    dag += std::log(cost_ratio(c, &rw::TermCost::dag));
    ++good;
  }
  if (good > 0) {
    report.tree_geomean = std::exp(tree / static_cast<double>(good));
    report.dag_geomean = std::exp(dag / static_cast<double>(good));
  }
  return report;
}

}  // namespace trident::cli
