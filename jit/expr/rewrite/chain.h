// A derivation as people read one: forms of the whole expression, each an instance of a rule away from the one before.
#pragma once

#include <string>
#include <vector>

#include "jit/expr/rewrite/rewrite.h"

namespace trident::expr::rewrite {

struct ChainLink {
  std::vector<std::string> rules;  ///< that lead here from the form before; none: equal parts, folded constants
  Expr form;
};

/// Returns the chain from the source (first, without rules) to `rewritten.forms.front()`, by its derivation. A
/// derivation is a list of equations. Some hold between parts that no form of the whole ever has side by side; those
/// share one link at the end, with several rules. Errors: those of to_term().
Result<std::vector<ChainLink>> chain_of(const Expr& source, const Rewritten& rewritten);

}  // namespace trident::expr::rewrite
