#include "jit/tir/neural/shipped_weights.h"

// Embeds the file in the program's read-only data: it need not be found, and its version always fits.
asm(".section .rodata\n"
    ".balign 64\n"
    ".global trident_shipped_tir_network_begin\n"
    ".global trident_shipped_tir_network_end\n"
    "trident_shipped_tir_network_begin:\n"
    ".incbin \"" TRIDENT_SHIPPED_TIR_NETWORK
    "\"\n"
    "trident_shipped_tir_network_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" {
extern const std::byte trident_shipped_tir_network_begin[] __attribute__((visibility("hidden")));
extern const std::byte trident_shipped_tir_network_end[] __attribute__((visibility("hidden")));
}

namespace trident::tir::neural {

const Weights& shipped_weights() {
  static const Weights weights = [] {
    auto read = weights_in({trident_shipped_tir_network_begin, trident_shipped_tir_network_end});
    CHECK(read.ok());  // fails if it was built from another layout: train it again
    return *std::move(read);
  }();
  return weights;
}

}  // namespace trident::tir::neural
