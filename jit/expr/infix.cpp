// The infix form.
//
//   text        = { statement ";" } outputs [";"]
//   statement   = ["let"] name "=" expr | declaration { "," declaration }
//   declaration = ["param" | "table"] name [":" type] ["in" "[" number "," number "]"]
//   outputs     = plain { "," output } | "(" output { "," output } ")"     (none: the last local)
//   output      = [name "="] plain          without brackets the first has no name: "a = y" there is a statement
//   plain       = expr | "grad" "(" expr [";" name { "," name }] ")"
//   expr        = "let" name "=" expr { "," name "=" expr } "in" expr | binary ["?" expr ":" expr]
//   power       = postfix [("^" | "**") unary]           binds tighter than a sign before it, to the right
//   postfix     = number[type] | name[":" type] | table "[" expr "]" | function "(" expr { "," expr } ")" | "(" expr
//   ")"
//
// Operators from loose to tight: ?:, ||, &&, comparisons (a chain a < b < c means a < b && b < c), |, ^^, &, shifts
// (>> arithmetic, >>> logical), + -, * / %, unary - + ! ~, power. "#" comments to the end of its line.
//
// One pass, no tree of its own and no allocation per token: tokens go straight to the composer.
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "jit/expr/compact.h"
#include "jit/expr/composer.h"
#include "jit/expr/lexer.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

class Infix {
 public:
  Infix(Expr& expr, const ParseOptions& options, const ir::SourceText& source)
      : composer_(expr, options, source), lexer_(source.text()) {}

  Result<void> run() {
    token_ = lexer_.next();
    program();
    if (composer_.failed()) return composer_.take_error();
    return {};
  }

 private:
  using K = Token::Kind;

  // --- tokens ---
  void advance() { token_ = lexer_.next(); }
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
  Value unexpected(const char* wanted) {
    if (token_.kind == K::end) {
      return composer_.fail(lexer_.end_of_words(), ErrorCode::kSyntaxError, "the text ends where %s should stand",
                            wanted);
    }
    if (token_.kind == K::bad) {
      return composer_.fail(token_.offset, ErrorCode::kSyntaxError, "%s", lexer_.problem());
    }
    const std::string_view found = lexer_.text(token_).substr(0, 40);
    return composer_.fail(token_.offset, ErrorCode::kSyntaxError, "expected %s, found '%.*s'", wanted,
                          static_cast<int>(found.size()), found.data());
  }
  bool is_word(std::string_view word) const { return token_.kind == K::name && lexer_.text(token_) == word; }
  Token peek() const {
    Lexer ahead = lexer_;
    return ahead.next();
  }
  /// Bounds the recursion of everything that nests.
  bool enter() {
    if (++depth_ <= limits::kNestingMax) return true;
    composer_.fail(token_.offset, ErrorCode::kLimitExceeded, "nested deeper than %u", limits::kNestingMax);
    return false;
  }
  void leave() { --depth_; }

  // --- statements ---
  void program() {
    Value last;
    std::string_view last_name;
    while (!composer_.failed()) {
      while (accept(K::semicolon)) {
      }
      if (token_.kind == K::end) break;
      if (declarations()) continue;
      if (!assignment(last, last_name)) {
        outputs();
        return;
      }
    }
    if (composer_.failed()) return;
    if (!last.id.valid()) {
      unexpected("an expression");
      return;
    }
    composer_.output(last_name, last);
  }

  // "x: f32 in [0, 1], param a"; false when the statement is something else.
  bool declarations() {
    if (token_.kind != K::name) return false;
    const Token after = peek();
    const bool kind = (is_word("param") || is_word("table")) && after.kind == K::name;
    const bool ranged = after.kind == K::name && lexer_.text(after) == "in";
    if (!kind && !ranged && !(after.kind == K::colon && declares())) return false;
    do {
      declaration();
    } while (!composer_.failed() && accept(K::comma));
    end_statement();
    return true;
  }

