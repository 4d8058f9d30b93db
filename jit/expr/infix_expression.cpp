#include "jit/expr/infix_expression.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace trident::expr {
namespace {

using K = Token::Kind;

// Levels of the binary operators; see the grammar in infix.cpp.
constexpr int kComparison = 3;

constexpr int level_of(K kind) {
  switch (kind) {
    case K::or_or: return 1;
    case K::and_and: return 2;
    case K::less:
    case K::less_equal:
    case K::greater:
    case K::greater_equal:
    case K::equal:
    case K::not_equal: return kComparison;
    case K::bar: return 4;
    case K::hat_hat: return 5;
    case K::ampersand: return 6;
    case K::shift_left:
    case K::shift_right:
    case K::shift_right_logical: return 7;
    case K::plus:
    case K::minus: return 8;
    case K::star:
    case K::slash:
    case K::percent: return 9;
    case K::end:
    case K::bad:
    case K::number:
    case K::name:
    case K::open:
    case K::close:
    case K::open_square:
    case K::close_square:
    case K::comma:
    case K::semicolon:
    case K::colon:
    case K::question:
    case K::assign:
    case K::power:
    case K::bang:
    case K::tilde: return 0;
  }
  CHECK(false);
}
constexpr std::size_t kKinds = static_cast<std::size_t>(K::not_equal) + 1;

constexpr auto levels() {
  std::array<std::uint8_t, kKinds> table{};
  for (std::size_t k = 0; k < kKinds; ++k) table[k] = static_cast<std::uint8_t>(level_of(static_cast<K>(k)));
  return table;
}

constexpr Op op_of(K kind) {
  switch (kind) {
    case K::or_or:
    case K::bar: return Op::Or;
    case K::and_and:
    case K::ampersand: return Op::And;
    case K::hat_hat: return Op::Xor;
    case K::less: return Op::Lt;
    case K::less_equal: return Op::Le;
    case K::greater: return Op::Gt;
    case K::greater_equal: return Op::Ge;
    case K::equal: return Op::Eq;
    case K::not_equal: return Op::Ne;
    case K::shift_left: return Op::Shl;
    case K::shift_right: return Op::Sar;
    case K::shift_right_logical: return Op::Shr;
    case K::plus: return Op::Add;
    case K::minus: return Op::Sub;
    case K::star: return Op::Mul;
    case K::slash: return Op::Div;
    case K::percent: return Op::Fmod;
    case K::end:
    case K::bad:
    case K::number:
    case K::name:
    case K::open:
    case K::close:
    case K::open_square:
    case K::close_square:
    case K::comma:
    case K::semicolon:
    case K::colon:
    case K::question:
    case K::assign:
    case K::power:
    case K::bang:
    case K::tilde: break;
  }
  CHECK(false);
}

struct ForeignWord {
  std::string_view before, found, cure;
};
constexpr ForeignWord kForeignWords[] = {
#define X(before, found, cure) {before, found, cure},
#include "jit/expr/foreign_words.def"
#undef X
};

// Returns the cure for a text that stops at `found`, with "; " in front; empty where there is none.
std::string foreign_cure(std::string_view source, const Token& found) {
  Lexer again(source);
  Token before;  // stands in front of `found`
  for (Token t = again.next(); t.offset < found.offset && t.kind != K::end && t.kind != K::bad; t = again.next())
    before = t;
  const std::string_view here = again.text(found), ahead = again.text(before);
  const bool is_assignment = source.substr(found.offset, 2) == ":=";
  for (const ForeignWord& row : kForeignWords) {
    const bool adjoins = before.kind == K::name || before.offset + before.size == found.offset;
    const bool follows = row.before.empty() || (row.before == ahead && adjoins);
    if (follows && (row.found.empty() || row.found == (is_assignment ? ":=" : here)))
      return "; " + std::string(row.cure);
  }
  const bool calls = before.kind == K::name && (found.kind == K::name || found.kind == K::number) &&
                     find_function(ahead, hash_name(ahead)) != nullptr;
  return calls ? "; write " + std::string(ahead) + "(...)" : "";
}

}  // namespace

