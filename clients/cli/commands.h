// The command, and the verbs of no part of it. Each function adds a verb to the application; the verb leaves its exit
// status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_run_command(Verb app, int& status);
void add_doctor_command(Verb app, int& status);
void add_stats_command(Verb app, int& status);
void add_top_command(Verb app, int& status);
/// Its parts stand in the folders of what they compare.
void add_oracle_command(Verb app, int& status);
/// parse, print, check, dot: one stage each, on text.
void add_text_commands(Verb app, int& status);
/// Reads the verbs and options of the application.
void add_completion_command(Verb app, int& status);

/// The whole command: parses the command line, runs the verb, returns the exit status.
int run_command_line(int argc, char** argv);

}  // namespace trident::cli
