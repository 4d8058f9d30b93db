// The help and the man page of a command and of each of its verbs: options come from CLI11, prose from a page.
#pragma once

#include <string>

#include "runtime/manual/page.h"

namespace CLI {
class App;
}

namespace trident::manual {

struct Title {
  std::string command;  ///< as it is typed: "trident train guide"
  int chapter = 1;      ///< of the manual: 1 for commands, 8 for daemons
  std::string source;   ///< program and version, for the foot of the page
};

/// Returns the name of the page: "trident-train-guide".
std::string page_name(const std::string& command);

/// Lays out `--help`: options with one description each, then the page's summary and example. No line is over 120.
/// A command line that is refused gets the sentence of usage_error.h.
void add_help(CLI::App& app, const Title& title, const Page& page);

/// Writes the man page in roff. It lists every option and part of `app`, and every section of `page`.
std::string man_page(const CLI::App& app, const Title& title, const Page& page);

}  // namespace trident::manual
