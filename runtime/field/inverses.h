// Inverses of many elements by Montgomery's trick: one inversion, and three products a word in vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trident::field {

/// words[i] = 1 / words[i], for words in [1, p). `scratch` is of 2 * count + 64 words. One zero among them would make
/// all of them zero: callers that may have zeros put 1 in their places first.
void invert_nonzero(std::uint64_t* words, std::size_t count, std::uint64_t* scratch);

}  // namespace trident::field
