// Rules with reductions, written out for calls of a few elements: (sum e) is e at the first plus e at the second, and
// so on. Shares nothing with jit/rulecheck, which has its own way of writing them out.
#pragma once

#include "jit/egraph/pattern.h"

namespace trident::testing {

bool reduces(const egraph::Rule& rule);

/// Writes out 1 to 4 elements. A variable that is not uniform becomes one for each, ?a as "a", "a'", "a''", "a'''". The
/// rule's sides must be results of reductions or uniform.
egraph::Rule of_elements(const egraph::Rule& rule, std::size_t elements);

}  // namespace trident::testing
