#include "clients/cli/bench/machine_rates.h"

#include <cstddef>

#include "runtime/base/check.h"
#include "runtime/os/clock.h"

namespace trident::cli {

#if defined(__x86_64__)
namespace {

/// Data of the loops, which fits the first-level cache; 1.25 everywhere keeps multiplications, divisions and roots away
/// from denormals and from shortcuts for powers of two.
template <class T>
struct alignas(64) Ground {
  T values[256];
  constexpr Ground() : values() {
    for (T& v : values) v = T(1.25);
  }
};

template <class F>
double ns_per_instruction(unsigned turns, unsigned per_turn, F&& loop) {
  const std::uint64_t start = os::cycle_counter();
  loop(turns);
  return static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() / (turns * per_turn);
}

// Each loop: twelve instructions, four times, with destinations that nobody reads, so that renaming makes all of them
// independent. Registers 14 and 15 hold the sources. %0 counts the turns, %1 is the ground.
#define TRIDENT_LOOP(SETUP, TWELVE, TURNS, BASE)                                                                   \
  ns_per_instruction(TURNS, 48, [&](unsigned turns) {                                                              \
    std::size_t count = turns;                                                                                     \
    asm volatile(SETUP "1:\n.rept 4\n" TWELVE ".endr\n dec %0\n jnz 1b\n vzeroupper\n"                             \
                 : "+r"(count)                                                                                     \
                 : "r"(BASE)                                                                                       \
                 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");                                          \
  })
#define TRIDENT_SETUP(R, P) " vmovu" P " (%1), %%" R "14\n vmovu" P " 64(%1), %%" R "15\n"
#define TRIDENT_OP(NAME, R, D) " " NAME " %%" R "14, %%" R "15, %%" R D "\n"
#define TRIDENT_ROOT(NAME, R, D) " " NAME " %%" R "15, %%" R D "\n"
#define TRIDENT_LOAD(P, R, AT, D) " vmovu" P " " AT "(%1), %%" R D "\n"
#define TRIDENT_STORE(P, R, AT) " vmovu" P " %%" R "15, " AT "(%1)\n"
// It would move these macros on every run.
// clang-format off
#define TRIDENT_OPS(NAME, R)                                                                          \
  TRIDENT_OP(NAME, R, "0")                                                                            \
  TRIDENT_OP(NAME, R, "1")                                                                            \
  TRIDENT_OP(NAME, R, "2")                                                                            \
  TRIDENT_OP(NAME, R, "3")                                                                            \
  TRIDENT_OP(NAME, R, "4") TRIDENT_OP(NAME, R, "5") TRIDENT_OP(NAME, R, "6") TRIDENT_OP(NAME, R, "7") \
      TRIDENT_OP(NAME, R, "8") TRIDENT_OP(NAME, R, "9") TRIDENT_OP(NAME, R, "10") TRIDENT_OP(NAME, R, "11")
#define TRIDENT_MIX(MUL, ADD, ANY, R)                                                             \
  TRIDENT_OP(MUL, R, "0")                                                                         \
  TRIDENT_OP(ADD, R, "1")                                                                         \
  TRIDENT_OP(ANY, R, "2")                                                                         \
  TRIDENT_OP(MUL, R, "3")                                                                         \
  TRIDENT_OP(ADD, R, "4") TRIDENT_OP(ANY, R, "5") TRIDENT_OP(MUL, R, "6") TRIDENT_OP(ADD, R, "7") \
      TRIDENT_OP(ANY, R, "8") TRIDENT_OP(MUL, R, "9") TRIDENT_OP(ADD, R, "10") TRIDENT_OP(ANY, R, "11")
#define TRIDENT_ROOTS(NAME, R)                                                                                \
  TRIDENT_ROOT(NAME, R, "0")                                                                                  \
  TRIDENT_ROOT(NAME, R, "1")                                                                                  \
  TRIDENT_ROOT(NAME, R, "2")                                                                                  \
  TRIDENT_ROOT(NAME, R, "3")                                                                                  \
  TRIDENT_ROOT(NAME, R, "4") TRIDENT_ROOT(NAME, R, "5") TRIDENT_ROOT(NAME, R, "6") TRIDENT_ROOT(NAME, R, "7") \
      TRIDENT_ROOT(NAME, R, "8") TRIDENT_ROOT(NAME, R, "9") TRIDENT_ROOT(NAME, R, "10") TRIDENT_ROOT(NAME, R, "11")
#define TRIDENT_LOADS(P, R, STEP)                                                                              \
  TRIDENT_LOAD(P, R, "0*" STEP, "0")                                                                           \
  TRIDENT_LOAD(P, R, "1*" STEP, "1")                                                                           \
  TRIDENT_LOAD(P, R, "2*" STEP, "2")                                                                           \
  TRIDENT_LOAD(P, R, "3*" STEP, "3")                                                                           \
  TRIDENT_LOAD(P, R, "4*" STEP, "4") TRIDENT_LOAD(P, R, "5*" STEP, "5") TRIDENT_LOAD(P, R, "6*" STEP, "6")     \
      TRIDENT_LOAD(P, R, "7*" STEP, "7") TRIDENT_LOAD(P, R, "8*" STEP, "8") TRIDENT_LOAD(P, R, "9*" STEP, "9") \
          TRIDENT_LOAD(P, R, "10*" STEP, "10") TRIDENT_LOAD(P, R, "11*" STEP, "11")
#define TRIDENT_STORES(P, R, STEP)                                                                 \
  TRIDENT_STORE(P, R, "0*" STEP)                                                                   \
  TRIDENT_STORE(P, R, "1*" STEP)                                                                   \
  TRIDENT_STORE(P, R, "2*" STEP)                                                                   \
  TRIDENT_STORE(P, R, "3*" STEP)                                                                   \
  TRIDENT_STORE(P, R, "4*" STEP) TRIDENT_STORE(P, R, "5*" STEP) TRIDENT_STORE(P, R, "6*" STEP)     \
      TRIDENT_STORE(P, R, "7*" STEP) TRIDENT_STORE(P, R, "8*" STEP) TRIDENT_STORE(P, R, "9*" STEP) \
          TRIDENT_STORE(P, R, "10*" STEP) TRIDENT_STORE(P, R, "11*" STEP)
// clang-format on

constexpr unsigned kTurns = 100, kDividerTurns = 8;
/// A processor that has not run dense vector code for a while issues it at a fraction of its rate for some tens of
/// microseconds, until its supply follows.
constexpr double kWarmUpNs = 40'000;

template <class F>
void warm_up(F&& loop) {
  const std::uint64_t start = os::cycle_counter();
  while (static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() < kWarmUpNs) (void)loop();
}

#define TRIDENT_RATES(P, R, STEP, BASE)                                                                            \
  (warm_up([&] { return TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_OPS("vmul" P, R), kTurns, BASE); }),             \
   MachineRates{                                                                                                   \
       .vector_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_MIX("vmul" P, "vadd" P, "vpaddd", R), kTurns, BASE), \
       .multiply_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_OPS("vmul" P, R), kTurns, BASE),                   \
       .add_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_OPS("vadd" P, R), kTurns, BASE),                        \
       .load_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_LOADS(P, R, STEP), kTurns, BASE),                      \
       .store_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_STORES(P, R, STEP), kTurns, BASE),                    \
       .divide_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_OPS("vdiv" P, R), kDividerTurns, BASE),              \
       .root_ns = TRIDENT_LOOP(TRIDENT_SETUP(R, P), TRIDENT_ROOTS("vsqrt" P, R), kDividerTurns, BASE),             \
   })

}  // namespace

MachineRates sample_rates(unsigned vector_bits, ir::Type type) {
  CHECK(vector_bits == 256 || vector_bits == 512);
  static Ground<float> floats;
  static Ground<double> doubles;
  if (ir::bytes_of(type) == 4)
    return vector_bits == 512 ? TRIDENT_RATES("ps", "zmm", "64", floats.values)
                              : TRIDENT_RATES("ps", "ymm", "32", floats.values);
  return vector_bits == 512 ? TRIDENT_RATES("pd", "zmm", "64", doubles.values)
                            : TRIDENT_RATES("pd", "ymm", "32", doubles.values);
}

#else

MachineRates sample_rates(unsigned, ir::Type) {
  return {};
}

#endif

}  // namespace trident::cli
