// The message to a client about its program, ProgramReady. The worker writes it. The front reads and checks it before
// it is passed on.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "jit/tir/build/build.h"

namespace trident::worker {

std::string program_message(std::uint64_t job, const tir::build::Built& built);
/// Returns true when these bytes (8-byte aligned) are a ProgramReady of this job and nothing else.
bool is_program_message(std::span<const std::byte> message, std::uint64_t job);

}  // namespace trident::worker
