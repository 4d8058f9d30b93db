// The cost of a submission to its caller, and the time until its first compiled kernel can be called. Both go through a
// real daemon, next to the least cost of any daemon: a bare round trip in the same run (one request of that size over a
// Unix socket to another process, which makes and seals a memfd; the client maps it executable and calls it).
//
// Every expression is another one (its constants differ), so the daemon compiles each. "Callable" is the moment of the
// swap, seen by the callback in the library's thread. The bars are for submissions that follow each other, on a
// quiet machine. After a pause the caller must wake the library's thread, which is shown beside them. Every kernel's
// answer is compared with the interpreter's.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/private_daemon.h"
#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "runtime/base/check.h"
#include "runtime/os/memfd.h"
#include "runtime/os/socket.h"

namespace trident::bench {
namespace {

constexpr int kRounds = 1001, kRoundsAfterPause = 101;
constexpr useconds_t kPauseUs = 2000;  // everyone sleeps by then (os::Linger)
constexpr std::size_t kElements = 64;
constexpr std::uint32_t kPatienceMs = 10'000;

double now_us() {
  return static_cast<double>(os::monotonic_ns()) * 1e-3;
}

/// A text of 30 operations, another one for every `number`.
std::string text_of(int number) {
  char text[400];
  const double c = 1 + number * 1e-6;
  std::snprintf(text, sizeof(text),
                "(x*%.9g + y)*(x - y) + sqrt(x*x + y*y + 1)*(z - 2*x) - (x + 3*y)/(z*z + %.9g) + abs(x - z)*0.25"
                " + min(x, y)*max(y, z) - x*y*z",
                c, c + 1);
  return text;
}

double expected(int number, double x, double y, double z) {
  const double c = 1 + number * 1e-6;
  return (x * c + y) * (x - y) + std::sqrt(x * x + y * y + 1) * (z - 2 * x) - (x + 3 * y) / (z * z + (c + 1)) +
         std::abs(x - z) * 0.25 + std::fmin(x, y) * std::fmax(y, z) - x * y * z;
}

// --- the bare round trip ---------------------------------------------------------------------------------------------

constexpr std::size_t kRequestBytes = 1500;

void serve_bare(const os::Fd& socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<std::byte, kRequestBytes> request;
  std::array<std::byte, 4096> image;
  image.fill(std::byte{0xC3});  // ret
  for (;;) {
    os::ReceivedFds none;
    for (std::size_t got = 0; got < request.size();) {
      const os::Io io = os::receive(socket, std::span(request).subspan(got), none);
      if (io.status != os::IoStatus::ok) ::_exit(0);
      got += io.bytes;
    }
    const auto fd = os::make_sealed_memfd("bare", image, std::byte{0xCC});
    if (!fd.ok()) ::_exit(1);
    os::send_bytes(socket, std::span(request).first(120), fd->get());
  }
}

class Bare {
 public:
  Bare() {
    auto pair = os::socket_pair(os::Blocking::yes, os::Blocking::yes);
    CHECK(pair.ok());
    child_ = ::fork();
    CHECK(child_ >= 0);
    if (child_ == 0) {
      pair->first = {};
      serve_bare(pair->second);
    }
    socket_ = std::move(pair->first);
  }
  ~Bare() {
    socket_ = {};
    ::waitpid(child_, nullptr, 0);
  }
  void round_trip() {
    std::array<std::byte, kRequestBytes> request{};
    CHECK(os::send_bytes(socket_, request).bytes == request.size());
    os::ReceivedFds received;
    CHECK(os::receive(socket_, request, received).status == os::IoStatus::ok);
    CHECK(received.count == 1);
    const auto map = os::map_executable(received.fds[0], 4096);
    CHECK(map.ok());
    reinterpret_cast<void (*)()>(map->base())();
  }

