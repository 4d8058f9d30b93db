// Clocks. All of them are async-signal-safe, so that sandboxed children may call them.
#pragma once

#include <cstdint>

namespace trident::os {

/// Nanoseconds of the monotonic clock.
std::uint64_t monotonic_ns();

/// Nanoseconds of processor time that the calling thread has used.
std::uint64_t thread_cpu_ns();

/// The processor's free-running counter at constant rate (rdtsc; cntvct on AArch64). Needs no system call, not even
/// through the vdso. Ratios of differences mean something; the unit is that of cycle_counter_ns().
std::uint64_t cycle_counter();

/// Nanoseconds per tick of cycle_counter(), measured once against the monotonic clock (takes about 1 ms then).
double cycle_counter_ns();

}  // namespace trident::os
