#include "jit/function/tokens.h"

#include <bit>
#include <charconv>
#include <string>

namespace trident::function {
namespace {

constexpr std::string_view kMarks[] = {">>>", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "^^", "**", "->",
                                       "..",  "(",  ")",  "{",  "}",  "[",  "]",  ",",  ";",  ":",  "=",  "<",
                                       ">",   "+",  "-",  "*",  "/",  "%",  "|",  "&",  "~",  "!",  "?",  "^"};
struct Escape {
  char written, byte;
};
constexpr Escape kEscapes[] = {{'n', '\n'},  {'t', '\t'},  {'r', '\r'}, {'0', '\0'},
                               {'\\', '\\'}, {'\'', '\''}, {'"', '"'}};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

int read_character(std::string_view text, std::size_t& at) {
  if (at >= text.size() || static_cast<unsigned char>(text[at]) < ' ') return -1;
  if (text[at] != '\\') return static_cast<unsigned char>(text[at++]);
  if (at + 1 >= text.size()) return -1;
  const char kind = text[at + 1];
  if (kind == 'x') {
    unsigned value = 0;
    const std::string_view digits = text.substr(at + 2, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 2) return -1;
    at += 4;
    return static_cast<int>(value);
  }
  for (const Escape& e : kEscapes) {
    if (e.written != kind) continue;
    at += 2;
    return static_cast<unsigned char>(e.byte);
  }
  return -1;
}

void print_character(std::string& out, unsigned char byte, char quote) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const Escape& e : kEscapes) {
    const bool other_quote = (e.byte == '\'' || e.byte == '"') && e.byte != quote;
    if (static_cast<unsigned char>(e.byte) != byte || other_quote) continue;
    out += {'\\', e.written};
    return;
  }
  if (byte >= ' ' && byte < 0x7F)
    out += static_cast<char>(byte);
  else
    out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

Token Tokens::taken(Token::Kind kind, std::uint32_t begin, std::size_t size) {
  at_ = begin + size;
  return {kind, begin, static_cast<std::uint32_t>(size)};
}

Token Tokens::bad(std::uint32_t begin, const char* problem) {
  Token token = taken(Token::Kind::bad, begin, 1);
  token.problem = problem;
  return token;
}

Token Tokens::to_line_end(Token::Kind kind, std::uint32_t begin) {
  const std::size_t end = text_.find('\n', begin);
  std::size_t size = (end == std::string_view::npos ? text_.size() : end) - begin;
  while (size > 0 && (text_[begin + size - 1] == ' ' || text_[begin + size - 1] == '\r')) --size;
  return taken(kind, begin, size);
}

Token Tokens::next() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  const auto begin = static_cast<std::uint32_t>(at_);
  if (at_ >= text_.size()) return {Token::Kind::end, begin, 0};
  const char c = text_[at_];
  if (c == '@') return to_line_end(Token::Kind::at_line, begin);
  if (text_.substr(at_, 2) == "//") return to_line_end(Token::Kind::comment, begin);
  if (is_digit(c)) return number(begin);
  if (c == '\'') return character(begin);
  if (c == '"') return quoted(begin);
  if (is_letter(c)) {
    std::size_t size = 1;
    while (begin + size < text_.size() && (is_letter(text_[begin + size]) || is_digit(text_[begin + size]))) ++size;
    return taken(Token::Kind::name, begin, size);
  }
  for (const std::string_view mark : kMarks)
    if (text_.substr(at_, mark.size()) == mark) return taken(Token::Kind::mark, begin, mark.size());
  return bad(begin, "no word begins with this byte");
}

/// Returns whether the digits before `end` go on with a point and a digit, or with an exponent.
bool Tokens::is_real(std::size_t end) const {
  const auto digit_at = [&](std::size_t at) { return at < text_.size() && is_digit(text_[at]); };
  if (end >= text_.size()) return false;
  if (text_[end] == '.') return digit_at(end + 1);
  const bool has_sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
  return (text_[end] == 'e' || text_[end] == 'E') && digit_at(end + (has_sign ? 2 : 1));
}

Token Tokens::real(std::uint32_t begin) {
  double value = 0;
  const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + text_.size(), value);
  if (error != std::errc()) return bad(begin, "a number beyond those of f64");
  if (end != text_.data() + text_.size() && (is_letter(*end) || *end == '.'))
    return bad(begin, "a number ends before a letter");
  Token token = taken(Token::Kind::number, begin, static_cast<std::size_t>(end - text_.data()) - begin);
  token.number = std::bit_cast<std::int64_t>(value);
  token.is_real = true;
  return token;
}

Token Tokens::number(std::uint32_t begin) {
  std::size_t digits = begin;
  while (digits < text_.size() && is_digit(text_[digits])) ++digits;
  if (is_real(digits)) return real(begin);
  const bool hex = text_.substr(begin, 2) == "0x" || text_.substr(begin, 2) == "0X";
  const char* const first = text_.data() + begin + (hex ? 2 : 0);
  const char* const last = text_.data() + text_.size();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
  if (error == std::errc::invalid_argument) return bad(begin, "a number has digits after 0x");
  constexpr std::uint64_t kLeastsSize = std::uint64_t{1} << 63;  // -9223372036854775808 is written with this number
  if (error != std::errc() || (!hex && value > kLeastsSize)) return bad(begin, "a number beyond 64 bits");
  if (end != last && (is_letter(*end) || *end == '.') && !(end + 1 != last && end[0] == '.' && end[1] == '.'))
    return bad(begin, "a number is digits alone, or 1.5, or 1e9");
  Token token = taken(Token::Kind::number, begin, static_cast<std::size_t>(end - text_.data()) - begin);
  token.number = static_cast<std::int64_t>(value);
  token.is_least = !hex && value == kLeastsSize;
  return token;
}

Token Tokens::character(std::uint32_t begin) {
  std::size_t at = begin + 1;
  const int byte = read_character(text_, at);
  if (byte < 0 || at >= text_.size() || text_[at] != '\'') return bad(begin, "a character is one byte between quotes");
  Token token = taken(Token::Kind::character, begin, at + 1 - begin);
  token.number = byte;
  return token;
}

Token Tokens::quoted(std::uint32_t begin) {
  std::size_t at = begin + 1;
  while (at < text_.size() && text_[at] != '"')
    if (read_character(text_, at) < 0)
      return bad(begin, "a text in quotes ends on its line; escapes are \\n \\t \\r \\0 \\\\ \\\" \\xHH");
  if (at >= text_.size()) return bad(begin, "a text in quotes has no end");
  return taken(Token::Kind::quoted, begin, at + 1 - begin);
}

bool begins_with_range(std::string_view words) {
  Tokens tokens(words);
  Token token = tokens.next();
  const auto accept = [&](std::string_view text) {
    if (tokens.text(token) != text) return false;
    token = tokens.next();
    return true;
  };
  accept("in");
  const bool is_list = accept("[");
  accept("-");
  if (token.kind != Token::Kind::number) return false;
  token = tokens.next();
  return accept("..") || (is_list && accept(","));
}

}  // namespace trident::function
