// Writes the loop program's ELF file to standard output.
#include <cstdio>

#include "clients/emu/guests/loop_program.h"

int main() {
  const auto file = trident::emu::loop_program();
  return std::fwrite(file.data(), 1, file.size(), stdout) == file.size() ? 0 : 1;
}
