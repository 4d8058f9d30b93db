#include "runtime/command_line/page.h"

namespace trident::command_line {
namespace {

constexpr std::string_view kTitleLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ ";

bool is_title(std::string_view line) {
  return line.size() > 2 && line[0] != ' ' && line.find_first_not_of(kTitleLetters) == std::string_view::npos;
}

std::string without_blank_ends(const std::string& text) {
  const std::size_t first = text.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of('\n') - first + 1);
}

}  // namespace

std::string_view Page::text_of(std::string_view title) const {
  for (const Section& section : sections)
    if (section.title == title) return section.text;
  return "";
}

Page parse_page(std::string_view text) {
  Page page;
  for_each_line(text, [&](std::string_view line) {
    if (is_title(line))
      page.sections.push_back({std::string(line), ""});
    else if (!page.sections.empty())
      page.sections.back().text.append(line).append("\n");
  });
  for (Section& section : page.sections) section.text = without_blank_ends(section.text);
  return page;
}

}  // namespace trident::command_line
