// Early ends of searches: a kernel that only looks for something stops behind the chunk in which it has found it.
//
// The results of `any`, `all` and `first` are extrema of integers that have a limit. Truth values are 0 and 1, so a
// greatest one of 1 stays; of the numbers of elements the first that is found stays, as later ones are greater. Where
// all reductions of a kernel are such, this is its exit, a mask of the epilogue (kir.h). The answer is the same without
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/kir/kir.h"

namespace trident::kir {

/// Gives the kernel an exit behind chunks if it has scalar outputs only and each of its reductions may be decided
/// before the last element. Does nothing to a kernel that has an exit.
void end_early(Kernel& kernel);

/// Returns whether the kernel or a pass before it ends early.
bool ends_early(const Kernel& kernel);
/// Returns whether the first pass ends early, which may be long before it has read its inputs.
bool first_pass_ends_early(const Kernel& kernel);

/// The bits of a result that is 0 or 1, before and after some element has decided it.
struct Truth {
  std::uint64_t open = 0, decided = 1;
};
/// Returns those of a result like any(x > 0): computed from constants and from one reduction, whose operand is one of
/// two constants. Of two parts of a call, either decides it. None: it is not known to be such a result.
std::optional<Truth> truth_of(const Kernel& kernel, Value result);

/// Returns whether a form of `source` ends early wherever that does. Data on which neither ends do not show the loss.
bool keeps_early_ends(const Kernel& source, const Kernel& form);

}  // namespace trident::kir
