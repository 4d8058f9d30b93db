// The trident command.
#include "clients/cli/commands.h"

int main(int argc, char** argv) {
  return trident::cli::run_command_line(argc, argv);
}
