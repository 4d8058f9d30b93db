// A progress bar on standard error, only when that is a terminal: logs and pipes stay clean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trident::cli {

class ProgressBar {
 public:
  /// "compiling [#####-----] 12/24 what" with an estimate of the time left; redrawn at most 20 times a second.
  ProgressBar(std::string label, std::size_t total);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Clears the line.
  ~ProgressBar();
  void update(std::size_t done, const std::string& what = "");
  /// The same where each stage has a total of its own.
  void update(std::size_t done, std::size_t total, const std::string& what);
  /// Whether anything is drawn at all.
  [[nodiscard]] bool shown() const { return columns_ != 0; }

 private:
  std::string label_;
  std::size_t total_;
  unsigned columns_;  ///< 0: no terminal, nothing is drawn
  std::uint64_t start_ns_, drawn_ns_ = 0;
  bool drawn_ = false;
};

/// "judge, best 0.62 of the baseline's time"; the ratio once something is faster (0 and 1 say nothing).
std::string stage_text(const std::string& stage, double best_ratio);

}  // namespace trident::cli
