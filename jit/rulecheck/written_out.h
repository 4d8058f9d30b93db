// A rule with reductions for calls of so many elements: the reductions written out, element by element, so that what is
// left is a rule of plain operations.
#pragma once

#include "jit/egraph/pattern.h"
#include "runtime/base/result.h"

namespace trident::rulecheck {

/// Calls of so many elements, and fewer, show most of what a rule with reductions does. Of two elements a sum may be
/// twice the mean; of no number from 1 to 3 is it more than one thing.
inline constexpr std::size_t kElementsMax = 3;

bool has_reductions(const egraph::Rule& rule);

/// Every variable that no condition calls uniform becomes `elements` of them, "?a" "?a[0]", "?a[1]", ...; conditions
/// are about each. The order of a sum is that of jit/kir/kir.h. Unsupported: a reduction of a reduction, the result of
/// one beside a variable that is not uniform, derivatives, more than 255 terms.
Result<egraph::Rule> written_out(const egraph::Rule& rule, std::size_t elements);

/// For calls of any number of elements from two up, all of which but the first are the same: "?a[0]" is the first,
/// "?a[1]" the others, and kRepeated says how many those are. For the reals only: what is a product here is a sum
/// there.
inline constexpr const char* kRepeated = "elements beside the first";
Result<egraph::Rule> written_out_repeated(const egraph::Rule& rule);

}  // namespace trident::rulecheck
