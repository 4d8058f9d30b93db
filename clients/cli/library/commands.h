// The verb about functions with loops. It leaves its exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_library_command(Verb app, int& status);

}  // namespace trident::cli
