#include "runtime/os/confinement/confinement.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/os/confinement/landlock.h"
#include "runtime/os/confinement/system_calls.h"
#include "runtime/os/memfd.h"

namespace trident::os {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

void add_missing(Confined& confined, const Error& error) {
  confined.missing += (confined.missing.empty() ? "" : "; ") + error.message;
}

/// The child's report to its parent, in shared memory.
struct Told {
  bool told, system_calls, files;
  char missing[512];
};

void tell(Told& told, const Confined& confined) {
  told.system_calls = confined.system_calls, told.files = confined.files;
  const std::size_t length = std::min(confined.missing.size(), sizeof told.missing - 1);
  std::memcpy(told.missing, confined.missing.data(), length);
  // Tests the confinement: a confined process must fail to open this file.
  const bool opened = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC) >= 0;
  told.told = !(opened && (confined.system_calls || confined.files));
}

}  // namespace

std::string Confined::describe() const {
  if (system_calls) return files ? "system calls and files" : "system calls";
  return files ? "files" : "nothing";
}

Confined confine(const std::string& folder) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  Confined confined;
  if (kSanitized) {
    confined.missing = "a build with a sanitizer is not confined";
    return confined;
  }
  const auto files = restrict_files(folder);
  confined.files = files.ok();
  if (!files.ok()) add_missing(confined, files.error());
  const bool has_folder = confined.files && !folder.empty();
  const auto calls = restrict_system_calls(has_folder ? Files::beneath_landlock : Files::none);
  confined.system_calls = calls.ok();
  if (!calls.ok()) add_missing(confined, calls.error());
  return confined;
}

Confined try_confinement() {
  const auto failed = [](const std::string& why) { return Confined{.missing = why}; };
  auto shared = map_shared(sizeof(Told));
  if (!shared.ok()) return failed(shared.error().message);
  auto& told = *static_cast<Told*>(shared->base());
  const pid_t child = ::fork();
  if (child < 0) return failed(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    tell(told, confine());
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || !told.told)
    return failed("confinement does not work here: a confined trial child could still open a file, or crashed");
  return {.system_calls = told.system_calls, .files = told.files, .missing = told.missing};
}

}  // namespace trident::os
