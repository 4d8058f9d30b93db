#include "runtime/base/stack_room.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace trident {
namespace {

TEST(StackRoom, IsWhatTheThreadWasGivenLessWhatItTook) {
  constexpr std::size_t kStack = 256 << 10, kTaken = 100 << 10;
  struct Rooms {
    std::size_t first = 0, second = 0;
  } rooms;
  const auto run = [](void* to) -> void* {
    auto& found = *static_cast<Rooms*>(to);
    found.first = stack_room();
    volatile char taken[kTaken];
    taken[0] = 0;
    const auto deeper = [](Rooms & r) __attribute__((noinline)) {
      r.second = stack_room();
    };
    deeper(found);
    taken[kTaken - 1] = taken[0];
    return nullptr;
  };
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &rooms), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  EXPECT_LE(rooms.first, kStack);
  EXPECT_GE(rooms.second, kStack - kTaken - (32u << 10));
  EXPECT_LE(rooms.second, kStack - kTaken);
}

}  // namespace
}  // namespace trident
