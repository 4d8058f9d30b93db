#include "clients/emu/command.h"

int main(int argc, char** argv) {
  return trident::emu::run_command(argc, argv);
}
