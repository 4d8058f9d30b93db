// Parses the text of a program character by character, in one pass; resolves labels at the end.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "jit/tir/tasm/program.h"
#include "jit/tir/tasm/text_check.h"
#include "runtime/base/limits.h"

namespace trident::tir::tasm {
namespace {

constexpr std::string_view kKeywords[] = {"hint", "error_id", "error_message"};
constexpr unsigned kTypeNestingMax = 64;

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool outside_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

/// Returns the bytes of the Unicode blank at the start of `text`, 0 if there is none.
std::size_t blank_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const char c = text[0];
  if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
  if (!outside_ascii(c)) return 0;
  constexpr std::string_view kBlanks[] = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                          "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                          "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  for (const std::string_view blank : kBlanks)
    if (text.starts_with(blank)) return blank.size();
  return 0;
}

/// Suggests this machine's text for a name from another language.
std::string meant(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {{"sub", "push -1 mul add"},
                                                                       {"neg", "push -1 mul"},
                                                                       {"or", "and, then a + b - (a & b)"},
                                                                       {"xinvert", "x_invert"},
                                                                       {"xbmul", "xb_mul"},
                                                                       {"xxmul", "xx_mul"},
                                                                       {"xxadd", "xx_add"},
                                                                       {"lsb", "split and and"},
                                                                       {"inv", "invert"},
                                                                       {"divine_sibling", "merkle_step"}};
  for (const auto& [other, ours] : kOthers)
    if (name == other) return ": " + std::string(ours) + " does it";
  return "";
}

// Reads blanks, comments, words and numbers.
class Scanner {
 protected:
  explicit Scanner(const ir::SourceText& source) : source_(source), text_(source.text()) {}

  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool fail(std::size_t offset, const std::string& message) {
    if (!error_) error_ = source_.error(offset, message);
    return false;
  }

  bool skip_blanks() {
    const std::size_t start = at_;
    while (const std::size_t bytes = blank_bytes(rest())) at_ += bytes;
    return at_ > start;
  }
  /// Skips blanks and comments; true if there were any.
  bool skip() {
    const std::size_t start = at_;
    while (skip_blanks() || skip_comment()) {
    }
    return at_ > start;
  }
  bool skip_comment() {
    if (rest().starts_with("//")) {
      const std::size_t end = std::min(text_.find_first_of("\r\n", at_), text_.size());
      if (end == at_ + 2) return false;  // the machine's parser wants at least one character
      at_ = end;
      return true;
    }
    if (!rest().starts_with("/*")) return false;
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return false;
    at_ = end + 2;
    return true;
  }
  /// Checks for a blank, a comment or the end behind a word.
  bool separated() {
    if (at_ == text_.size() || skip()) return true;
    return fail(at_, comment_fault().value_or("expected a blank or a comment here"));
  }
  [[nodiscard]] std::optional<std::string> comment_fault() const {
    if (rest().starts_with("//")) return "this comment is empty: Triton VM needs at least one character after //";
    if (rest().starts_with("/*")) return "this comment has no closing */";
    return {};
  }
  template <class First, class Next>
  std::string_view take(First first, Next next) {
    const std::size_t start = at_;
    if (at_ < text_.size() && blank_bytes(rest()) == 0 && first(peek())) do
        ++at_;
      while (at_ < text_.size() && blank_bytes(rest()) == 0 && next(peek()));
    return text_.substr(start, at_ - start);
  }
  std::string_view label_name() {
    return take([](char c) { return ascii_letter(c) || c == '_' || outside_ascii(c); },
                [](char c) { return ascii_letter(c) || digit(c) || c == '_' || c == '-' || outside_ascii(c); });
  }
  /// Reads a number without leading zeros, as the machine's parser does.
  bool small(Element& value, std::uint64_t least, std::uint64_t most, const char* range) {
    const std::size_t start = at_;
    const std::string_view digits = take(digit, digit);
    const bool plain = digits.size() == 1 || (digits.size() == 2 && digits[0] != '0');
    std::uint64_t n = 0;
    if (plain)
      for (const char c : digits) n = 10 * n + static_cast<std::uint64_t>(c - '0');
    if (!plain || n < least || n > most) return fail(start, range);
    value = Element(n);
    return separated();
  }

