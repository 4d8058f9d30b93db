// Reads a text form line by line and word by word: what the parsers of line-oriented text forms share.
#pragma once

#include <charconv>
#include <cstddef>
#include <string_view>

#include "jit/ir/text.h"

namespace trident::ir {

/// Words are separated by blanks and commas; '#' begins a comment. Borrows text and name.
class WordReader {
 public:
  WordReader(std::string_view text, std::string_view name) : source_(text, name), text_(text) {}

  [[nodiscard]] bool at_end() const { return pos_ >= text_.size(); }
  /// Returns the current word; empty at the end of its line.
  [[nodiscard]] std::string_view word() const { return word_; }
  /// Goes to the next word of this line.
  void next();
  /// Goes past the line feed, to the first word of the next line.
  void next_line();
  /// Returns true and goes on when the current word is `expected`.
  bool take(std::string_view expected);
  /// Returns an Error that shows the current word.
  [[nodiscard]] Error fault(std::string_view message) const { return source_.error(start_, message); }

  /// Reads all of `text` as a number.
  template <class T, class... Base>
  static bool read(std::string_view text, T& out, Base... base) {
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, out, base...);
    return code == std::errc{} && stop == end && !text.empty();
  }
  /// Reads the current word, less `prefix`, as an unsigned number, decimal or with 0x.
  Result<void> number(std::uint64_t& out, std::string_view prefix = "");

 private:
  SourceText source_;
  std::string_view text_;
  std::string_view word_;
  std::size_t pos_ = 0;
  std::size_t start_ = 0;  ///< of word_
};

}  // namespace trident::ir
