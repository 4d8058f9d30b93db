// Directories for files that only their owner may see.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// Makes the directory of the file `path` and its parents where absent, each with mode 0700.
Result<void> make_private_directory_of(const std::string& path);

}  // namespace trident::os
