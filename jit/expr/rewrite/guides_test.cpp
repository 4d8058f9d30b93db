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
