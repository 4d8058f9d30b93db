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

 private:
  std::string label_;
  std::size_t total_;
  unsigned columns_;  ///< 0: no terminal, nothing is drawn
  std::uint64_t start_ns_, drawn_ns_ = 0;
  bool drawn_ = false;
};

}  // namespace trident::cli
