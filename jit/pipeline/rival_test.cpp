// Rivals whose speed is known: a kernel beside itself, and beside one that does much more.
#include "jit/pipeline/rival.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "jit/pipeline/timed_call.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

using expr::Type;

constexpr const char* kLittle = "x * x + 1";
constexpr const char* kMuch = "sin(exp(x)) * cos(log(x * x + 1)) + tan(x) * atan(x)";

expr::Expr over_x(const char* text) {
  auto e = expr::parse_infix(text, {.type = Type::f64, .variables = {{"x", Type::f64, expr::VariableKind::array}}});
  CHECK(e.ok());
  return std::move(e).value();
}

Tried plain_form(const char* text) {
  auto kernel = expr::lower(over_x(text), unrewritten({}));
  CHECK(kernel.ok());
  return {.form = {"source", std::move(kernel).value(), true}};
}

class ARival : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  }

  static image::Mapped image_of(const char* text) {
    const auto compiled = compile_baseline(over_x(text), {});
    CHECK(compiled.ok());
    const auto fd = image::seal(compiled->image);
    CHECK(fd.ok());
    auto mapped = image::Mapped::map(*fd);
    CHECK(mapped.ok());
    return std::move(mapped).value();
  }

  bool may_beat(const char* rival, double most, const char* text) const {
    const image::Mapped image = image_of(rival);
    const Tried one = plain_form(text);
    const auto may = pipeline::may_beat({image, most}, std::span(&one, 1), {}, call_.workload());
    CHECK(may.ok());
    return *may;
  }
  bool beats(const char* rival, double most, const char* text) const {
    const image::Mapped image = image_of(rival), kernel = image_of(text);
    const auto does =
        pipeline::beats({image, most}, kernel, judge::signature_of(plain_form(text).form.kernel), call_.workload());
    CHECK(does.ok());
    return *does;
  }

  expr::Expr source_ = over_x(kLittle);
  equiv::Samples points_ = points_to_time(source_, 1);
  TimedCall call_{source_, points_, 4096};
};

TEST_F(ARival, SlowCodeIsOutrunAndOutrunsNothing) {
  EXPECT_TRUE(may_beat(kMuch, 0.95, kLittle));
  EXPECT_TRUE(beats(kMuch, 0.95, kLittle));
  EXPECT_FALSE(may_beat(kLittle, 0.95, kMuch));
  EXPECT_FALSE(beats(kLittle, 0.95, kMuch));
}

TEST_F(ARival, AKernelDoesNotOutrunItselfByMuch) {
  EXPECT_FALSE(beats(kMuch, 0.8, kMuch));
}

/// Plants times: the rival takes 1, code that `is_quick` half of that, all other code twice as much.
TimeKernels planted(const std::function<bool(const std::byte*)>& is_quick) {
  return [is_quick](std::span<const image::Mapped* const> kernels, const judge::Signature&, const judge::Workload&,
                    const judge::TimingRules&) -> Result<judge::Timings> {
    judge::Timings timings;
    for (const image::Mapped* kernel : kernels) {
      const auto* code = reinterpret_cast<const std::byte*>(reinterpret_cast<const void*>(kernel->entry()));
      timings.ns.push_back({timings.ns.empty() ? 1.0 : is_quick(code) ? 0.5 : 2.0});
    }
    return timings;
  };
}

// Which variant is fast cannot be said before: the rival's own is one that no list of likely ones begins with.
TEST_F(ARival, TheRivalsOwnVariantIsTried) {
  const image::Mapped rival = image_of(kMuch);
  const Tried one = plain_form(kLittle);
  constexpr codegen::Variant kOwn{.vectors = 5}, kOther{.vectors = 6};
  const auto own = codegen::emit(one.form.kernel, codegen::Isa::avx2, kOwn);
  ASSERT_TRUE(own.ok());
  const auto is_own = [&](const std::byte* code) {
    return std::equal(code, code + own->code_size, own->bytes.begin());
  };
  const auto may_beat = [&](const codegen::Variant& variant) {
    return *pipeline::may_beat({rival, 0.95, variant}, std::span(&one, 1), {}, call_.workload(), planted(is_own));
  };
  EXPECT_TRUE(may_beat(kOwn));
  EXPECT_FALSE(may_beat(kOther)) << "then it is the others that win";
}

// All that is optimised beats the baseline, but nothing beats code that does a part of the work.
TEST_F(ARival, ASearchEndsWhereNothingIsOfUse) {
  const image::Mapped quick = image_of(kLittle), slow = image_of(kMuch);
  Options options;
  const Rival winnable{slow, 0.95}, lost{quick, 0.95};
  options.rival = &winnable;
  const auto won = optimise(over_x(kMuch), options);
  ASSERT_TRUE(won.ok());
  EXPECT_EQ(won->outcome, Outcome::published) << won->note;
  options.rival = &lost;
  const auto ended = optimise(over_x(kMuch), options);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->outcome, Outcome::no_gain);
  EXPECT_EQ(ended->note, "nothing is so much faster than the kernel that it would stand beside");
  EXPECT_EQ(ended->times.back().pass, "forms") << "nothing is checked";
}

// The only candidate is the baseline. It is of use where the rival does more work, and no use where that does less.
TEST_F(ARival, TheBaselineItselfMayBeOfUse) {
  const image::Mapped quick = image_of(kLittle), slow = image_of(kMuch);
  Options options;
  options.search.disabled = {"interleave", "schedule", "non_temporal", "contracted", "accuracy4", "rel3", "joined"};
  for (const char* name : kRewriting) options.search.disabled.emplace_back(name);
  const Rival winnable{slow, 0.95}, lost{quick, 0.95};
  options.rival = &winnable;
  const auto won = optimise(over_x(kLittle), options);
  ASSERT_TRUE(won.ok());
  EXPECT_EQ(won->outcome, Outcome::published) << won->note;
  EXPECT_FALSE(won->winner.image.bytes.empty());
  options.rival = &lost;
  const auto ended = optimise(over_x(kLittle), options);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->outcome, Outcome::no_gain);
}

}  // namespace
}  // namespace trident::pipeline
