// How a loop or a function becomes an image.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "jit/codegen/codegen.h"
#include "jit/image/image.h"
#include "jit/trials/stage.h"

namespace trident::pipeline {

struct RegionOptions {
  std::uint64_t seed = 1;              ///< of the trials
  std::optional<image::Key> key{};     ///< loop_key() or function_key(), if the caller has made it
  std::optional<codegen::Isa> bulk{};  ///< of code that does many rounds of a loop at once; none: the baseline tier
  bool runs_trials = true;             ///< false: for code that is not published
  trials::Stage* stage = nullptr;  ///< of loop_stage() or function_stage(), for the trials; null: they make their own
  /// For tests: changes the code before it is laid out and tried.
  std::function<void(codegen::MachineCode&)> spoil{};
};

}  // namespace trident::pipeline
