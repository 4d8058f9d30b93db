// The Linux that a guest sees: its system calls, answered by the host's. Paths go to the host as they are: the emulator
// is no sandbox. Pointers of the guest are checked (memory.h) and give EFAULT.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "clients/emu/cpu.h"
#include "clients/emu/descriptors.h"
#include "clients/emu/layouts.h"
#include "clients/emu/memory.h"

namespace trident::emu {

/// How a program ended by itself: its status, or the signal that it sent itself.
struct Ending {
  int status = 0, signal = 0;
};

struct Kernel {
  static constexpr std::size_t kSignals = 65;

  Kernel(GuestMemory& guest, std::string path) : memory(guest), program(std::move(path)) {}

  GuestMemory& memory;
  std::string program;  ///< absolute path: /proc/self/exe
  Descriptors files;
  std::array<GuestAction, kSignals> actions{};  ///< recorded; no handler is ever run
  std::uint64_t blocked_signals = 0;
  std::optional<Ending> ending;
  std::map<std::uint64_t, std::uint64_t> unknown;  ///< calls that were answered with ENOSYS, and how often
};

using Arguments = std::array<std::uint64_t, 6>;

/// Returns what the guest finds in x0: a result, or minus an errno.
std::int64_t answer(Kernel& kernel, const SystemCall& call);

#define X(number, name) std::int64_t call_##name(Kernel& kernel, const Arguments& a);
#include "clients/emu/syscalls.def"
#undef X

/// A host's result as the guest's.
std::int64_t result_of(std::int64_t host);

/// A path of the guest: its text, or minus an errno.
struct GuestPath {
  std::string text;
  std::int64_t error = 0;
};
GuestPath path_at(const Kernel& kernel, std::uint64_t address);

}  // namespace trident::emu
