#include "runtime/os/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "runtime/os/clock.h"

namespace trident::os {
namespace {

/// Runs LZCNT, which processors that lack it take for BSR. Virtual machines may have it and not list it.
bool has_lzcnt() {
#if defined(__x86_64__)
  std::uint64_t zeros = 0;
  asm("lzcnt %1, %0" : "=r"(zeros) : "r"(std::uint64_t{1}) : "cc");
  return zeros == 63;
#else
  return false;
#endif
}

// The kernel's own list of features is the oracle.
TEST(Cpu, FeaturesAgreeWithTheKernel) {
  std::ifstream in("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("flags")) flags = line + " ";
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [&](const char* name) { return flags.find(" " + std::string(name) + " ") != std::string::npos; };
  const bool avx2 = has("avx2") && has("fma") && has("f16c");
  EXPECT_EQ(cpu_features().avx2_fma, avx2);
  EXPECT_EQ(cpu_features().bmi2, avx2 && has("bmi1") && has("bmi2") && has_lzcnt());
  EXPECT_EQ(cpu_features().avx512, avx2 && has("avx512f") && has("avx512vl") && has("avx512dq") && has("avx512bw"));
  EXPECT_EQ(cpu_features().avx512cd, cpu_features().avx512 && has("avx512cd"));
  EXPECT_EQ(cpu_features().avx512vnni, cpu_features().avx512cd && has("avx512_vnni"));
}

TEST(Cpu, TheModelIsTheKernels) {
  std::ifstream in("/proc/cpuinfo");
  std::map<std::string, std::string> first;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const auto colon = line.find(": ");
    if (colon != std::string::npos) first[line.substr(0, line.find('\t'))] = line.substr(colon + 2);
  }
  if (!first.contains("cpu family")) GTEST_SKIP() << "no family in /proc/cpuinfo";
  EXPECT_EQ(cpu_model(), first["model name"] + " (" + first["vendor_id"] + " family " + first["cpu family"] +
                             " model " + first["model"] + " stepping " + first["stepping"] + ")");
}

TEST(Cpu, PinningLeavesOneProcessor) {
  std::thread([] {
    if (!pin_to_current_cpu().ok()) return;
    EXPECT_EQ(usable_cpus(), 1u);
  }).join();
}

TEST(Clock, CountersAgreeWithSleep) {
  const std::uint64_t start = monotonic_ns();
  const std::uint64_t ticks = cycle_counter();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double by_counter_ns = static_cast<double>(cycle_counter() - ticks) * cycle_counter_ns();
  const auto by_clock_ns = static_cast<double>(monotonic_ns() - start);
  EXPECT_GE(by_clock_ns, 20e6);
  EXPECT_NEAR(by_counter_ns / by_clock_ns, 1.0, 0.2);
}

}  // namespace
}  // namespace trident::os
