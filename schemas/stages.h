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

}  // namespace trident
