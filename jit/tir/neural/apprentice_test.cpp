// Oracles: a judge that knows the rewrites; one that accepts nothing; the files that were saved.
#include "jit/tir/neural/apprentice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "jit/tir/neural/propose.h"
#include "jit/tir/neural/sample_blocks.h"
#include "jit/tir/neural/shipped_weights.h"

namespace trident::tir::neural {
namespace {

using tasm::Op;

class Folder {
 public:
  explicit Folder(const char* name)
      : path_((std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))).string()) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Teaches that `X push C add` is `X addi C`.
BlockRecord record_of(std::uint64_t i) {
  constexpr Op kFirst[] = {Op::kMul, Op::kAdd, Op::kSplit, Op::kHash, Op::kInvert};
  const Instruction first{kFirst[i % std::size(kFirst)], {}};
  const Element constant(i * 7919 + 1000);
  return {{first, {Op::kPush, constant}, {Op::kAdd, {}}}, {first, {Op::kAddI, constant}}, 5, 3};
}

std::optional<double> by_abstract_state(std::span<const Instruction> original, std::span<const Instruction> written) {
  AbstractState a, b;
  Step step;
  for (const Instruction& i : original) CHECK(a.run(i, 0, step));
  for (const Instruction& i : written)
    if (!b.run(i, 0, step)) return {};
  if (!a.same(b)) return {};
  return 1 - static_cast<double>(written.size()) / static_cast<double>(original.size());
}

std::optional<double> nothing_is_right(std::span<const Instruction>, std::span<const Instruction>) {
  return {};
}

TEST(BlockBuffer, KeepsEachBlockOnceWithItsBestAnswer) {
  BlockBuffer buffer;
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(buffer.add(record_of(i)).ok());
  BlockRecord worse = record_of(3);
  worse.answer = worse.block, worse.answer_cost = 5;
  ASSERT_TRUE(buffer.add(worse).ok());
  ASSERT_EQ(buffer.records().size(), 10u);
  EXPECT_EQ(buffer.records().back(), record_of(3));
  BlockRecord better = record_of(4);
  better.answer.clear(), better.answer_cost = 1;
  ASSERT_TRUE(buffer.add(better).ok());
  EXPECT_EQ(buffer.records().back(), better);
  EXPECT_FALSE(buffer.add({{{Op::kSkiz, {}}}, {}, 1, 1}).ok());
  EXPECT_FALSE(buffer.add({{}, std::vector<Instruction>(kNodesMax + 1), 1, 1}).ok());
}

TEST(BlockBuffer, IsBoundedAndTheOldestGo) {
  BlockBuffer buffer;
  for (std::uint64_t i = 0; i < kBlocksMax + 5; ++i) {
    BlockRecord record{{{Op::kPush, Element(i)}}, {}, 1, 1};
    ASSERT_TRUE(buffer.add(record).ok());
  }
  EXPECT_EQ(buffer.records().size(), kBlocksMax);
  EXPECT_EQ(buffer.records().front().block[0].argument, Element(5));
}

TEST(BlockBuffer, HoldsOutAQuarterForEver) {
  tensor::Generator random(1);
  int held = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto block = sample_block(random, 1 + random.below(20));
    held += held_out(block) ? 1 : 0;
    EXPECT_EQ(held_out(block), held_out(std::vector(block)));
  }
  EXPECT_NEAR(held, 1000, 120);
}

TEST(BlockBuffer, GoesThroughAFileAndNoOtherFile) {
  const Folder folder("tir-buffer");
  std::filesystem::create_directories(folder.path());
  const std::string path = folder.path() + "/blocks";
  BlockBuffer buffer;
  tensor::Generator random(2);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const BlockRecord record{sample_block(random, random.below(kNodesMax + 1)),
                             sample_block(random, random.below(kNodesMax + 1)), -static_cast<std::int64_t>(i), 7};
    ASSERT_TRUE(buffer.add(record).ok());
  }
  ASSERT_TRUE(buffer.save(path).ok());
  const auto read = BlockBuffer::load(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->records(), buffer.records());
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t at : {std::uintmax_t{0}, size / 2, size - 1}) {
    ASSERT_TRUE(buffer.save(path).ok());
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.close();
    EXPECT_FALSE(BlockBuffer::load(path).ok()) << at;
  }
  std::filesystem::resize_file(path, 40);
  EXPECT_FALSE(BlockBuffer::load(path).ok());
  EXPECT_EQ(BlockBuffer::load(path + "x").error().code, ErrorCode::kNotFound);
}

