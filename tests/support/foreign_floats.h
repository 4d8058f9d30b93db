// Floating-point environments that a program may have when it calls us.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/float_environment.h"

namespace trident::testing {

#if defined(__x86_64__)

/// The controls of SSE and of x87; flags are clear.
struct FloatEnvironment {
  const char* name;
  std::uint32_t mxcsr;
  std::uint16_t x87;
};

inline constexpr FloatEnvironment kForeignFloats[] = {
    {"flush to zero, denormals are zero", 0x9FC0, 0x037F},  // crtfastmath.o
    {"flush to zero", 0x9F80, 0x037F},
    {"denormals are zero", 0x1FC0, 0x037F},
    {"downwards", 0x3F80, 0x077F},  // fesetround() sets both
    {"upwards", 0x5F80, 0x0B7F},
    {"towards zero", 0x7F80, 0x0F7F},
    {"upwards, in SSE alone", 0x5F80, 0x037F},
    {"invalid, division and overflow trapped", 0x1900, 0x0372},  // feenableexcept()
    {"invalid trapped, in SSE alone", 0x1F00, 0x037F},
    {"everything trapped", 0x0000, 0x0340},
    {"everything at once", 0xE040, 0x0C40},
};

/// Sets an environment for the scope's life. Arithmetic of the scope itself happens in it, so let the scope only call.
class ForeignFloats {
 public:
  explicit ForeignFloats(const FloatEnvironment& environment) : environment_(environment) {
    asm volatile("fnclex\n\tfldcw %0\n\tldmxcsr %1" ::"m"(environment.x87), "m"(environment.mxcsr) : "memory");
  }
  ~ForeignFloats() {
    asm volatile("fnclex\n\tfldcw %0\n\tldmxcsr %1" ::"m"(kStandardX87), "m"(kStandardMxcsr) : "memory");
  }
  ForeignFloats(const ForeignFloats&) = delete;
  ForeignFloats& operator=(const ForeignFloats&) = delete;

  /// Returns true while the thread still has the environment.
  [[nodiscard]] bool intact() const {
    std::uint16_t x87 = 0;
    std::uint32_t mxcsr = 0;
    asm volatile("fnstcw %0\n\tstmxcsr %1" : "=m"(x87), "=m"(mxcsr)::"memory");
    return (x87 & kX87Controls) == (environment_.x87 & kX87Controls) && (mxcsr & kMxcsrControls) == environment_.mxcsr;
  }

 private:
  const FloatEnvironment environment_;
};

#elif defined(__aarch64__)

struct FloatEnvironment {
  const char* name;
  std::uint64_t fpcr;
};

inline constexpr FloatEnvironment kForeignFloats[] = {
    {"flush to zero", 1u << 24},
    {"upwards", 1u << 22},
    {"downwards", 2u << 22},
    {"towards zero", 3u << 22},
    {"flush to zero, towards zero", 1u << 24 | 3u << 22},
};

class ForeignFloats {
 public:
  explicit ForeignFloats(const FloatEnvironment& environment) : environment_(environment) { set(environment.fpcr); }
  ~ForeignFloats() { set(0); }
  ForeignFloats(const ForeignFloats&) = delete;
  ForeignFloats& operator=(const ForeignFloats&) = delete;

  [[nodiscard]] bool intact() const {
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr)::"memory");
    return fpcr == environment_.fpcr;
  }

 private:
  static void set(std::uint64_t fpcr) { asm volatile("msr fpcr, %0" ::"r"(fpcr) : "memory"); }
  const FloatEnvironment environment_;
};

#endif

}  // namespace trident::testing
