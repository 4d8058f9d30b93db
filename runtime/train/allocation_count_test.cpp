// The hooks behind allocation_count.h, which glibc allows every program to put in place of its own functions. operator
// new ends in malloc, so it is counted too.
#include "runtime/train/allocation_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
namespace trident::train {
std::uint64_t allocations() {
  return UINT64_MAX;
}
}  // namespace trident::train
#else

namespace {
std::atomic<std::uint64_t> count{0};
}

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, bytes);
}
void* realloc(void* at, std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(at, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** at, std::size_t alignment, std::size_t bytes) {
  *at = memalign(alignment, bytes);
  return *at ? 0 : 12;
}
}

namespace trident::train {
std::uint64_t allocations() {
  return count.load();
}

TEST(AllocationCount, SeesEveryDoor) {
  const std::uint64_t before = allocations();
  void* volatile one = ::operator new(10);
  void* volatile two = std::malloc(10);
  two = std::realloc(two, 100);
  void* volatile three = std::aligned_alloc(64, 64);
  EXPECT_EQ(allocations() - before, 4u);
  ::operator delete(one);
  std::free(two);
  std::free(three);
}
}  // namespace trident::train
#endif