  // Returns whether "name :" starts a declaration: "x: f32" followed by "in", "," or the end of the statement.
  bool declares() const {
    Lexer ahead = lexer_;
    ahead.next();  // the colon
    const Token type = ahead.next();
    const Token after = ahead.next();
    return type.kind == K::name && type_named(lexer_.text(type)) &&
           (after.kind == K::semicolon || after.kind == K::comma ||
            (after.kind == K::name && lexer_.text(after) == "in"));
  }

  void declaration() {
    Variable variable;
    if (peek().kind == K::name && lexer_.text(peek()) != "in") {
      if (is_word("param")) variable.kind = VariableKind::scalar;
      if (is_word("table")) variable.kind = VariableKind::table;
    }
    if (variable.kind != VariableKind::array) advance();
    if (token_.kind != K::name) {
      unexpected("the name of a variable");
      return;
    }
    const Token name = token_;
    advance();
    variable.type = composer_.default_type();
    if (accept(K::colon) && !type_name(variable.type)) return;
    if (is_word("in")) {
      advance();
      if (!range(variable)) return;
    }
    composer_.declare(variable, lexer_.text(name), name.offset);
  }

  bool type_name(Type& type) {
    const std::optional<Type> named = token_.kind == K::name ? type_named(lexer_.text(token_)) : std::nullopt;
    if (!named || *named == Type::b32) {
      unexpected("a type: f32, f64, i32 or i64");
      return false;
    }
    type = *named;
    advance();
    return true;
  }

  bool range(Variable& variable) {
    const std::uint32_t at = token_.offset;
    if (!expect(K::open_square, "'[' of a range")) return false;
    if (!bound(variable.lo) || !expect(K::comma, "','") || !bound(variable.hi)) return false;
    if (!expect(K::close_square, "']' of the range")) return false;
    if (variable.lo <= variable.hi) return true;
    composer_.fail(at, ErrorCode::kSyntaxError, "an empty range: the lower end is above the upper one");
    return false;
  }

  // Parses an end of a range: any expression that is a single number.
  bool bound(double& end) {
    const Value value = expression();
    if (composer_.failed()) return false;
    if (!composer_.is_number(value)) {
      composer_.fail(value.offset, ErrorCode::kSyntaxError, "the end of a range must be a number");
      return false;
    }
    end = composer_.number_of(value);
    return true;
  }

  // "name = expr" or "let name = expr"; false when the statement is something else.
  bool assignment(Value& last, std::string_view& last_name) {
    if (token_.kind != K::name) return false;
    Lexer ahead = lexer_;
    Token name = token_;
    Token after = ahead.next();
    const bool let = is_word("let") && after.kind == K::name;
    if (let) {
      if (let_is_expression()) return false;
      name = after;
      after = ahead.next();
    }
    if (after.kind != K::assign) return false;
    if (let) advance();
    advance();
    advance();
    const Value value = expression();
    if (composer_.failed()) return true;
    bind(name, value);
    last = value;
    last_name = lexer_.text(name);
    end_statement();
    return true;
  }

  // A statement that starts with "let" is an expression when an "in" closes it before its end.
  bool let_is_expression() const {
    Lexer ahead = lexer_;
    int open = 0;
    for (Token t = ahead.next(); t.kind != K::end && t.kind != K::bad; t = ahead.next()) {
      if (t.kind == K::open) ++open;
      if (t.kind == K::close) --open;
      if (open == 0 && t.kind == K::semicolon) return false;
      if (open == 0 && t.kind == K::name && lexer_.text(t) == "in") return true;
    }
    return false;
  }

  void bind(const Token& name, Value value) {
    const std::string_view text = lexer_.text(name);
    if (text.size() > limits::kNameBytesMax) {
      composer_.fail(name.offset, ErrorCode::kLimitExceeded, "a name has at most %zu bytes", limits::kNameBytesMax);
      return;
    }
    composer_.bind(text, name.hash, value);
  }

  void end_statement() {
    if (!composer_.failed() && token_.kind != K::end && !accept(K::semicolon)) {
      unexpected("';' or an operator");
    }
  }

