#include "jit/nnue/shipped_weights.h"

#include "jit/nnue/shipped_guide_files.h"
#include "jit/nnue/shipped_judge_files.h"

namespace trident::nnue {

std::span<const std::byte> shipped_weights() {
  return kShippedGuides[0].bytes();
}

std::span<const std::byte> shipped_judge() {
  return kShippedJudges[0].bytes();
}

}  // namespace trident::nnue
