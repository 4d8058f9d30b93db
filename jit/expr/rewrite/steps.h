// Small steps: what one or two instances of rules lead to. For a caller that has each form looked at before it goes on,
// where rewriting as a whole moves more roundings than the policy has room for.
#pragma once

#include <vector>

#include "jit/expr/rewrite/rewrite.h"

namespace trident::expr::rewrite {

class Steps {
 public:
  /// For forms of `source`. Of the options: policy, costs, rules, rules_max and nonzero.
  Steps(const Expr& source, const RewriteOptions& options) : rules_(source, options), costs_(options.costs) {}

  /// Forms of `from` (over the source's variables) that cost less, the greatest saving first; a second step is looked
  /// at where the first neither saves nor costs anything. Empty too where `from` is nothing that to_term() takes.
  [[nodiscard]] std::vector<Expr> cheaper(const Expr& from) const;

 private:
  Rules rules_;
  egraph::CostModel costs_;
};

}  // namespace trident::expr::rewrite
