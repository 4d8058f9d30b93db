// Rules with their tags: the built-in ones of jit/expr/rules, and files of users.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/egraph/pattern.h"
#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::expr::rewrite {

/// What changes in floating point, and where the identity holds over the reals (jit/expr/rules/README.md).
enum class Ieee : std::uint8_t { exact, zero, nan, round, domain };
enum class Real : std::uint8_t { ok, guard, partial };

struct RuleSet {
  std::vector<egraph::Rule> rules;
  struct Tags {
    Ieee ieee = Ieee::round;
    Real real = Real::ok;
    std::string theme;  ///< the file's name without folder and ending
    std::uint32_t line = 0;
  };
  std::vector<Tags> tags;  ///< parallel to rules
};

/// The rules of one file. Errors name file, line and column: syntax, unknown ops, conditions or tags, a name used
/// twice.
Result<RuleSet> parse_rules(std::string_view text, std::string_view file);

/// All built-in rules; parsed once, on first use.
const RuleSet& builtin_rules();

/// Which rules a policy lets fire: exact only those that keep every bit, bounded all but those that hold only
/// partially, fast all.
std::vector<bool> allowed(const RuleSet& set, const Policy& policy);

}  // namespace trident::expr::rewrite
