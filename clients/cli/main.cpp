// The trident command.
#include "clients/cli/commands.h"
#include "runtime/base/float_environment.h"

int main(int argc, char** argv) {
  const trident::StandardFloats floats;  // a preloaded library may have set others; threads inherit these
  return trident::cli::run_command_line(argc, argv);
}
