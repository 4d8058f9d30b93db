// Tokens of the infix form, read on demand: the lexer is a cursor that can be copied to look ahead.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "jit/expr/composer.h"

namespace trident::expr {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    bad,
    number,
    name,
    open,
    close,
    open_square,
    close_square,
    comma,
    semicolon,
    colon,
    question,
    assign,
    plus,
    minus,
    star,
    slash,
    percent,
    power,
    bang,
    tilde,
    ampersand,
    bar,
    hat_hat,
    and_and,
    or_or,
    shift_left,
    shift_right,
    shift_right_logical,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
  };
  Kind kind = Kind::end;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t hash = 0;      ///< name: its hash_name
  std::optional<Type> suffix;  ///< number: "1.5f32" has its type settled
};

/// Error text for a name that utf8_bytes() cuts short.
inline constexpr const char* kNotUtf8 = "a name holds bytes that are not UTF-8";

/// f32, f64, i32, i64, and bool (b32) by their names and NumPy's and FPCore's.
std::optional<Type> type_named(std::string_view name);
/// Those and the narrow ones of ir/storage.h, without bool.
std::optional<ir::Element> element_named(std::string_view name);
inline constexpr const char* kElementNames =
    "a type: f32, f64, i32 or i64, or for arrays u8, i8, u16, i16, u32, u64, f16 or bool8";

/// Reads a number at the start of `text`; returns its bytes, 0 when there is none. Decimal, hex, hex float.
std::size_t read_number(std::string_view text, Number& number);

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// Reads the next token.
  void read(Token& token);
  Token next() {
    Token token;
    read(token);
    return token;
  }
  /// Returns the value of the last token, a number. (Kept outside the token: most are no numbers, and all are copied.)
  [[nodiscard]] const Number& number() const { return number_; }
  /// Says what is wrong with the last token, if it is bad.
  [[nodiscard]] const char* problem() const { return problem_; }
  [[nodiscard]] std::string_view text(const Token& token) const { return text_.substr(token.offset, token.size); }
  [[nodiscard]] std::string_view source() const { return text_; }
  /// Just after the last byte of the text that is not blank.
  [[nodiscard]] std::size_t end_of_words() const;

 private:
  void read_number_token(std::size_t at, Token& token);

  std::string_view text_;
  std::size_t at_ = 0;
  Number number_;
  const char* problem_ = nullptr;
};

}  // namespace trident::expr
