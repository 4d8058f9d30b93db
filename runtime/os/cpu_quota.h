// Processors that this process may keep busy: those of its affinity mask, and no more than its control groups give time
// for. A container with two processors' worth of time still sees all of the machine's processors.
#pragma once

#include <optional>
#include <string>

namespace trident::os {

/// Returns how many processors' worth of time control groups leave to a process, rounded up; nothing where they leave
/// all. `groups` is the text of its /proc/PID/cgroup, `root` the folder where control groups are mounted. Groups of
/// both versions and all groups above count (cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us).
std::optional<unsigned> cgroup_cpus(const std::string& groups, const std::string& root);

/// Returns how many processors this thread may run on at the same time as others of the process; at least 1.
unsigned affordable_cpus();

}  // namespace trident::os
