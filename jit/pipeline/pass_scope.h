// Runs every pass: measures its time, can print its result, can stop the run after it, and checks the budget
// before it starts.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/pipeline/deadline.h"
#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {

class PassScope {
 public:
  PassScope(const Options& options, const std::function<void(const Progress&)>& progress);

  /// Runs `pass` under `name`. Its result's text goes to Trace::dump through `print`. Error Cancelled when the budget
  /// is spent beforehand, or when an earlier pass was the one to stop after.
  template <class Pass, class Print>
  auto run(std::string_view name, Pass pass, Print print) -> decltype(pass()) {
    TRY_VOID(enter(name));
    auto result = pass();
    leave(name);
    if (result.ok() && options_.trace.dump) options_.trace.dump(name, print(result.value()));
    return result;
  }

  /// True if a candidate of passes.def is tried.
  [[nodiscard]] bool enabled(std::string_view candidate) const;
  void report(Stage stage, std::size_t done, std::size_t total, double best_ratio = 1) const;
  /// The baseline was found right, or not: what reports say of it from now on.
  void set_baseline_checked(bool checked) { baseline_checked_ = checked; }
  /// The budget is used up or the owner has cancelled.
  [[nodiscard]] bool spent() const;
  [[nodiscard]] bool cancelled() const;
  /// Ends the budget sooner, by the clock, once nearly as much processor time is used: a search that takes seconds is
  /// for somebody who waits. Two threads use half as much again: a part of the passes is divided between them.
  void limit_clock(std::uint64_t ns, bool two_threads = false);
  /// Adds to the limits, where there are any: processor time, and time by the clock.
  void extend(std::uint64_t work_ns, std::uint64_t clock_ns);
  /// Takes back time by the clock.
  void shorten_clock(std::uint64_t ns);
  /// Returns what is left.
  [[nodiscard]] Left left() const;
  /// Returns the CPU time that is left.
  [[nodiscard]] std::uint64_t left_ns() const { return left().ns(); }
  /// Returns the CPU time for a search in assumed ranges: what is left, or kSpeculationLeastNs unless a caller has set
  /// the budget.
  [[nodiscard]] std::uint64_t left_for_speculation_ns() const;
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Stops the clocks of the budget until resume(), on this thread or another.
  void pause();
  void resume();
  /// Says why passes ended before the last, for Optimised::note: "the limit of 5 s of processor time was reached in .."
  [[nodiscard]] std::string why_ended() const;
  /// Says so where checks ended the passes, having used their share of the time before the budget was spent.
  [[nodiscard]] std::string why_checks_ended() const;
  /// Records that a form or candidate was not made, and why.
  void give_up(std::string_view form, const Error& why) const;
  /// Returns these records, for reports.
  [[nodiscard]] const std::vector<CandidateReport>& given_up() const { return given_up_; }
  [[nodiscard]] std::vector<PassTime> take_times() { return std::move(times_); }

 private:
  Result<void> enter(std::string_view name);
  void leave(std::string_view name);
  [[nodiscard]] double budget_s() const;

  const Options& options_;
  const std::function<void(const Progress&)>& progress_;
  std::uint64_t work_limit_ns_;  ///< processor time, with what extend() has added
  mutable Deadline end_;
  std::uint64_t clock_limit_ns_ = 0;  ///< of limit_clock()
  std::uint64_t wall_end_ns_;
  Left paused_;                       ///< left when the clocks were stopped
  std::uint64_t paused_wall_ns_ = 0;  ///< likewise
  std::uint64_t entered_ns_ = 0, entered_work_ns_ = 0;
  bool stopped_ = false;
  bool baseline_checked_ = false;
  std::string pass_;                               ///< the last one that was to begin
  mutable std::vector<CandidateReport> given_up_;  ///< passes share a const scope
  std::vector<PassTime> times_;
};

/// Candidates that change the set or order of operations: "search" means all of them where candidates are
/// switched off. Products fused into sums, the accuracy of functions, the shapes of the loop and the tournament stay:
/// they are code generation.
inline constexpr std::array<const char*, 6> kRewriting = {"narrowed", "identities", "simplified",
                                                          "searched", "guided",     "careful"};
/// Returns `names` with kRewriting in place of "search".
std::vector<std::string> candidates_named(std::span<const std::string> names);

/// Returns InvalidArgument if a named pass or candidate is not in passes.def.
Result<void> check_names(const Search& search, const Trace& trace);

}  // namespace trident::pipeline
