#include "runtime/os/self.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "runtime/os/os_error.h"

namespace trident::os {
namespace {

/// dl_iterate_phdr callback for the first object, which is the program: finds its NT_GNU_BUILD_ID note.
int find_build_id(dl_phdr_info* info, std::size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
    const auto* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const unsigned char* name = at + sizeof(note);
      const unsigned char* desc = name + ((note.n_namesz + 3u) & ~3u);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        auto& text = *static_cast<std::string*>(out);
        text.clear();
        for (unsigned k = 0; k < note.n_descsz; ++k) {
          constexpr char kDigits[] = "0123456789abcdef";
          text += kDigits[desc[k] >> 4];
          text += kDigits[desc[k] & 15];
        }
        return 1;
      }
      at = desc + ((note.n_descsz + 3u) & ~3u);
    }
  }
  return 1;  // the program only, not its libraries
}

}  // namespace

const std::string& build_id() {
  static const std::string id = [] {
    std::string text = "unknown";
    ::dl_iterate_phdr(find_build_id, &text);
    return text;
  }();
  return id;
}

Result<void> set_resource_limits(const ResourceLimits& limits) {
  const auto set = [](auto resource, std::uint64_t value) {
    const rlimit limit{value, value};
    return ::setrlimit(resource, &limit) == 0;
  };
  if (limits.address_space_bytes != 0 && !set(RLIMIT_AS, limits.address_space_bytes))
    return os_error("setrlimit RLIMIT_AS");
  if (limits.core_bytes_max != UINT64_MAX && !set(RLIMIT_CORE, limits.core_bytes_max))
    return os_error("setrlimit RLIMIT_CORE");
  if (limits.open_files != 0 && !set(RLIMIT_NOFILE, limits.open_files)) return os_error("setrlimit RLIMIT_NOFILE");
  return {};
}

std::uint32_t effective_uid() {
  return ::geteuid();
}

std::uint32_t overflow_uid() {
  constexpr std::uint32_t kUsual = 65534;
  std::ifstream file("/proc/sys/kernel/overflowuid");
  std::uint32_t uid = kUsual;
  return file >> uid ? uid : kUsual;
}

std::uint64_t open_files_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

std::uint64_t raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

bool deny_writable_code() {
  constexpr int kSetMdwe = 65;  // PR_SET_MDWE; Debian 12's headers are older
  constexpr unsigned long kRefuseExecGain = 1;
  return ::prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) == 0;
}

void forbid_inspection() {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

BlockedSignals::BlockedSignals() {
  static_assert(sizeof(sigset_t) <= sizeof(previous_));
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, reinterpret_cast<sigset_t*>(previous_));
}

BlockedSignals::~BlockedSignals() {
  ::pthread_sigmask(SIG_SETMASK, reinterpret_cast<const sigset_t*>(previous_), nullptr);
}

void ignore_write_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ignore_file_size_signal();
}

void ignore_file_size_signal() {
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace trident::os
