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
#include "jit/expr/compact.h"
#include "jit/expr/infix_expression.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

// Parses a text: statements and outputs.
class Infix : private InfixExpressions {
 public:
  Infix(Expr& expr, const ParseOptions& options, const ir::SourceText& source)
      : InfixExpressions(expr, options, source) {}

  Result<void> run() {
    token_ = lexer_.next();
    program();
    if (composer_.failed()) return composer_.take_error();
    return {};
  }

 private:
  // --- statements ---
  void program();

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
    return type.kind == K::name &&  // perhaps of no type, which the declaration says
           (after.kind == K::semicolon || after.kind == K::comma ||
            (after.kind == K::name && lexer_.text(after) == "in"));
  }

  void declaration();

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
  bool assignment(Value& last, std::string_view& last_name);

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

  void end_statement() {
    if (!composer_.failed() && token_.kind != K::end && !accept(K::semicolon)) {
      unexpected("';' or an operator");
    }
  }

  // --- outputs ---
  void outputs();

  // "( ... )" is a list of outputs when it holds a comma or "=" of its own and ends the text.
  bool is_tuple() const;
  void output();

  // "grad(e)" is the derivatives with respect to every variable used so far, "grad(e; x, y)" those asked for.
  void gradient(std::string_view name);

  // Outputs without a name are "out", or "out0", "out1", ... when there are several.
  void name_outputs() {
    std::vector<Output>& all = composer_.expr().outputs;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].name.empty()) all[i].name = all.size() == 1 ? "out" : "out" + std::to_string(i);
    }
  }
};

void Infix::program() {
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

void Infix::declaration() {
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
  if (accept(K::colon) && !element_name(variable)) return;
  if (is_word("in")) {
    advance();
    if (!range(variable)) return;
  }
  composer_.declare(variable, lexer_.text(name), name.offset);
}

bool Infix::assignment(Value& last, std::string_view& last_name) {
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

void Infix::outputs() {
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

bool Infix::is_tuple() const {
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

void Infix::output() {
  std::string_view name;
  const Token start = token_;
  const Token after = peek();
  if (token_.kind == K::name && after.kind == K::assign) {
    name = lexer_.text(token_);
    advance();
    advance();
  } else if (token_.kind == K::name &&
             (after.kind == K::end || after.kind == K::comma || after.kind == K::close || after.kind == K::semicolon)) {
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

void Infix::gradient(std::string_view name) {
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
