// Oracle: which head each of the files that come with the program was trained for.
#include "jit/expr/rewrite/guides.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/shipped_weights.h"

namespace trident::expr::rewrite {
namespace {

TEST(GuideWeights, AreThoseOfAGuide) {
  EXPECT_TRUE(guide_weights(nnue::shipped_weights()).ok());
  EXPECT_TRUE(guide_weights(std::string()).ok());
  const auto refused = guide_weights(nnue::shipped_judge());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kRejectedRecord);
  EXPECT_EQ(refused.error().message,
            "no guide: these are the weights of a judge (trident train judge), whose other head was never trained");
  const std::string path = ::testing::TempDir() + "judge_as_guide_" + std::to_string(::getpid()) + ".nnue";
  const auto bytes = nnue::shipped_judge();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EXPECT_EQ(guide_weights(path).error().message, path + ": " + refused.error().message);
  EXPECT_EQ(AnyGuide::make(GuideKind::network, path).error().message, guide_weights(path).error().message);
  const auto either = any_weights(path);
  ASSERT_TRUE(either.ok());
  EXPECT_TRUE(is_judge(*either) && !is_guide(*either));
  std::remove(path.c_str());
}

using Bytes = std::vector<std::byte>;

/// `first`, `filling` zeros, `second`.
Bytes joined(std::span<const std::byte> first, std::size_t filling, std::span<const std::byte> second) {
  Bytes both(first.begin(), first.end());
  both.insert(both.end(), filling, std::byte{0});
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

/// Returns the error of guide_weights() or judge_weights() for these bytes; empty if they are good.
template <class Check>
std::string refusal(Check&& check, const Bytes& bytes) {
  std::vector<std::byte> memory(bytes.size() + 64);
  auto* const aligned = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  std::copy(bytes.begin(), bytes.end(), aligned);
  const auto weights = check(std::span<const std::byte>(aligned, bytes.size()));
  if (weights.ok()) return "";
  EXPECT_EQ(weights.error().code, ErrorCode::kRejectedRecord);
  return weights.error().message;
}

TEST(GuideWeights, MayHaveAJudgeBehindThemAndNothingElse) {
  const auto check = [](std::span<const std::byte> block) { return guide_weights(block); };
  const auto guide = nnue::shipped_weights(), judge = nnue::shipped_judge();
  const std::size_t filling = (64 - guide.size() % 64) % 64;
  const Bytes zeros(200), one(1, std::byte{1});
  EXPECT_EQ(refusal(check, joined(guide, 0, zeros)), "");
  EXPECT_EQ(refusal(check, joined(guide, filling, judge)), "");
  EXPECT_EQ(refusal(check, joined(joined(guide, filling, judge), 0, zeros)), "");
  for (const Bytes& wrong :
       {joined(guide, 0, one), joined(guide, filling, one), joined(guide, 10'000, one), joined(guide, filling, guide),
        joined(guide, filling, judge.first(judge.size() - 1)), joined(guide, filling + 64, judge),
        joined(joined(guide, filling, judge), 0, one), joined(joined(guide, filling, judge), 10'000, one)})
    EXPECT_TRUE(refusal(check, wrong).starts_with("the bytes after the guide's weights")) << wrong.size();
  // Nothing may follow a judge's weights.
  const auto check_judge = [](std::span<const std::byte> block) { return judge_weights(block); };
  EXPECT_EQ(refusal(check_judge, joined(judge, 0, zeros)), "");
  EXPECT_NE(refusal(check_judge, joined(judge, 0, one)), "");
  EXPECT_NE(refusal(check_judge, joined(judge, (64 - judge.size() % 64) % 64, judge)), "");
}

TEST(JudgeWeights, AreThoseOfAJudge) {
  EXPECT_TRUE(judge_weights(nnue::shipped_judge()).ok());
  EXPECT_EQ(judge_weights(nnue::shipped_weights()).error().message,
            "no judge: these are the weights of a guide (trident train guide), whose other head was never trained");
  nn::PlainWeights plain;
  plain.space = nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth);
  const auto blank = nn::AccumulatorWeights::pack(plain);
  ASSERT_TRUE(blank.ok());
  std::vector<std::byte> memory(blank->size() + 64);
  auto* const aligned = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  std::copy(blank->begin(), blank->end(), aligned);
  for (const auto& refused : {judge_weights({aligned, blank->size()}), guide_weights({aligned, blank->size()})})
    EXPECT_NE(refused.error().message.find("neither head of this network was ever trained"), std::string::npos);
}

}  // namespace
}  // namespace trident::expr::rewrite
