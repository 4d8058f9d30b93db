// A program over real text whose gcd, strchr and quicksort are swapped while it runs: interpreted first, machine code a
// moment later, the same answers throughout. Give it a text file; without one it reads its own program file.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>

#include "trident_function.hpp"

namespace {

std::vector<std::uint8_t> bytes_of(const char* file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Lengths of the lines, found by `strchr`.
std::vector<std::int64_t> line_lengths(const trident::function& strchr, const std::vector<std::uint8_t>& text) {
  std::vector<std::int64_t> lengths;
  for (std::size_t at = 0; at < text.size();) {
    std::vector<std::uint8_t> rest(text.begin() + static_cast<std::ptrdiff_t>(at),
                                   text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), at + 200)));
    std::replace(rest.begin(), rest.end(), std::uint8_t{0}, std::uint8_t{' '});
    const std::int64_t length = strchr(rest, '\n');
    lengths.push_back(length < 0 ? static_cast<std::int64_t>(rest.size()) : length);
    at += static_cast<std::size_t>(lengths.back()) + 1;
  }
  return lengths;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::uint8_t> text = bytes_of(argc > 1 ? argv[1] : argv[0]);
  text.resize(std::min<std::size_t>(text.size(), 200'000));
  const trident::context ctx;
  const trident::library shipped(ctx);
  const trident::function gcd = shipped["gcd"], strchr = shipped["strchr"], quicksort = shipped["quicksort"];
  std::uint32_t tier = 99;
  for (int turn = 0; turn < 400; ++turn) {
    std::vector<std::int64_t> lengths = line_lengths(strchr, text), expected = lengths;
    quicksort(trident::inout(lengths));
    std::sort(expected.begin(), expected.end());
    const std::int64_t divisor = gcd(lengths.back(), lengths[lengths.size() / 2]);
    if (lengths != expected || divisor != std::gcd(lengths.back(), lengths[lengths.size() / 2])) return 1;
    const std::uint32_t now = gcd.within(0, 48, 18).tier;
    if (now != tier)
      std::printf("turn %d, tier %u: %zu lines, the longest has %lld bytes, gcd with the median %lld\n", turn, now,
                  lengths.size(), static_cast<long long>(lengths.back()), static_cast<long long>(divisor));
    if (tier == 0 && now != 0) break;
    tier = now;
  }
  return 0;
} catch (const trident::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
