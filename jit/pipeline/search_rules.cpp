#include "jit/pipeline/search_rules.h"

#include "jit/pipeline/sha256.h"

namespace trident::pipeline {

Result<SearchRules> SearchRules::parse(std::string_view text, std::string_view file) {
  TRY(expr::rewrite::RuleSet own, expr::rewrite::parse_rules(text, file));
  Sha256 sha;
  sha.start();
  sha.add(text);
  return SearchRules(
      std::make_unique<const expr::rewrite::CompiledRules>(expr::rewrite::with_builtin_rules(std::move(own))),
      sha.finish());
}

}  // namespace trident::pipeline
