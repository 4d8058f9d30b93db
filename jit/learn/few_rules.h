// A few of the built-in rules, for tests that try all their applications.
#pragma once

#include <set>
#include <string>

#include "jit/expr/rewrite/language.h"
#include "runtime/base/check.h"

namespace trident::learn {

inline expr::rewrite::RuleSet rules_named(const std::set<std::string>& names) {
  const expr::rewrite::RuleSet& all = expr::rewrite::builtin_rules();
  expr::rewrite::RuleSet few;
  for (std::size_t r = 0; r < all.rules.size(); ++r) {
    if (!names.contains(all.rules[r].name)) continue;
    few.rules.push_back(all.rules[r]);
    few.tags.push_back(all.tags[r]);
  }
  CHECK(few.rules.size() == names.size());
  return few;
}

}  // namespace trident::learn
