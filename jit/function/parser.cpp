// The texts of functions: lines that begin with @, the head, statements.
#include <algorithm>
#include <charconv>
#include <iterator>

#include "jit/function/expression_parser.h"
#include "runtime/base/limits.h"

namespace trident::function {
namespace {

using SK = Statement::Kind;

/// Some editors begin UTF-8 files with it.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Parses the head and the body of a function.
class Parser : public ExpressionParser {
 public:
  Parser(const ir::SourceText& source, Function& function)
      : ExpressionParser(source, source.text(), source.text().starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0),
        function_(function) {}

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
  /// Takes a block; the comments before its brace go to `above`, those at its end to `closing`.
  Result<std::vector<Statement>> body(std::vector<std::string>& above, std::vector<std::string>& closing);
  /// Takes the comments that stand before `end`, or all.
  std::vector<std::string> taken_comments(std::uint32_t end = UINT32_MAX);
  /// Takes the comments that came since the first of what has just been read, the one behind it too.
  void take_comments_of(Comments& comments);

  Function& function_;
  std::uint32_t line_ = 1, counted_ = 0;  ///< the line of this offset
  struct Annotation {
    std::uint32_t offset = 0;
    std::vector<std::string> above{};
  };
  std::vector<Annotation> at_lines_;  ///< those that begin with @
};

/// Parses a line that begins with @, whose offset and size are known.
class AtLine : public ExpressionParser {
 public:
  AtLine(const ir::SourceText& source, std::uint32_t offset, std::vector<std::string> above, Function& function)
      : ExpressionParser(source, source.text().substr(0, end_of(source, offset)), offset + 1),
        function_(function),
        above_(std::move(above)) {}

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
  /// Gives away the comments above the line and the one behind it.
  void take_comments(Comments& comments);

