// Tests which judge is promoted, and that the guide beside it stays. Oracles: times that the better of two judges
// foretells exactly; bytes of files; a cache filled by hand.
#include "jit/training/train_daemon_judge.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/learn/scrambles.h"
#include "jit/learn/submitted.h"
#include "jit/learn/timed_kernels.h"
#include "jit/learn/variants.h"
#include "jit/nnue/shipped_weights.h"
#include "jit/training/train_daemon.h"
#include "jit/training/train_guide.h"
#include "jit/training/train_judge.h"
#include "runtime/os/cpu.h"
#include "runtime/store/state_folder.h"

namespace trident::training {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}
Bytes guide() {
  return bytes_of(nnue::shipped_weights());
}
Bytes judge() {
  return bytes_of(nnue::shipped_judge());
}

/// A judge that adds nothing to the analytical model.
Bytes silent_judge() {
  nn::PlainWeights plain;
  plain.space = nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth);
  for (auto& head : plain.heads) head.bias.resize(1);
  plain.judge_unit = 1e-3f;
  return nn::AccumulatorWeights::pack(plain).value();
}

/// Kernels that take exactly as long as the program's judge says.
const learn::JudgeSamples& samples() {
  static const learn::JudgeSamples made = [] {
    learn::JudgeSamples out;
    for (std::uint64_t seed = 1; out.families.size() < 60; ++seed) {
      const auto scramble = learn::scrambled(seed, {.parts_max = 4});
      if (!scramble) continue;
      out.families.push_back({"family" + std::to_string(seed), "scramble"});
      for (const expr::Expr* e : {&scramble->good, &scramble->expr})
        if (const auto kernel = learn::kernel_of(expr::print_infix(*e)); kernel.ok())
          out.add(*e, *kernel, cost::shipped("avx512"), 1, static_cast<std::uint32_t>(out.families.size() - 1));
    }
    for (learn::JudgeSample& s : out.samples) {
      const std::span features(out.features.data() + s.first, s.end - s.first);
      s.log_ns = expr::rewrite::shipped_time_model()->log_ns(features, s.nodes, s.scalars);
    }
    return out;
  }();
  return made;
}

