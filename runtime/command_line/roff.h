// Text in roff with the macros of man(7).
#pragma once

#include <string>
#include <string_view>

namespace trident::command_line {

/// Escapes a line of literal text: no character of it is a command.
std::string roff_line(std::string_view line);

/// Escapes a line of prose; what stands between backticks becomes bold.
std::string roff_prose(std::string_view line);

/// Writes the text of a section: paragraphs, literal blocks and definitions (page.h).
std::string roff_section(std::string_view text);

/// Writes a term and what it means.
std::string roff_definition(std::string_view term, std::string_view meaning);

}  // namespace trident::command_line
