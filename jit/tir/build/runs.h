// Runs as words, as they cross a wire or an interface of C: for each run four counts (of public words, secret words,
// digests, words of RAM), then the words in that order; a word of RAM is its address and the word.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/tir/build/build.h"

namespace trident::tir::build {

std::vector<std::uint64_t> words_of(std::span<const Run> runs);
/// Returns RejectedMessage if words are missing or not below p, LimitExceeded for more than kBuildRunsMax runs.
Result<std::vector<Run>> runs_of(std::span<const std::uint64_t> words);

}  // namespace trident::tir::build
