// --state, for the verbs that look at what the daemon learns.
#pragma once

#include <string>

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_state_option(Verb verb, std::string& state);

}  // namespace trident::cli
