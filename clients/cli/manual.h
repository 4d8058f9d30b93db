// The manual of every verb: `--help`, `trident manual` and the man pages, from its options and its page in pages/.
#pragma once

#include <string>

#include "clients/cli/verb/options.h"

namespace trident::cli {

/// Gives the application, its verbs and their parts their help, and messages that name the program.
void add_manual(Verb app);

/// Adds `trident manual`, which lists, prints and writes man pages.
void add_manual_command(Verb app, int& status);

/// Returns the pages that `trident manual` knows, with blanks between: "trident run ... train-guide".
std::string manual_pages(Verb app);

}  // namespace trident::cli