Value InfixExpressions::unexpected(const char* wanted) {
  if (token_.kind == K::end) {
    return composer_.fail(lexer_.end_of_words(), ErrorCode::kSyntaxError, "the text ends where %s should stand",
                          wanted);
  }
  if (token_.kind == K::bad) {
    return composer_.fail(token_.offset, ErrorCode::kSyntaxError, "%s", lexer_.problem());
  }
  const std::string_view found = lexer_.text(token_).substr(0, 40);
  return composer_.fail(token_.offset, ErrorCode::kSyntaxError, "expected %s, found '%.*s'%s", wanted,
                        static_cast<int>(found.size()), found.data(), foreign_cure(lexer_.source(), token_).c_str());
}

bool InfixExpressions::element_name(Variable& variable) {
  const std::optional<ir::Element> named = token_.kind == K::name ? element_named(lexer_.text(token_)) : std::nullopt;
  if (!named) {
    unexpected(kElementNames);
    return false;
  }
  variable.type = named->type;
  variable.storage = named->storage;
  advance();
  return true;
}

bool InfixExpressions::type_name(Type& type) {
  const std::optional<Type> named = token_.kind == K::name ? type_named(lexer_.text(token_)) : std::nullopt;
  if (!named || *named == Type::b32) {
    unexpected("a type: f32, f64, i32 or i64");
    return false;
  }
  type = *named;
  advance();
  return true;
}

void InfixExpressions::bind(const Token& name, Value value) {
  const std::string_view text = lexer_.text(name);
  if (text.size() > limits::kNameBytesMax) {
    composer_.fail(name.offset, ErrorCode::kLimitExceeded, "a name has at most %zu bytes", limits::kNameBytesMax);
    return;
  }
  composer_.bind(text, name.hash, value);
}

Value InfixExpressions::expression() {
  if (!enter()) return {};
  Value value;
  if (is_word("let") && peek().kind == K::name) {
    value = let();
  } else {
    value = binary(0);
    if (!composer_.failed() && token_.kind == K::question) value = conditional(value);
  }
  leave();
  return value;
}

Value InfixExpressions::conditional(Value condition) {
  const std::uint32_t at = token_.offset;
  advance();
  const Value yes = expression();
  if (composer_.failed() || !expect(K::colon, "':' of '? :'")) return {};
  const Value no = expression();
  return composer_.ternary(Op::Select, condition, yes, no, at);
}

Value InfixExpressions::let() {
  const std::size_t mark = composer_.scope();
  advance();
  do {
    const Token name = token_;
    if (!expect(K::name, "a name after 'let'") || !expect(K::assign, "'='")) return {};
    const Value value = expression();
    if (composer_.failed()) return {};
    bind(name, value);
  } while (accept(K::comma));
  if (!is_word("in")) return unexpected("'in' after the bindings of 'let'");
  advance();
  const Value value = expression();
  composer_.leave_scope(mark);
  return value;
}

Value InfixExpressions::binary(int above) {
  static constexpr auto kLevels = levels();
  const bool plain = token_.kind == K::number || token_.kind == K::name || token_.kind == K::open;
  Value left = plain ? primary() : unary();
  if (plain && token_.kind == K::power) left = power(left);
  while (!composer_.failed()) {
    const int level = kLevels[static_cast<std::size_t>(token_.kind)];
    if (level <= above) break;
    if (level == kComparison) {
      left = comparison(left);
      continue;
    }
    const K kind = token_.kind;
    const std::uint32_t at = token_.offset;
    advance();
    const Value right = binary(level);
    left = kind == K::or_or || kind == K::and_and ? composer_.logical(op_of(kind), left, right, at)
                                                  : composer_.binary(op_of(kind), left, right, at);
  }
  return left;
}

Value InfixExpressions::comparison(Value left) {
  Value all;
  bool chain = false;
  while (!composer_.failed() && level_of(token_.kind) == kComparison) {
    const Token op = token_;
    advance();
    const Value right = binary(kComparison);
    const Value one = composer_.binary(op_of(op.kind), left, right, op.offset);
    all = chain ? composer_.logical(Op::And, all, one, op.offset) : one;
    chain = true;
    left = right;
  }
  return all;
}

