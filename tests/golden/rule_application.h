// Applies one rewrite rule to its own left side, through the e-graph: the pattern as an expression over variables
// that meet its conditions, matched with that rule alone, and the form of its right side at the root.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/egraph/pattern.h"

namespace trident::testing {

struct Application {
  std::string before, after;  ///< infix, without sharing
  std::string declarations;   ///< "a in [0.5, 4]", of the variables that the rule's conditions are about
  bool folded = false;        ///< the left side is a constant to the graph before any rule is asked
  bool contradicts = false;   ///< the graph knows the sides to differ
};

/// Returns nothing when the rule does not match its own left side. `declared`: variables have ranges, or constants in
/// their place, that meet the conditions.
std::optional<Application> apply_once(const egraph::Rule& rule, bool declared);

/// The built-in rules of one theme, each with its application; a sentence if there is no such theme.
std::string applications_of(std::string_view theme);

}  // namespace trident::testing
