// The command line of trident-emu.
#pragma once

namespace trident::emu {

/// Runs `trident-emu`; returns its exit status: the program's, 128 + signal, 127 where it did not start, 2 for wrong
/// options.
int run_command(int argc, char** argv);

}  // namespace trident::emu
