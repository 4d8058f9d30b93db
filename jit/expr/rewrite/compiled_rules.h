// A set of rules with compiled matchers. Compiling them takes as long as many a search, so it is done once for each
// policy, on first use.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "jit/egraph/matcher.h"
#include "jit/expr/rewrite/rules.h"

namespace trident::expr::rewrite {

class CompiledRules {
 public:
  explicit CompiledRules(RuleSet set) : set_(std::move(set)) {}
  CompiledRules(const CompiledRules&) = delete;
  CompiledRules& operator=(const CompiledRules&) = delete;
  /// builtin_rules().
  static const CompiledRules& builtin();

  [[nodiscard]] const RuleSet& set() const { return set_; }

  /// The rules that may fire, and those of them that differentiate. They must not outlive this.
  struct Matchers {
    std::shared_ptr<const egraph::Matcher> all, differentiating;
  };
  /// Returns matchers for the best `rules_max` rules that the policy allows. The full set is compiled once. Any thread
  /// may ask at any time.
  [[nodiscard]] Matchers matchers(const Policy& policy, std::size_t rules_max) const;

 private:
  [[nodiscard]] Matchers compiled(const Policy& policy, std::size_t rules_max) const;

  struct OfPolicy {
    std::once_flag once;
    Matchers matchers;
  };
  RuleSet set_;
  mutable std::array<OfPolicy, 3> of_policies_;  ///< by kind
};

}  // namespace trident::expr::rewrite
