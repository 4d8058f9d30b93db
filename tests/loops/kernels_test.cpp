// Loops that a compiler made, and loops assembled by hand. Oracle: each row's `expect`, written by hand (README.md).
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "jit/loop/oracle/oracle.h"

namespace trident::tests {
namespace {

void expect_all_right(const std::string& file, std::size_t rows) {
  std::ifstream lines("tests/loops/kernels/" + file);
  std::size_t seen = 0;
  for (std::string line; std::getline(lines, line); ++seen) {
    const auto verdict = loop::oracle::check(line);
    ASSERT_TRUE(verdict.ok()) << file << ":" << seen + 1 << ": " << verdict.error().message;
    EXPECT_TRUE(verdict->is_right()) << verdict->name << ": " << verdict->difference();
  }
  EXPECT_EQ(seen, rows);
}

TEST(Kernels, AreWhatIsExpected) {
  expect_all_right("kernel_loops.jsonl", 80);
}

TEST(HandMadeLoops, AreWhatIsExpected) {
  expect_all_right("hand_made.jsonl", 57);
}

}  // namespace
}  // namespace trident::tests
