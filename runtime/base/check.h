// CHECK ends the process with a message when a condition that only a bug can break is broken. Always on.
// DCHECK is for hot loops and is compiled out with NDEBUG. Never use either on untrusted input.
#pragma once

namespace trident {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::trident::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
  } while (false)
#else
#define DCHECK(condition) CHECK(condition)
#endif
