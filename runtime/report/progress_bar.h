// A progress bar on standard error, only when that is a terminal: logs and pipes stay clean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trident::report {

/// Estimates the time left, at the pace since the first report of a stage: work of an earlier run took this one no
/// time.
class TimeLeft {
 public:
  /// A stage ends where its total changes or less is done than before.
  void say(std::size_t done, std::size_t total, std::uint64_t now_ns);
  /// Returns nothing within the first second, or before anything is done.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  std::size_t first_ = 0, done_ = 0, total_ = 0;
  std::uint64_t start_ns_ = 0, now_ns_ = 0;
  bool begun_ = false;
};

class ProgressBar {
 public:
  /// "compiling [#####-----] 12/24 what" with an estimate of the time left; redrawn at most 20 times a second.
  ProgressBar(std::string label, std::size_t total);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Clears the line.
  ~ProgressBar();
  void update(std::size_t done, const std::string& what = "");
  /// Updates a bar whose stages each have a total of their own.
  void update(std::size_t done, std::size_t total, const std::string& what);
  /// A line of its own on standard error, terminal or not; the bar goes on below it.
  void line(const std::string& text);
  /// Returns true when anything is drawn at all.
  [[nodiscard]] bool shown() const { return columns_ != 0; }

 private:
  std::string label_;
  std::size_t total_;
  unsigned columns_;  ///< 0: no terminal, nothing is drawn
  TimeLeft left_;
  std::uint64_t drawn_ns_ = 0;
  bool drawn_ = false;
};

/// "judge, best 0.62 of the baseline's time"; the ratio once something is faster (0 and 1 say nothing).
std::string stage_text(std::string_view stage, double best_ratio);

}  // namespace trident::report
