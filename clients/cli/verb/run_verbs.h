// Runs command lines.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/verb/options.h"

namespace trident::cli {

/// Runs the verb that `words`, which follow the name of the program, name; it leaves its exit status in `status`.
/// Returns that, or kExitUsage after a mistake in the words, or another failure when standard output has not taken what
/// was written to it.
int run_verbs(command_line::Application& app, const std::vector<std::string>& words, const int& status);

/// Runs a program that has the one verb `name`, which `add` adds to an application.
int run_one_verb(const char* name, void (*add)(Verb app, int& status), int argc, char** argv);

}  // namespace trident::cli
