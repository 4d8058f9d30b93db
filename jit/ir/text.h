// Shared parts of every IR's text form: places in a source text, and errors that show the line with a caret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace trident::ir {

/// Line and column, both from 1; the column counts bytes.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// A text with a name (a file's, or "<text>"). Borrows both.
class SourceText {
 public:
  explicit SourceText(std::string_view text, std::string_view name = "<text>") : text_(text), name_(name) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view name() const { return name_; }
  /// Returns the place of byte `offset`; offsets past the end count as the end.
  [[nodiscard]] Place place(std::size_t offset) const;
  /// Returns the line that holds byte `offset`, without its line feed.
  [[nodiscard]] std::string_view line(std::size_t offset) const;
  /// Three lines: "name:line:column: message", the source line as UTF-8 (shortened around the place when it is long, with
  /// '?' for controls and for bytes that are no UTF-8), and a caret under the character at `offset`.
  [[nodiscard]] std::string caret_message(std::size_t offset, std::string_view message) const;
  /// Returns that message as an Error.
  [[nodiscard]] Error error(std::size_t offset, std::string_view message,
                            ErrorCode code = ErrorCode::kSyntaxError) const;

 private:
  std::string_view text_;
  std::string_view name_;
};

/// Returns how many bytes at the start of `text` are well-formed UTF-8: all of them, or those before the first bad one.
std::size_t utf8_bytes(std::string_view text);

/// Quotes `text` as a Graphviz string: '"' and '\' escaped, line feeds as "\n".
std::string dot_quoted(std::string_view text);

}  // namespace trident::ir
