#include "clients/c/slot.h"

#include <utility>

#include "runtime/base/check.h"

namespace trident::client {
namespace {

bool is_speculative(const ImageMap& image) {
  return image.header().version == TRIDENT_SPECULATIVE_IMAGE_VERSION;
}

}  // namespace

static_assert(TRIDENT_TIER_INTERPRETER == 0, "tier() of the fallback");

bool Slot::wants(std::uint8_t new_tier, std::uint64_t digest_low, std::uint64_t digest_high) const {
  if (closed_ || new_tier < tier() || is_full()) return false;
  for (std::uint32_t i = 0; i < map_count_; ++i) {
    const auto& digest = maps_[i].header().digest;
    const bool known = digest[0] == digest_low && digest[1] == digest_high;
    if (known && (revoked_[i] || &maps_[i] == current_)) return false;
  }
  return true;
}

void Slot::publish(ImageMap map) {
  CHECK(map_count_ < kMapsMax);
  maps_[map_count_] = std::move(map);
  current_ = &maps_[map_count_++];
  ++swaps_;
  enter(reinterpret_cast<Code>(current_->entry()));
}

void Slot::revoke(std::uint8_t revoked_tier) {
  if (current_ == nullptr || tier() != revoked_tier) return;
  revoked_[static_cast<std::size_t>(current_ - maps_.data())] = true;
  current_ = nullptr;
  ++swaps_;
  enter(fallback_);
}

bool Slot::speculates() const {
  return current_ != nullptr && is_speculative(*current_);
}

bool Slot::leave_speculation() {
  if (!speculates()) return false;
  for (std::uint32_t i = map_count_; i-- > 0;) {
    if (revoked_[i] || is_speculative(maps_[i]) || maps_[i].header().tier < tier()) continue;
    current_ = &maps_[i];
    ++swaps_;
    enter(reinterpret_cast<Code>(current_->entry()));
    return true;
  }
  return false;
}

bool Slot::close() {
  closed_ = true;
  return pins_ == 0;
}

}  // namespace trident::client
