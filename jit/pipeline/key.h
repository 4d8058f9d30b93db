// Keys of compiled kernels: SHA-256 over pieces. Every kind of thing has a domain of its own, so that no two
// kinds share a key.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "jit/image/image.h"
#include "jit/pipeline/options.h"

namespace trident::pipeline {

class KeyWriter {
 public:
  /// Begins a key. A domain changes whenever the meaning of its keys, or of what is stored under them, changes.
  explicit KeyWriter(std::string_view domain) { add(domain); }

  /// Writes a piece with its length in front, so that neighbours cannot trade bytes.
  void add(std::span<const std::byte> piece);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  [[nodiscard]] image::Key finish() const;

 private:
  std::vector<std::byte> bytes_;
};

/// Makes the key of an expression's kernel from domain tag, build id of the code generator, canonical IR, instruction
/// set, policy, how much memory a call of Target::elements moves (four classes), Search::disabled, the figures of
/// measured_costs(), the text of Search::rules, the bytes of Search::weights.
image::Key expr_key(const expr::Expr& expr, const Target& target, const Search& search);
/// Makes it from expr::canonical_bytes() of the expression.
image::Key expr_key(const expr::Expr& expr, std::span<const std::byte> canonical, const Target& target,
                    const Search& search);

}  // namespace trident::pipeline
