// The time from a submission to an optimised kernel, through a real daemon:
//
//   alone      every kernel of the corpora that the command line names, one after another: P50 and P95
//   together   the first 22 of them, submitted at once: until all have one
//   behind     one kernel of a second connection, submitted when 300 of a first one wait
//
// The daemon publishes what is better while it goes on searching. A kernel counts here when it takes at most 5 % more
// time than the last one; the end of the search, with a better kernel or none, is shown beside it. No ranges are
// declared. The daemon has no cache, so each kernel is searched. What the kernels compute is checked by
// the daemon and by tests; times alone are measured here.
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "bench/private_daemon.h"
#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "jit/corpus/corpus_reader.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

constexpr std::size_t kTogether = 22, kBefore = 300;
constexpr std::uint32_t kPatienceMs = 600'000;

double now_s() {
  return 1e-9 * static_cast<double>(os::monotonic_ns());
}

class Connection {
 public:
  explicit Connection(const std::string& socket) {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = TRIDENT_MODE_DAEMON;
    options.connect_timeout_ms = 10'000;
    options.socket_path = socket.c_str();
    CHECK(trident_open(&options, &ctx_) == TRIDENT_OK);
  }
  ~Connection() { trident_close(ctx_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] trident_kernel* submit(const std::string& text, trident_type type) const {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = type;
    trident_kernel* kernel = nullptr;
    return trident_submit(ctx_, text.c_str(), &options, &kernel) == TRIDENT_OK ? kernel : nullptr;
  }

 private:
  trident_ctx* ctx_ = nullptr;
};

/// When a search had which kernel, as the library tells it.
class Watched {
 public:
  explicit Watched(trident_kernel* kernel) : kernel_(kernel), begin_s_(now_s()) {
    trident_on_change(
        kernel, [](trident_kernel*, void* self) { static_cast<Watched*>(self)->look(); }, this);
    look();  // what came before
  }
  ~Watched() {
    trident_on_change(kernel_, nullptr, nullptr);  // waits for the callback
    trident_close_kernel(kernel_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Waits for the end of the search.
  void finish() { done_.wait(false); }

  /// Both count from the submission.
  [[nodiscard]] double end_s() const { return swaps_.back().at_s - begin_s_; }
  [[nodiscard]] double nearly_s() const {
    const auto is_near = [&](const Swap& swap) { return swap.ratio <= swaps_.back().ratio * kNear; };
    return std::find_if(swaps_.begin(), swaps_.end(), is_near)->at_s - begin_s_;
  }

 private:
  static constexpr double kNear = 1.05;
  struct Swap {
    double at_s = 0, ratio = 1;  ///< the kernel's time over the baseline's
  };

  void look() {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    trident_kernel_info info{};
    info.struct_size = sizeof info;
    CHECK(trident_info(kernel_, &info) == TRIDENT_OK);
    const bool better = info.tier == 2 && info.baseline_ns > 0;
    if (better || info.done != 0) swaps_.push_back({now_s(), better ? info.optimised_ns / info.baseline_ns : 1});
    if (info.done == 0) return;
    done_ = true;
    done_.notify_all();
  }

  trident_kernel* kernel_;
  double begin_s_;
  std::mutex mutex_;
  std::vector<Swap> swaps_;
  std::atomic<bool> done_ = false;
};

/// Waits for an optimised kernel, or the end of the search, and closes the kernel.
void finish(trident_kernel* kernel) {
  CHECK(trident_wait(kernel, 2, kPatienceMs) == TRIDENT_OK);
  trident_close_kernel(kernel);
}

struct Times {
  std::vector<double> nearly_s, end_s;

  void add(const Watched& one) { nearly_s.push_back(one.nearly_s()), end_s.push_back(one.end_s()); }
  void sort() { std::sort(nearly_s.begin(), nearly_s.end()), std::sort(end_s.begin(), end_s.end()); }
};

Times alone(const Connection& connection, const std::vector<std::string>& texts, trident_type type) {
  Times times;
  for (const std::string& text : texts) {
    trident_kernel* const kernel = connection.submit(text, type);
    if (kernel == nullptr) continue;  // this type does not have it
    Watched watched(kernel);
    watched.finish();
    times.add(watched);
  }
  times.sort();
  return times;
}

Times together(const Connection& connection, const std::vector<std::string>& texts, trident_type type) {
  std::deque<Watched> kernels;
  for (std::size_t i = 0; i < std::min(kTogether, texts.size()); ++i)
    if (trident_kernel* const kernel = connection.submit(texts[i], type)) kernels.emplace_back(kernel);
  Times times;
  for (Watched& kernel : kernels) kernel.finish(), times.add(kernel);
  times.sort();
  return times;
}

double behind(const std::string& socket) {
  const Connection first(socket), second(socket);
  std::vector<trident_kernel*> kernels;
  for (std::size_t i = 0; i < kBefore; ++i)
    kernels.push_back(first.submit("exp(x*" + std::to_string(i + 2) + ".5)*y + x", TRIDENT_F64));
  for (trident_kernel* const kernel : kernels) CHECK(trident_wait(kernel, 1, kPatienceMs) == TRIDENT_OK);
  const double begin = now_s();
  finish(second.submit("sqrt(x*x + 7.25*y)", TRIDENT_F64));
  const double end = now_s();
  for (trident_kernel* const kernel : kernels) trident_close_kernel(kernel);
  return end - begin;
}

void measure(const std::vector<std::string>& texts, trident_type type, const std::string& name) {
  const PrivateDaemon one, another;
  const Times times = alone(Connection(one.socket()), texts, type);
  const std::size_t count = times.end_s.size(), middle = count / 2, most = count * 95 / 100;
  CHECK(count != 0);
  print_figure("alone: s to an optimised kernel, P50, " + name, times.nearly_s[middle]);
  print_figure("alone: s to an optimised kernel, P95, " + name, times.nearly_s[most]);
  print_figure("alone: s to the search's end, P50, " + name, times.end_s[middle]);
  print_figure("alone: s to the search's end, P95, " + name, times.end_s[most]);
  const Times all = together(Connection(another.socket()), texts, type);
  print_figure("together: s until 22 kernels are optimised, " + name, all.nearly_s.back());
  print_figure("together: s until 22 searches have ended, " + name, all.end_s.back());
}

int run(const std::vector<std::string>& files) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    const auto kernels = corpus::read_corpus(file);
    if (!kernels.ok()) return std::fprintf(stderr, "%s\n", kernels.error().message.c_str()), 2;
    for (const corpus::CorpusKernel& kernel : *kernels) texts.push_back(kernel.definition);
  }
  measure(texts, TRIDENT_F32, "f32");
  measure(texts, TRIDENT_F64, "f64");
  const PrivateDaemon daemon;
  print_figure("behind: s to an optimised kernel behind 300", behind(daemon.socket()));
  return 0;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run({argv + 1, argv + argc});
}
