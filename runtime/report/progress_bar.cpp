#include "runtime/report/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/os/clock.h"
#include "runtime/os/process.h"

namespace trident::report {
namespace {

constexpr std::uint64_t kRedrawNs = 50'000'000;
constexpr std::size_t kBarCells = 24;

std::string text_of(std::optional<double> left_s) {
  if (!left_s) return "";
  char text[32];
  std::snprintf(text, sizeof text, "  %d:%02d left", static_cast<int>(*left_s) / 60, static_cast<int>(*left_s) % 60);
  return text;
}

}  // namespace

void TimeLeft::say(std::size_t done, std::size_t total, std::uint64_t now_ns) {
  done = std::min(done, total);
  if (!begun_ || total != total_ || done < done_) first_ = done, start_ns_ = now_ns, begun_ = true;
  done_ = done, total_ = total, now_ns_ = now_ns;
}

std::optional<double> TimeLeft::seconds() const {
  if (done_ == first_ || now_ns_ - start_ns_ < 1'000'000'000) return {};
  return static_cast<double>(now_ns_ - start_ns_) * 1e-9 / static_cast<double>(done_ - first_) *
         static_cast<double>(total_ - done_);
}

ProgressBar::ProgressBar(std::string label, std::size_t total)
    : label_(std::move(label)), total_(total), columns_(os::terminal_size(STDERR_FILENO).columns) {
  update(0);
}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(std::size_t done, std::size_t total, const std::string& what) {
  total_ = total;  // the time left is that of the stage
  update(done, what);
}

void ProgressBar::update(std::size_t done, const std::string& what) {
  if (columns_ == 0) return;
  const std::uint64_t now_ns = os::monotonic_ns();
  left_.say(done, total_, now_ns);
  if (drawn_ && done < total_ && now_ns - drawn_ns_ < kRedrawNs) return;
  drawn_ns_ = now_ns;
  drawn_ = true;
  const std::size_t full = total_ == 0 ? 0 : std::min(done, total_) * kBarCells / total_;
  std::string line = label_ + " [" + std::string(full, '#') + std::string(kBarCells - full, '-') + "] " +
                     std::to_string(done) + "/" + std::to_string(total_) + text_of(left_.seconds()) +
                     (what.empty() ? "" : "  " + what);
  line.resize(std::min<std::size_t>(line.size(), columns_ - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

void ProgressBar::line(const std::string& text) {
  std::fprintf(stderr, "%s%s\n", drawn_ ? "\r\033[K" : "", text.c_str());
  drawn_ = false;  // drawn anew by the next update
}

std::string stage_text(std::string_view stage, double best_ratio) {
  std::string text(stage);
  if (best_ratio <= 0 || best_ratio >= 1) return text;
  char best[48];
  std::snprintf(best, sizeof best, ", best takes %.2f of the baseline's time", best_ratio);
  return text + best;
}

}  // namespace trident::report
