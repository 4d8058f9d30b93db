// The storm: threads call the same kernels while these are replaced by others, while their code is swapped, while the
// daemon is stopped, continued, killed and started again, and while the process forks children that do the same.
//
//   client_storm [--calls N] [--threads N] [--children N] [--seconds N] [--seed N]
//
//   threads ──> calls, some on two threads ──> open kernels <── renewer: closes one and submits another
//                                                   ^
//   forker ──> children: inherited kernels, a new one        disturber ──> daemon
//
// Every kernel is a formula of additions, multiplications and one division under policy exact: its bits are those of
// the same formula computed here. The mode is auto, so that the engine in this process takes over from a daemon that is
// away, and gives back.
//
// It ends after so many calls, children and seconds at least.
//
// Exit 0: no wrong bit, no failed call of the library, every child right in time, answers from compiled code,
// a daemon that was stopped or killed, no growth of memory, descriptors and mappings: the least of the last quarter
// is not above the most of the second. (One look at each would compare moments: how many arenas, stacks and images
// there are goes up and down.) A watchdog ends a process that hangs.
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "clients/c/trident.h"
#include "tests/daemon/private_daemon.h"
#include "tests/support/random.h"

namespace trident {
namespace {

using testing::Random;

struct Plan {
  std::uint64_t calls = 20'000, threads = 8, children = 100, seconds = 6, seed = 1;
};

constexpr std::size_t kOpen = 12;         // kernels at a time
constexpr std::size_t kLongest = 40'000;  // elements: enough for a second thread
constexpr std::size_t kShortest = 1, kUsual = 3000;
constexpr unsigned kRenewMs = 30, kForkPauseMs = 20;  // on average the half
constexpr unsigned kChildSeconds = 300, kStuckSeconds = 300, kLooksPerSecond = 10;
/// Growth that is no leak: arenas of threads, and images of kernels that live longer.
constexpr std::int64_t kGrowthBytesMax = 48 << 20, kGrowthMapsMax = 100;

void fail(const char* what) {
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::exit(1);
}

/// An open kernel, closed by whoever lets go of it last.
class Open {
 public:
  Open(trident_ctx* ctx, int c) : c_(c) {
    const std::string text = "(x*x + " + std::to_string(c) + "*x + y*y)/(1 + y*y) - x*y";
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = TRIDENT_EXACT;
    if (trident_submit(ctx, text.c_str(), &options, &kernel_) != TRIDENT_OK) fail(trident_last_error());
  }
  ~Open() { trident_close_kernel(kernel_); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  [[nodiscard]] std::uint32_t tier() const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    if (trident_info(kernel_, &info) != TRIDENT_OK) fail(trident_last_error());
    return info.tier;
  }

  /// Calls it on `n` elements from `first` on; true if each has the bits of the formula.
  [[nodiscard]] bool is_right(std::size_t n, int first) const {
    thread_local std::array<std::vector<double>, 3> arrays{std::vector<double>(kLongest), std::vector<double>(kLongest),
                                                           std::vector<double>(kLongest)};
    auto& [x, y, z] = arrays;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = 0.37 * static_cast<double>((i + static_cast<std::size_t>(first)) % 1000);
      y[i] = 0.11 * static_cast<double>((i + static_cast<std::size_t>(first)) % 777) - 30;
      z[i] = -1;
    }
    const void* in[] = {x.data(), y.data()};
    void* out[] = {z.data()};
    if (n > kUsual)
      trident_call_parallel(kernel_, n, in, out, nullptr, 2);
    else
      trident_call(kernel_, n, in, out, nullptr);
    for (std::size_t i = 0; i < n; ++i)
      if (std::memcmp(&z[i], std::array{formula(x[i], y[i])}.data(), sizeof(double)) != 0)
        return report(x[i], y[i], z[i]);
    return true;
  }

 private:
  [[nodiscard]] double formula(double x, double y) const { return (x * x + c_ * x + y * y) / (1 + y * y) - x * y; }
  [[nodiscard]] bool report(double x, double y, double z) const {
    std::fprintf(stderr, "WRONG: c %g, tier %u: at (%a, %a) %a, right is %a\n", c_, tier(), x, y, z, formula(x, y));
    return false;
  }
  double c_;
  trident_kernel* kernel_ = nullptr;
};
using OpenPtr = std::shared_ptr<const Open>;

struct Footprint {
  std::int64_t bytes = 0, maps = 0, descriptors = 0;

