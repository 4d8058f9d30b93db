#include "jit/ir/text.h"

#include <algorithm>

namespace trident::ir {

namespace {
/// Longest piece of a source line that an error shows.
constexpr std::size_t kShownBytesMax = 120;

std::size_t line_start(std::string_view text, std::size_t offset) {
  const std::size_t feed = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  return feed == std::string_view::npos ? 0 : feed + 1;
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
  std::string shown(whole.substr(first, kShownBytesMax));
  for (char& c : shown)
    if (c != '\t' && (c < ' ' || c > '~')) c = '?';
  caret -= first;
  std::string under = shown.substr(0, caret);  // tabs stay tabs, so that the caret lines up
  for (char& c : under)
    if (c != '\t') c = ' ';

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