 private:
  os::Fd socket_;
  pid_t child_ = -1;
};

// --- ours ------------------------------------------------------------------------------------------------------------

struct Times {
  double submit_us = 0, first_us = 0;
};

bool right(const trident_kernel* kernel, int number) {
  std::array<double, kElements> x, y, z, result;
  for (std::size_t i = 0; i < kElements; ++i) {
    x[i] = 0.5 + 0.01 * static_cast<double>(i);
    y[i] = 1.5 - 0.02 * static_cast<double>(i);
    z[i] = 0.3 * static_cast<double>(i % 7);
  }
  const void* in[] = {x.data(), y.data(), z.data()};
  void* out[] = {result.data()};
  trident_call(kernel, kElements, in, out, nullptr);
  for (std::size_t i = 0; i < kElements; ++i) {
    const double wanted = expected(number, x[i], y[i], z[i]);
    if (!(std::abs(result[i] - wanted) <= 1e-12 * (1 + std::abs(wanted)))) return false;
  }
  return true;
}

bool submit_and_wait(trident_ctx* ctx, int number, Times& times) {
  std::atomic<double> swapped_us = 0;
  const std::string text = text_of(number);
  trident_kernel* kernel = nullptr;
  const double begin = now_us();
  if (trident_submit(ctx, text.c_str(), nullptr, &kernel) != TRIDENT_OK) return false;
  const double submitted = now_us();
  trident_on_change(
      kernel, [](trident_kernel*, void* user) { *static_cast<std::atomic<double>*>(user) = now_us(); }, &swapped_us);
  bool good = trident_wait(kernel, 1, kPatienceMs) == TRIDENT_OK;
  const double swapped = swapped_us == 0 ? now_us() : swapped_us.load();
  trident_on_change(kernel, nullptr, nullptr);
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  good = good && trident_info(kernel, &info) == TRIDENT_OK && info.tier >= 1 && right(kernel, number);
  trident_close_kernel(kernel);
  times = {submitted - begin, swapped - begin};
  return good;
}

void submit_latency(benchmark::State& state) {
  const PrivateDaemon daemon({"--optimise-queue-per-user", "0"});
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_DAEMON;
  options.socket_path = nullptr;
  options.connect_timeout_ms = kPatienceMs;
  const std::string socket = daemon.socket();
  options.socket_path = socket.c_str();
  trident_ctx* ctx = nullptr;
  if (trident_open(&options, &ctx) != TRIDENT_OK) {
    state.SkipWithError(trident_last_error());
    ++wrong_answers();
    return;
  }
  Bare bare;
  Times times;
  for (int i = 0; i < 50; ++i) {  // warm up
    submit_and_wait(ctx, i, times);
    bare.round_trip();
  }
  std::vector<double> submits, firsts, bares;
  int number = 1000;
  for (auto _ : state) {
    const double begin = now_us();
    bare.round_trip();
    bares.push_back(now_us() - begin);
    if (!submit_and_wait(ctx, ++number, times)) {
      state.SkipWithError("a failed submission or a wrong answer");
      ++wrong_answers();
      break;
    }
    submits.push_back(times.submit_us);
    firsts.push_back(times.first_us);
    state.SetIterationTime(times.first_us * 1e-6);
  }
  std::vector<double> submits_after_pause, firsts_after_pause;
  for (int i = 0; i < kRoundsAfterPause && !firsts.empty(); ++i) {
    ::usleep(kPauseUs);
    if (!submit_and_wait(ctx, ++number, times)) break;
    submits_after_pause.push_back(times.submit_us);
    firsts_after_pause.push_back(times.first_us);
  }
  trident_close(ctx);
  if (submits_after_pause.size() < kRoundsAfterPause) {
    state.SkipWithError("a failed submission or a wrong answer");
    ++wrong_answers();
    return;
  }
  state.counters["submit_us"] = stats::median(submits);
  state.counters["first_kernel_us"] = stats::median(firsts);
  state.counters["submit_after_pause_us"] = stats::median(submits_after_pause);
  state.counters["first_kernel_after_pause_us"] = stats::median(firsts_after_pause);
  state.counters["bare_us"] = stats::median(bares);
  print_figure("submit call, us P50", stats::median(submits));
  print_figure("submit to first kernel, us P50 (quiet machine)", stats::median(firsts));
  print_figure("first kernel over a bare round trip", stats::median(firsts) / stats::median(bares));
}
BENCHMARK(submit_latency)->UseManualTime()->Iterations(kRounds)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
