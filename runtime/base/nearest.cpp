#include "runtime/base/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace trident {
namespace {

// Levenshtein's distance.
std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::span<const std::string> words, std::string_view word, std::size_t most) {
  std::string found;
  std::size_t least = most + 1;
  for (const std::string& candidate : words) {
    const std::size_t apart = letters_apart(word, candidate);
    if (apart < least) least = apart, found = candidate;
  }
  return found;
}

}  // namespace trident
