// Random expressions over integers of every width, conversions to floats and back among them.
#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::testing {

/// Passes expr::check(); has one output or two, up to three variables, arrays of every type of integers and scalars.
/// Every machine gives the same expression for a seed.
expr::Expr random_integers(std::uint64_t seed);

/// Returns the value that an array of `variable` keeps where `lane` is stored.
std::uint64_t stored_lane(const expr::Variable& variable, std::uint64_t lane);

}  // namespace trident::testing
