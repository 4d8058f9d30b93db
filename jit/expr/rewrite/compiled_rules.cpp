#include "jit/expr/rewrite/compiled_rules.h"

#include "jit/expr/rewrite/differentiate.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {

const CompiledRules& CompiledRules::builtin() {
  static const CompiledRules kRules(builtin_rules());
  return kRules;
}

CompiledRules::Matchers CompiledRules::compiled(const Policy& policy, std::size_t rules_max) const {
  std::vector<bool> enabled = allowed(set_, policy);
  if (rules_max < enabled.size()) keep_best(set_, rules_max, enabled);
  return {
      std::make_shared<const egraph::Matcher>(set_.rules, op_rows(values_of(policy)), enabled),
      std::make_shared<const egraph::Matcher>(set_.rules, differentiating_ops(), differentiating(set_.rules, enabled))};
}

CompiledRules::Matchers CompiledRules::matchers(const Policy& policy, std::size_t rules_max) const {
  if (rules_max < set_.rules.size()) return compiled(policy, rules_max);
  static_assert(static_cast<std::size_t>(PolicyKind::exact) < 3 && static_cast<std::size_t>(PolicyKind::bounded) < 3 &&
                static_cast<std::size_t>(PolicyKind::fast) < 3);
  OfPolicy& mine = of_policies_[static_cast<std::size_t>(policy.kind)];
  std::call_once(mine.once, [&] { mine.matchers = compiled(policy, rules_max); });
  return mine.matchers;
}

}  // namespace trident::expr::rewrite
