#include "jit/tir/superopt/shipped_weights.h"

#include "jit/tir/superopt/features.h"
#include "runtime/base/check.h"

// Embeds the file in the program's read-only data: it need not be found, and its version always fits.
asm(".section .rodata\n"
    ".balign 64\n"
    ".global trident_shipped_tir_ordering_begin\n"
    ".global trident_shipped_tir_ordering_end\n"
    "trident_shipped_tir_ordering_begin:\n"
    ".incbin \"" TRIDENT_SHIPPED_TIR_ORDERING
    "\"\n"
    "trident_shipped_tir_ordering_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" {
extern const std::byte trident_shipped_tir_ordering_begin[] __attribute__((visibility("hidden")));
extern const std::byte trident_shipped_tir_ordering_end[] __attribute__((visibility("hidden")));
}

namespace trident::tir::superopt {

const nn::AccumulatorWeights& shipped_ordering() {
  static const nn::AccumulatorWeights weights = [] {
    auto viewed = nn::AccumulatorWeights::view({trident_shipped_tir_ordering_begin, trident_shipped_tir_ordering_end},
                                               feature_space());
    CHECK(viewed.ok());  // fails if it was built from another op table or other features: train it again
    return *std::move(viewed);
  }();
  return weights;
}

}  // namespace trident::tir::superopt
