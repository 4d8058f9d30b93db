// The texts of functions: lines that begin with @, the head, statements.
#include <algorithm>
#include <iterator>

#include "jit/function/expression_parser.h"
#include "runtime/base/limits.h"

namespace trident::function {
namespace {

using SK = Statement::Kind;

/// Parses the head and the body of a function.
class Parser : public ExpressionParser {
 public:
  Parser(const ir::SourceText& source, Function& function)
      : ExpressionParser(source, source.text(), 0), function_(function) {}

  Result<void> run();

 private:
  Result<void> head();
  Result<void> parameter();
  Result<Type> type_name();
  Result<std::vector<Statement>> block(std::vector<std::string>& closing);
  Result<Statement> statement();
  std::uint32_t line_of(std::uint32_t offset);
  Result<void> kind_of(Statement& s);
  Result<void> binding(Statement& s);
  Result<void> branch(Statement& s);
  Result<void> counted(Statement& s);
  Result<void> named(Statement& s);
  /// Reads a block into `statements`, and the comments at its end into those of `s`.
  Result<void> body(Statement& s, std::vector<Statement>& statements);
  [[nodiscard]] std::vector<std::string> taken_comments();

  Function& function_;
  std::uint32_t line_ = 1, counted_ = 0;  ///< the line of this offset
  std::vector<std::uint32_t> at_lines_;   ///< offsets of lines that begin with @
};

/// Parses a line that begins with @, whose offset and size are known.
class AtLine : public ExpressionParser {
 public:
  AtLine(const ir::SourceText& source, std::uint32_t offset, Function& function)
      : ExpressionParser(source, source.text().substr(0, end_of(source, offset)), offset + 1), function_(function) {}

  Result<void> run();

 private:
  static std::size_t end_of(const ir::SourceText& source, std::uint32_t offset) {
    return std::min(source.text().find('\n', offset), source.text().size());
  }
  Result<void> parameter();
  Result<std::int64_t> bound(const Parameter& p);
  Result<void> test();
  Result<void> outcome(Case& test);
  Result<Argument> value();
  Result<Argument> list();
  Result<Argument> quoted();

