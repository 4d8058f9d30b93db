// The verbs about functions with loops. They leave their exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_library_command(Verb app, int& status);
void add_stdlib_command(Verb app, int& status);
void add_test_command(Verb app, int& status);

}  // namespace trident::cli
