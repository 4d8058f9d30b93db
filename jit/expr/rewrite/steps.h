// Small steps: forms that one or two instances of rules lead to. For a caller that checks each form before it goes on,
// where rewriting as a whole moves more roundings than the policy allows.
#pragma once

#include <vector>

#include "jit/expr/rewrite/rewrite.h"

namespace trident::expr::rewrite {

class Steps {
 public:
  /// Steps from forms of `source`. Uses these options: policy, costs, rules, rules_max and nonzero.
  Steps(const Expr& source, const RewriteOptions& options) : rules_(source, options), costs_(options.costs) {}

  /// Returns forms of `from` (over the source's variables) that cost less, the greatest saving first. A second step is
  /// tried where the first leaves the cost unchanged. Empty where to_term() refuses `from`.
  [[nodiscard]] std::vector<Expr> cheaper(const Expr& from) const;

 private:
  Rules rules_;
  egraph::CostModel costs_;
};

}  // namespace trident::expr::rewrite
