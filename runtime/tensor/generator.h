// Random numbers by counting: number i of a stream is a mix of seed, stream and i, so that they depend on no library,
// need no state but a counter (a checkpoint stores it), and a slice's first values do not depend on what was declared
// before it.
#pragma once

#include <cstdint>
#include <string_view>

namespace trident::tensor {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// FNV-1a.
constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0, std::uint64_t stream = 0, std::uint64_t counter = 0)
      : seed_(seed), stream_(stream), counter_(counter) {}
  std::uint64_t next() { return mix(mix(seed_ ^ mix(stream_)) + counter_++ * 0x9e3779b97f4a7c15u); }
  /// A number in [0, 1), of 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// A number in [0, bound): by rejection, so without bias. bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t x = next();
    while (x >= limit) x = next();
    return x % bound;
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t stream() const { return stream_; }
  [[nodiscard]] std::uint64_t counter() const { return counter_; }

 private:
  std::uint64_t seed_, stream_, counter_;
};

}  // namespace trident::tensor
