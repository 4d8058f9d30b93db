// The first stack of a program: arguments, environment and the auxiliary vector, as Linux lays them out.
#pragma once

#include <string>
#include <vector>

#include "clients/emu/memory.h"

namespace trident::emu {

struct ProgramStart {
  std::uint64_t entry = 0, sp = 0;
};

/// Places a program with its stack and heap. `file`: its bytes, which read_elf() took. LimitExceeded when the
/// arguments are longer than Linux permits, OutOfMemory.
Result<ProgramStart> load_program(GuestMemory& memory, const ElfProgram& program, std::span<const std::byte> file,
                                  const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& environment);

}  // namespace trident::emu
