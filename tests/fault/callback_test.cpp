// The callbacks of trident_on_change at the edges of a life: around trident_close, where no code may run, and around
// fork(). Oracle: counts kept here, /proc/self/maps, and the daemon's script.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "clients/c/trident.h"
#include "schemas/kernel_image.h"
#include "tests/fault/scripted_daemon.h"

namespace trident::testing {
namespace {

constexpr int kPatienceMs = 20'000;

void sleep_us(unsigned us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

template <class Condition>
bool eventually(Condition condition) {
  for (int ms = 0; ms < kPatienceMs; ++ms, sleep_us(1000))
    if (condition()) return true;
  return false;
}

trident_kernel_info info_of(const trident_kernel* kernel) {
  trident_kernel_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(TRIDENT_OK, trident_info(kernel, &info));
  return info;
}

void send_image(ScriptedConnection& c, std::uint64_t job, double value, std::uint8_t tier) {
  const Bytes image = build_image({.value = value, .tier = tier});
  const os::Fd fd = seal_image(image);
  c.ready(job, image, fd.get());
}

trident_ctx* open_context(const ScriptedDaemon& daemon) {
  ::setenv("TRIDENT_ENGINE", "/nonexistent/libtrident-engine.so", 1);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.socket_path = daemon.path().c_str();
  trident_ctx* ctx = nullptr;
  EXPECT_EQ(TRIDENT_OK, trident_open(&options, &ctx)) << trident_last_error();
  return ctx;
}

/// A kernel and the observations of its callback.
struct Watched {
  trident_kernel* kernel = nullptr;
  std::atomic<unsigned> calls = 0, ends = 0, late = 0;
  const std::atomic<bool>* closed = nullptr;
};

void count_call(trident_kernel* kernel, void* user) {
  auto& seen = *static_cast<Watched*>(user);
  if (*seen.closed) ++seen.late;
  ++seen.calls;
  if (info_of(kernel).done == 1) ++seen.ends;
}

std::vector<std::unique_ptr<Watched>> submit_watched(trident_ctx* ctx, int count, const std::atomic<bool>& closed) {
  std::vector<std::unique_ptr<Watched>> all;
  for (int i = 0; i < count; ++i) {
    auto one = std::make_unique<Watched>();
    one->closed = &closed;
    EXPECT_EQ(TRIDENT_OK, trident_submit(ctx, "x + 1", nullptr, &one->kernel)) << trident_last_error();
    trident_on_change(one->kernel, &count_call, one.get());
    all.push_back(std::move(one));
  }
  return all;
}

TEST(Callback, NoneRunsAfterCloseAndNoneIsLostBeforeIt) {
  constexpr int kKernels = 64, kRounds = 25;
  std::mt19937 random(5);
  unsigned interrupted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> go = false, closed = false;
    ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
      if (!c.greet()) return;
      std::vector<std::uint64_t> jobs;
      while (jobs.size() < kKernels) {
        jobs.push_back(c.read_submit());
        if (jobs.back() == 0) return;
      }
      while (!go) std::this_thread::yield();
      for (std::size_t i = 0; i < jobs.size() && !closed; ++i) {
        send_image(c, jobs[i], 1, TRIDENT_TIER_BASELINE);
        if (i % 3 == 0) send_image(c, jobs[i], 2, TRIDENT_TIER_OPTIMISED);
        c.done(jobs[i]);
      }
    });
    trident_ctx* const ctx = open_context(daemon);
    const auto all = submit_watched(ctx, kKernels, closed);
    go = true;
    if (round % 5 == 4)
      EXPECT_TRUE(eventually([&] { return all.back()->ends == 1; }));  // everything came in time
    else
      sleep_us(static_cast<unsigned>(random() % 4000));
    trident_close(ctx);
    closed = true;
    sleep_us(2000);
    for (int i = 0; i < kKernels; ++i) {
      const Watched& one = *all[static_cast<std::size_t>(i)];
      EXPECT_EQ(0u, one.late);
      EXPECT_EQ(one.calls, info_of(one.kernel).swaps + one.ends) << "round " << round << ", kernel " << i;
      EXPECT_LE(one.ends, 1u);
      if (round % 5 == 4) {
        EXPECT_EQ(1u, one.ends);
        EXPECT_EQ(i % 3 == 0 ? 3u : 2u, one.calls);
      }
      interrupted += one.ends == 0 ? 1 : 0;
      trident_close_kernel(one.kernel);
    }
  }
  EXPECT_GT(interrupted, 0u);  // or the rounds tried nothing
}

