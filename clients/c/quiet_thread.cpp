#include "clients/c/quiet_thread.h"

#include <signal.h>

#include <cstring>

namespace trident::client {

Result<pthread_t> start_quiet_thread(const char* name, std::size_t stack_bytes, void* (*run)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int rc = pthread_create(&thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (rc != 0) return make_error(ErrorCode::kOsError, "pthread_create: %s", std::strerror(rc));
  pthread_setname_np(thread, name);
  return thread;
}

}  // namespace trident::client
