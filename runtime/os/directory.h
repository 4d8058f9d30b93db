// Directories for files that only their owner may see.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// Makes the directory of the file `path` and its parents where absent, each with mode 0700.
Result<void> make_private_directory_of(const std::string& path);

/// Makes the directory itself, likewise. OsError for one in which this process cannot read and write files, and for
/// what is no directory.
Result<void> make_usable_directory(const std::string& directory);

/// Tries what make_usable_directory() does, and removes what it made.
Result<void> check_usable_directory(const std::string& directory);

/// Makes a new directory "NAME-XXXXXX" with mode 0700 in $TMPDIR, or in /tmp. Returns its path; OsError names it.
Result<std::string> make_temporary_directory(const std::string& name);

}  // namespace trident::os
