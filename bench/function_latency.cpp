// The time from a function's text to its native code: from trident_submit() until code is there, over 200 different
// functions with a loop, a branch and a call, through a real daemon that tries each in a child before it answers.
// Beside it the same with the engine in this process, and the cost of the submission to its caller. Every function is
// called on both sides of the swap, and its results are compared with what they must be.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/private_daemon.h"
#include "bench/ratio.h"
#include "clients/c/trident_function.h"
#include "runtime/base/check.h"
#include "runtime/os/clock.h"

namespace trident::bench {
namespace {

constexpr int kFunctions = 200, kWarmUp = 20;
constexpr std::uint32_t kPatienceMs = 10'000;
constexpr unsigned kPauseUs = 5'000;

double now_us() {
  return static_cast<double>(os::monotonic_ns()) * 1e-3;
}

/// About 32 instructions: a loop over an array, a branch, a call that is copied in.
std::string text_of(int number) {
  const std::string n = std::to_string(number);
  return "fn sample(x: [i64], limit: i64) -> i64 {\n  let s = " + n +
         ";\n  for i in 0..len(x) {\n    if x[i] < limit {\n      s = s + x[i] * " + n +
         ";\n    } else {\n      s = s ^^ max(x[i], " + n + ");\n    }\n  }\n  return s;\n}\n";
}

std::int64_t expected(int number, const std::vector<std::int64_t>& x, std::int64_t limit) {
  std::int64_t s = number;
  for (const std::int64_t v : x) s = v < limit ? s + v * number : s ^ std::max<std::int64_t>(v, number);
  return s;
}

class Client {
 public:
  Client(trident_mode mode, const std::string& socket) {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    CHECK(trident_open(&options, &ctx_) == TRIDENT_OK);
    for (int i = 0; i < 100; ++i) x_.push_back(i * 7919 % 1000 - 300);
  }
  ~Client() { trident_close(ctx_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  struct Times {
    double submitted_us = 0, native_us = -1;  ///< less than 0: no code, or a wrong answer
  };

  Times times_of(int number) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.syntax = TRIDENT_SYNTAX_FUNCTION;
    const std::string text = text_of(number);
    trident_kernel* kernel = nullptr;
    const double begin = now_us();
    CHECK(trident_submit(ctx_, text.c_str(), &options, &kernel) == TRIDENT_OK);
    Times times{now_us() - begin, -1};
    const bool interpreted = is_right(kernel, number, nullptr);
    const bool waited = trident_wait(kernel, 1, kPatienceMs) == TRIDENT_OK;
    const double end = now_us();
    std::uint32_t tier = 0;
    if (interpreted && waited && is_right(kernel, number, &tier) && tier != 0) times.native_us = end - begin;
    trident_close_kernel(kernel);
    return times;
  }

 private:
  bool is_right(const trident_kernel* kernel, int number, std::uint32_t* tier) {
    constexpr std::int64_t kLimit = 100;
    trident_argument arguments[2] = {};
    arguments[0].data = x_.data(), arguments[0].count = x_.size();
    arguments[1].value.i = kLimit;
    trident_returned returned{};
    returned.struct_size = sizeof returned;
    CHECK(trident_function_call(kernel, arguments, 2, 0, &returned) == TRIDENT_OK);
    if (tier != nullptr) *tier = returned.tier;
    return returned.failure == TRIDENT_RETURNED && returned.value.i == expected(number, x_, kLimit);
  }

  trident_ctx* ctx_ = nullptr;
  std::vector<std::int64_t> x_;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void measure(benchmark::State& state, trident_mode mode, const std::string& socket, const std::string& name,
             unsigned pause_us) {
  Client client(mode, socket);
  static int number = 0;  // no function comes twice
  for (int i = 0; i < kWarmUp; ++i) client.times_of(++number);
  std::vector<double> submitted, native;
  for (auto _ : state) {
    ::usleep(pause_us);
    const Client::Times times = client.times_of(++number);
    if (times.native_us < 0) {
      state.SkipWithError("a function got no code, or its answer is wrong");
      ++wrong_answers();
      return;
    }
    submitted.push_back(times.submitted_us);
    native.push_back(times.native_us);
    state.SetIterationTime(times.native_us * 1e-6);
  }
  print_figure("function to native code, " + name + ", us P50", quantile(native, 0.5));
  print_figure("function to native code, " + name + ", us P95", quantile(native, 0.95));
  print_figure("submission of a function, " + name + ", us P50", quantile(submitted, 0.5));
}

void function_latency_daemon(benchmark::State& state) {
  const PrivateDaemon daemon;
  measure(state, TRIDENT_MODE_DAEMON, daemon.socket(), "daemon", kPauseUs);
}
BENCHMARK(function_latency_daemon)->UseManualTime()->Iterations(kFunctions)->Unit(benchmark::kMicrosecond);

/// The next function comes at once, while the worker's next child is being forked.
void function_latency_in_a_row(benchmark::State& state) {
  const PrivateDaemon daemon;
  measure(state, TRIDENT_MODE_DAEMON, daemon.socket(), "daemon in a row", 0);
}
BENCHMARK(function_latency_in_a_row)->UseManualTime()->Iterations(kFunctions)->Unit(benchmark::kMicrosecond);

void function_latency_embedded(benchmark::State& state) {
  measure(state, TRIDENT_MODE_EMBEDDED, "/nonexistent/s", "in this process", kPauseUs);
}
BENCHMARK(function_latency_embedded)->UseManualTime()->Iterations(kFunctions)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
