// Finds the word that was probably meant by a word that does not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace trident {

/// Returns the word that differs from `word` in the fewest letters, at most `most`; the first of several. Returns an
/// empty text when all words differ more.
std::string nearest(std::span<const std::string> words, std::string_view word, std::size_t most);

}  // namespace trident
