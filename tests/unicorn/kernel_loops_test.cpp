// Loops that a compiler made of C kernels, in random states, with and without a handle. Oracle: Unicorn alone.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/random.h"
#include "tests/unicorn/guest.h"

namespace trident::tests {
namespace {

constexpr std::uint64_t kPointers = kData + 0x1000;
constexpr std::size_t kRunsOfALoop = 60, kStepsMax = 20'000;

struct Row {
  std::string name;
  std::uint64_t head = 0;
  std::vector<std::uint32_t> words;
};

std::vector<Row> rows_to_compile() {
  std::ifstream lines("tests/loops/kernels/kernel_loops.jsonl");
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["expect"] != "compile") continue;
    Row row{json["label"].get<std::string>() + " " + json["opt"].get<std::string>(), kCode + 0x800, {}};
    const auto hex = json["bytes"].get<std::string>();
    for (std::size_t i = 0; i + 8 <= hex.size(); i += 8)
      row.words.push_back(__builtin_bswap32(static_cast<std::uint32_t>(std::stoul(hex.substr(i, 8), nullptr, 16))));
    rows.push_back(row);
  }
  return rows;
}

/// Pointers into the data, small counts, and words.
GuestState drawn(testing::Random& random) {
  GuestState state;
  for (std::uint64_t& x : state.x) {
    const std::uint64_t choice = random.below(10);
    x = choice < 6   ? kPointers + random.below(0x800) * (random.one_in(4) ? 1 : 8)
        : choice < 9 ? random.below(300)
                     : random.next();
  }
  state.x[31] = kPointers + random.below(64) * 16;
  state.nzcv = random.below(16) << 28;
  return state;
}

/// Words of the data: pointers and counts, as locals of unoptimised code on the stack are.
std::vector<std::uint64_t> drawn_data(testing::Random& random) {
  std::vector<std::uint64_t> words(kDataBytes / 8);
  for (std::uint64_t& word : words) word = random.one_in(2) ? kPointers + random.below(0x1000) : random.below(400);
  return words;
}

class KernelLoops : public ::testing::Test {
 protected:
  void prepare(Guest& guest, const GuestState& state, const std::vector<std::uint64_t>& data) {
    guest.set(state);
    guest.write(kData, data.data(), data.size() * 8);
  }

  /// Whether the guest alone comes to an end soon.
  bool ends(Guest& guest, const Row& row, const GuestState& state, const std::vector<std::uint64_t>& data) {
    prepare(guest, state, data);
    const uc_err error = guest.run(row.head, 0, 0, kStepsMax);
    const std::uint64_t end = row.head + row.words.size() * 4, pc = guest.state().pc;
    return error != UC_ERR_OK || pc < row.head || pc >= end;
  }

  void compare(const Row& row, Guest& plain, Guest& guest, const GuestState& state,
               const std::vector<std::uint64_t>& data) {
    prepare(plain, state, data);
    prepare(guest, state, data);
    const uc_err right = plain.run(row.head), got = guest.run(row.head);
    ASSERT_EQ(got, right) << row.name;
    const GuestState want = plain.state(), have = guest.state();
    for (unsigned r = 0; r < 32; ++r) ASSERT_EQ(have.x[r], want.x[r]) << row.name << " x" << r;
    ASSERT_EQ(have.nzcv, want.nzcv) << row.name;
    if (right == UC_ERR_EXCEPTION) {
      ASSERT_EQ(have.pc, want.pc) << row.name;
    }
    ASSERT_TRUE(plain.read(kData, kDataBytes) == guest.read(kData, kDataBytes)) << row.name;
  }

  testing::Random random_{5};
};

TEST_F(KernelLoops, DoWhatTheGuestDoes) {
  std::set<std::string> entered;
  std::uint64_t entries = 0;
  const std::vector<Row> rows = rows_to_compile();
  for (const Row& row : rows) {
    Guest judge, plain, guest;
    for (Guest* it : {&judge, &plain, &guest}) it->write_code(row.head, row.words);
    trident_unicorn_options options = early();
    options.shadow_first = 1;
    guest.attach(options);
    trident_unicorn_loop(guest.handle, row.head);
    for (std::size_t i = 0; i < kRunsOfALoop && !HasFatalFailure(); ++i) {
      const GuestState state = drawn(random_);
      const std::vector<std::uint64_t> data = drawn_data(random_);
      if (ends(judge, row, state, data)) compare(row, plain, guest, state, data);
    }
    const trident_unicorn_stats stats = guest.stats();
    EXPECT_EQ(stats.mismatches, 0u) << row.name << ": " << guest.loop().note;
    entries += stats.entries;
    if (stats.iterations != 0) entered.insert(row.name);
  }
  EXPECT_GT(rows.size(), 50u);
  EXPECT_GT(entered.size(), rows.size() * 2 / 3) << entries;
}

}  // namespace
}  // namespace trident::tests
