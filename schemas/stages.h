// Stages of a job, as progress tells them: one table for the compiler, the daemon, the wire and the clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace trident {

enum class Stage : std::uint8_t {
#define X(name, NAME, does) name,
#include "schemas/stages.def"
#undef X
};

inline constexpr std::string_view kStageNames[] = {
#define X(name, NAME, does) #name,
#include "schemas/stages.def"
#undef X
};
inline constexpr std::size_t kStageCount = std::size(kStageNames);

constexpr std::string_view name_of(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

/// Names a stage as trident_kernel_info has it: 0 is none, others are the stage's number plus one. Empty where there is
/// none, and for stages that only a newer library knows.
constexpr std::string_view name_of_info_stage(std::uint32_t stage) {
  return stage == 0 || stage > kStageCount ? std::string_view() : kStageNames[stage - 1];
}

}  // namespace trident
