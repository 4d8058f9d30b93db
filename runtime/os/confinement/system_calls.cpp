// Whatever is not in these tables fails. Each row says what needs it; arguments are compared where one call both
// computes and reaches others.
#include "runtime/os/confinement/system_calls.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace trident::os {
namespace {

constexpr int kAlways[] = {
    // Files that are open already.
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(close_range),
    SCMP_SYS(fstat), SCMP_SYS(lseek), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(pwritev),
    // Memory, and images in memfds.
    SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise), SCMP_SYS(brk),
    SCMP_SYS(memfd_create), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(membarrier),
    // Threads and children, which are waited for and ended by their descriptors.
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address),
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(wait4), SCMP_SYS(waitid),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(arch_prctl),
    // The children's own sandbox.
    SCMP_SYS(seccomp), SCMP_SYS(setrlimit), SCMP_SYS(getrlimit),
    // Signals of its own, and time.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(getrusage),
    // Identity of the process, and where it runs.
    SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(uname), SCMP_SYS(sysinfo),
    SCMP_SYS(getcpu), SCMP_SYS(getrandom), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler), SCMP_SYS(getpriority)};

/// System calls for files in a folder.
constexpr int kOnFiles[] = {SCMP_SYS(open),       SCMP_SYS(openat),     SCMP_SYS(newfstatat), SCMP_SYS(stat),
                            SCMP_SYS(lstat),      SCMP_SYS(statx),      SCMP_SYS(access),     SCMP_SYS(faccessat),
                            SCMP_SYS(faccessat2), SCMP_SYS(getdents64), SCMP_SYS(mkdir),      SCMP_SYS(mkdirat),
                            SCMP_SYS(rename),     SCMP_SYS(renameat),   SCMP_SYS(renameat2),  SCMP_SYS(unlink),
                            SCMP_SYS(unlinkat),   SCMP_SYS(flock),      SCMP_SYS(fsync),      SCMP_SYS(fdatasync),
                            SCMP_SYS(umask),      SCMP_SYS(getcwd)};

struct Conditional {
  int system_call;
  std::vector<scmp_arg_cmp> arguments;
};

scmp_arg_cmp equal(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

std::vector<Conditional> conditional_calls() {
  constexpr std::uint64_t kNewNamespaces =
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  constexpr std::uint64_t kIoOfThread = 1;  // IOPRIO_WHO_PROCESS
  std::vector<Conditional> calls = {
      {SCMP_SYS(clone), {{0, SCMP_CMP_MASKED_EQ, kNewNamespaces, 0}}},
      // fstat() of newer C libraries.
      {SCMP_SYS(newfstatat), {{3, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH}}},
      // send() to where a socket is connected already.
      {SCMP_SYS(sendto), {equal(4, 0)}},
      // This thread and process alone.
      {SCMP_SYS(prlimit64), {equal(0, 0)}},
      {SCMP_SYS(tgkill), {equal(0, static_cast<std::uint64_t>(::getpid()))}},
      {SCMP_SYS(sched_setscheduler), {equal(0, 0)}},
      {SCMP_SYS(setpriority), {equal(0, PRIO_PROCESS), equal(1, 0)}},
      {SCMP_SYS(ioprio_set), {equal(0, kIoOfThread), equal(1, 0)}},
      {SCMP_SYS(prctl), {equal(0, PR_SET_DUMPABLE), equal(1, 0)}},
  };
  // Neither leases nor owners of signals: those reach others.
  for (const int command : {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS})
    calls.push_back({SCMP_SYS(fcntl), {equal(1, static_cast<std::uint64_t>(command))}});
  constexpr int kSetMdwe = 65, kSetVma = 0x53564d41;  // Debian 12's headers are older
  for (const int option : {PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_NAME, kSetMdwe, kSetVma})
    calls.push_back({SCMP_SYS(prctl), {equal(0, static_cast<std::uint64_t>(option))}});
  return calls;
}

int add_rules(scmp_filter_ctx filter, Files files) {
  int failed = 0;
  const auto allow = [&](int call, const std::vector<scmp_arg_cmp>& arguments) {
    if (failed == 0)
      failed = ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, static_cast<unsigned>(arguments.size()),
                                        arguments.data());
  };
  for (const int call : kAlways) allow(call, {});
  for (const Conditional& c : conditional_calls()) allow(c.system_call, c.arguments);
  if (files == Files::beneath_landlock)
    for (const int call : kOnFiles) allow(call, {});
  // Its flags lie in memory, where a filter does not see them: the C library falls back on clone().
  if (failed == 0) failed = ::seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, nullptr);
  return failed;
}

}  // namespace

Result<void> restrict_system_calls(Files files) {
  const std::unique_ptr<void, decltype(&::seccomp_release)> filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                                   &::seccomp_release);
  if (!filter) return make_error(ErrorCode::kUnsupported, "libseccomp does not support this architecture");
  // A binary tree, not a list; older versions have lists alone.
  (void)::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  int failed = add_rules(filter.get(), files);
  if (failed == 0) failed = ::seccomp_load(filter.get());
  if (failed != 0)
    return make_error(ErrorCode::kUnsupported, "cannot install a seccomp filter: %s", std::strerror(-failed));
  return {};
}

}  // namespace trident::os
