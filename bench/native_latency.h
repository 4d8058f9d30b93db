// The frame of benches of the time from a submission to native code: a context, quantiles, and one measurement each
// against a daemon, against a daemon in a row, and with the engine in this process.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/private_daemon.h"
#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "runtime/base/check.h"
#include "runtime/os/clock.h"

namespace trident::bench {

constexpr int kSubmissions = 200, kWarmUp = 20;
constexpr std::uint32_t kPatienceMs = 10'000;
/// Programs ask for something new now and then.
constexpr unsigned kPauseUs = 5'000;

inline double now_us() {
  return static_cast<double>(os::monotonic_ns()) * 1e-3;
}

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

/// A context in a mode; `socket` is not looked at by the mode embedded.
class OpenContext {
 public:
  OpenContext(trident_mode mode, const std::string& socket) {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    CHECK(trident_open(&options, &ctx_) == TRIDENT_OK);
  }
  ~OpenContext() { trident_close(ctx_); }
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;
  [[nodiscard]] trident_ctx* get() const { return ctx_; }

 private:
  trident_ctx* ctx_ = nullptr;
};

/// Times of one submission; native_us is less than 0 where no code came, or its answer was wrong.
struct Latency {
  double submitted_us = 0, native_us = -1;
};

/// `Client(mode, socket)` measures submission number `number` by latency_of(number); no two numbers may share code.
template <class Client>
void measure_latency(benchmark::State& state, trident_mode mode, const std::string& socket, const std::string& noun,
                     const std::string& where, unsigned pause_us) {
  Client client(mode, socket);
  static int number = 0;
  for (int i = 0; i < kWarmUp; ++i) client.latency_of(++number);
  std::vector<double> submitted, native;
  for (auto _ : state) {
    ::usleep(pause_us);
    const Latency one = client.latency_of(++number);
    if (one.native_us < 0) {
      state.SkipWithError(("a " + noun + " got no code, or its answer is wrong").c_str());
      ++wrong_answers();
      return;
    }
    submitted.push_back(one.submitted_us);
    native.push_back(one.native_us);
    state.SetIterationTime(one.native_us * 1e-6);
  }
  print_figure(noun + " to native code, " + where + ", us P50", quantile(native, 0.5));
  print_figure(noun + " to native code, " + where + ", us P95", quantile(native, 0.95));
  print_figure("submission of a " + noun + ", " + where + ", us P50", quantile(submitted, 0.5));
}

template <class Client>
void latency_daemon(benchmark::State& state, const std::string& noun) {
  const PrivateDaemon daemon;
  measure_latency<Client>(state, TRIDENT_MODE_DAEMON, daemon.socket(), noun, "daemon", kPauseUs);
}

/// The next submission comes at once, while the worker's next child is being forked.
template <class Client>
void latency_in_a_row(benchmark::State& state, const std::string& noun) {
  const PrivateDaemon daemon;
  measure_latency<Client>(state, TRIDENT_MODE_DAEMON, daemon.socket(), noun, "daemon in a row", 0);
}

template <class Client>
void latency_embedded(benchmark::State& state, const std::string& noun) {
  measure_latency<Client>(state, TRIDENT_MODE_EMBEDDED, "/nonexistent/s", noun, "in this process", kPauseUs);
}

/// Registers all three under NAME_latency_daemon and so on, where NAME is `noun`.
template <class Client>
void register_latencies(const std::string& noun) {
  const auto add = [&](const char* where, void (*run)(benchmark::State&, const std::string&)) {
    benchmark::RegisterBenchmark((noun + "_latency_" + where).c_str(), [=](benchmark::State& s) { run(s, noun); })
        ->UseManualTime()
        ->Iterations(kSubmissions)
        ->Unit(benchmark::kMicrosecond);
  };
  add("daemon", latency_daemon<Client>);
  add("in_a_row", latency_in_a_row<Client>);
  add("embedded", latency_embedded<Client>);
}

}  // namespace trident::bench
