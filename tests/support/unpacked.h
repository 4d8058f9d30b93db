// Oracles that are kept compressed.
#pragma once

#include <string>

namespace trident::test {

/// The text of an .xz file, its path from the repository's root. Ends the test program when it cannot be had.
std::string unpacked(const std::string& path);

}  // namespace trident::test
