// Gets rid of what a process inherits and must not keep: descriptors that others wait for, standard streams that are
// closed, and the pipe of the process that started it.
#pragma once

#include <optional>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"

namespace trident::os {

/// Opens what fails to read or write where a standard stream is closed. The next file or socket would take its number
/// otherwise, and get what is meant for the stream. Comes first in main().
void occupy_standard_streams();

/// Closes every descriptor but the standard streams and those that a service manager passed (service.h): a lock or a
/// pipe of the starting program would stay taken as long as this process lives.
void close_inherited_files();

/// Standard output goes nowhere from now on.
void release_standard_output();
/// Standard error goes nowhere from now on. Async-signal-safe.
void release_standard_error();
/// Does the same whenever `signal` comes. For workers, whose parent tells them.
void release_standard_error_on(int signal);

/// The process that waits until this one closes the pipe of its standard error.
struct Starter {
  Fd ended;  ///< becomes readable when that process has ended; not valid: it has ended already, or cannot be watched
};
/// The process that started this one, if standard error is a pipe or socket of its making. Nothing for a terminal, a
/// file and the journal, and under a service manager: these may be kept.
std::optional<Starter> starter_of_standard_error();

}  // namespace trident::os
