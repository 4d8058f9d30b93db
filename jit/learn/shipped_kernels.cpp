#include "jit/learn/shipped_kernels.h"

#include "jit/learn/packed_kernels.h"

// Embeds the file in the program's read-only data: it need not be found, and its version always fits.
asm(".section .rodata\n"
    ".balign 16\n"
    ".global trident_shipped_kernels_begin\n"
    ".global trident_shipped_kernels_end\n"
    "trident_shipped_kernels_begin:\n"
    ".incbin \"" TRIDENT_SHIPPED_KERNELS
    "\"\n"
    "trident_shipped_kernels_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const std::byte trident_shipped_kernels_begin[] __attribute__((visibility("hidden")));
extern const std::byte trident_shipped_kernels_end[] __attribute__((visibility("hidden")));
}

namespace trident::learn {

Result<TimedKernels> shipped_kernels() {
  return unpack({trident_shipped_kernels_begin, trident_shipped_kernels_end}, kShippedKernels);
}

}  // namespace trident::learn
