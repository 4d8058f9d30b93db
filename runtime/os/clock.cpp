#include "runtime/os/clock.h"

#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace trident::os {
namespace {

std::uint64_t read_clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

double measure_tick_ns() {
  const std::uint64_t start_ns = monotonic_ns();
  const std::uint64_t start = cycle_counter();
  std::uint64_t end_ns = start_ns;
  while (end_ns - start_ns < 1'000'000) end_ns = monotonic_ns();
  const std::uint64_t ticks = cycle_counter() - start;
  return ticks == 0 ? 1.0 : static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks);
}

}  // namespace

std::uint64_t monotonic_ns() {
  return read_clock_ns(CLOCK_MONOTONIC);
}

std::uint64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

std::uint64_t cycle_counter() {
#if defined(__x86_64__)
  unsigned core = 0;
  return __rdtscp(&core);
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return monotonic_ns();
#endif
}

double cycle_counter_ns() {
  static const double tick_ns = measure_tick_ns();
  return tick_ns;
}

}  // namespace trident::os
