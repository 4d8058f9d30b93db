// The client's message about a program, ProgramReady. The worker writes it; the front checks it and passes it on.
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