  [[nodiscard]] static Footprint most(const Footprint& a, const Footprint& b) {
    return {std::max(a.bytes, b.bytes), std::max(a.maps, b.maps), std::max(a.descriptors, b.descriptors)};
  }
  [[nodiscard]] static Footprint least(const Footprint& a, const Footprint& b) {
    return {std::min(a.bytes, b.bytes), std::min(a.maps, b.maps), std::min(a.descriptors, b.descriptors)};
  }
};

Footprint footprint() {
  Footprint now;
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> now.bytes;
  now.bytes *= ::sysconf(_SC_PAGESIZE);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++now.maps;
  DIR* const directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++now.descriptors;
  ::closedir(directory);
  return now;
}

class Storm {
 public:
  explicit Storm(const Plan& plan) : plan_(plan) {
    trident_options options{};
    options.struct_size = sizeof(options);
    const std::string socket = daemon_.socket();
    options.socket_path = socket.c_str();
    options.threads = 2;
    if (trident_open(&options, &ctx_) != TRIDENT_OK) fail(trident_last_error());
    for (OpenPtr& open : open_) open = next();
  }
  ~Storm() {
    for (OpenPtr& open : open_) open.reset();
    trident_close(ctx_);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

  // The spine. Returns the exit status.
  int run() {
    std::vector<std::thread> callers, others;
    for (std::uint64_t i = 0; i < plan_.threads; ++i) callers.emplace_back([this, i] { call(i); });
    others.emplace_back([this] { renew(); });
    others.emplace_back([this] { disturb(); });
    others.emplace_back([this] { fork_children(); });
    others.emplace_back([this] { watch(); });
    for (std::thread& caller : callers) caller.join();
    for (std::thread& other : others) other.join();
    return conclude();
  }

 private:
  OpenPtr next() { return std::make_shared<const Open>(ctx_, next_constant_++); }

  OpenPtr any(Random& random) {
    const std::lock_guard lock(mutex_);
    return open_[random.below(kOpen)];
  }

  void call(std::uint64_t number) {
    Random random(plan_.seed * 100 + number);
    for (; !over_; ++calls_) {
      const OpenPtr open = any(random);
      const bool is_long = random.below(40) == 0;
      const std::size_t n = is_long ? kLongest - random.below(100) : kShortest + random.below(kUsual);
      ++answers_[std::min(open->tier(), 2u)];
      if (!open->is_right(n, static_cast<int>(random.below(5000)))) ++wrong_;
    }
  }

  /// Replaces one kernel after the other, the younger ones more often: some live to be optimised.
  void renew() {
    Random random(plan_.seed + 7);
    while (!over_) {
      const OpenPtr fresh = next();
      OpenPtr old;
      {
        const std::lock_guard lock(mutex_);
        old = std::exchange(open_[std::min({random.below(kOpen), random.below(kOpen), random.below(kOpen)})], fresh);
      }
      tests::sleep_ms(random.below(kRenewMs));
    }
  }

  void disturb() {
    Random random(plan_.seed + 8);
    while (!over_) {
      tests::sleep_ms(100 + random.below(900));
      const bool stops = random.chance(0.6), kills = !stops || random.chance(0.3);
      if (stops) {
        daemon_.signal(SIGSTOP), ++stops_;
        tests::sleep_ms(random.chance(0.1) ? 4000 : random.below(500));
      }
      if (kills) {
        daemon_.signal(SIGKILL), ++kills_;
        daemon_.wait();
        tests::sleep_ms(random.chance(0.2) ? 2000 : random.below(200));
        daemon_.restart();
      } else {
        daemon_.signal(SIGCONT);
      }
    }
  }

  void fork_children() {
    Random random(plan_.seed + 9);
    for (; !over_; ++children_) {
      tests::sleep_ms(random.below(kForkPauseMs));
      const std::uint32_t draw = random.below(1000);
      const pid_t child = fork_child(draw);
      if (child < 0) fail("fork()");
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) ++wrong_children_, std::fprintf(stderr, "FAILED: a child ended with status %x\n", status);
    }
  }

  pid_t fork_child(std::uint32_t draw) {
    const std::lock_guard lock(mutex_);  // so that a child finds it free
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::alarm(kChildSeconds);
    const Open fresh(ctx_, -static_cast<int>(draw) - 1);
    bool right = fresh.is_right(kUsual, 0);
    for (std::size_t i = 0; i < kOpen; i += 4) right = right && open_[(i + draw) % kOpen]->is_right(kUsual, 1);
    if (draw % 8 == 0) right = right && open_[draw % kOpen]->is_right(kLongest, 2);
    ::_exit(right ? 0 : 1);
  }