Value InfixExpressions::unary() {
  const K kind = token_.kind;
  if (kind != K::minus && kind != K::plus && kind != K::bang && kind != K::tilde) return power(primary());
  const std::uint32_t at = token_.offset;
  if (!enter()) return {};
  advance();
  Value value = unary();
  leave();
  if (composer_.failed()) return {};
  if (kind == K::minus) value = composer_.negate(value, at);
  if (kind == K::bang) value = composer_.logical_not(value, at);
  if (kind == K::tilde) value = composer_.unary(Op::Not, value, at);
  return value;
}

Value InfixExpressions::power(Value base) {
  if (composer_.failed() || token_.kind != K::power) return base;
  const std::uint32_t at = token_.offset;
  if (!enter()) return {};
  advance();
  const Value exponent = unary();
  leave();
  return composer_.power(base, exponent, at);
}

Value InfixExpressions::primary() {
  if (token_.kind == K::open) {
    advance();
    const Value value = expression();
    if (composer_.failed() || !expect(K::close, "')' or an operator")) return {};
    return value;
  }
  if (token_.kind == K::number) {
    const std::uint32_t at = token_.offset;
    const std::optional<Type> suffix = token_.suffix;
    const Value value = composer_.number(lexer_.number(), at);
    advance();
    return suffix ? composer_.cast(*suffix, value, at) : value;
  }
  if (token_.kind != K::name) return unexpected("a number, a name or '('");
  const Token token = token_;
  advance();
  if (token_.kind == K::open) return call(token);
  if (token_.kind == K::open_square) return element(token);
  const Value value = composer_.use(lexer_.text(token), token.hash, token.offset);
  return token_.kind == K::colon ? annotated(token, value) : value;
}

Value InfixExpressions::element(const Token& name) {
  const std::uint32_t at = token_.offset;
  const Value table = composer_.use_table(lexer_.text(name), name.hash, name.offset);
  advance();
  const Value index = expression();
  if (composer_.failed() || !expect(K::close_square, "']' or an operator")) return {};
  return composer_.read(Op::Gather, std::array{table, index}, at);
}

Value InfixExpressions::annotated(const Token& name, Value value) {
  Lexer ahead = lexer_;
  const Token type = ahead.next();
  if (type.kind != K::name || !type_named(lexer_.text(type)) || ahead.next().kind == K::open) return value;
  advance();
  Type wanted{};
  if (!type_name(wanted)) return {};
  return composer_.annotate(value, wanted, name.offset);
}

Value InfixExpressions::call(const Token& name) {
  const std::string_view text = lexer_.text(name);
  const Function* function = find_function(text, name.hash);
  const std::optional<Type> type = function ? std::nullopt : type_named(text);
  const std::optional<NarrowCast> narrow = function || type ? std::nullopt : narrow_cast_named(text);
  if (!function && !type && !narrow) {
    if (text == "grad") {
      return composer_.fail(name.offset, ErrorCode::kSyntaxError,
                            "grad gives several results: it stands at the end of the text, or use diff(e, x)");
    }
    return composer_.fail(name.offset, ErrorCode::kSyntaxError, "%s", unknown_function(text).c_str());
  }
  std::array<Value, 16> arguments;
  std::size_t count = 0;
  advance();
  if (token_.kind != K::close) {
    do {
      if (count == arguments.size()) {
        return composer_.fail(token_.offset, ErrorCode::kLimitExceeded, "more than %zu arguments", arguments.size());
      }
      arguments[count++] = expression();
    } while (!composer_.failed() && accept(K::comma));
  }
  if (composer_.failed() || !expect(K::close, "',' or ')'")) return {};
  if (function) return composer_.call(*function, std::span(arguments.data(), count), name.offset);
  if (narrow) return composer_.narrow_cast(*narrow, std::span(arguments.data(), count), name.offset);
  if (count != 1) {
    return composer_.fail(name.offset, ErrorCode::kSyntaxError, "a cast takes 1 argument, here %zu", count);
  }
  return composer_.cast(*type, arguments[0], name.offset);
}

}  // namespace trident::expr
