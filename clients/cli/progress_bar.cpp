#include "clients/cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/os/clock.h"
#include "runtime/os/process.h"

namespace trident::cli {
namespace {

constexpr std::uint64_t kRedrawNs = 50'000'000;
constexpr std::size_t kBarCells = 24;

std::string time_left(std::uint64_t elapsed_ns, std::size_t done, std::size_t total) {
  if (done == 0 || elapsed_ns < 1'000'000'000) return "";
  const double left_s = static_cast<double>(elapsed_ns) * 1e-9 / static_cast<double>(done) *
                        static_cast<double>(total - std::min(done, total));
  char text[32];
  std::snprintf(text, sizeof text, "  %d:%02d left", static_cast<int>(left_s) / 60, static_cast<int>(left_s) % 60);
  return text;
}

}  // namespace

ProgressBar::ProgressBar(std::string label, std::size_t total)
    : label_(std::move(label)),
      total_(total),
      columns_(os::terminal_size(STDERR_FILENO).columns),
      start_ns_(os::monotonic_ns()) {
  update(0);
}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(std::size_t done, std::size_t total, const std::string& what) {
  if (total != total_) start_ns_ = os::monotonic_ns();  // the time left is that of the stage
  total_ = total;
  update(done, what);
}

void ProgressBar::update(std::size_t done, const std::string& what) {
  if (columns_ == 0) return;
  const std::uint64_t now_ns = os::monotonic_ns();
  if (drawn_ && done < total_ && now_ns - drawn_ns_ < kRedrawNs) return;
  drawn_ns_ = now_ns;
  drawn_ = true;
  const std::size_t full = total_ == 0 ? 0 : std::min(done, total_) * kBarCells / total_;
  std::string line = label_ + " [" + std::string(full, '#') + std::string(kBarCells - full, '-') + "] " +
                     std::to_string(done) + "/" + std::to_string(total_) + time_left(now_ns - start_ns_, done, total_) +
                     (what.empty() ? "" : "  " + what);
  line.resize(std::min<std::size_t>(line.size(), columns_ - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

std::string stage_text(const std::string& stage, double best_ratio) {
  if (best_ratio <= 0 || best_ratio >= 1) return stage;
  char text[64];
  std::snprintf(text, sizeof text, "%s, best %.2f of the baseline's time", stage.c_str(), best_ratio);
  return text;
}

}  // namespace trident::cli
