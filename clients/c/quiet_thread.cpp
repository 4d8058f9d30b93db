#include "clients/c/quiet_thread.h"

#include <link.h>
#include <signal.h>

#include <cerrno>
#include <cstring>

namespace trident::client {
namespace {

std::size_t thread_local_bytes_of(const dl_phdr_info& file) {
  std::size_t bytes = 0;
  for (unsigned i = 0; i < file.dlpi_phnum; ++i)
    if (file.dlpi_phdr[i].p_type == PT_TLS) bytes += file.dlpi_phdr[i].p_memsz + file.dlpi_phdr[i].p_align;
  return bytes;
}

std::size_t count_thread_local_bytes() {
  std::size_t bytes = 0;
  const auto add = [](dl_phdr_info* file, std::size_t, void* sum) {
    *static_cast<std::size_t*>(sum) += thread_local_bytes_of(*file);
    return 0;
  };
  dl_iterate_phdr(add, &bytes);
  return bytes;
}

}  // namespace

std::size_t thread_local_bytes() {
  static const std::size_t bytes = count_thread_local_bytes();
  return bytes;
}

void unblock_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigaddset(&faults, fault);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

Result<pthread_t> start_quiet_thread(const char* name, std::size_t stack_bytes, void* (*run)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes + thread_local_bytes());  // glibc takes these from the stack
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int rc = pthread_create(&thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (rc != 0)
    return make_error(rc == EAGAIN ? ErrorCode::kOutOfMemory : ErrorCode::kOsError, "pthread_create: %s",
                      std::strerror(rc));
  pthread_setname_np(thread, name);
  return thread;
}

}  // namespace trident::client
