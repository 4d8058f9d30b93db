// When a search had something better to use: its offers, which are in use from then on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace trident::cli {

class Offers {
 public:
  /// Notes an image that the search offers, at a time since its beginning.
  void take(std::span<const std::byte> image, std::uint64_t at_ns) {
    if (std::equal(image.begin(), image.end(), last_.begin(), last_.end())) return;
    last_.assign(image.begin(), image.end());
    last_ns_ = at_ns;
    if (!first_ns_) first_ns_ = at_ns;
  }

  [[nodiscard]] bool any() const { return first_ns_.has_value(); }
  [[nodiscard]] bool is_last(std::span<const std::byte> image) const {
    return any() && std::equal(image.begin(), image.end(), last_.begin(), last_.end());
  }
  [[nodiscard]] double first_s() const { return 1e-9 * static_cast<double>(first_ns_.value_or(0)); }
  /// The time of the first offer of the last image.
  [[nodiscard]] double last_s() const { return 1e-9 * static_cast<double>(last_ns_); }

 private:
  std::vector<std::byte> last_;
  std::optional<std::uint64_t> first_ns_;
  std::uint64_t last_ns_ = 0;
};

}  // namespace trident::cli