  Function& function_;
};

Result<void> AtLine::run() {
  if (accept_word("param")) return parameter();
  if (accept_word("test")) return test();
  if (!is_word("prompt")) return unexpected("prompt, param or test");
  const std::size_t begin = token_.offset + token_.size;
  const std::string_view line = tokens_.all().substr(begin);
  const std::size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  if (first == std::string_view::npos) return error(token_.offset, "a prompt has words");
  function_.prompts.emplace_back(line.substr(first, last + 1 - first));
  return {};
}

// "param NAME in [LO, HI]: words", the range and the words optional.
Result<void> AtLine::parameter() {
  const std::uint32_t offset = token_.offset;
  TRY(const std::string name, expect_name("the name of a parameter"));
  const auto found = function_.parameter(name);
  if (!found) return error(offset, "there is no parameter '" + name + "'");
  Parameter& p = function_.parameters[*found];
  if (accept_word("in")) {
    TRY_VOID(expect("["));
    TRY(p.lo, bound(p));
    TRY_VOID(expect(","));
    TRY(p.hi, bound(p));
    const bool is_empty = p.type == Type::f64 ? !(real_of(*p.lo) <= real_of(*p.hi)) : *p.lo > *p.hi;
    if (is_empty) return error(offset, "the range of '" + name + "' is empty");
    TRY_VOID(expect("]"));
  }
  if (is(":")) {
    const std::string_view line = tokens_.all();
    const std::size_t begin = line.find_first_not_of(" \t", token_.offset + 1);
    if (begin != std::string_view::npos) p.meaning = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    return {};
  }
  return token_.kind == K::end ? Result<void>() : unexpected("':'");
}

Result<std::int64_t> AtLine::bound(const Parameter& p) {
  const std::uint32_t offset = token_.offset;
  bool is_real_one = false;
  TRY(const std::int64_t value, number(is_real_one));
  if (is_real_one != (p.type == Type::f64)) return error(offset, "'" + p.name + "' is of another type");
  return value;
}

// "test NAME(ARGUMENTS) = RESULT : ARRAY = VALUE, .."
Result<void> AtLine::test() {
  Case test{.offset = token_.offset};
  if (!accept_word(function_.name)) return unexpected(("'" + function_.name + "'").c_str());
  TRY_VOID(expect("("));
  while (!is(")")) {
    TRY(Argument argument, value());
    test.arguments.push_back(std::move(argument));
    if (!accept(",")) break;
  }
  TRY_VOID(expect(")"));
  TRY_VOID(outcome(test));
  if (accept(":")) {
    do {
      TRY(std::string name, expect_name("the name of an array"));
      TRY_VOID(expect("="));
      TRY(Argument array, value());
      test.after.push_back({std::move(name), std::move(array)});
    } while (accept(","));
  }
  if (token_.kind != K::end) return unexpected("the end of the line");
  function_.tests.push_back(std::move(test));
  return {};
}

Result<void> AtLine::outcome(Case& test) {
  if (!accept("=")) return {};
  if (!accept_word("error")) {
    TRY(test.result, value());
    return {};
  }
#define X(name, text, meaning) \
  if (is_word(text)) test.failure = Failure::name;
#include "jit/function/failures.def"
#undef X
  if (!test.failure) return unexpected("division, index, budget or range");
  advance();
  return {};
}

Result<Argument> AtLine::value() {
  if (is("[")) return list();
  if (token_.kind == K::quoted) return quoted();
  Argument argument;
  argument.is_truth = is_word("true") || is_word("false");
  argument.number = is_word("true") ? 1 : 0;
  if (argument.is_truth) {
    advance();
  } else {
    TRY(argument.number, number(argument.is_real));
  }
  return argument;
}

// "[1, 2, 3]", or "[0; 8]" for eight of one value.
Result<Argument> AtLine::list() {
  Argument argument{.is_array = true};
  TRY_VOID(expect("["));
  while (!is("]")) {
    const std::uint32_t begin = token_.offset;
    const bool was_real = argument.is_real;
    TRY(const std::int64_t element, number(argument.is_real));
    if (!argument.elements.empty() && was_real != argument.is_real)
      return error(begin, "the elements of a list are all integers or all of f64, as in 1.0");
    argument.elements.push_back(element);
    if (argument.elements.size() == 1 && accept(";")) {
      const std::uint32_t offset = token_.offset;
      TRY(const std::int64_t count, integer());
      constexpr std::int64_t kCountMax = 65536;
      if (count < 0 || count > kCountMax) return error(offset, "an array of a test has at most 65536 elements");
      argument.elements.assign(static_cast<std::size_t>(count), element);
      break;
    }
    if (!accept(",")) break;
  }
  TRY_VOID(expect("]"));
  return argument;
}

Result<Argument> AtLine::quoted() {
  Argument argument{.is_array = true, .is_text = true};
  for (std::size_t at = token_.offset + 1; at + 1 < token_.offset + token_.size;)
    argument.elements.push_back(read_character(tokens_.all(), at));
  advance();
  return argument;
}

Result<void> Parser::run() {
  for (; token_.kind == K::at_line; advance()) at_lines_.push_back(token_.offset);
  TRY_VOID(head());
  function_.comments = taken_comments();
  TRY(function_.body, block(function_.closing));
  if (token_.kind != K::end) return unexpected("the end of the text, which holds one function,");
  function_.behind = taken_comments();
  for (const std::uint32_t offset : at_lines_) TRY_VOID(AtLine(source_, offset, function_).run());
  return {};
}

std::vector<std::string> Parser::taken_comments() {
  std::vector<std::string> taken;
  if (!remark_.empty()) taken.push_back(std::exchange(remark_, {}));
  std::move(comments_.begin(), comments_.end(), std::back_inserter(taken));
  comments_.clear();
  return taken;
}

// fn NAME(PARAMETERS) -> TYPE
Result<void> Parser::head() {
  if (!accept_word("fn")) return unexpected("'fn'");
  TRY(function_.name, expect_name("a name"));
  TRY_VOID(expect("("));
  while (!is(")")) {
    TRY_VOID(parameter());
    if (!accept(",")) break;
  }
  TRY_VOID(expect(")"));
  if (!accept("->")) return {};
  const std::uint32_t offset = token_.offset;
  TRY(function_.result, type_name());
  if (function_.result == Type::u8) return error(offset, "a result is an i64, an f64 or a bool");
  return {};
}

Result<void> Parser::parameter() {
  Parameter p;
  const std::uint32_t offset = token_.offset;
  TRY(p.name, expect_name("the name of a parameter"));
  if (function_.parameter(p.name)) return error(offset, "two parameters are called '" + p.name + "'");
  if (function_.parameters.size() >= limits::kInputsMax)
    return source_.error(offset, "too many parameters: at most " + std::to_string(limits::kInputsMax),
                         ErrorCode::kLimitExceeded);
  TRY_VOID(expect(":"));
  const bool is_out = accept_word("out"), is_inout = !is_out && accept_word("inout");
  if (is_out || is_inout || is("[")) {
    p.passing = is_out ? Passing::out : is_inout ? Passing::inout : Passing::in;
    TRY_VOID(expect("["));
    const std::uint32_t element = token_.offset;
    TRY(p.type, type_name());
    if (p.type == Type::boolean) return error(element, "elements are i64, f64 or u8");
    TRY_VOID(expect("]"));
  } else {
    TRY(p.type, type_name());
  }
  function_.parameters.push_back(std::move(p));
  return {};
}

Result<Type> Parser::type_name() {
  for (const Type type : {Type::i64, Type::f64, Type::u8, Type::boolean})
    if (accept_word(name_of(type))) return type;
  return unexpected("i64, f64, u8 or bool");
}

Result<std::vector<Statement>> Parser::block(std::vector<std::string>& closing) {
  TRY_VOID(expect("{"));
  if (depth_ >= kNestingMax) return source_.error(token_.offset, "nested too deeply", ErrorCode::kLimitExceeded);
  ++depth_;
  std::vector<Statement> list;
  while (!is("}")) {
    TRY(Statement s, statement());
    list.push_back(std::move(s));
  }
  --depth_;
  closing = taken_comments();
  advance();
  return list;
}

/// Statements are met in the order of the text, so each line feed is counted once.
std::uint32_t Parser::line_of(std::uint32_t offset) {
  const std::string_view passed = tokens_.all().substr(counted_, offset - counted_);
  line_ += static_cast<std::uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
  counted_ = offset;
  return line_;
}

Result<Statement> Parser::statement() {
  Statement s{.offset = token_.offset, .line = line_of(token_.offset)};
  s.comments = taken_comments();
  TRY_VOID(kind_of(s));
  s.remark = std::exchange(remark_, {});
  return s;
}

Result<void> Parser::kind_of(Statement& s) {
  if (accept_word("let")) return binding(s);
  if (accept_word("if")) return branch(s);
  if (accept_word("for")) return counted(s);
  if (accept_word("while")) {
    s.kind = SK::loop;
    TRY(Expression condition, expression());
    s.values.push_back(std::move(condition));
    return body(s, s.body);
  }
  if (accept_word("break")) {
    s.kind = SK::leave;
  } else if (accept_word("continue")) {
    s.kind = SK::next;
  } else if (accept_word("return")) {
    s.kind = SK::give;
    if (!is(";")) {
      TRY(Expression value, expression());
      s.values.push_back(std::move(value));
    }
  } else {
    TRY_VOID(named(s));
  }
  return expect(";");
}

// let NAME = VALUE; or let NAME = [TYPE; SIZE];
Result<void> Parser::binding(Statement& s) {
  TRY(s.name, expect_name("a name"));
  TRY_VOID(expect("="));
  s.kind = SK::let;
  if (accept("[")) {
    s.kind = SK::array;
    const std::uint32_t offset = token_.offset;
    TRY(s.element, type_name());
    if (s.element == Type::boolean) return error(offset, "elements are i64, f64 or u8");
    TRY_VOID(expect(";"));
  }
  TRY(Expression value, expression());
  s.values.push_back(std::move(value));
  if (s.kind == SK::array) TRY_VOID(expect("]"));
  return expect(";");
}

Result<void> Parser::body(Statement& s, std::vector<Statement>& statements) {
  std::vector<std::string> closing;
  TRY(statements, block(closing));
  s.comments.insert(s.comments.end(), closing.begin(), closing.end());
  return {};
}

Result<void> Parser::branch(Statement& s) {
  s.kind = SK::branch;
  TRY(Expression condition, expression());
  s.values.push_back(std::move(condition));
  TRY_VOID(body(s, s.body));
  if (!accept_word("else")) return {};
  if (is_word("if")) {
    if (depth_ >= kNestingMax) return source_.error(token_.offset, "nested too deeply", ErrorCode::kLimitExceeded);
    ++depth_;
    TRY(Statement other, statement());
    --depth_;
    s.otherwise.push_back(std::move(other));
    return {};
  }
  return body(s, s.otherwise);
}

// for NAME in FIRST..END
Result<void> Parser::counted(Statement& s) {
  s.kind = SK::count;
  TRY(s.name, expect_name("a name"));
  if (!accept_word("in")) return unexpected("'in'");
  TRY(Expression first, expression());
  TRY_VOID(expect(".."));
  TRY(Expression end, expression());
  s.values.push_back(std::move(first));
  s.values.push_back(std::move(end));
  return body(s, s.body);
}

// NAME = VALUE, NAME[INDEX] = VALUE or NAME(ARGUMENTS)
Result<void> Parser::named(Statement& s) {
  TRY(s.name, expect_name("a statement"));
  if (is("(")) {
    s.kind = SK::call;
    Expression call{.kind = Expression::Kind::call, .name = s.name, .offset = s.offset};
    TRY_VOID(arguments(call));
    s.values.push_back(std::move(call));
    return {};
  }
  s.kind = SK::assign;
  if (accept("[")) {
    s.kind = SK::store;
    TRY(Expression index, expression());
    s.values.push_back(std::move(index));
    TRY_VOID(expect("]"));
  }
  TRY_VOID(expect("="));
  TRY(Expression value, expression());
  s.values.push_back(std::move(value));
  return {};
}

}  // namespace

std::optional<std::size_t> Function::parameter(std::string_view wanted) const {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == wanted) return i;
  return std::nullopt;
}

Result<Function> parse(std::string_view text, std::string_view file) {
  constexpr std::size_t kTextMax = std::size_t{1} << 20;
  const ir::SourceText source(text, file);
  if (text.size() > kTextMax)
    return source.error(0, "the text of a function is longer than a mebibyte", ErrorCode::kLimitExceeded);
  Function function{.text = std::string(text), .file = std::string(file)};
  TRY_VOID(Parser(source, function).run());
  return function;
}

}  // namespace trident::function
