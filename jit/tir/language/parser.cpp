// Parses the text of a program word by word, in one pass.
#include <algorithm>
#include <charconv>

#include "jit/tir/language/program.h"
#include "jit/tir/tasm/program.h"
#include "jit/tir/tasm/text_check.h"
#include "runtime/base/limits.h"

namespace trident::tir::language {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name(std::string_view word) {
  return !word.empty() && letter(word[0]) &&
         std::all_of(word.begin(), word.end(), [](char c) { return letter(c) || digit(c); });
}

/// Finds an operation by its text; IfOnly for both forms of `if`, none if there is no such operation.
std::optional<Op> op_named(std::string_view text) {
  if (text == row(Op::kIfOnly).text) return Op::kIfOnly;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (row(op).text == text && row(op).form != Form::line && op != Op::kFnEnd) return op;
  }
  return {};
}

/// Shows a word in a message: characters that are not printable as '?', long words cut.
std::string shown(std::string_view word) {
  constexpr std::size_t kShownMax = 40;
  std::string out(word.substr(0, kShownMax));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return word.size() > kShownMax ? out + ".." : out;
}

/// Suggests the TIR name for a name from TASM or another language.
std::string meant(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {{"divine", "hint"},
                                                                       {"log_2_floor", "log2"},
                                                                       {"divmod", "div_mod"},
                                                                       {"popcount", "pop_count"},
                                                                       {"assert_vector", "assert 5"},
                                                                       {"sponge_absorb_mem", "sponge_load"},
                                                                       {"xx_mul", "ext_mul"},
                                                                       {"x_invert", "ext_invert"},
                                                                       {"xx_dot_step", "fold_ext"},
                                                                       {"xb_dot_step", "fold_base"},
                                                                       {"skiz", "if { }"},
                                                                       {"recurse", "loop { }"},
                                                                       {"merkle_step_mem", "merkle_load"}};
  for (const auto& [other, ours] : kOthers)
    if (name == other) return "; TIR has '" + std::string(ours) + "'";
  if (tasm::op_named(name)) return "; TASM has it: asm CHANGE { " + std::string(name) + " .. }";
  return "";
}

class Parser {
 public:
  Parser(const ir::SourceText& source, tasm::Vm vm) : source_(source), vm_(vm), text_(source.text()) {}

  Result<Program> parse() {
    TRY_VOID(tasm::check_text(source_));
    Program program;
    operations(program.operations, Level::top);
    if (error_) return *std::move(error_);
    return program;
  }

 private:
  enum class Level : std::uint8_t { top, function, body };

  bool fail(std::size_t offset, const std::string& message, ErrorCode code = ErrorCode::kSyntaxError) {
    if (!error_) error_ = source_.error(offset, message, code);
    return false;
  }

  bool fail(const Error& error) {
    if (!error_) error_ = error;
    return false;
  }

  void skip() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  [[nodiscard]] bool next_is(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool expect(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return fail(at_, std::string("expected ") + c);
    ++at_;
    return true;
  }
  /// Reads up to a blank, a brace or a comment.
  std::string_view word() {
    skip();
    const std::size_t start = at_;
    while (at_ < text_.size() && kBlanks.find(text_[at_]) == std::string_view::npos && text_[at_] != '{' &&
           text_[at_] != '}' && !next_is("//"))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  /// Reads up to the end of the text or, below the top, up to a closing brace, which is not consumed.
  bool operations(std::vector<Operation>& out, Level level);

  bool function(Operation& start, std::vector<Operation>& out, Level level) {
    if (level != Level::top)
      return fail(start.offset, "a function can stand at the top level only, not in another function or a body");
    if (!name(start.name, "a function's name") || !expect('{')) return false;
    out.push_back(start);
    if (!operations(out, Level::function)) return false;
    Operation end;
    end.op = Op::kFnEnd;
    end.offset = static_cast<std::uint32_t>(at_);
    if (!closed(start.offset)) return false;
    out.push_back(std::move(end));
    return true;
  }
  bool closed(std::size_t opened) {
    if (at_ == text_.size()) return fail(opened, "this has no end: } is missing");
    ++at_;
    return true;
  }
  bool body(const Operation& of, std::vector<Operation>& out) {
    if (!expect('{')) return false;
    if (++nesting_ > kNestingMax)
      return fail(at_ - 1, "bodies are nested more than " + std::to_string(kNestingMax) + " deep",
                  ErrorCode::kLimitExceeded);
    if (!operations(out, Level::body) || !closed(of.offset)) return false;
    --nesting_;
    return true;
  }

  bool operands(Operation& operation);
  bool name(std::string& out, const char* what) {
    skip();
    const std::size_t start = at_;
    const std::string_view given = word();
    if (!is_name(given)) return fail(start, std::string("expected ") + what);
    out = given;
    return true;
  }
  bool number(std::uint64_t& out, std::uint64_t least, std::uint64_t most, const char* range) {
    skip();
    const std::size_t start = at_;
    const std::string_view given = word();
    const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), out);
    if (given.empty() || code != std::errc() || end != given.data() + given.size() || out < least || out > most)
      return fail(start, range);
    return true;
  }
  bool asserted(std::uint64_t& out) {
    skip();
    const std::size_t start = at_;
    if (!number(out, 1, 5, "assert 1 or assert 5")) return false;
    return out == 1 || out == 5 || fail(start, "assert 1 or assert 5");
  }
  bool width(std::uint64_t& out) {
    out = kHashWidth;
    skip();
    return at_ == text_.size() || !digit(text_[at_]) || number(out, 1, kNumberMax, "a width is 1 to 255");
  }
  bool element(Element& out);
  bool event(Operation& operation) {
    const bool seal = operation.op == Op::kSeal;
    return name(operation.name, "the event's name") && element(operation.element) &&
           number(operation.number, 0, seal ? kSealFieldsMax : kNumberMax,
                  seal ? "seal has 0 to 9 fields" : "a number of fields is 0 to 255");
  }
  bool branches(Operation& operation) {
    if (!body(operation, operation.body)) return false;
    const std::size_t end = at_;
    if (word() != "else") {
      at_ = end;
      return true;
    }
    operation.op = Op::kIfElse;
    return body(operation, operation.otherwise);
  }
  /// Describes a fault between `from` and `to`. Pads the text before with blanks, to keep its places.
  bool assembly_fault(std::size_t from, std::size_t to) {
    std::string padded(text_.substr(0, to));
    for (std::size_t i = 0; i < from; ++i)
      if (padded[i] != '\n') padded[i] = ' ';
    const auto program = tasm::assemble(ir::SourceText(padded, source_.name()), vm_);
    return program ? fail(from, "this is not valid TASM") : fail(program.error());
  }
  bool assembly(Operation& operation);