  Function& function_;
  std::vector<std::string> above_;
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
  function_.above_prompts.push_back(std::move(above_));
  return {};
}

void AtLine::take_comments(Comments& comments) {
  std::move(above_.begin(), above_.end(), std::back_inserter(comments.above));
  if (comments_.empty()) return;
  comments.behind = std::move(comments_[0].words);
}

// "param NAME in [LO, HI]: words", the range and the words optional.
Result<void> AtLine::parameter() {
  const std::uint32_t offset = token_.offset;
  TRY(const std::string name, expect_name("the name of a parameter"));
  const auto found = function_.parameter(name);
  if (!found) return error(offset, "there is no parameter '" + name + "'");
  Parameter& p = function_.parameters[*found];
  if (std::exchange(p.is_described, true)) return error(offset, "'" + name + "' has a @param line already");
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
    if (begins_with_range(p.meaning))
      return error(static_cast<std::uint32_t>(begin),
                   "a range stands before the colon, as in @param " + name + " in [1, 5]: its meaning");
  } else if (token_.kind != K::end) {
    return unexpected("':'");
  }
  take_comments(p.line_comments);
  return {};
}

/// Returns the integer that is written 25e3; nothing for one with a point, or beyond 64 bits.
std::optional<std::int64_t> integer_with_exponent(std::string_view text) {
  const char *const last = text.data() + text.size(), *at = text.data();
  std::int64_t value = 0;
  unsigned exponent = 0;
  const auto digits = std::from_chars(at, last, value);
  if (digits.ec != std::errc() || digits.ptr == last || (*digits.ptr | 0x20) != 'e') return std::nullopt;
  at = digits.ptr + 1;
  if (at != last && *at == '+') ++at;
  const auto end = std::from_chars(at, last, exponent);
  if (end.ec != std::errc() || end.ptr != last) return std::nullopt;
  for (; exponent > 0 && value != 0; --exponent)
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
  return value;
}

Result<std::int64_t> AtLine::bound(const Parameter& p) {
  const std::uint32_t offset = token_.offset;
  bool is_real_one = false;
  TRY(const std::int64_t value, number(is_real_one));
  if (is_real_one && p.type != Type::f64) {
    std::string text(tokens_.all().substr(offset, passed_ - offset));
    std::erase(text, ' ');
    if (const auto whole = integer_with_exponent(text)) return *whole;
  }
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
  take_comments(test.comments);
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
  for (; token_.kind == K::at_line; advance()) {
    if (at_lines_.empty()) function_.comments = taken_comments();
    at_lines_.push_back({token_.offset, taken_comments()});
  }
  TRY_VOID(head());
  TRY(function_.body, block(function_.closing));
  if (token_.kind != K::end) return unexpected("the end of the text, which holds one function,");
  function_.behind = taken_comments();
  for (Annotation& line : at_lines_) TRY_VOID(AtLine(source_, line.offset, std::move(line.above), function_).run());
  return {};
}

std::vector<std::string> Parser::taken_comments(std::uint32_t end) {
  std::vector<std::string> taken;
  const auto rest = std::find_if(comments_.begin(), comments_.end(), [&](const Comment& c) { return c.after >= end; });
  std::for_each(comments_.begin(), rest, [&](Comment& c) { taken.push_back(std::move(c.words)); });
  comments_.erase(comments_.begin(), rest);
  return taken;
}

void Parser::take_comments_of(Comments& comments) {
  std::vector<std::string> inside = taken_comments(passed_);
  std::move(inside.begin(), inside.end(), std::back_inserter(comments.above));
  if (comments_.empty() || !comments_[0].is_on_line) return;
  comments.behind = std::move(comments_[0].words);
  comments_.erase(comments_.begin());
}

// fn NAME(PARAMETERS) -> TYPE
Result<void> Parser::head() {
  if (!accept_word("fn")) return unexpected("'fn'");
  TRY(function_.name, expect_name("a name"));
  (at_lines_.empty() ? function_.comments : function_.above_head) = taken_comments();
  TRY_VOID(expect("("));
  while (!is(")")) {
    TRY_VOID(parameter());
    const bool goes_on = accept(",");
    take_comments_of(function_.parameters.back().comments);
    if (!goes_on) break;
  }
  function_.parameters_closing = taken_comments();
  TRY_VOID(expect(")"));
  if (!accept("->")) return {};
  const std::uint32_t offset = token_.offset;
  TRY(function_.result, type_name());
  if (function_.result == Type::u8) return error(offset, "a result is an i64, an f64 or a bool");
  return {};
}

Result<void> Parser::parameter() {
  Parameter p;
  p.comments.above = taken_comments();
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
  s.comments.above = taken_comments();
  TRY_VOID(kind_of(s));
  take_comments_of(s.comments);
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
    TRY(s.body, body(s.comments.above, s.closing));
    return {};
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

Result<std::vector<Statement>> Parser::body(std::vector<std::string>& above, std::vector<std::string>& closing) {
  std::vector<std::string> before = taken_comments();
  std::move(before.begin(), before.end(), std::back_inserter(above));
  return block(closing);
}

Result<void> Parser::branch(Statement& s) {
  s.kind = SK::branch;
  TRY(Expression condition, expression());
  s.values.push_back(std::move(condition));
  TRY(s.body, body(s.comments.above, s.closing));
  if (!accept_word("else")) return {};
  if (is_word("if")) {
    if (depth_ >= kNestingMax) return source_.error(token_.offset, "nested too deeply", ErrorCode::kLimitExceeded);
    ++depth_;
    TRY(Statement other, statement());
    --depth_;
    s.before_else = std::exchange(other.comments.above, {});
    if (!other.comments.behind.empty()) {
      comments_.insert(comments_.begin(), {std::exchange(other.comments.behind, {}), passed_, true});
    }
    s.otherwise.push_back(std::move(other));
    return {};
  }
  TRY(s.otherwise, body(s.before_else, s.otherwise_closing));
  return {};
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
  TRY(s.body, body(s.comments.above, s.closing));
  return {};
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
