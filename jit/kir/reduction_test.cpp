// Oracle: the tree of a run of chunks by recursion, under a join that tells every tree from every other.
#include "jit/kir/reduction.h"

#include <gtest/gtest.h>

namespace trident::kir {
namespace {

std::uint64_t join(std::uint64_t earlier, std::uint64_t later) {
  const std::uint64_t mixed = (earlier * 0x9E37'79B9'7F4A'7C15u + later) * 0xD6E8'FEB8'6659'FD93u;
  return mixed ^ mixed >> 32;
}

std::uint64_t whole(std::uint64_t first, std::uint64_t count) {
  if (count == 1) return first + 1;
  std::uint64_t left = 1;
  while (2 * left < count) left *= 2;
  return join(whole(first, left), whole(first + left, count - left));
}

ChunkRun<std::uint64_t> run(std::uint64_t first, std::uint64_t count) {
  ChunkRun<std::uint64_t> made(first);
  for (std::uint64_t i = 0; i < count; ++i) made.add(first + i + 1, join);
  return made;
}

TEST(ChunkRun, IsTheTreeOfABinaryCounter) {
  for (std::uint64_t count = 1; count <= 300; ++count) EXPECT_EQ(run(0, count).result(join), whole(0, count)) << count;
}

TEST(ChunkRun, AnySplitGivesTheSameTree) {
  constexpr std::uint64_t kCount = 37;
  for (std::uint64_t first = 0; first <= kCount; ++first)
    for (std::uint64_t second = first; second <= kCount; ++second) {
      ChunkRun<std::uint64_t> all = run(0, first);
      all.append(run(first, second - first), join);
      all.append(run(second, kCount - second), join);
      EXPECT_EQ(all.result(join), whole(0, kCount)) << first << " " << second;
    }
}

TEST(ChunkRun, PartsMayBeAppendedToEachOtherFirst) {
  ChunkRun<std::uint64_t> later = run(5, 8), all = run(0, 5);
  later.append(run(13, 100), join);
  all.append(later, join);
  EXPECT_EQ(all.result(join), whole(0, 113));
}

}  // namespace
}  // namespace trident::kir