/// From now on no mapping of this process may be executable.
bool deny_executable_mappings() {
  const auto argument = static_cast<unsigned>(offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t));
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Runs in a child: a filter cannot be taken off again.
void expect_every_end_is_told() {
  constexpr int kKernels = 20;
  ASSERT_TRUE(deny_executable_mappings());
  std::atomic<bool> closed = false, go = false;
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    std::uint64_t job = 0;
    for (int i = 0; i < kKernels; ++i) job = c.read_submit();
    while (!go) std::this_thread::yield();
    send_image(c, job, 1, TRIDENT_TIER_BASELINE);  // cannot be mapped, nor can any other
    c.drain();
  });
  trident_ctx* const ctx = open_context(daemon);
  const auto all = submit_watched(ctx, kKernels, closed);
  go = true;
  for (const auto& one : all) {
    EXPECT_TRUE(eventually([&] { return one->ends == 1; }));
    EXPECT_EQ(TRIDENT_OK, trident_wait(one->kernel, TRIDENT_TIER_OPTIMISED, kPatienceMs));
    EXPECT_EQ(1u, one->calls);
    EXPECT_EQ(0u, info_of(one->kernel).tier);
    trident_close_kernel(one->kernel);
  }
  trident_close(ctx);
}

TEST(Callback, WhereNoCodeMayRunEveryKernelHearsOfItsEnd) {
  const pid_t child = ::fork();
  if (child == 0) {
    expect_every_end_is_told();
    std::fflush(stdout);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
}

/// Kernel images that this process has mapped.
std::size_t mapped_images() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos ? 1 : 0;
  return count;
}

TEST(Callback, AChildOfForkKeepsNothingOfKernelsThatItsParentWasClosing) {
  std::atomic<bool> go = false;
  std::atomic<int> state = 0;  // 1: closed in its callback, and still pinned there; 2: the child is made
  ScriptedDaemon daemon([&](ScriptedConnection& c, int) {
    if (!c.greet()) return;
    const std::uint64_t job = c.read_submit();
    while (!go) std::this_thread::yield();
    if (job != 0) send_image(c, job, 1, TRIDENT_TIER_BASELINE);
    c.drain();
  });
  ASSERT_EQ(0u, mapped_images());
  trident_ctx* const ctx = open_context(daemon);
  trident_kernel* kernel = nullptr;
  const auto close_and_stay = [](trident_kernel* closed, void* user) {
    auto& now = *static_cast<std::atomic<int>*>(user);
    trident_close_kernel(closed);
    now = 1;
    while (now != 2) std::this_thread::yield();
  };
  ASSERT_EQ(TRIDENT_OK, trident_submit(ctx, "x + 1", nullptr, &kernel));
  trident_on_change(kernel, close_and_stay, &state);
  go = true;
  ASSERT_TRUE(eventually([&] { return state == 1; }));
  EXPECT_EQ(1u, mapped_images());
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = mapped_images() == 0;
    trident_kernel* another = nullptr;
    good = good && trident_submit(ctx, "x * 2", nullptr, &another) == TRIDENT_OK;
    double x = 3, y = 0;
    const void* in[] = {&x};
    void* out[] = {&y};
    if (good) trident_call(another, 1, in, out, nullptr);
    ::_exit(good && y == 6 ? 0 : 1);
  }
  state = 2;
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  EXPECT_TRUE(eventually([&] { return mapped_images() == 0; }));
  trident_close(ctx);
}

}  // namespace
}  // namespace trident::testing