  struct Integer {
    bool negative;
    unsigned __int128 magnitude;
  };
  /// Reads a signed integer of 128 bits.
  bool integer(Integer& out) {
    const std::size_t start = at_;
    out = {peek() == '-', 0};
    if (peek() == '-' || peek() == '+') ++at_;
    const std::string_view digits = take(digit, digit);
    if (digits.empty()) return fail(start, "expected an integer");
    if (peek() == '.' || ascii_letter(peek())) {
      take([](char) { return true; }, [](char c) { return c != '/' && c != ';'; });
      return fail(start, "expected a decimal integer, found '" + std::string(text_.substr(start, at_ - start)) + "'");
    }
    const unsigned __int128 most = (static_cast<unsigned __int128>(1) << 127) - (out.negative ? 0 : 1);
    for (const char c : digits) {
      const auto d = static_cast<unsigned>(c - '0');
      if (out.magnitude > (most - d) / 10) return fail(start, "this integer has more than 128 bits");
      out.magnitude = 10 * out.magnitude + d;
    }
    return true;
  }
  bool element(Element& value) {
    const std::size_t start = at_;
    Integer n{};
    if (!integer(n)) return false;
    if (n.magnitude >= field::kModulus) return fail(start, "a constant is above -p and below p, p = 2^64 - 2^32 + 1");
    value = Element(static_cast<std::uint64_t>(n.magnitude));
    if (n.negative) value = -value;
    return separated();
  }
  bool expect(char c) {
    if (peek() != c) return fail(at_, std::string("expected ") + c);
    ++at_;
    skip();
    return true;
  }
  bool position(std::uint64_t& value) {
    const std::size_t start = at_;
    const std::string_view digits = take(digit, digit);
    if (digits.empty()) return fail(start, "expected a position on the stack");
    value = 0;
    for (const char c : digits) {
      const auto d = static_cast<std::uint64_t>(c - '0');
      if (value > (UINT64_MAX - 1 - d) / 10) return fail(start, "this position has more than 64 bits");
      value = 10 * value + d;
    }
    return true;
  }

  const ir::SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

// Reads the items of a program: labels, instructions and marks.
class Assembler : private Scanner {
 public:
  Assembler(const ir::SourceText& source, Vm vm) : Scanner(source), vm_(vm) {}

  Result<Program> assemble() {
    TRY_VOID(check_text(source_));
    skip();
    while (at_ < text_.size() && item()) {
    }
    if (!error_) resolve();
    if (error_) return *std::move(error_);
    return std::move(program_);
  }

 private:
  // --- items ---

  bool item();
  bool legal(std::size_t start, std::string_view label) {
    if (!op_named(label, vm_) && std::find(std::begin(kKeywords), std::end(kKeywords), label) == std::end(kKeywords))
      return true;
    return fail(start, "a label may not have the name of an instruction or keyword");
  }
  Mark& mark(Mark::Kind kind, std::string_view text) {
    program_.marks.push_back(
        {kind, static_cast<std::uint32_t>(program_.instructions.size()), std::string(text), "", 0, 0});
    after_assertion_ = false;
    return program_.marks.back();
  }
  bool label(std::size_t start, std::string_view name) {
    if (!labels_.emplace(name, address_).second)
      return fail(start, "the label '" + std::string(name) + "' is defined twice");
    mark(Mark::Kind::label, name);
    return true;
  }

  bool instruction(std::size_t start, Op op);
  bool call() {
    const std::size_t start = at_;
    const std::string_view name = label_name();
    if (name.empty()) return fail(start, "expected a label");
    if (!separated() || !legal(start, name)) return false;
    calls_.push_back({static_cast<std::uint32_t>(program_.instructions.size()), start, name});
    return true;
  }

  bool error_id(std::size_t start) {
    const bool placed = after_assertion_;
    Integer n{};
    if (!integer(n)) return false;
    std::string digits;
    for (unsigned __int128 m = n.magnitude; m != 0 || digits.empty(); m /= 10)
      digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(m % 10)));
    if (!separated()) return false;
    if (!placed) return fail(start, "error_id can stand only after assert or assert_vector");
    mark(Mark::Kind::error_id, (n.negative && n.magnitude != 0 ? "-" : "") + digits);
    return true;
  }

  bool hint();
  /// Appends a type as it is printed: "a<b, c>". An empty list of arguments is dropped.
  bool type(std::string& out, unsigned depth);

  // --- labels ---

  void resolve() {
    for (const Call& c : calls_) {
      const auto found = labels_.find(c.name);
      if (found == labels_.end()) {
        fail(c.offset, "there is no label '" + std::string(c.name) + "'");
        return;
      }
      program_.instructions[c.instruction].argument = Element(found->second);
    }
  }

