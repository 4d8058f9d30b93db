// The manual of every verb: `--help`, `trident manual` and the man pages, from its options and its page in pages/.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace trident::cli {

/// Gives the application, its verbs and their parts their help, and messages that name the program.
void add_manual(CLI::App& app);

/// Adds `trident manual`, which lists, prints and writes man pages.
void add_manual_command(CLI::App& app, int& status);

/// Returns the pages that `trident manual` knows, with blanks between: "trident run ... train-guide".
std::string manual_pages(const CLI::App& app);

}  // namespace trident::cli
