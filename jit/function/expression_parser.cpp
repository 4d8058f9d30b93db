#include "jit/function/expression_parser.h"

#include <algorithm>
#include <limits>

#include "jit/function/names.h"
#include "runtime/base/limits.h"

namespace trident::function {
namespace {

constexpr int kComparisons = 3;  ///< the level that does not chain

constexpr std::string_view kWords[] = {"fn",  "let",   "if",    "else",     "while",  "for",  "in",
                                       "out", "inout", "break", "continue", "return", "true", "false",
                                       "i64", "u8",    "bool",  "len",      "f64",    "inf",  "nan"};

bool is_power(std::string_view mark) {
  return mark == "^" || mark == "**";
}

}  // namespace

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

void ExpressionParser::advance() {
  passed_ = token_.offset + token_.size;
  token_ = tokens_.next();
  for (; token_.kind == K::comment; token_ = tokens_.next()) {
    const std::string_view between = tokens_.all().substr(passed_, token_.offset - passed_);
    const bool is_on_line = passed_ > 0 && between.find('\n') == std::string_view::npos;
    comments_.push_back({std::string(words()), passed_, is_on_line});
  }
}

Token ExpressionParser::following(int count) const {
  Tokens ahead = tokens_;
  Token token;
  while (count-- > 0) do
      token = ahead.next();
    while (token.kind == K::comment);
  return token;
}

bool ExpressionParser::accept(std::string_view mark) {
  if (!is(mark)) return false;
  advance();
  return true;
}

bool ExpressionParser::accept_word(std::string_view word) {
  if (!is_word(word)) return false;
  advance();
  return true;
}

Result<void> ExpressionParser::expect(std::string_view mark) {
  if (accept(mark)) return {};
  return unexpected(("'" + std::string(mark) + "'").c_str());
}

Result<std::string> ExpressionParser::expect_name(const char* what) {
  if (token_.kind != K::name) return unexpected(what);
  std::string name(words());
  if (is_reserved(name)) return error(token_.offset, "'" + name + "' is a word of the language and names nothing");
  if (name.size() > limits::kNameBytesMax) return error(token_.offset, "the name is too long");
  advance();
  return name;
}

Error ExpressionParser::unexpected(const char* wanted) const {
  if (token_.kind == K::bad) return error(token_.offset, token_.problem);
  const std::string found =
      token_.kind == K::end ? "the end of the text" : "'" + std::string(words().substr(0, 40)) + "'";
  return error(token_.offset, "expected " + std::string(wanted) + " before " + found);
}

Result<std::int64_t> ExpressionParser::integer() {
  const bool minus = accept("-");
  const bool is_integer = token_.kind == K::character || (token_.kind == K::number && !token_.is_real);
  if (!is_integer) return unexpected("an integer");
  if (token_.is_least && !minus) return error(token_.offset, "a number beyond 64 bits");
  const auto bits = static_cast<std::uint64_t>(token_.number);
  advance();
  return static_cast<std::int64_t>(minus ? 0 - bits : bits);
}

std::int64_t ExpressionParser::real() {
  std::int64_t bits = token_.number;
  if (is_word("inf")) bits = bits_of(std::numeric_limits<double>::infinity());
  if (is_word("nan")) bits = bits_of(std::numeric_limits<double>::quiet_NaN());
  advance();
  return bits;
}

Result<std::int64_t> ExpressionParser::number(bool& is_real_one) {
  const Token after = following();
  const std::string_view word = tokens_.text(after);
  const bool is_word_after = after.kind == K::name && (word == "inf" || word == "nan");
  const bool minus = is("-") && (after.is_real || is_word_after);
  is_real_one = minus || is_real();
  if (!is_real_one) return integer();
  if (minus) advance();
  const std::int64_t bits = real();
  return minus ? bits ^ std::numeric_limits<std::int64_t>::min() : bits;
}

Result<Expression> ExpressionParser::nested() {
  if (depth_ >= kNestingMax) return source_.error(token_.offset, "nested too deeply", ErrorCode::kLimitExceeded);
  ++depth_;
  auto result = expression();
  --depth_;
  return result;
}

Result<Expression> ExpressionParser::above_operands(Expression node) const {
  for (const Expression& operand : node.operands) node.depth = std::max(node.depth, operand.depth + 1);
  if (node.depth > limits::kNestingMax)
    return source_.error(node.offset, "the expression is nested too deeply: give parts of it names",
                         ErrorCode::kLimitExceeded);
  return node;
}

// condition ? value : value
Result<Expression> ExpressionParser::expression() {
  TRY(Expression first, binary(0));
  if (!is("?")) return first;
  Expression choice{.kind = Expression::Kind::choice, .offset = token_.offset};
  advance();
  TRY(Expression yes, nested());
  TRY_VOID(expect(":"));
  TRY(Expression no, nested());
  choice.operands = {std::move(first), std::move(yes), std::move(no)};
  return above_operands(std::move(choice));
}

Result<Expression> ExpressionParser::binary(int above) {
  TRY(Expression left, unary());
  for (;;) {
    const OperatorRow* row = token_.kind == K::mark ? operator_of(words(), true) : nullptr;
    if (row == nullptr || row->level <= above) return left;
    Expression both{.kind = Expression::Kind::binary, .op = row->op, .offset = token_.offset};
    advance();
    TRY(Expression right, binary(row->level));
    both.operands.push_back(std::move(left));
    both.operands.push_back(std::move(right));
    TRY(left, above_operands(std::move(both)));
    const OperatorRow* after = token_.kind == K::mark ? operator_of(words(), true) : nullptr;
    if (row->level == kComparisons && after != nullptr && after->level == kComparisons)
      return error(token_.offset, "comparisons do not chain: join two of them by &&");
  }
}

Result<Expression> ExpressionParser::unary() {
  const OperatorRow* row = token_.kind == K::mark ? operator_of(words(), false) : nullptr;
  if (row == nullptr) return power();
  Expression result{.kind = Expression::Kind::unary, .op = row->op, .offset = token_.offset};
  const bool before_number = row->op == Operator::Negate && following().kind == K::number;
  if (before_number && !is_power(tokens_.text(following(2)))) {
    bool is_real_one = false;
    TRY(result.number, number(is_real_one));
    result.kind = is_real_one ? Expression::Kind::real : Expression::Kind::number;
    return result;
  }
  advance();
  TRY(Expression operand, nested_unary());
  result.operands.push_back(std::move(operand));
  return above_operands(std::move(result));
}

Result<Expression> ExpressionParser::nested_unary() {
  if (depth_ >= kNestingMax) return source_.error(token_.offset, "nested too deeply", ErrorCode::kLimitExceeded);
  ++depth_;
  auto operand = unary();
  --depth_;
  return operand;
}

// base ^ exponent, to the right; a sign before the base is that of the power
Result<Expression> ExpressionParser::power() {
  TRY(Expression base, primary());
  if (token_.kind != K::mark || !is_power(words())) return base;
  Expression result{.kind = Expression::Kind::binary, .op = Operator::Power, .offset = token_.offset};
  advance();
  TRY(Expression exponent, nested_unary());
  result.operands.push_back(std::move(base));
  result.operands.push_back(std::move(exponent));
  return above_operands(std::move(result));
}

Result<Expression> ExpressionParser::primary() {
  Expression result{.offset = token_.offset};
  if (is_real()) {
    result.kind = Expression::Kind::real;
    result.number = real();
    return result;
  }
  if (token_.kind == K::number || token_.kind == K::character) {
    result.is_character = token_.kind == K::character;
    TRY(result.number, integer());
    return result;
  }
  if (is_word("true") || is_word("false")) {
    result.kind = Expression::Kind::truth;
    result.number = is_word("true") ? 1 : 0;
    advance();
    return result;
  }
  if (accept("(")) {
    TRY(result, nested());
    TRY_VOID(expect(")"));
    return result;
  }
  return named();
}

// name, name[index], name(arguments), len(name), i64(value), f64(value)
Result<Expression> ExpressionParser::named() {
  Expression result{.kind = Expression::Kind::name, .offset = token_.offset};
  if (accept_word("len")) {
    result.kind = Expression::Kind::length;
    TRY_VOID(expect("("));
    TRY(result.name, expect_name("the name of an array"));
    TRY_VOID(expect(")"));
    return result;
  }
  for (const Type type : {Type::i64, Type::f64}) {
    if (!accept_word(name_of(type))) continue;
    result.kind = Expression::Kind::call;
    result.name = name_of(type);
    TRY_VOID(arguments(result));
    return above_operands(std::move(result));
  }
  TRY(result.name, expect_name("a value"));
  if (is("(")) {
    result.kind = Expression::Kind::call;
    TRY_VOID(arguments(result));
  } else if (accept("[")) {
    result.kind = Expression::Kind::element;
    TRY(Expression index, nested());
    result.operands.push_back(std::move(index));
    TRY_VOID(expect("]"));
  }
  return above_operands(std::move(result));
}

Result<void> ExpressionParser::arguments(Expression& call) {
  TRY_VOID(expect("("));
  if (accept(")")) return {};
  do {
    TRY(Expression argument, nested());
    call.operands.push_back(std::move(argument));
  } while (accept(","));
  return expect(")");
}

}  // namespace trident::function