  /// Notes the footprints of the second and the last quarter of the storm, ends it, and ends a process whose calls have
  /// come to a halt.
  void watch() {
    std::uint64_t before = 0;
    unsigned looks = 0;
    for (unsigned still = 0; !has_done(1, looks++); ++still) {
      if (calls_ != before) still = 0, before = calls_;
      if (still > kLooksPerSecond * kStuckSeconds) std::fprintf(stderr, "FAILED: calls do not end\n"), std::abort();
      note_footprint(looks);
      tests::sleep_ms(1000 / kLooksPerSecond);
    }
    over_ = true;
  }

  void note_footprint(std::uint64_t looks) {
    if (has_done(4.0 / 3, looks))
      late_ = late_.bytes == 0 ? footprint() : Footprint::least(late_, footprint());
    else if (has_done(4, looks) && !has_done(2, looks))
      early_ = Footprint::most(early_, footprint());
  }

  /// Returns whether one `part`th of the storm is over.
  [[nodiscard]] bool has_done(double part, std::uint64_t looks) const {
    const auto reaches = [part](std::uint64_t done, std::uint64_t whole) {
      return part * static_cast<double>(done) >= static_cast<double>(whole);
    };
    return reaches(calls_, plan_.calls) && reaches(children_, plan_.children) &&
           reaches(looks, plan_.seconds * kLooksPerSecond);
  }

  [[nodiscard]] bool grew() const {
    return late_.bytes - early_.bytes > kGrowthBytesMax || late_.maps - early_.maps > kGrowthMapsMax ||
           late_.descriptors - early_.descriptors > static_cast<std::int64_t>(2 * kOpen);
  }

  int conclude() {
    std::printf("%llu calls on %llu threads: %llu, %llu, %llu in tiers 0, 1, 2; %d kernels, %u children\n",
                static_cast<unsigned long long>(calls_), static_cast<unsigned long long>(plan_.threads),
                static_cast<unsigned long long>(answers_[0]), static_cast<unsigned long long>(answers_[1]),
                static_cast<unsigned long long>(answers_[2]), next_constant_ - 1, children_.load());
    std::printf("daemon: %u stops, %u kills; memory %+lld KiB, %+lld mappings, %+lld descriptors between quarters\n",
                stops_, kills_, static_cast<long long>((late_.bytes - early_.bytes) / 1024),
                static_cast<long long>(late_.maps - early_.maps),
                static_cast<long long>(late_.descriptors - early_.descriptors));
    std::printf("%u wrong answers, %u wrong children\n", wrong_.load(), wrong_children_);
    const bool vacuous =
        answers_[1] + answers_[2] == 0 || stops_ + kills_ == 0 || early_.bytes == 0 || late_.bytes == 0;
    if (vacuous) std::fprintf(stderr, "FAILED: nothing was swapped or disturbed\n");
    if (grew()) std::fprintf(stderr, "FAILED: the process has grown\n");
    return vacuous || grew() || wrong_ != 0 || wrong_children_ != 0 ? 1 : 0;
  }

  const Plan plan_;
  tests::PrivateDaemon daemon_{{"--budget-ms", "300"}};
  trident_ctx* ctx_ = nullptr;
  std::mutex mutex_;  // of open_
  std::array<OpenPtr, kOpen> open_;
  std::atomic<int> next_constant_ = 1;
  std::atomic<std::uint64_t> calls_ = 0;
  std::array<std::atomic<std::uint64_t>, 3> answers_{};
  std::atomic<std::uint32_t> wrong_ = 0, children_ = 0;
  std::atomic<bool> over_ = false;
  std::uint32_t wrong_children_ = 0, stops_ = 0, kills_ = 0;
  Footprint early_, late_;  // the most of the second quarter, the least of the last
};

Plan read_plan(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--calls") plan.calls = value;
    if (name == "--threads") plan.threads = value;
    if (name == "--children") plan.children = value;
    if (name == "--seconds") plan.seconds = value;
    if (name == "--seed") plan.seed = value;
  }
  return plan;
}

}  // namespace
}  // namespace trident

int main(int argc, char** argv) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  return trident::Storm(trident::read_plan(argc, argv)).run();
}
