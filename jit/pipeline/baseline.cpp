#include <algorithm>

#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {

expr::LowerOptions unrewritten(const expr::Policy& policy) {
  return {.policy = policy, .simplify = false, .accuracy = kir::math::Accuracy::ulp1};
}

Result<Compiled> compile_baseline(const expr::Expr& expr, const Options& options) {
  Compiled compiled;
  if (has_derivatives(expr)) {
    TRY(const expr::Expr source, expr::eliminate_derivatives(expr));
    TRY(compiled.kernel, expr::lower(source, unrewritten(options.target.policy)));
  } else {
    expr::LowerOptions lower = unrewritten(options.target.policy);
    lower.checked = options.checked;
    TRY(compiled.kernel, expr::lower(expr, lower));
  }
  compiled.variant = kBaselineVariant;
  TRY(compiled.code, codegen::emit(compiled.kernel, options.target.isa, compiled.variant));
  compiled.image =
      image::build(compiled.code, image::counts_of(compiled.kernel), options.target.isa, TRIDENT_TIER_BASELINE,
                   options.key ? *options.key : expr_key(expr, options.target, options.search));
  TRY_VOID(check_size(compiled.image));
  return compiled;
}

}  // namespace trident::pipeline
