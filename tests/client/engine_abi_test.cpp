// The engine's C interface with callers that are older than it: their job ends before fields that came later, and
// nothing beyond its end is read. Oracle: a job that says the same with null in these fields; garbage behind the end.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/c/engine_abi.h"
#include "clients/c/image_map.h"
#include "jit/expr/expr.h"
#include "schemas/kernel_image.h"

namespace trident::client {
namespace {

class EngineAbi : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const library = ::dlopen(TRIDENT_ENGINE_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    compile_ = reinterpret_cast<trident_engine_compile_fn>(::dlsym(library, "trident_engine_compile"));
    go_on_ = reinterpret_cast<trident_engine_go_on_fn>(::dlsym(library, "trident_engine_go_on"));
    forget_ = reinterpret_cast<trident_engine_forget_fn>(::dlsym(library, "trident_engine_forget"));
    ASSERT_TRUE(compile_ != nullptr && go_on_ != nullptr && forget_ != nullptr);
    const auto parsed = expr::parse_infix("x*3 + 1", {.type = ir::Type::f32, .variables = {}});
    ASSERT_TRUE(parsed.ok());
    for (const expr::Node& n : parsed->nodes)
      nodes_.push_back({static_cast<std::uint8_t>(n.op), static_cast<std::uint8_t>(n.type), 0, n.a.index, n.b.index,
                        n.c.index, n.imm});
    for (const expr::Variable& v : parsed->variables)
      variables_.push_back({static_cast<std::uint8_t>(v.type), 0, 0, 0, v.lo, v.hi});
    outputs_ = {parsed->outputs[0].node.index};
  }

  [[nodiscard]] trident_engine_job job() const {
    trident_engine_job job{};
    job.struct_size = sizeof job;
    job.isa = greatest_isa();
    job.elements = 4096;
    job.nodes = nodes_.data(), job.node_count = static_cast<std::uint32_t>(nodes_.size());
    job.variables = variables_.data(), job.variable_count = static_cast<std::uint32_t>(variables_.size());
    job.outputs = outputs_.data(), job.output_count = 1;
    return job;
  }
  [[nodiscard]] trident_engine_result compiled(const trident_engine_job& job, std::uint32_t tier) const {
    trident_engine_result result{};
    result.struct_size = sizeof result;
    compile_(&job, tier, &result);
    if (result.fd >= 0) ::close(result.fd);
    return result;
  }

  trident_engine_compile_fn compile_ = nullptr;
  trident_engine_go_on_fn go_on_ = nullptr;
  trident_engine_forget_fn forget_ = nullptr;
  std::vector<trident_engine_node> nodes_;
  std::vector<trident_engine_variable> variables_;
  std::vector<std::uint32_t> outputs_;
};

TEST_F(EngineAbi, JobsOfOlderCallersEndBeforeTheRangesOfTheirData) {
  trident_engine_job old = job();
  old.struct_size = offsetof(trident_engine_job, observed);
  old.observed = reinterpret_cast<const trident_engine_range*>(std::uintptr_t{8});
  const trident_engine_result now = compiled(job(), TRIDENT_TIER_BASELINE), then = compiled(old, TRIDENT_TIER_BASELINE);
  EXPECT_EQ(now.outcome, std::uint32_t{TRIDENT_ENGINE_IMAGE}) << now.message;
  EXPECT_EQ(then.digest_low, now.digest_low);
  EXPECT_NE(compiled(old, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
}

/// Counts how often it is asked, and knows nothing.
int count_question(void* user, trident_engine_range* ranges) {
  EXPECT_NE(ranges, nullptr);
  ++*static_cast<int*>(user);
  return 0;
}

TEST_F(EngineAbi, ASearchAsksOnceForRangesThatItHasNot) {
  int asked = 0;
  trident_engine_job asking = job();
  asking.observe = &count_question, asking.user = &asked;
  EXPECT_EQ(compiled(asking, TRIDENT_TIER_BASELINE).outcome, std::uint32_t{TRIDENT_ENGINE_IMAGE});
  EXPECT_EQ(asked, 0);
  EXPECT_NE(compiled(asking, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
  EXPECT_EQ(asked, 1);
  const trident_engine_range known = {0, 1};
  asking.observed = &known;
  EXPECT_NE(compiled(asking, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
  EXPECT_EQ(asked, 1);
}

/// Counts how often it is asked, with room for NaN, and knows nothing.
int count_question_of_nan(void* user, trident_engine_range* ranges, std::uint8_t* nan) {
  EXPECT_NE(nan, nullptr);
  return count_question(user, ranges);
}

TEST_F(EngineAbi, CallersThatKnowOfNanAreAskedForIt) {
  int asked = 0, asked_of_nan = 0;
  trident_engine_job asking = job();
  asking.observe_or_nan = &count_question_of_nan, asking.user = &asked_of_nan;
  EXPECT_NE(compiled(asking, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
  EXPECT_EQ(asked_of_nan, 1);
  // A caller from before has garbage where these fields are now.
  asking.observe = &count_question, asking.user = &asked;
  asking.observed_nan = reinterpret_cast<const std::uint8_t*>(std::uintptr_t{8});
  asking.struct_size = offsetof(trident_engine_job, observed_nan);
  EXPECT_NE(compiled(asking, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(asked_of_nan, 1);
  const trident_engine_range known = {0, 1};
  asking.observed = &known;
  EXPECT_NE(compiled(asking, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
}

TEST_F(EngineAbi, ASearchIsLeftAfterItsFirstLookAndGoesOnWhereTheCallerTakesIt) {
  int asked = 0;
  void* kept = nullptr;
  trident_engine_job leaving = job();
  leaving.observe = &count_question, leaving.user = &asked;
  leaving.kept = &kept;
  const trident_engine_result first = compiled(leaving, TRIDENT_TIER_OPTIMISED);
  EXPECT_EQ(first.outcome, std::uint32_t{TRIDENT_ENGINE_KEPT}) << first.message;
  EXPECT_EQ(first.fd >= 0, first.optimised_ns > 0);
  EXPECT_LE(first.optimised_ns, first.baseline_ns);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(asked, 0) << "speculation is not the first look's";
  trident_engine_result end{};
  end.struct_size = sizeof end;
  go_on_(kept, &end);
  if (end.fd >= 0) ::close(end.fd);
  EXPECT_EQ(end.outcome, std::uint32_t{first.fd >= 0 ? TRIDENT_ENGINE_IMAGE : TRIDENT_ENGINE_NO_GAIN}) << end.message;
  EXPECT_EQ(asked, 1);
  kept = nullptr;
  EXPECT_EQ(compiled(leaving, TRIDENT_TIER_OPTIMISED).outcome, std::uint32_t{TRIDENT_ENGINE_KEPT});
  ASSERT_NE(kept, nullptr);
  forget_(kept);
  EXPECT_EQ(asked, 1);
}

TEST_F(EngineAbi, JobsThatLackWhatTheFirstHadAreRefused) {
  trident_engine_job cut = job();
  cut.struct_size = offsetof(trident_engine_job, cancel);
  EXPECT_EQ(compiled(cut, TRIDENT_TIER_BASELINE).outcome, std::uint32_t{TRIDENT_ENGINE_ERROR});
}

}  // namespace
}  // namespace trident::client
