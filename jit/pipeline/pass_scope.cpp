#include "jit/pipeline/pass_scope.h"

#include <algorithm>
#include <cstdio>

#include "runtime/os/clock.h"

namespace trident::pipeline {
namespace {

enum class Kind : std::uint8_t { pass, candidate };
struct Row {
  std::string_view name;
  Kind kind;
};
constexpr Row kRows[] = {
#define X(name, kind, leaves) {#name, Kind::kind},
#include "jit/pipeline/passes.def"
#undef X
};

bool has_row(std::string_view name, Kind kind) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.name == name && row.kind == kind; });
}

std::uint64_t cpu_ns_of(const Budget& budget) {
  return budget.cpu_ns != 0 ? budget.cpu_ns : kDefaultBudgetNs;
}

}  // namespace

std::vector<std::string> candidates_named(std::span<const std::string> names) {
  std::vector<std::string> candidates;
  for (const std::string& name : names) {
    if (name == "search")
      candidates.insert(candidates.end(), kRewriting.begin(), kRewriting.end());
    else
      candidates.push_back(name);
  }
  return candidates;
}

Result<void> check_names(const Search& search, const Trace& trace) {
  if (!trace.stop_after.empty() && !has_row(trace.stop_after, Kind::pass))
    return make_error(ErrorCode::kInvalidArgument, "there is no pass named '%s'", trace.stop_after.c_str());
  for (const std::string& name : search.disabled)
    if (!has_row(name, Kind::candidate))
      return make_error(ErrorCode::kInvalidArgument, "there is no candidate named '%s' to disable", name.c_str());
  return {};
}

PassScope::PassScope(const Options& options, const std::function<void(const Progress&)>& progress)
    : options_(options),
      progress_(progress),
      work_limit_ns_(cpu_ns_of(options.budget)),
      end_({.work_ns = work_limit_ns_}),
      wall_end_ns_(os::monotonic_ns() + kWallPerBudget * work_limit_ns_) {}

bool PassScope::enabled(std::string_view candidate) const {
  return std::find(options_.search.disabled.begin(), options_.search.disabled.end(), candidate) ==
         options_.search.disabled.end();
}

void PassScope::report(Stage stage, std::size_t done, std::size_t total, double best_ratio) const {
  if (!progress_) return;
  progress_(
      {stage, static_cast<std::uint32_t>(done), static_cast<std::uint32_t>(total), best_ratio, baseline_checked_});
}

void PassScope::limit_clock(std::uint64_t ns, bool two_threads) {
  Left left = end_.left();
  left.clock_ns = clock_limit_ns_ = ns, left.least_ns = ns / 10 * (two_threads ? 14 : 9);
  end_ = Deadline(left);
}

void PassScope::extend(std::uint64_t work_ns, std::uint64_t clock_ns) {
  Left left = end_.left();
  left.work_ns += work_ns, work_limit_ns_ += work_ns;
  if (left.clock_ns != UINT64_MAX) left.clock_ns += clock_ns, left.least_ns += clock_ns;
  end_ = Deadline(left);
}

void PassScope::shorten_clock(std::uint64_t ns) {
  Left left = end_.left();
  left.clock_ns -= std::min(left.clock_ns, ns), left.least_ns -= std::min(left.least_ns, ns);
  end_ = Deadline(left);
}

Left PassScope::left() const {
  return os::monotonic_ns() < wall_end_ns_ ? end_.left() : Left{};
}

std::uint64_t PassScope::left_for_speculation_ns() const {
  if (options_.budget.cpu_ns != 0 || os::monotonic_ns() >= wall_end_ns_) return left().work_ns;
  return std::max(left().work_ns, kSpeculationLeastNs);
}

void PassScope::pause() {
  const std::uint64_t now_ns = os::monotonic_ns();
  paused_ = left();
  paused_wall_ns_ = wall_end_ns_ - std::min(wall_end_ns_, now_ns);
}

void PassScope::resume() {
  end_ = Deadline(paused_);
  wall_end_ns_ = os::monotonic_ns() + paused_wall_ns_;
}

bool PassScope::cancelled() const {
  return options_.budget.cancelled != nullptr && options_.budget.cancelled->load(std::memory_order_relaxed);
}

bool PassScope::spent() const {
  return cancelled() || end_.reached() || os::monotonic_ns() >= wall_end_ns_;
}

double PassScope::budget_s() const {
  return 1e-9 * static_cast<double>(work_limit_ns_);
}

std::string PassScope::why_ended() const {
  if (stopped_) return "stopped after pass '" + options_.trace.stop_after + "'";
  if (cancelled()) return "cancelled by the client in pass '" + pass_ + "'";
  const bool late = end_.out_of_clock();
  const bool by_clock = late || (!end_.reached() && os::monotonic_ns() >= wall_end_ns_);
  const double limit_s = late       ? 1e-9 * static_cast<double>(clock_limit_ns_)
                         : by_clock ? kWallPerBudget * budget_s()
                                    : budget_s();
  char text[160];
  std::snprintf(text, sizeof text, "the limit of %.3g s%s was reached in pass '%s'", limit_s,
                by_clock ? "" : " of processor time", pass_.c_str());
  return text;
}

std::string PassScope::why_checks_ended() const {
  const bool by_clock = clock_limit_ns_ != 0;
  char text[160];
  std::snprintf(text, sizeof text, "the checks used up their share of the limit of %.3g s%s in pass '%s'",
                by_clock ? 1e-9 * static_cast<double>(clock_limit_ns_) : budget_s(),
                by_clock ? "" : " of processor time", pass_.c_str());
  return text;
}

void PassScope::give_up(std::string_view form, const Error& why) const {
  given_up_.push_back({std::string(form), {}, "not made: " + why.message, false, 0});
}

Result<void> PassScope::enter(std::string_view name) {
  if (!stopped_) pass_ = name;
  if (stopped_ || spent())
    return make_error(ErrorCode::kCancelled, "%s before pass '%.*s'", stopped_ ? "stopped" : "the budget was spent",
                      static_cast<int>(name.size()), name.data());
  entered_ns_ = os::monotonic_ns(), entered_work_ns_ = os::thread_work_ns();
  return {};
}

void PassScope::leave(std::string_view name) {
  times_.push_back({std::string(name), os::monotonic_ns() - entered_ns_, os::thread_work_ns() - entered_work_ns_});
  if (name == options_.trace.stop_after) stopped_ = true;
}

}  // namespace trident::pipeline