constexpr RoundOptions kRound{
    .generations = 2, .warm_start_steps = 60, .warm_start_rate = 2e-3, .blocks_min = 4, .threads = 2};

TEST(Apprentice, PromotesOnlyWhatIsBetterOnBlocksHeldOut) {
  const Folder folder("tir-apprentice");
  auto apprentice = Apprentice::open(folder.path());
  ASSERT_TRUE(apprentice.ok());
  const auto idle = apprentice->round(by_abstract_state, kRound);
  ASSERT_TRUE(idle.ok());
  EXPECT_FALSE(idle->promoted);
  EXPECT_EQ(idle->chosen, store::Versions::kNone);
  for (std::uint64_t i = 0; i < 120; ++i) ASSERT_TRUE(apprentice->add(record_of(i)).ok());

  const auto first = apprentice->round(by_abstract_state, kRound);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(first->promoted);
  EXPECT_GT(first->after, first->before);
  EXPECT_EQ(first->learned_from + first->held_out, 120u);
  const auto weights = apprentice->chosen();
  ASSERT_TRUE(weights.ok() && weights->has_value());

  const auto second = apprentice->round(by_abstract_state, kRound);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->promoted, second->gain_after != second->gain_before ? second->gain_after > second->gain_before
                                                                        : second->after > second->before);
  EXPECT_EQ(second->promoted, second->chosen != first->chosen);

  // The version before is still there.
  if (second->promoted) {
    EXPECT_EQ(apprentice->roll_back().value(), first->chosen);
    EXPECT_EQ(apprentice->chosen().value(), weights.value());
  }

  // Another process goes on from the files.
  auto later = Apprentice::open(folder.path());
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(later->blocks(), 120u);
  EXPECT_EQ(later->chosen().value(), weights.value());
}

/// Returns the compiler's gain on the held-out blocks, and their number.
std::pair<double, std::size_t> gain_of(const Weights& weights, const std::vector<BlockRecord>& records) {
  Network network(weights);
  std::pair<double, std::size_t> out{0, 0};
  for (const BlockRecord& record : records) {
    if (!held_out(record.block)) continue;
    double best = 0;
    for (const auto& written : propose(network, record.block))
      best = std::max(best, by_abstract_state(record.block, written).value_or(0));
    out.first += best, ++out.second;
  }
  return out;
}

TEST(Apprentice, NothingIsEverUsedThatIsWorseThanTheShippedWeights) {
  std::vector<BlockRecord> records;
  for (std::uint64_t i = 0; i < 60; ++i) records.push_back(record_of(i));
  const auto [of_shipped, held] = gain_of(shipped_weights(), records);
  ASSERT_GT(of_shipped, 0) << "the shipped weights know nothing of these blocks: no test";
  RoundOptions options = kRound;
  for (const std::uint64_t steps : {0, 5}) {
    const Folder folder("tir-shipped");
    auto apprentice = Apprentice::open(folder.path(), shipped_weights());
    ASSERT_TRUE(apprentice.ok());
    for (const BlockRecord& record : records) ASSERT_TRUE(apprentice->add(record).ok());
    options.warm_start_steps = steps, options.generations = 1;
    for (int round = 0; round < 3; ++round) {
      const auto report = apprentice->round(by_abstract_state, options);
      ASSERT_TRUE(report.ok()) << report.error().message;
      if (round == 0) {
        EXPECT_DOUBLE_EQ(report->gain_before, of_shipped / static_cast<double>(held));
      }
      const auto chosen = apprentice->chosen();
      ASSERT_TRUE(chosen.ok());
      EXPECT_GE(gain_of(chosen->value_or(shipped_weights()), records).first, of_shipped);
      ++options.seed;
    }
  }
}

