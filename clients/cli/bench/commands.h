// Verbs that measure. Each function adds a verb to the application; the verb leaves its exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_bench_command(Verb app, int& status);

}  // namespace trident::cli
