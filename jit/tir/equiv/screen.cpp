#include "jit/tir/equiv/screen.h"

#include <algorithm>
#include <bit>

namespace trident::tir::equiv {
namespace {

constexpr std::size_t kBatches = 6;
/// Number of words and cells beyond the baseline's need.
constexpr std::size_t kExtra = 24;

}  // namespace

Screen::Screen(Block baseline, std::uint64_t seed, std::size_t stack_min)
    : stack_min_(stack_min), baseline_(shape_of(baseline)) {
  if (!baseline_.straight) return;
  Shape needed = baseline_;
  needed.size_min = depth(baseline_);
  States source(seed, baseline, {}, stack_min);
  batches_.reserve(kBatches);
  for (std::size_t i = 0; i < kBatches; ++i) {
    batches_.push_back({Lanes(source, seed + i, needed, kExtra), {}});
    batches_[i].lanes.run(baseline.first(baseline_.executed), batches_[i].baseline);
    if (!alive_ && batches_[i].baseline.failed != kAllLanes) alive_ = i;
  }
}

bool Screen::fails(std::size_t batch, LaneMask lanes, std::size_t size) {
  batch_ = batch;
  lane_ = static_cast<std::size_t>(std::countr_zero(lanes));
  size_ = size;
  return false;
}

/// True if a state in which the baseline lives tells the two apart whatever the values are.
bool Screen::fails_by_shape(const Shape& shape) {
  if (!alive_) return false;
  const bool deeper = depth(shape) > depth(baseline_);
  if (!deeper && shape.height_change == baseline_.height_change && shape.output_words == baseline_.output_words &&
      shape.public_words == baseline_.public_words && shape.secret_words == baseline_.secret_words &&
      shape.digests == baseline_.digests && shape.halts == baseline_.halts)
    return false;
  // A candidate that needs a deeper stack gets one just deep enough for the baseline, others a deep one.
  const Batch& batch = batches_[*alive_];
  fails(*alive_, static_cast<LaneMask>(~batch.baseline.failed), deeper ? depth(baseline_) : batch.lanes.cells());
  return true;
}

bool Screen::survives(Block candidate) {
  const Shape shape = shape_of(candidate);
  if (!shape.straight || !baseline_.straight) return true;
  if (fails_by_shape(shape)) return false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    auto& [lanes, expected] = batches_[i];
    const auto alive = static_cast<LaneMask>(~expected.failed);
    if (shape.size_min > lanes.cells() || shape.public_words > lanes.public_words() ||
        shape.secret_words > lanes.secret_words() || shape.digests > lanes.digests()) {
      // The candidate fails in all of these states.
      if (alive != 0) return fails(i, alive, lanes.cells());
      continue;
    }
    lanes.run_again(candidate.first(shape.executed), alive, end_);
    if (const LaneMask dead = end_.failed & alive; dead != 0) return fails(i, dead, lanes.cells());
    const auto lives = static_cast<LaneMask>(~end_.failed);
    if (const auto gained = static_cast<LaneMask>(lives & expected.failed); gained != 0)
      return fails(i, gained, lanes.cells());
    // A shallower candidate ends where the baseline finds too little on the stack.
    if (lives != 0 && depth(shape) < depth(baseline_)) return fails(i, lives, depth(shape));
    if (const LaneMask other = lanes.difference(expected, end_); other != 0) return fails(i, other, lanes.cells());
  }
  return true;
}

}  // namespace trident::tir::equiv
