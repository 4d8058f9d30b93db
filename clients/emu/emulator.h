// Runs one program from its file to its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clients/emu/swap.h"
#include "runtime/base/result.h"

namespace trident::emu {

struct RunReport {
  int status = 0;     ///< exit status; 128 + signal where one ended the program
  std::string crash;  ///< one sentence, with pc and address; empty at a clean end
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;                              ///< of the guest's thread
  std::map<std::uint64_t, std::uint64_t> unknown_calls;  ///< answered with ENOSYS: number, how often
  std::optional<SwapReport> swap;
};

struct RunOptions {
  std::vector<std::string> arguments;  ///< the program's path, and what it is called with
  std::vector<std::string> environment;
  std::optional<SwapOptions> swap;  ///< nothing: Unicorn alone
};

/// An error means that the program did not start: what its file lacks, or what the host lacks.
Result<RunReport> run_program(const RunOptions& options);

}  // namespace trident::emu
