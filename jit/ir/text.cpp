#include "jit/ir/text.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace trident::ir {

namespace {
/// Longest piece of a source line that an error shows.
constexpr std::size_t kShownBytesMax = 120;

std::size_t line_start(std::string_view text, std::size_t offset) {
  const std::size_t feed = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  return feed == std::string_view::npos ? 0 : feed + 1;
}

bool is_between(char32_t c, std::initializer_list<std::pair<char32_t, char32_t>> ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const auto& r) { return r.first <= c && c <= r.second; });
}

/// Controls of the terminal, and marks that change the direction of what follows: they would garble the line.
bool is_hidden(char32_t c) {
  return c != '\t' && is_between(c, {{0, 0x1F}, {0x7F, 0x9F}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}});
}

/// Columns of a terminal that a character takes, by the ranges of Unicode's East Asian Width (UAX 11).
std::size_t columns_of(char32_t c) {
  if (is_between(c, {{0x300, 0x36F}, {0x200B, 0x200D}, {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}})) return 0;
  return is_between(c, {{0x1100, 0x115F},
                        {0x2E80, 0xA4CF},
                        {0xAC00, 0xD7A3},
                        {0xF900, 0xFAFF},
                        {0xFE30, 0xFE6F},
                        {0xFF00, 0xFF60},
                        {0xFFE0, 0xFFE6},
                        {0x1F300, 0x1FAFF},
                        {0x20000, 0x3FFFD}})
             ? 2
             : 1;
}

/// One character of a text that may hold bytes that are no UTF-8.
struct Character {
  std::string_view bytes;
  char32_t value = 0;  ///< 0 for such a byte
};
Character character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<std::uint8_t>(text[at]);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::string_view bytes = text.substr(at, size);
  if (bytes.size() < size || utf8_bytes(bytes) != size) return {text.substr(at, 1)};
  char32_t value = size == 1 ? lead : lead & (0x7Fu >> size);
  for (const char c : bytes.substr(1)) value = value << 6 | (static_cast<std::uint8_t>(c) & 0x3Fu);
  return {bytes, value};
}

bool continues_character(char c) {
  return (static_cast<std::uint8_t>(c) & 0xC0) == 0x80;
}
}  // namespace

Place SourceText::place(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto feeds = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  const std::size_t column = offset - line_start(text_, offset);
  return {static_cast<std::uint32_t>(feeds) + 1, static_cast<std::uint32_t>(column) + 1};
}

std::string_view SourceText::line(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::size_t start = line_start(text_, offset);
  const std::size_t end = std::min(text_.find('\n', offset), text_.size());
  return text_.substr(start, end - start);
}

std::string SourceText::caret_message(std::size_t offset, std::string_view message) const {
  const Place at = place(offset);
  const std::string_view whole = line(offset);
  std::size_t caret = at.column - 1;
  std::size_t first = 0;
  if (whole.size() > kShownBytesMax && caret > kShownBytesMax / 2)
    first = std::min(caret - kShownBytesMax / 2, whole.size() - kShownBytesMax);
  while (first > 0 && first < caret && continues_character(whole[first])) ++first;
  std::size_t end = std::min(whole.size(), first + kShownBytesMax);
  while (end < whole.size() && end > first + kShownBytesMax - 4 && continues_character(whole[end])) --end;
  std::string shown, under;
  for (std::size_t i = first; i < end;) {
    const Character c = character_at(whole.substr(0, end), i);
    const bool hidden = c.value == 0 || is_hidden(c.value);
    shown += hidden ? "?" : c.bytes;
    i += c.bytes.size();
    if (i > caret) continue;
    under += c.value == '\t' ? "\t" : std::string(hidden ? 1 : columns_of(c.value), ' ');  // tabs line up as tabs
  }

  std::string out;
  out.append(name_).append(":").append(std::to_string(at.line)).append(":").append(std::to_string(at.column));
  out.append(": ").append(message).append("\n  ").append(shown).append("\n  ").append(under).append("^");
  return out;
}

Error SourceText::error(std::size_t offset, std::string_view message, ErrorCode code) const {
  return Error{code, caret_message(offset, message)};
}

// The Unicode Standard's table 3-7: the second byte rules out overlong forms, surrogates and values past U+10FFFF.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0; };
  std::size_t at = 0;
  while (at < text.size()) {
    const int lead = byte(at);
    const int more = lead < 0x80 ? 0 : lead < 0xC2 ? -1 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : lead < 0xF5 ? 3 : -1;
    if (more < 0) return at;
    const int least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const int most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (more > 0 && (byte(at + 1) < least || byte(at + 1) > most)) return at;
    for (int i = 2; i <= more; ++i)
      if (byte(at + static_cast<std::size_t>(i)) < 0x80 || byte(at + static_cast<std::size_t>(i)) > 0xBF) return at;
    at += static_cast<std::size_t>(more) + 1;
  }
  return at;
}

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out += '"';
}

}  // namespace trident::ir
