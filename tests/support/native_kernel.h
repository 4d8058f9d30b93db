// Runs emitted code where mistakes show: arrays end (or begin) at a page that cannot be touched, and every byte of
// every output is compared with the interpreter's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/image/image.h"
#include "jit/kir/kir.h"
#include "tests/support/random_kernel.h"

namespace trident::testing {

/// The ISA levels of x86-64 that this machine can run.
std::vector<codegen::Isa> runnable_isas();

/// Emitted code, mapped.
Result<image::Mapped> map_native(const kir::Kernel& kernel, codegen::Isa isa, const codegen::Variant& variant);

struct Arrangement {
  std::uint64_t n = 0;
  bool in_place = false;       ///< outputs take the place of inputs of their type where there are any
  bool at_front = false;       ///< arrays begin after a guard page instead of ending before one
  std::uint32_t misalign = 0;  ///< elements between the guard page and the array
  std::uint64_t seed = 1;      ///< of the data
};

/// Runs `native` and the interpreter on the same data. Empty when all outputs agree (any NaN equals any NaN), else a
/// sentence about the first difference. Of a kernel with an exit it compares the done elements with those of the kernel
/// without its exit, their number with the first set lane, and the elements behind them with what was there before.
std::string compare_with_interpreter(const kir::Kernel& kernel, const image::Mapped& native,
                                     const Arrangement& arrangement);

/// Inputs and parameters for it: arrays of n elements, tables of none to a hundred or so, their lengths in `params`.
struct Arguments {
  std::vector<std::vector<std::uint64_t>> inputs;
  std::vector<std::uint64_t> params;
};
Arguments random_arguments(const kir::Kernel& kernel, std::uint64_t n, Random& random);

/// Compares on given lanes: `inputs[i]` are the elements of input i, n of them except in tables.
std::string compare_on(const kir::Kernel& kernel, const image::Mapped& native,
                       const std::vector<std::vector<std::uint64_t>>& inputs, const std::vector<std::uint64_t>& params,
                       const Arrangement& arrangement);

/// Runs a kernel and returns how many elements are done.
using Run =
    std::function<std::uint64_t(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params)>;
/// Another kernel of the same signature that may compute elements.
struct Alternative {
  const kir::Kernel& kernel;
  std::vector<bool> fits;  ///< by element; totals may be its where all elements fit

  [[nodiscard]] bool allows(const kir::Output& output, std::uint64_t element) const;
};

/// Does as above with any way to run the kernel.
std::string compare_on(const kir::Kernel& kernel, const Run& run, const std::vector<std::vector<std::uint64_t>>& inputs,
                       const std::vector<std::uint64_t>& params, const Arrangement& arrangement,
                       const Alternative* alternative = nullptr);

}  // namespace trident::testing
