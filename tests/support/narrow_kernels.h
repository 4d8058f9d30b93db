// Kernels of arrays with narrow elements (jit/ir/storage.h).
#pragma once

#include <vector>

#include "jit/kir/kir.h"
#include "tests/support/random.h"

namespace trident::testing {

/// The elements whose loads and stores convert.
inline constexpr ir::Storage kConverting[] = {ir::Storage::u8,  ir::Storage::boolean, ir::Storage::i8, ir::Storage::u16,
                                              ir::Storage::i16, ir::Storage::u32,     ir::Storage::f16};

/// Copies elements, widens them, squares them (a store keeps the low bits), adds them to values of `beside`.
kir::Kernel narrow_kernel(ir::Storage elements, ir::Type beside);

/// Copies elements and doubles them. `all_elements`: every bit pattern of them; every 65,537th of 4 bytes.
kir::Kernel doubling_kernel(ir::Storage elements);
std::vector<std::uint64_t> all_elements(ir::Storage elements);

/// Gives arrays narrow elements at random, where such elements can keep their values.
kir::Kernel with_random_storage(kir::Kernel kernel, Random& random);

}  // namespace trident::testing
