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

/// Changes that a rule makes in floating point. X(Name, "meaning"), the strongest promise first.
#define TRIDENT_IEEE_TAGS(X)                                          \
  X(exact, "the same bits (but for the payload of NaN)")              \
  X(zero, "only the sign of a zero may change")                       \
  X(nan, "as zero, but anything where an operand is infinite or NaN") \
  X(round, "a real identity: last bits and overflow may change")      \
  X(domain, "as round, and also where the result is NaN may change")

/// Where the identity holds over the reals.
#define TRIDENT_REAL_TAGS(X)                    \
  X(ok, "holds for all reals")                  \
  X(guard, "holds under the stated conditions") \
  X(partial, "both sides agree where both are defined")

#define X(name, meaning) name,
enum class Ieee : std::uint8_t { TRIDENT_IEEE_TAGS(X) };
enum class Real : std::uint8_t { TRIDENT_REAL_TAGS(X) };
#undef X

std::string_view name_of(Ieee tag);
std::string_view name_of(Real tag);
std::string_view meaning_of(Ieee tag);
std::string_view meaning_of(Real tag);

struct RuleSet {
  std::vector<egraph::Rule> rules;
  struct Tags {
    Ieee ieee = Ieee::round;
    Real real = Real::ok;
    std::string theme;  ///< the file's name without folder and ending
    std::uint32_t line = 0;
    std::uint32_t rank = 0;  ///< of a built-in rule: how many are more useful (jit/expr/rules/ranking.txt)
  };
  std::vector<Tags> tags;  ///< parallel to rules
};

/// Parses the rules of one file. Errors show file, line and column: syntax, unknown ops, conditions or tags, a name
/// used twice.
Result<RuleSet> parse_rules(std::string_view text, std::string_view file);

/// All built-in rules; parsed once, on first use.
const RuleSet& builtin_rules();

/// Returns `own` followed by the built-in rules.
RuleSet with_builtin_rules(RuleSet own);

/// Keeps the first `count` of the `enabled` rules by rank; disables the others.
void keep_best(const RuleSet& set, std::size_t count, std::vector<bool>& enabled);

/// Says which rules a policy allows: exact only those that keep every bit, bounded all but those that hold only
/// partially or, derivatives aside, not where an operand is infinite or NaN, fast all.
std::vector<bool> allowed(const RuleSet& set, const Policy& policy);

}  // namespace trident::expr::rewrite
