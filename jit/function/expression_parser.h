// Parses expressions of functions; statements and the lines above a function share its tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/function/function.h"
#include "jit/function/tokens.h"
#include "jit/ir/text.h"

namespace trident::function {

class ExpressionParser {
 protected:
  /// Reads `text` from `at` on; the source, for errors, is the whole file.
  ExpressionParser(const ir::SourceText& source, std::string_view text, std::size_t at)
      : source_(source), tokens_(text, at) {
    advance();
  }

  using K = Token::Kind;

  // --- tokens ---
  void advance();
  [[nodiscard]] bool is(std::string_view mark) const { return token_.kind == K::mark && words() == mark; }
  [[nodiscard]] bool is_word(std::string_view word) const { return token_.kind == K::name && words() == word; }
  /// Returns the token that comes `count` tokens after this one.
  [[nodiscard]] Token following(int count = 1) const;
  bool accept(std::string_view mark);
  bool accept_word(std::string_view word);
  Result<void> expect(std::string_view mark);
  /// Takes a name that is no word of the language.
  Result<std::string> expect_name(const char* what);
  [[nodiscard]] std::string_view words() const { return tokens_.text(token_); }
  [[nodiscard]] Error unexpected(const char* wanted) const;
  [[nodiscard]] Error error(std::uint32_t offset, const std::string& message) const {
    return source_.error(offset, message);
  }

  [[nodiscard]] bool is_real() const {
    return (token_.kind == K::number && token_.is_real) || is_word("inf") || is_word("nan");
  }
  /// Takes the bits of a real without a sign.
  std::int64_t real();
  /// Takes a number with its sign: the bits of a real one.
  Result<std::int64_t> number(bool& is_real);
  /// Takes an integer with its sign.
  Result<std::int64_t> integer();

  Result<Expression> expression();
  /// Takes "(a, b)" into the operands.
  Result<void> arguments(Expression& call);

  const ir::SourceText& source_;
  Tokens tokens_;
  Token token_;
  struct Comment {
    std::string words;
    std::uint32_t after = 0;  ///< where the token before it ends
    bool is_on_line = false;  ///< on the line of that token
  };
  std::vector<Comment> comments_;  ///< met since they were last taken
  std::uint32_t passed_ = 0;       ///< where the token before `token_` ends
  std::uint32_t depth_ = 0;

 private:
  Result<Expression> nested();
  /// The node above its operands. LimitExceeded for a tree that is too deep, as a long chain of operators is.
  Result<Expression> above_operands(Expression node) const;
  Result<Expression> binary(int above);
  Result<Expression> unary();
  Result<Expression> nested_unary();
  Result<Expression> power();
  Result<Expression> primary();
  Result<Expression> named();
};

/// True for words that cannot name anything.
bool is_reserved(std::string_view word);

}  // namespace trident::function
