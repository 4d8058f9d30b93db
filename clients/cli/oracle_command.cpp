// `trident oracle`: our answers and recorded ones.
#include "clients/cli/commands.h"
#include "clients/cli/loop/commands.h"
#include "clients/cli/triton/commands.h"

namespace trident::cli {

void add_oracle_command(Verb app, int& status) {
  const Verb oracle = app.add_subcommand("oracle", "Compare our answers with those of the real machines");
  oracle.require_subcommand();
  add_oracle_tir_command(oracle, status);
  add_oracle_loops_command(oracle, status);
}

}  // namespace trident::cli
