// Inputs drawn for functions of the library.
#pragma once

#include "tests/library/oracle.h"

namespace trident::test {

/// Draws arguments within the declared ranges, of the shape that the oracle asks for.
Arguments draw(const function::Function& function, const Oracle& oracle, Random& random);

}  // namespace trident::test
