// Inputs drawn for functions of the library.
#pragma once

#include <cstddef>
#include <optional>

#include "tests/library/oracle.h"

namespace trident::test {

/// Draws arguments within the declared ranges, of the shape that the oracle asks for. Arrays get `length` elements
/// before they are shaped, or any number up to 300.
Arguments draw(const function::Function& function, const Oracle& oracle, Random& random,
               std::optional<std::size_t> length = {});

}  // namespace trident::test
