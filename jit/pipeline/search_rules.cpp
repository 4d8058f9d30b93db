#include "jit/pipeline/search_rules.h"

#include "runtime/store/sha256.h"

namespace trident::pipeline {

Result<SearchRules> SearchRules::parse(std::string_view text, std::string_view file) {
  TRY(expr::rewrite::RuleSet own, expr::rewrite::parse_rules(text, file));
  return SearchRules(
      std::make_unique<const expr::rewrite::CompiledRules>(expr::rewrite::with_builtin_rules(std::move(own))),
      store::sha256({std::as_bytes(std::span(text))}));
}

}  // namespace trident::pipeline
