// Oracles: counts of calls, and the processor time of loops that end by their thread's own clock.
#include "jit/pipeline/two_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/os/clock.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

void burn(std::uint64_t ns) {
  for (const std::uint64_t end = os::thread_cpu_ns() + ns; os::thread_cpu_ns() < end;) {
  }
}

TEST(TwoThreads, DoEachTaskOnce) {
  TwoThreads threads(nullptr);
  for (const std::size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> done(count);
    std::vector<std::function<void()>> tasks;
    for (auto& one : done) tasks.emplace_back([&one] { ++one; });
    threads.run(tasks);
    for (const auto& one : done) EXPECT_EQ(one, 1);
  }
}

TEST(TwoThreads, DoOneTaskBesideTheirOwn) {
  const std::thread::id own = std::this_thread::get_id();
  std::thread::id of_first, of_second;
  std::atomic<bool> met = false;
  // The first ends only when the second has begun.
  TwoThreads(nullptr).run_beside(
      [&] {
        of_first = std::this_thread::get_id();
        while (!met) std::this_thread::yield();
      },
      [&] { of_second = std::this_thread::get_id(), met = true; });
  EXPECT_EQ(of_first, own);
  EXPECT_NE(of_second, std::thread::id());
  EXPECT_NE(of_second, own);
}

TEST(TwoThreads, CountTheWorkOfBoth) {
  TwoThreads threads(nullptr);
  const std::vector<std::function<void()>> tasks(8, [] { burn(10 * kMs); });
  const std::uint64_t begin_ns = os::thread_work_ns();
  threads.run(tasks);
  EXPECT_GE(os::thread_work_ns() - begin_ns, 80 * kMs);
  EXPECT_LE(os::thread_work_ns() - begin_ns, 120 * kMs) << "nothing is counted twice";
}

TEST(TwoThreads, AskOnTheirOwnThreadAndTellBoth) {
  const std::thread::id own = std::this_thread::get_id();
  std::atomic<bool> asked_elsewhere = false, end = false;
  TwoThreads threads([&] {
    asked_elsewhere = asked_elsewhere || std::this_thread::get_id() != own;
    return end.load();
  });
  // Each ends only when it is told. The first to begin says so.
  const std::vector<std::function<void()>> tasks(2, [&] {
    end = true;
    while (!threads.cancelled()) std::this_thread::yield();
  });
  EXPECT_FALSE(threads.cancelled());
  threads.run(tasks);
  EXPECT_FALSE(asked_elsewhere);
  EXPECT_TRUE(threads.cancelled());
}

}  // namespace
}  // namespace trident::pipeline
