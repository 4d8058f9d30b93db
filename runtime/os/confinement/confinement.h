// Confinement: a process that works on strangers' data gives up all rights that it does not need, before it reads any
// of the data and for good. Its children inherit that.
//
//   seccomp    system calls that are not needed for computing fail with EPERM: no file can be opened, nobody else can
//   be
//              signalled, traced, read or written, and there are no new sockets or programs
//   Landlock   no file can be opened but in one folder; no signal leaves the process (Linux 6.12)
//   dumpable   off: processes of the same user can neither trace this one nor read its /proc
//
// Each is set where the system has it, and missing ones are reported. Memory, threads, sandboxed children (sandbox.h),
// sealed memfds and traffic through open descriptors go on working.
#pragma once

#include <string>

namespace trident::os {

struct Confined {
  bool system_calls = false;  ///< seccomp
  bool files = false;         ///< Landlock
  std::string missing;        ///< what could not be set and why; empty: nothing

  /// Returns true when the folder that was asked for can be used. Without Landlock a filter of system calls cannot tell
  /// one folder from another, so it allows none.
  [[nodiscard]] bool has_folder() const { return files || !system_calls; }
  /// "system calls and files", "system calls", "files", "nothing": for messages.
  [[nodiscard]] std::string describe() const;
};

/// Confines the calling process, which must have one thread. Files beneath `folder` (made where absent) stay open for
/// reading and writing; none do when it is empty. A build with a sanitizer, whose run time needs what this forbids, is
/// not confined.
Confined confine(const std::string& folder = {});

/// Finds out, in a child, how much confine() would confine.
Confined try_confinement();

}  // namespace trident::os
