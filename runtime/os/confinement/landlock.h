// Landlock: the files that a process can open, by the kernel's own rules of paths.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// Forbids, from now on, to open files outside `folder` (any file when it is empty), and to send signals out of this
/// process and its children where the kernel knows how. Unsupported without Landlock; OsError.
Result<void> restrict_files(const std::string& folder);

}  // namespace trident::os
