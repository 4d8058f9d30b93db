#include "runtime/os/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "runtime/os/cpu.h"

namespace trident::os {
namespace {

/// Reads the two numbers of a limit. Nothing for "max", -1 and what is no number.
std::optional<unsigned> share(std::istream&& quota_file, std::istream&& period_file) {
  long long quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<unsigned>(std::min((quota + period - 1) / period, 1'000'000LL));
}

std::optional<unsigned> share_of_version_2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota, period;
  file >> quota >> period;
  return share(std::istringstream(quota), std::istringstream(period));
}

std::optional<unsigned> share_of_version_1(const std::string& folder) {
  return share(std::ifstream(folder + "/cpu.cfs_quota_us"), std::ifstream(folder + "/cpu.cfs_period_us"));
}

void lower(std::optional<unsigned>& least, std::optional<unsigned> other) {
  if (other) least = std::min(least.value_or(*other), *other);
}

/// The least share of a group and those above, up to the folder where they are mounted. A container sees its own group
/// there, whatever path the process has outside.
template <class Share>
std::optional<unsigned> least_share(const std::string& mounted, std::string path, Share share_of) {
  std::optional<unsigned> least;
  for (;;) {
    lower(least, share_of(mounted + path));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool lists_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

std::optional<unsigned> cgroup_cpus(const std::string& groups, const std::string& root) {
  std::optional<unsigned> least;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // hierarchy:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) lower(least, least_share(root, path, share_of_version_2));
    if (!lists_cpu(controllers)) continue;
    lower(least, least_share(root + "/" + controllers, path, share_of_version_1));
    lower(least, least_share(root + "/cpu", path, share_of_version_1));
  }
  return least;
}

unsigned affordable_cpus() {
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), {}};
  return std::min(usable_cpus(), cgroup_cpus(groups, "/sys/fs/cgroup").value_or(usable_cpus()));
}

}  // namespace trident::os
