// Random functions of numbers and truths alone, which expressions can mostly say: branches, returns from inside, loops
// of few rounds, values that nest deeply.
#pragma once

#include <string>

#include "tests/fuzz/tokens.h"

namespace trident::fuzz {

std::string random_scalar_function(Random& random);

}  // namespace trident::fuzz