  // --- outputs ---
  void outputs() {
    const bool tuple = token_.kind == K::open && is_tuple();
    if (tuple) advance();
    const Token first = token_;
    std::uint32_t count = 0;
    do {
      output();
      ++count;
    } while (!composer_.failed() && accept(K::comma));
    if (tuple && !composer_.failed()) expect(K::close, "',' or ')'");
    while (accept(K::semicolon)) {
    }
    if (!composer_.failed() && token_.kind != K::end) {
      unexpected(count == 1 && first.kind == K::name ? "an operator, ';' or the end of the text"
                                                     : "an operator or the end of the text");
    }
    if (!composer_.failed()) name_outputs();
  }

  // "( ... )" is a list of outputs when it holds a comma or "=" of its own and ends the text.
  bool is_tuple() const {
    Lexer ahead = lexer_;
    int open = 1;
    bool list = false;
    while (open > 0) {
      const Token t = ahead.next();
      if (t.kind == K::end || t.kind == K::bad) return false;
      if (t.kind == K::open) ++open;
      if (t.kind == K::close) --open;
      if (open == 1 && (t.kind == K::comma || t.kind == K::assign)) list = true;
    }
    Token t = ahead.next();
    while (t.kind == K::semicolon) t = ahead.next();
    return list && t.kind == K::end;
  }

  void output() {
    std::string_view name;
    const Token start = token_;
    const Token after = peek();
    if (token_.kind == K::name && after.kind == K::assign) {
      name = lexer_.text(token_);
      advance();
      advance();
    } else if (token_.kind == K::name && (after.kind == K::end || after.kind == K::comma || after.kind == K::close ||
                                          after.kind == K::semicolon)) {
      name = lexer_.text(token_);
    }
    if (is_word("grad") && peek().kind == K::open) {
      gradient(name);
      return;
    }
    const Value value = expression();
    if (composer_.failed()) return;
    if (name.size() > limits::kNameBytesMax) {
      composer_.fail(start.offset, ErrorCode::kLimitExceeded, "a name has at most %zu bytes", limits::kNameBytesMax);
    }
    composer_.output(name, value);
  }

  // "grad(e)" is the derivatives with respect to every variable used so far, "grad(e; x, y)" those asked for.
  void gradient(std::string_view name) {
    const std::uint32_t at = token_.offset;
    advance();
    advance();
    const Value e = expression();
    std::vector<Value> variables;
    if (accept(K::semicolon)) {
      do {
        variables.push_back(expression());
      } while (!composer_.failed() && accept(K::comma));
    } else if (!composer_.failed()) {
      for (std::uint32_t i = 0; i < composer_.expr().variables.size(); ++i) {
        if (!ir::is_float(composer_.expr().variables[i].type)) continue;
        Value v;
        v.id = composer_.builder().variable(i);
        v.offset = at;
        variables.push_back(v);
      }
    }
    if (composer_.failed() || !expect(K::close, "')' or ';' and variables")) return;
    if (variables.empty()) {
      composer_.fail(at, ErrorCode::kSyntaxError, "grad of an expression without variables");
      return;
    }
    for (const Value& x : variables) {
      const Value d = composer_.diff(e, x, at);
      if (composer_.failed()) return;
      const std::string& variable = composer_.expr().variables[composer_.builder().at(x.id).imm].name;
      const std::string prefix = name.empty() ? "d_" : std::string(name) + "_";
      composer_.output((prefix + variable).substr(0, limits::kNameBytesMax), d);
    }
  }

