#include "runtime/base/float_environment.h"

namespace trident {

#if defined(__x86_64__)

namespace {

/// Words of FNSTENV's image in 64-bit mode: the control word, and the status word with its exception flags and summary.
constexpr std::size_t kControlWord = 0, kStatusWord = 2;
constexpr std::uint16_t kX87Flags = 0x80FF;

}  // namespace

void StandardFloats::enter() {
  entered_ = true;
  const std::uint16_t control = kStandardX87;
  const std::uint32_t mxcsr = kStandardMxcsr;
  asm volatile("stmxcsr %0\n\tfnstenv %1\n\tfldcw %2\n\tldmxcsr %3"
               : "=m"(mxcsr_), "=m"(x87_)
               : "m"(control), "m"(mxcsr)
               : "memory");
}

// Pending exceptions go with the flags: unmasking the trap alone would raise it for what happened in the scope.
void StandardFloats::leave() {
  std::array<std::uint16_t, 14> now;
  asm volatile("fnstenv %0" : "=m"(now)::"memory");
  now[kControlWord] = x87_[kControlWord];
  now[kStatusWord] = static_cast<std::uint16_t>((now[kStatusWord] & ~kX87Flags) | (x87_[kStatusWord] & kX87Flags));
  asm volatile("fldenv %0\n\tldmxcsr %1" ::"m"(now), "m"(mxcsr_) : "memory");
}

#elif defined(__aarch64__)

void StandardFloats::enter() {
  entered_ = true;
  fpcr_ = fpcr();
  asm volatile("msr fpcr, xzr" ::: "memory");
}

void StandardFloats::leave() {
  asm volatile("msr fpcr, %0" ::"r"(fpcr_) : "memory");
}

#endif

}  // namespace trident