  const ir::SourceText& source_;
  tasm::Vm vm_;
  std::string_view text_;
  std::size_t at_ = 0;
  unsigned nesting_ = 0;
  std::optional<Error> error_;
};

bool Parser::operations(std::vector<Operation>& out, Level level) {
  while (true) {
    skip();
    if (at_ == text_.size()) return true;
    if (text_[at_] == '}') return level != Level::top || fail(at_, "there is no { to this }");
    Operation operation;
    operation.offset = static_cast<std::uint32_t>(at_);
    if (next_is("//")) {
      const std::size_t end = std::min(text_.find_first_of("\r\n", at_), text_.size());
      operation.op = Op::kComment;
      operation.name = text_.substr(at_ + 2, end - at_ - 2);
      at_ = end;
      out.push_back(std::move(operation));
      continue;
    }
    const std::string_view name = word();
    const auto op = op_named(name);
    if (!op)
      return fail(operation.offset,
                  name.empty() ? "expected an operation" : "there is no operation '" + shown(name) + "'" + meant(name));
    operation.op = *op;
    if (*op == Op::kFnStart) {
      if (!function(operation, out, level)) return false;
      continue;
    }
    if (!operands(operation)) return false;
    out.push_back(std::move(operation));
  }
}

bool Parser::operands(Operation& operation) {
  switch (row(operation.op).form) {
    case Form::none:
    case Form::line: return true;
    case Form::label: return name(operation.name, "a function's name");
    case Form::element: return element(operation.element);
    case Form::depth: return number(operation.number, 0, kNumberMax, "a depth is 0 to 255");
    case Form::count: return number(operation.number, 1, kNumberMax, "a number of words is 1 to 255");
    case Form::words: return number(operation.number, 1, kWordsMax, "a number of words is 1 to 15 here");
    case Form::asserted: return asserted(operation.number);
    case Form::width: return width(operation.number);
    case Form::event: return event(operation);
    case Form::body:
    case Form::branches: return branches(operation);
    case Form::named_body:
      skip();
      if (at_ < text_.size() && text_[at_] != '{' && !name(operation.name, "a name or {")) return false;
      return body(operation, operation.body);
    case Form::assembly: return assembly(operation);
  }
  return false;
}

bool Parser::element(Element& out) {
  skip();
  const std::size_t start = at_;
  std::string_view given = word();
  const bool negative = given.starts_with('-');
  if (negative) given.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (given.empty() || !digit(given[0]) || end != given.data() + given.size() || code != std::errc() ||
      value >= field::kModulus)
    return fail(start, "expected an integer above -p and below p, p = 2^64 - 2^32 + 1");
  out = negative ? -Element(value) : Element(value);
  return true;
}

bool Parser::assembly(Operation& operation) {
  skip();
  const std::size_t start = at_;
  const std::string_view given = word();
  const bool plus = given.starts_with('+');
  int change = 0;
  const auto [end, code] = std::from_chars(given.data() + (plus ? 1 : 0), given.data() + given.size(), change);
  if (given.empty() || code != std::errc() || end != given.data() + given.size())
    return fail(start, "expected how asm changes the stack's height");
  if (!expect('{')) return false;
  const std::size_t from = at_, to = text_.find('}', at_);
  if (to == std::string_view::npos) return fail(operation.offset, "this has no end: } is missing");
  const auto program = tasm::assemble(ir::SourceText(text_.substr(from, to - from), source_.name()), vm_);
  if (!program) return assembly_fault(from, to);
  for (const tasm::Mark& mark : program->marks)
    if (mark.kind == tasm::Mark::Kind::label) return fail(from, "asm has no labels");
  for (std::size_t i = 0; i < program->instructions.size(); ++i)
    if ((tasm::row(program->instructions[i].op).effects & tasm::kControl) != 0)
      return fail(from + program->offsets[i], "asm has no control flow");
  operation.assembly = program->instructions;
  at_ = to + 1;
  if (operation.stack_change() != change)
    return fail(start, "this TASM changes the stack's height by " + std::to_string(operation.stack_change()));
  return true;
}

}  // namespace

Result<Program> parse(const ir::SourceText& source, tasm::Vm vm) {
  auto program = Parser(source, vm).parse();
  if (!program) return program;
  if (auto error = check(*program, source)) return *std::move(error);
  return program;
}

}  // namespace trident::tir::language
