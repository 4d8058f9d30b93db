// Verbs about programs of Triton VM. Each function adds a verb to the application; the verb leaves its exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_profile_command(Verb app, int& status);
void add_build_command(Verb app, int& status);
void add_lower_command(Verb app, int& status);
/// A part of `trident oracle`.
void add_oracle_tir_command(Verb oracle, int& status);
void add_fuzz_equiv_command(Verb app, int& status);

}  // namespace trident::cli
