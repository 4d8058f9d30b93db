// The floating-point environment that Trident computes in: round to nearest even, subnormal numbers kept, no exception
// trapped.
//
// The environment is the thread's, and the host program may have set another one. A shared library that gcc linked with
// -ffast-math makes subnormals zero as soon as it is loaded; fesetround() and feenableexcept() are a program's right;
// a new thread inherits its creator's. There the interpreter, constant folding, decimal literals and the reference of
// jit/equiv would give other bits. So every way into our arithmetic opens a StandardFloats: the functions of the C
// library and of the engine, the mains of programs and threads, sandboxed children, the interpreter. Emitted kernels
// look for themselves (jit/codegen), by the constants below. Status flags are no part of it: they change no result.
#pragma once

#include <array>
#include <cstdint>

namespace trident {

/// x86-64: the bits of MXCSR that decide what SSE and AVX instructions do, and their standard values. They are
/// denormals are zero, six exception masks, the rounding mode and flush to zero (Intel SDM 1, 10.2.3).
inline constexpr std::uint32_t kMxcsrControls = 0xFFC0, kStandardMxcsr = 0x1F80;
/// Bits and standard value of the x87 control word (masks, precision, rounding) of long double, strtod() and printf().
inline constexpr std::uint16_t kX87Controls = 0x0F3F, kStandardX87 = 0x037F;

/// Gives this thread the standard environment until the end of the scope, then what it found. Async-signal-safe. Costs
/// a look where the environment is the standard one. What is computed in the scope should be calls: a compiler may move
/// arithmetic of the function itself across its ends.
class [[nodiscard]] StandardFloats {
 public:
  StandardFloats() {
    if (!is_standard()) enter();
  }
  ~StandardFloats() {
    if (entered_) leave();
  }
  StandardFloats(const StandardFloats&) = delete;
  StandardFloats& operator=(const StandardFloats&) = delete;

  /// Returns true when this thread computes in the standard environment now.
  static bool is_standard() {
#if defined(__x86_64__)
    std::uint16_t x87 = 0;
    std::uint32_t mxcsr = 0;
    asm volatile("fnstcw %0\n\tstmxcsr %1" : "=m"(x87), "=m"(mxcsr)::"memory");
    return (x87 & kX87Controls) == (kStandardX87 & kX87Controls) && (mxcsr & kMxcsrControls) == kStandardMxcsr;
#elif defined(__aarch64__)
    return fpcr() == 0;
#else
#error "the floating-point environment of this processor is unknown"
#endif
  }

 private:
  void enter();
  void leave();

#if defined(__x86_64__)
  std::array<std::uint16_t, 14> x87_;  ///< as FNSTENV leaves it
  std::uint32_t mxcsr_;
#elif defined(__aarch64__)
  static std::uint64_t fpcr() {
    std::uint64_t value = 0;
    asm volatile("mrs %0, fpcr" : "=r"(value)::"memory");
    return value;
  }
  std::uint64_t fpcr_;
#endif
  bool entered_ = false;
};

}  // namespace trident
