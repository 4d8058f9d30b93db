// Faults put into kernels and machine code on purpose.
#pragma once

#include <optional>
#include <string>

#include "jit/codegen/codegen.h"
#include "jit/kir/kir.h"
#include "tests/support/random_expr.h"

namespace trident::testing {

struct Mutant {
  kir::Kernel kernel;
  std::string what;  ///< "add -> sub at %7"
};

/// `kernel` with one instruction changed: another op of the same shape, swapped operands, another operand of the same
/// type, or a changed constant. Nothing when the place drawn cannot be changed so that kir::check() still passes.
std::optional<Mutant> mutate(const kir::Kernel& kernel, Random& random);

/// `code` with one bit of its instructions flipped.
codegen::MachineCode flip_bit(codegen::MachineCode code, Random& random);

}  // namespace trident::testing
