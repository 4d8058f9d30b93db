// CPU time of this thread: what other threads and processes take is not counted.
#pragma once

#include <ctime>

namespace trident::bench {

inline double thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace trident::bench
