// Tokens of the texts of functions, read on demand.
#pragma once

#include <cstdint>
#include <string_view>

namespace trident::function {

struct Token {
  enum class Kind : std::uint8_t { end, bad, number, character, quoted, name, mark, comment, at_line };
  Kind kind = Kind::end;
  std::uint32_t offset = 0, size = 0;
  std::int64_t number = 0;        ///< number, character; of a real its bits
  bool is_real = false;           ///< number: with a point or an exponent
  bool is_least = false;          ///< number: 2^63, which only a minus sign makes an i64
  const char* problem = nullptr;  ///< bad: what is wrong
};

/// A cursor that can be copied to look ahead. Marks are operators and brackets, the longest that fits. Comments begin
/// with //; lines that begin with @ are one token each.
class Tokens {
 public:
  explicit Tokens(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}
  Token next();
  [[nodiscard]] std::string_view text(const Token& t) const { return text_.substr(t.offset, t.size); }
  [[nodiscard]] std::string_view all() const { return text_; }

 private:
  Token number(std::uint32_t begin);
  Token real(std::uint32_t begin);
  [[nodiscard]] bool is_real(std::size_t end) const;
  Token character(std::uint32_t begin);
  Token quoted(std::uint32_t begin);
  Token to_line_end(Token::Kind kind, std::uint32_t begin);
  Token taken(Token::Kind kind, std::uint32_t begin, std::size_t size);
  Token bad(std::uint32_t begin, const char* problem);

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Reads one character of a quoted text or 'c' at `at`, with escapes \n \t \r \0 \\ \' \" \xHH, and moves `at` behind
/// it; -1 when it is none.
int read_character(std::string_view text, std::size_t& at);
/// Prints a byte as it stands in quotes of that kind.
void print_character(std::string& out, unsigned char byte, char quote);
/// Returns whether the words begin with 1..5 or [1, 5], with or without "in": a range, as a @param line may mean it.
bool begins_with_range(std::string_view words);

}  // namespace trident::function
