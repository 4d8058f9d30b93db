// The description of a function that its image carries (schemas/function_image.h): the layout of its calls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "jit/function/lower.h"

namespace trident::function {

/// Returns the bytes as they stand in the image.
std::vector<std::byte> description_of(const Layout& layout);

/// Reads them back. RejectedImage for bytes that do not pass the checks (schemas/function_checks.h).
Result<Layout> layout_of(std::span<const std::byte> description);

}  // namespace trident::function