  // Outputs without a name are "out", or "out0", "out1", ... when there are several.
  void name_outputs() {
    std::vector<Output>& all = composer_.expr().outputs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].name.empty()) all[i].name = all.size() == 1 ? "out" : "out" + std::to_string(i);
    }
  }

  // --- expressions ---
  Value expression() {
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

  Value conditional(Value condition) {
    const std::uint32_t at = token_.offset;
    advance();
    const Value yes = expression();
    if (composer_.failed() || !expect(K::colon, "':' of '? :'")) return {};
    const Value no = expression();
    return composer_.ternary(Op::Select, condition, yes, no, at);
  }

  Value let() {
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

  // Levels of the binary operators; see the grammar above.
  static constexpr int kComparison = 3;
  static constexpr int level_of(K kind) {
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

  static constexpr std::size_t kKinds = static_cast<std::size_t>(K::not_equal) + 1;
  static constexpr auto levels() {
    std::array<std::uint8_t, kKinds> table{};
    for (std::size_t k = 0; k < kKinds; ++k) table[k] = static_cast<std::uint8_t>(level_of(static_cast<K>(k)));
    return table;
  }

  static constexpr Op op_of(K kind) {
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

  Value binary(int above) {
    static constexpr auto kLevels = levels();
    Value left = unary();
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

  Value comparison(Value left) {
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

  Value unary() {
    const K kind = token_.kind;
    if (kind != K::minus && kind != K::plus && kind != K::bang && kind != K::tilde) return power();
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

  Value power() {
    const Value base = primary();
    if (composer_.failed() || token_.kind != K::power) return base;
    const std::uint32_t at = token_.offset;
    if (!enter()) return {};
    advance();
    const Value exponent = unary();
    leave();
    return composer_.power(base, exponent, at);
  }

  Value primary() {
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

  // "t[j]"; a name that has no meaning yet becomes a table.
  Value element(const Token& name) {
    const std::uint32_t at = token_.offset;
    const Value table = composer_.use_table(lexer_.text(name), name.hash, name.offset);
    advance();
    const Value index = expression();
    if (composer_.failed() || !expect(K::close_square, "']' or an operator")) return {};
    return composer_.read(Op::Gather, std::array{table, index}, at);
  }

  // "x:f32" fixes the type of a variable at its first use; "c ? x : f32(y)" has no such annotation.
  Value annotated(const Token& name, Value value) {
    Lexer ahead = lexer_;
    const Token type = ahead.next();
    if (type.kind != K::name || !type_named(lexer_.text(type)) || ahead.next().kind == K::open) return value;
    advance();
    Type wanted{};
    if (!type_name(wanted)) return {};
    return composer_.annotate(value, wanted, name.offset);
  }

  Value call(const Token& name) {
    const std::string_view text = lexer_.text(name);
    const Function* function = find_function(text, name.hash);
    const std::optional<Type> type = function ? std::nullopt : type_named(text);
    if (!function && !type) {
      const std::string_view near = nearest_function(text);
      const std::string_view shown = text.substr(0, 60);
      if (text == "grad") {
        return composer_.fail(name.offset, ErrorCode::kSyntaxError,
                              "grad gives several results: it stands at the end of the text, or use diff(e, x)");
      }
      return composer_.fail(name.offset, ErrorCode::kSyntaxError, "unknown function '%.*s'%s%.*s%s",
                            static_cast<int>(shown.size()), shown.data(), near.empty() ? "" : "; did you mean '",
                            static_cast<int>(near.size()), near.data(), near.empty() ? "" : "'?");
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
    if (count != 1) {
      return composer_.fail(name.offset, ErrorCode::kSyntaxError, "a cast takes 1 argument, here %zu", count);
    }
    return composer_.cast(*type, arguments[0], name.offset);
  }

  Composer composer_;
  Lexer lexer_;
  Token token_;
  std::uint32_t depth_ = 0;
};

}  // namespace

Result<Expr> parse_infix(std::string_view text, const ParseOptions& options) {
  const ir::SourceText source(text, options.file);
  if (text.size() > limits::kTextBytesMax) {
    return make_error(ErrorCode::kLimitExceeded, "a text has at most %zu bytes, here %zu", limits::kTextBytesMax,
                      text.size());
  }
  Expr expr;
  TRY_VOID(Infix(expr, options, source).run());
  drop_unused(expr);
  return expr;
}

}  // namespace trident::expr
