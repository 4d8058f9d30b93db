// Verbs that time this machine, train networks, and choose between their weights. Each function adds a verb to the
// application; the verb leaves its exit status.
#pragma once

#include "clients/cli/verb/options.h"

namespace trident::cli {

void add_calibrate_command(Verb app, int& status);
void add_train_command(Verb app, int& status);
void add_weights_command(Verb app, int& status);

}  // namespace trident::cli
