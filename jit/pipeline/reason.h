// Why a search has given no better kernel than the baseline, for people.
#pragma once

#include <string>

#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {

/// One sentence without line breaks: what ended the search, how many kernels were timed, how many forms broke the
/// policy; of a baseline that was found wrong, by which check, with values and place. Empty when something better was
/// published.
std::string reason_of(const Optimised& result, const Options& options);

}  // namespace trident::pipeline