TEST(Apprentice, AVersionThatIsWorseThanTheShippedWeightsIsDropped) {
  const Folder folder("tir-dropped");
  std::string worse;
  {
    // Promotes as a process without shipped weights would.
    auto alone = Apprentice::open(folder.path());
    ASSERT_TRUE(alone.ok());
    auto versions = alone->versions();
    worse = versions.add(file_of(initial_weights(7)), "").value();
    ASSERT_TRUE(versions.choose(worse).ok());
    for (std::uint64_t i = 0; i < 60; ++i) ASSERT_TRUE(alone->add(record_of(i)).ok());
    ASSERT_TRUE(alone->round(nothing_is_right, {.generations = 0, .warm_start_steps = 0, .blocks_min = 4}).ok());
    EXPECT_EQ(alone->versions().chosen().value(), worse);
  }
  auto apprentice = Apprentice::open(folder.path(), shipped_weights());
  ASSERT_TRUE(apprentice.ok());
  const auto report = apprentice->round(by_abstract_state, {.generations = 0, .warm_start_steps = 0, .blocks_min = 4});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->dropped);
  EXPECT_NE(report->chosen, worse);
}

TEST(Apprentice, AVersionThatWasDamagedIsNotUsed) {
  const Folder folder("tir-damaged");
  auto apprentice = Apprentice::open(folder.path());
  ASSERT_TRUE(apprentice.ok());
  for (std::uint64_t i = 0; i < 60; ++i) ASSERT_TRUE(apprentice->add(record_of(i)).ok());
  const auto report = apprentice->round(by_abstract_state, kRound);
  ASSERT_TRUE(report.ok());
  ASSERT_TRUE(report->promoted);
  const std::string path = apprentice->versions().path_of(report->chosen);
  std::filesystem::permissions(path, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(1000);
  file.put('x').put('y');
  file.close();
  EXPECT_FALSE(apprentice->chosen().ok());
}

TEST(Apprentice, LearnsInTheBackgroundUntilItIsStopped) {
  const Folder folder("tir-background");
  auto apprentice = Apprentice::open(folder.path());
  ASSERT_TRUE(apprentice.ok());
  for (std::uint64_t i = 0; i < 60; ++i) ASSERT_TRUE(apprentice->add(record_of(i)).ok());
  std::atomic<int> rounds{0}, failures{0};
  {
    BackgroundLearning learning(*apprentice, by_abstract_state,
                                {.generations = 1, .warm_start_steps = 20, .blocks_min = 4}, 1'000'000,
                                [&](const Result<RoundReport>& report) {
                                  ++rounds;
                                  failures += report.ok() ? 0 : 1;
                                });
    while (rounds == 0) std::this_thread::yield();
    // Blocks may arrive while it learns.
    for (std::uint64_t i = 60; i < 70; ++i) ASSERT_TRUE(apprentice->add(record_of(i)).ok());
  }
  EXPECT_GE(rounds, 1);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(apprentice->blocks(), 70u);
}

TEST(Apprentice, WithoutAGainNothingIsPromoted) {
  const Folder folder("tir-no-gain");
  auto apprentice = Apprentice::open(folder.path());
  ASSERT_TRUE(apprentice.ok());
  for (std::uint64_t i = 0; i < 60; ++i) ASSERT_TRUE(apprentice->add(record_of(i)).ok());
  // Without teacher and generations nothing changes: the best is a founder.
  RoundOptions options = kRound;
  options.generations = 0, options.warm_start_steps = 0;
  const auto report = apprentice->round(nothing_is_right, options);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->promoted);
  EXPECT_EQ(report->before, report->after);
  EXPECT_EQ(report->chosen, store::Versions::kNone);
}

}  // namespace
}  // namespace trident::tir::neural
