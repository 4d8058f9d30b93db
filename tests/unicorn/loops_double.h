// Stands in for libtrident's loops: makes code in the caller's thread, at once or after some questions, and wrong code
// where a test asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "clients/c/trident_loop.h"

namespace trident::tests {

struct LoopsDouble {
  /// Changes the instructions that code is made of: native code is then wrong.
  std::function<void(std::span<std::uint32_t> words)> corrupt;
  std::size_t questions_until_ready = 0;
  std::size_t submissions = 0;
};

/// The double of this thread.
LoopsDouble& loops_double();

}  // namespace trident::tests
