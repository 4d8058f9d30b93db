// seccomp: the system calls that a process may make.
#pragma once

#include "runtime/base/result.h"

namespace trident::os {

enum class Files : bool { none, beneath_landlock };

/// Allows this process and its children the system calls of system_calls.cpp alone, from now on; others fail with
/// EPERM. `beneath_landlock`: those on files too, which Landlock must have restricted already. Unsupported without
/// seccomp.
Result<void> restrict_system_calls(Files files);

}  // namespace trident::os
