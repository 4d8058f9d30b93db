// `trident demo` as a program of its own. `make demo` builds it in three quarters of the time that the command takes.
#include "clients/cli/demo/commands.h"
#include "clients/cli/verb/run_verbs.h"
#include "runtime/base/float_environment.h"

int main(int argc, char** argv) {
  const trident::StandardFloats floats;
  return trident::cli::run_one_verb("demo", trident::cli::add_demo_command, argc, argv);
}
