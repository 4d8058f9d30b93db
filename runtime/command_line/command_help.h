// The help and the man page of a command and of each of its verbs: options come from the command, prose from a page.
#pragma once

#include <string>

#include "runtime/command_line/command.h"
#include "runtime/command_line/page.h"

namespace trident::command_line {

struct Title {
  std::string command;  ///< as it is typed: "trident train guide"
  int chapter = 1;      ///< of the manual: 1 for commands, 8 for daemons
  std::string source;   ///< program and version, for the foot of the page
};

/// Returns the name of the page: "trident-train-guide".
std::string page_name(const std::string& command);

/// Lays out `--help`: options with one description each, then the page's summary and example. No line is over 100.
void add_help(const Command& of, const Title& title, const Page& page);

/// Writes the man page in roff. It lists every option and part of the command, and every section of `page`.
std::string man_page(const Command& of, const Title& title, const Page& page);

}  // namespace trident::command_line