std::vector<std::uint32_t> all_samples() {
  std::vector<std::uint32_t> all(samples().samples.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

class TrainDaemonJudge : public ::testing::Test {
 protected:
  TrainDaemonJudge() {
    char pattern[] = "/dev/shm/trident-judge-XXXXXX";
    state_ = ::mkdtemp(pattern);
  }
  ~TrainDaemonJudge() override { fs::remove_all(state_); }
  [[nodiscard]] store::Versions versions() const { return store::weight_versions(state_).value(); }
  /// Returns true when a version's file begins with `first` and ends with `last`.
  static bool holds(const store::Versions& folder, const std::string& name, const Bytes& first, const Bytes& last) {
    std::ifstream in(folder.path_of(name), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return bytes.size() >= first.size() + last.size() && bytes.size() < first.size() + last.size() + 64 &&
           std::equal(first.begin(), first.end(), bytes.begin()) &&
           std::equal(last.rbegin(), last.rend(), bytes.rbegin());
  }
  std::string state_;
};

TEST_F(TrainDaemonJudge, OnlyWhatRanksBetterIsPromoted) {
  store::Versions folder = versions();
  TrainedJudgeRound round;
  ASSERT_TRUE(promote_judge_if_better(folder, silent_judge(), samples(), all_samples(), round).ok());
  EXPECT_EQ(round.rank_before, 1);
  EXPECT_LT(round.rank, 0.999);
  EXPECT_FALSE(round.promoted);
  EXPECT_EQ(folder.chosen().value(), store::Versions::kNone);
  EXPECT_EQ(folder.list()->size(), 1u);
  // No better is not better.
  ASSERT_TRUE(promote_judge_if_better(folder, judge(), samples(), all_samples(), round = {}).ok());
  EXPECT_FALSE(round.promoted);
  // The other way round.
  const std::string worse = folder.add(guide_and_judge(guide(), silent_judge()), "{}").value();
  ASSERT_TRUE(folder.choose(worse).ok());
  ASSERT_TRUE(promote_judge_if_better(folder, judge(), samples(), all_samples(), round = {}).ok());
  EXPECT_TRUE(round.promoted);
  EXPECT_EQ(round.before, worse);
  EXPECT_EQ(round.rank, 1);
  EXPECT_EQ(folder.chosen().value(), round.candidate);
  EXPECT_TRUE(holds(folder, round.candidate, guide(), judge()));
  EXPECT_EQ(folder.roll_back().value(), worse);
}

TEST_F(TrainDaemonJudge, AndTheGuideLeaveEachOtherAsTheyAre) {
  store::Versions folder = versions();
  const Bytes naive = untrained_guide(1).value();
  const std::string first = folder.add(guide_and_judge(naive, silent_judge()), "{}").value();
  ASSERT_TRUE(folder.choose(first).ok());
  TrainedJudgeRound judged;
  ASSERT_TRUE(promote_judge_if_better(folder, judge(), samples(), all_samples(), judged).ok());
  ASSERT_TRUE(judged.promoted);
  EXPECT_TRUE(holds(folder, judged.candidate, naive, judge()));
  TrainedRound guided;
  ASSERT_TRUE(promote_if_better(folder, guide(), learn::composed_cases(24), guided).ok());
  ASSERT_TRUE(guided.promoted);
  EXPECT_EQ(guided.before, judged.candidate);
  EXPECT_TRUE(holds(folder, guided.candidate, guide(), judge()));
}

TEST_F(TrainDaemonJudge, ARoundNeedsKernelsOfThisMachine) {
  DaemonJudgeTrainer trainer({.state = state_, .epochs = 1, .least = 300});
  const auto enough = [&] {
    const auto round = trainer.round();
    EXPECT_TRUE(round.ok()) << round.error().message;
    return round.ok() && round->enough;
  };
  EXPECT_FALSE(enough());
  std::filesystem::create_directories(state_);
  ASSERT_EQ(::mkfifo(kernels_path(state_).c_str(), 0600), 0);
  EXPECT_NE(trainer.round().error().message.find("is a FIFO"), std::string::npos) << "or it would wait for a writer";
  std::filesystem::remove(kernels_path(state_));
  const auto write = [&](const std::string& cpu, const std::string& prefix, std::size_t families) {
    auto cache = learn::TimedKernelWriter::open(kernels_path(state_),
                                                {.cpu = cpu, .isa = "avx512", .build = "0123", .date = "2026-01-02"});
    ASSERT_TRUE(cache.ok()) << cache.error().message;
    std::vector<learn::FamilyTimes> written;
    for (std::size_t f = 0; f < families; ++f) {
      std::string text = "x";
      for (std::size_t i = 0; i <= f % 7; ++i) text += "*y + " + std::to_string(f + 2);
      const double ns = 0.1 * static_cast<double>(f % 7 + 1);
      written.push_back({prefix + std::to_string(f),
                         "program",
                         {{.text = text, .how = "source", .ns = ns, .ns_again = ns},
                          {.text = "sqrt(" + text + ")", .how = "best", .ns = 3 * ns, .ns_again = 3 * ns}}});
    }
    ASSERT_TRUE(cache->append(written).ok());
  };
  write("Another Processor 9", "elsewhere", 200);
  EXPECT_FALSE(enough());
  write(os::cpu_model(), "few", 100);
  EXPECT_FALSE(enough());
  write(os::cpu_model(), "more", 200);
  const auto round = trainer.round();
  ASSERT_TRUE(round.ok()) << round.error().message;
  EXPECT_TRUE(round->enough);
  EXPECT_EQ(round->kernels, 600u);
  // Validation uses a tenth of the families alone; held-out families are for reports.
  const auto timed = learn::load_timed_kernels(kernels_path(state_));
  ASSERT_TRUE(timed.ok());
  const auto seen = learn::samples_of(*timed, machine_trained_on(*timed));
  ASSERT_TRUE(seen.ok());
  const learn::JudgeSplit split = judge_split(*seen, {});
  EXPECT_EQ(round->validation, split.validation.size());
  EXPECT_NE(round->validation, split.held_out.size());
  EXPECT_GT(round->validation, 25u);
  EXPECT_EQ(round->promoted, round->rank > round->rank_before + kJudgePromotionGain);
  EXPECT_EQ(versions().chosen().value(), round->promoted ? round->candidate : std::string(store::Versions::kNone));
  // There is nothing new to learn from.
  EXPECT_FALSE(enough());
  // The families are as many, but others, as after the weekly calibration.
  write(os::cpu_model(), "newer", 100);
  auto cache = learn::TimedKernelWriter::open(
      kernels_path(state_), {.cpu = os::cpu_model(), .isa = "avx512", .build = "0123", .date = "2026-01-02"});
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE(cache->drop_oldest(600, 2000).ok());
  const auto renewed = trainer.round();
  ASSERT_TRUE(renewed.ok()) << renewed.error().message;
  EXPECT_TRUE(renewed->enough);
  EXPECT_EQ(renewed->kernels, 600u);
}

}  // namespace
}  // namespace trident::training
