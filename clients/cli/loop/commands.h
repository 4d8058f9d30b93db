// Verbs about loops of guest programs. Each function adds a verb to what it gets; the verb leaves its exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_loop_command(Verb app, int& status);
/// A part of `trident oracle`.
void add_oracle_loops_command(Verb oracle, int& status);

}  // namespace trident::cli
