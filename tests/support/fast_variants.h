// Loop shapes in which tests emit the fast kernel of a speculative pair.
#pragma once

#include "jit/codegen/codegen.h"

namespace trident::testing {

inline constexpr codegen::Variant kFastVariants[] = {{.vectors = 2},
                                                     {.vectors = 1},
                                                     {.vectors = 8},
                                                     {.vectors = 4, .newton = 4},
                                                     {.vectors = 1, .schedule = false},
                                                     {.vectors = 2, .non_temporal = true, .part = true},
                                                     {.vectors = 2, .vector_bits = 256}};

}  // namespace trident::testing
