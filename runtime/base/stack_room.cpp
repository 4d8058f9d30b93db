#include "runtime/base/stack_room.h"

#include <pthread.h>

#include <cstdint>
#include <limits>

namespace trident {
namespace {

/// The lowest address of this thread's stack, 0 if unknown.
std::uintptr_t lowest_address() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  const int failed = ::pthread_attr_getstack(&attributes, &lowest, &size);
  ::pthread_attr_destroy(&attributes);
  return failed != 0 ? 0 : reinterpret_cast<std::uintptr_t>(lowest);
}

}  // namespace

std::size_t stack_room() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t lowest = lowest_address();
  // A thread may run on a stack of its own making, as signal handlers and coroutines do: nothing is known there.
  if (lowest == 0 || here < lowest) return std::numeric_limits<std::size_t>::max();
  return here - lowest;
}

}  // namespace trident
