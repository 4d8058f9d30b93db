// A page of a manual: plain text with titled sections.
//
//   SUMMARY                      a line in capitals begins a section
//   One paragraph,               lines up to a blank one are a paragraph
//   with `code` in it.           `code` is bold in a man page
//
//     trident run 'x*x' -n 4     an indented line stands as it is
//   NAME :: its meaning          a definition; plain lines below it belong to it
//
// SUMMARY and EXAMPLE are what `--help` shows below the options. A man page has all sections.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trident::command_line {

struct Section {
  std::string title;  ///< "EXIT STATUS"
  std::string text;   ///< without blank lines at either end
};

struct Page {
  std::vector<Section> sections;

  /// Returns the text of a section; empty when the page has none of that title.
  [[nodiscard]] std::string_view text_of(std::string_view title) const;
};

/// Splits a text at its titles. Text before the first title is dropped.
Page parse_page(std::string_view text);

/// Calls `take` with each line of a text, without its line feed.
template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace trident::command_line
