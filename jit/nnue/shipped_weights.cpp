#include "jit/nnue/shipped_weights.h"

// The file becomes a part of the program's read-only data: nothing to find, nothing to be of another version.
asm(".section .rodata\n"
    ".balign 64\n"
    ".global trident_shipped_weights_begin\n.global trident_shipped_weights_end\ntrident_shipped_weights_begin:\n"
    ".incbin \"" TRIDENT_SHIPPED_WEIGHTS
    "\"\n"
    "trident_shipped_weights_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const std::byte trident_shipped_weights_begin[] __attribute__((visibility("hidden")));
extern const std::byte trident_shipped_weights_end[] __attribute__((visibility("hidden")));
}

namespace trident::nnue {

std::span<const std::byte> shipped_weights() {
  return {trident_shipped_weights_begin, trident_shipped_weights_end};
}

}  // namespace trident::nnue
