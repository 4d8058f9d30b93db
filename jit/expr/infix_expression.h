// Expressions of the infix form, and the tokens that statements share with them.
//
// One pass, no tree of its own and no allocation per token: tokens go straight to the composer.
#pragma once

#include <cstdint>
#include <string_view>

#include "jit/expr/composer.h"
#include "jit/expr/lexer.h"
#include "runtime/base/limits.h"
#include "runtime/base/stack_room.h"

namespace trident::expr {

/// Parses expressions of the infix form; infix.cpp has the grammar.
class InfixExpressions {
 protected:
  InfixExpressions(Expr& expr, const ParseOptions& options, const ir::SourceText& source)
      : composer_(expr, options, source), lexer_(source.text()) {}

  using K = Token::Kind;

  // --- tokens ---
  void advance() { lexer_.read(token_); }
  bool accept(K kind) {
    if (token_.kind != kind) return false;
    advance();
    return true;
  }
  bool expect(K kind, const char* what) {
    if (accept(kind)) return true;
    unexpected(what);
    return false;
  }
  Value unexpected(const char* wanted);
  bool is_word(std::string_view word) const { return token_.kind == K::name && lexer_.text(token_) == word; }
  Token peek() const {
    Lexer ahead = lexer_;
    return ahead.next();
  }
  /// Bounds the recursion of everything that nests.
  bool enter() {
    if (++depth_ > limits::kNestingMax) {
      composer_.fail(token_.offset, ErrorCode::kLimitExceeded, "nested deeper than %u", limits::kNestingMax);
      return false;
    }
    if (depth_ % kLookEvery != 0 || stack_room() >= kRoomForLevels) return true;
    composer_.fail(token_.offset, ErrorCode::kLimitExceeded, "nested %u deep, too deep for the stack of this thread",
                   depth_);
    return false;
  }
  void leave() { --depth_; }

  bool type_name(Type& type);
  /// Parses the type of a variable.
  bool element_name(Variable& variable);
  void bind(const Token& name, Value value);

  // --- expressions ---
  Value expression();
  Value conditional(Value condition);
  Value let();
  Value binary(int above);
  Value comparison(Value left);
  Value unary();
  Value power(Value base);
  Value primary();

  // "t[j]"; a name that has no meaning yet becomes a table.
  Value element(const Token& name);

  // "x:f32" fixes the type of a variable at its first use; "c ? x : f32(y)" has no such annotation.
  Value annotated(const Token& name, Value value);
  Value call(const Token& name);

  Composer composer_;
  Lexer lexer_;
  Token token_;
  std::uint32_t depth_ = 0;
  /// Levels between looks at the stack, and the room that so many take, with what is called at the end.
  static constexpr std::uint32_t kLookEvery = 32;
  static constexpr std::size_t kRoomForLevels = 40 << 10;
};

}  // namespace trident::expr
