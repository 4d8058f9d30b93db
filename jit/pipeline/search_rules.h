// Rules of a search that does not use the built-in rules alone.
#pragma once

#include <memory>
#include <string_view>

#include "jit/expr/rewrite/compiled_rules.h"
#include "jit/image/image.h"
#include "runtime/base/result.h"

namespace trident::pipeline {

class SearchRules {
 public:
  /// Reads a user's rules, as parse_rules() takes them, in front of the built-in ones. They should have passed
  /// jit/rulecheck: a form by a false rule is refused like any other wrong form, but takes the place of a right one.
  /// Errors: those of parse_rules().
  static Result<SearchRules> parse(std::string_view text, std::string_view file);

  [[nodiscard]] const expr::rewrite::CompiledRules& compiled() const { return *compiled_; }
  /// Returns the digest of the text, which distinguishes kernels searched by these rules.
  [[nodiscard]] const image::Key& digest() const { return digest_; }

 private:
  SearchRules(std::unique_ptr<const expr::rewrite::CompiledRules> compiled, const image::Key& digest)
      : compiled_(std::move(compiled)), digest_(digest) {}

  std::unique_ptr<const expr::rewrite::CompiledRules> compiled_;  ///< by pointer, so that it keeps its address
  image::Key digest_;
};

}  // namespace trident::pipeline
