// Verbs about expressions, their rewriting and its rules. Each function adds a verb to the application; the verb leaves
// its exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_explain_command(Verb app, int& status);
void add_disasm_command(Verb app, int& status);
void add_rewrite_command(Verb app, int& status);
void add_rules_command(Verb app, int& status);

}  // namespace trident::cli
