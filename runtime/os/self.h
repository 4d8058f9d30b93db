// The process itself: its build id, limits and signals.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// The GNU build id of this program in hexadecimal; "unknown" when it was linked without one.
const std::string& build_id();

/// Bounds that a worker sets on itself. Zero: leave as it is.
struct ResourceLimits {
  std::uint64_t address_space_bytes = 0;
  std::uint64_t core_bytes_max = UINT64_MAX;  ///< 0 switches core dumps off
  std::uint64_t open_files = 0;
};
Result<void> set_resource_limits(const ResourceLimits& limits);

/// The effective user of this process.
std::uint32_t effective_uid();
/// The number that stands for every user whom this process's user namespace does not map.
std::uint32_t overflow_uid();

/// Descriptors that this process may have.
std::uint64_t open_files_limit();
/// Raises the soft limit of open files to the hard one; returns what is now allowed.
std::uint64_t raise_open_files_limit();

/// From now on no memory of this process or its children can be both written and executed, nor turn from one into the
/// other (PR_SET_MDWE, Linux 6.3). False where the system does not know it. Sealed memfds can still be mapped as code.
bool deny_writable_code();

/// Processes of the same user can neither trace this one nor read its memory or descriptors; it leaves no core file.
/// Programs that it starts are as before.
void forbid_inspection();

/// Blocks every signal in the calling thread, so that a thread started next leaves them to the others.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  std::uint64_t previous_[16];  // room for a sigset_t
};

/// A write to a closed pipe or socket, or past the limit on file sizes, is an error value, not the end of the process.
void ignore_write_signals();
/// The second half of it, for commands: a closed pipe ends them as it ends any other, in silence, but a file that
/// becomes too long is said with its name.
void ignore_file_size_signal();

}  // namespace trident::os
