// A client that waits for nothing costs nothing: its threads sleep without a timer. Oracle: the processor time that the
// kernel books on this process, and its count of times that a thread of it was run.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/daemon/private_daemon.h"

namespace trident::tests {
namespace {

constexpr unsigned kWatchedMs = 1500;
constexpr int kWatchedMost = 6;
constexpr std::uint32_t kPatienceMs = 60'000;

struct Account {
  double cpu_us = 0;
  long runs = 0;
};

Account account() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) * 1e-3, usage.ru_nvcsw};
}

// Work after the last answer may end late on a busy machine; a thread that polls by a timer never rests.
void expect_idle() {
  double cpu_us = 0;
  long runs = 0;
  for (int watched = 0; watched < kWatchedMost; ++watched) {
    const Account before = account();
    sleep_ms(kWatchedMs);
    const Account after = account();
    cpu_us = after.cpu_us - before.cpu_us, runs = after.runs - before.runs;
    if (cpu_us < 1000 && runs <= 3) return;  // this one's own sleep is one
  }
  ADD_FAILURE() << cpu_us << " us of processor time in " << kWatchedMs << " ms; threads were woken " << runs
                << " times";
}

/// Opens, has `text` compiled to its end, and returns the context.
trident_ctx* busy_once(trident_mode mode, const std::string& socket) {
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = static_cast<std::uint32_t>(mode);
  options.socket_path = socket.empty() ? nullptr : socket.c_str();
  options.connect_timeout_ms = kPatienceMs;
  trident_ctx* ctx = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  trident_kernel* kernel = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, "x * 3 + 1", nullptr, &kernel)) << trident_last_error();
  EXPECT_EQ(TRIDENT_OK, trident_wait(kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs)) << trident_last_error();
  double x = 2, y = 0;
  const void* in[] = {&x};
  void* out[] = {&y};
  trident_call(kernel, 1, in, out, nullptr);
  EXPECT_EQ(7.0, y);
  trident_close_kernel(kernel);
  return ctx;
}

TEST(IdleClient, SleepsWhileConnected) {
  const PrivateDaemon daemon;
  trident_ctx* ctx = busy_once(TRIDENT_MODE_DAEMON, daemon.socket());
  expect_idle();
  trident_close(ctx);
}

TEST(IdleClient, SleepsWithAnEngine) {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  trident_ctx* ctx = busy_once(TRIDENT_MODE_EMBEDDED, {});
  expect_idle();
  trident_close(ctx);
}

TEST(IdleClient, SleepsAfterItsDaemonDied) {
  PrivateDaemon daemon;
  trident_ctx* ctx = busy_once(TRIDENT_MODE_DAEMON, daemon.socket());
  daemon.signal(9);
  daemon.wait();
  expect_idle();  // it has no job, so it looks for no other daemon
  trident_close(ctx);
}

}  // namespace
}  // namespace trident::tests
