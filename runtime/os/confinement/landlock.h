// Landlock: the files that a process can open, by the kernel's own rules of paths.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// From now on no file can be opened but beneath `folder` (none when it is empty), and no signal be sent out of this
/// process and its children where the kernel knows how. Unsupported without Landlock; OsError.
Result<void> restrict_files(const std::string& folder);

}  // namespace trident::os
