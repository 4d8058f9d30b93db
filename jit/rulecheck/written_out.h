// Writes out a rule with reductions for calls of a fixed number of elements, so that a rule of plain operations
// results.
#pragma once

#include "jit/egraph/pattern.h"
#include "runtime/base/result.h"

namespace trident::rulecheck {

/// Calls of at most so many elements show most effects of a rule with reductions. With two elements a sum may be twice
/// the mean; no relation like that holds for all numbers from 1 to 3.
inline constexpr std::size_t kElementsMax = 3;

bool has_reductions(const egraph::Rule& rule);

/// Replaces every variable that no condition calls uniform by `elements` of them, "?a" "?a[0]", "?a[1]", ...;
/// conditions apply to each. The order of a sum is that of jit/kir/reduction.h. Unsupported: a reduction of a
/// reduction, the result of one beside a variable that is not uniform, derivatives, more than 255 terms.
Result<egraph::Rule> written_out(const egraph::Rule& rule, std::size_t elements);

/// For calls of any number of elements from two up, of which all but the first are equal: "?a[0]" is the
/// first, "?a[1]" the others, and kRepeated is the number of those. For the reals only: a product here is a
/// sum there.
inline constexpr const char* kRepeated = "elements beside the first";
Result<egraph::Rule> written_out_repeated(const egraph::Rule& rule);

}  // namespace trident::rulecheck