  struct Call {
    std::uint32_t instruction;
    std::size_t offset;
    std::string_view name;
  };
  Vm vm_;
  Program program_;
  std::uint32_t address_ = 0;
  bool after_assertion_ = false;
  std::unordered_map<std::string_view, std::uint32_t> labels_;
  std::vector<Call> calls_;
};

bool Assembler::item() {
  const std::size_t start = at_;
  const std::string_view name = label_name();
  const std::size_t name_end = at_;
  if (!name.empty()) {
    skip_blanks();
    if (peek() == ':') {
      ++at_;
      skip();
      return legal(start, name) && label(start, name);
    }
    at_ = name_end;
  }
  if (const auto op = op_named(name, vm_)) return separated() && instruction(start, *op);
  if (name == "break") {
    mark(Mark::Kind::breakpoint, "");
    return separated();
  }
  if (name == "hint") return separated() && hint();
  if (name == "error_id") return separated() && error_id(start);
  if (const auto fault = comment_fault()) return fail(at_, *fault);
  if (op_named(name, vm_ == Vm::released ? Vm::next : Vm::released)) return fail(start, foreign_text(name, vm_));
  return fail(start, name.empty() ? "expected a label, an instruction or the end"
                                  : "there is no instruction '" + std::string(name) + "'" + meant(name));
}

bool Assembler::instruction(std::size_t start, Op op) {
  Element value;
  switch (row(op).argument) {
    case Argument::none: break;
    case Argument::element:
      if (!element(value)) return false;
      break;
    case Argument::count:
      if (!small(value, kCountMin, kCountMax, "a number of words is 1 to 5")) return false;
      break;
    case Argument::index:
      if (!small(value, 0, kIndexMax, "a register is 0 to 15")) return false;
      break;
    case Argument::label:
      if (!call()) return false;
      break;
  }
  program_.instructions.push_back({op, value});
  program_.offsets.push_back(static_cast<std::uint32_t>(start));
  address_ += row(op).words();
  after_assertion_ = op == Op::kAssert || op == Op::kAssertVector;
  return true;
}

bool Assembler::hint() {
  const std::size_t start = at_;
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || outside_ascii(c); };
  const std::string_view name = take(lower, [&](char c) { return lower(c) || digit(c); });
  if (name.empty()) return fail(start, "expected the name of a hint, of lowercase letters");
  skip_blanks();
  Mark& hint = mark(Mark::Kind::hint, name);
  if (peek() == ':') {
    ++at_;
    skip();
    if (!type(hint.type, 0)) return false;
    skip_blanks();
  }
  if (!expect('=')) return false;
  if (!rest().starts_with("stack[")) return fail(at_, "expected stack[");
  at_ += std::string_view("stack[").size();
  skip();
  if (!position(hint.start)) return false;
  skip_blanks();
  std::uint64_t end = hint.start + 1;
  const std::size_t range = at_;
  if (rest().starts_with("..")) {
    at_ += 2;
    skip();
    if (!position(end)) return false;
    skip_blanks();
  }
  if (!expect(']')) return false;
  if (end <= hint.start) return fail(range, "this range of the stack is empty");
  hint.length = end - hint.start;
  return true;
}

bool Assembler::type(std::string& out, unsigned depth) {
  if (depth > kTypeNestingMax) return fail(at_, "this type is nested too deeply");
  const std::size_t start = at_;
  while (peek() == '*') out += '*', ++at_;
  const std::string_view name = take([](char c) { return ascii_letter(c) || c == '_'; },
                                     [](char c) { return ascii_letter(c) || digit(c) || c == '_'; });
  if (name.empty()) return fail(start, "expected a type");
  out += name;
  const std::size_t name_end = at_;
  skip();
  if (peek() != '<') {
    at_ = name_end;
    return true;
  }
  ++at_;
  const bool blank = skip();
  if (peek() == '>' && blank) {
    ++at_;
    return true;
  }
  out += '<';
  while (true) {
    if (!type(out, depth + 1)) return false;
    skip();
    if (peek() == ',') {
      ++at_;
      skip();
      if (peek() != '>') {
        out += ", ";
        continue;
      }
    }
    if (peek() != '>') return fail(at_, "expected , or >");
    ++at_;
    out += '>';
    return true;
  }
}

}  // namespace

Result<Program> assemble(const ir::SourceText& source, Vm vm) {
  return Assembler(source, vm).assemble();
}

}  // namespace trident::tir::tasm
