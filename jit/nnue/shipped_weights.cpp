#include "jit/nnue/shipped_weights.h"

// Embeds the files in the program's read-only data: they need not be found, and their versions always fit.
#define TRIDENT_INCLUDE_WEIGHTS(name, file)                                                      \
  asm(".section .rodata\n"                                                                       \
      ".balign 64\n"                                                                             \
      ".global trident_shipped_" #name "_begin\n.global trident_shipped_" #name                  \
      "_end\n"                                                                                   \
      "trident_shipped_" #name                                                                   \
      "_begin:\n"                                                                                \
      ".incbin \"" file                                                                          \
      "\"\n"                                                                                     \
      "trident_shipped_" #name                                                                   \
      "_end:\n"                                                                                  \
      ".byte 0\n"                                                                                \
      ".previous\n");                                                                            \
  extern "C" {                                                                                   \
  extern const std::byte trident_shipped_##name##_begin[] __attribute__((visibility("hidden"))); \
  extern const std::byte trident_shipped_##name##_end[] __attribute__((visibility("hidden")));   \
  }

TRIDENT_INCLUDE_WEIGHTS(guide, TRIDENT_SHIPPED_GUIDE)
TRIDENT_INCLUDE_WEIGHTS(judge, TRIDENT_SHIPPED_JUDGE)
#undef TRIDENT_INCLUDE_WEIGHTS

namespace trident::nnue {

std::span<const std::byte> shipped_weights() {
  return {trident_shipped_guide_begin, trident_shipped_guide_end};
}

std::span<const std::byte> shipped_judge() {
  return {trident_shipped_judge_begin, trident_shipped_judge_end};
}

}  // namespace trident::nnue
