#include "runtime/os/confinement/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/os/directory.h"
#include "runtime/os/fd.h"

namespace trident::os {
namespace {

// By number and layout (linux/landlock.h of Linux 6.12): Debian 12's headers know the first version alone.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1, kPathBeneath = 1;

struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;  ///< since version 4
  std::uint64_t scoped = 0;   ///< since version 6
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed = 0;
  std::int32_t folder = -1;
};

/// All rights over files that a version knows: 13, then renaming across folders, truncation, and ioctl of devices.
std::uint64_t file_rights(long version) {
  const int rights = version == 1 ? 13 : version == 2 ? 14 : version <= 4 ? 15 : 16;
  return (std::uint64_t{1} << rights) - 1;
}

std::size_t size_for(long version) {
  return (version < 4 ? 1 : version < 6 ? 2 : 3) * sizeof(std::uint64_t);
}

Error failed(const char* what) {
  return make_error(ErrorCode::kOsError, "%s: %s", what, std::strerror(errno));
}

Result<void> allow(const Fd& ruleset, const std::string& folder, std::uint64_t rights) {
  TRY_VOID(make_private_directory_of(folder + "/."));
  const Fd opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return failed(folder.c_str());
  const PathBeneath rule{.allowed = rights, .folder = opened.get()};
  if (::syscall(kAddRule, ruleset.get(), kPathBeneath, &rule, 0) != 0) return failed("landlock_add_rule");
  return {};
}

}  // namespace

Result<void> restrict_files(const std::string& folder) {
  constexpr std::uint64_t kTcp = 3, kAbstractSocketsAndSignals = 3, kExecute = 1;
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1)
    return make_error(ErrorCode::kUnsupported, "%s: %s",
                      errno == EPERM ? "Landlock may not be used here" : "the kernel has no Landlock",
                      std::strerror(errno));
  const Ruleset rules{.files = file_rights(version), .network = kTcp, .scoped = kAbstractSocketsAndSignals};
  const Fd ruleset(static_cast<int>(::syscall(kCreateRuleset, &rules, size_for(version), 0)));
  if (!ruleset.valid()) return failed("landlock_create_ruleset");
  if (!folder.empty()) TRY_VOID(allow(ruleset, folder, rules.files & ~kExecute));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("PR_SET_NO_NEW_PRIVS");
  if (::syscall(kRestrictSelf, ruleset.get(), 0) != 0) return failed("landlock_restrict_self");
  return {};
}

}  // namespace trident::os
