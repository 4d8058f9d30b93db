// Candidates of known speeds: kernels whose work differs by large factors, and code that crashes.
#include "jit/pipeline/sift.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jit/pipeline/forms.h"
#include "jit/pipeline/timed_call.h"
#include "runtime/os/cpu.h"
#include "runtime/stats/robust.h"

namespace trident::pipeline {
namespace {

using expr::Type;

expr::Expr parsed(const char* text) {
  auto e = expr::parse_infix(text, {.type = Type::f64, .variables = {{"x", Type::f64, expr::VariableKind::array}}});
  CHECK(e.ok());
  return std::move(e).value();
}

Candidate candidate_of(std::size_t form, const codegen::MachineCode& code, const kir::Kernel& kernel) {
  image::ImageBytes image =
      image::build(code, image::counts_of(kernel), codegen::Isa::avx2, TRIDENT_TIER_OPTIMISED, {});
  const auto fd = image::seal(image);
  CHECK(fd.ok());
  auto mapped = image::Mapped::map(*fd);
  CHECK(mapped.ok());
  return {form, kBaselineVariant, code, std::move(image), std::move(mapped).value()};
}

class Sift : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  }

  void add(std::size_t form, const char* text, std::size_t count) {
    const auto kernel = expr::lower(parsed(text), unrewritten({}));
    CHECK(kernel.ok());
    const auto code = codegen::emit(*kernel, codegen::Isa::avx2, kBaselineVariant);
    CHECK(code.ok());
    for (std::size_t i = 0; i < count; ++i) candidates_.push_back(candidate_of(form, *code, *kernel));
  }
  void add_crashing(std::size_t form) {
    const auto kernel = expr::lower(parsed(kFast), unrewritten({}));
    auto code = codegen::emit(*kernel, codegen::Isa::avx2, kBaselineVariant);
    CHECK(code.ok());
    code->bytes[4] = std::byte{0x0F}, code->bytes[5] = std::byte{0x0B};  // ud2, behind endbr64
    candidates_.push_back(candidate_of(form, *code, *kernel));
  }

  void sift_all(std::uint64_t cpu_ns = 2'000'000'000) {
    const expr::Expr source = parsed(kFast);
    const equiv::Samples points = equiv::make_samples(source, {.points = 256}).front();
    const TimedCall call(source, points, kElements);
    const auto kernel = expr::lower(source, unrewritten({}));
    ASSERT_TRUE(kernel.ok());
    const auto sifted = sift(candidates_, judge::signature_of(*kernel), call.workload(), cpu_ns);
    ASSERT_TRUE(sifted.ok()) << sifted.error().message;
  }
  /// Returns the time of a call as sift_all() makes them, on this machine.
  static double ns_of_call(const Candidate& candidate) {
    const expr::Expr source = parsed(kFast);
    const equiv::Samples points = equiv::make_samples(source, {.points = 256}).front();
    const TimedCall call(source, points, kElements);
    const auto kernel = expr::lower(source, unrewritten({}));
    CHECK(kernel.ok());
    const image::Mapped* const one[] = {&candidate.mapped};
    const auto timings = judge::time_rounds(one, judge::signature_of(*kernel), call.workload(), {5, 0, 1'000'000'000});
    CHECK(timings.ok() && !timings->ns[0].empty());
    return stats::median(timings->ns[0]);
  }
  [[nodiscard]] std::size_t staying(std::size_t form) const {
    return static_cast<std::size_t>(std::count_if(candidates_.begin(), candidates_.end(),
                                                  [&](const Candidate& c) { return c.form == form && !c.sifted_out; }));
  }

  static constexpr std::size_t kElements = 4096;
  static constexpr const char* kFast = "x + 1";
  static constexpr const char* kSlow = "sin(exp(x)) * cos(log(x * x + 1))";
  static constexpr const char* kSlower = "sin(exp(x)) * cos(log(x * x + 1)) + tan(x) * atan(x) * cbrt(x) + erf(x)";
  std::vector<Candidate> candidates_;
};

TEST_F(Sift, FewStay) {
  add(0, kSlow, 16);
  sift_all();
  EXPECT_EQ(staying(0), 16u);
}

TEST_F(Sift, TheFastestStayAndSomeOfEachFormAndTheBaseline) {
  add(0, kSlower, 1);
  add(1, kSlow, 20);
  add(2, kFast, 8);
  add(3, kSlower, 20);
  add_crashing(3);
  sift_all();
  EXPECT_EQ(staying(0), 1u) << "the baseline";
  EXPECT_EQ(staying(1), 4u) << "twelve are the fastest";
  EXPECT_EQ(staying(2), 8u);
  EXPECT_EQ(staying(3), 3u) << "two of the form, and the one that crashes";
  EXPECT_FALSE(candidates_.back().sifted_out);
  for (const Candidate& c : candidates_) EXPECT_FALSE(c.checked);
}

// The calls before the first round, four of each candidate, alone would take twice the time that there is.
TEST_F(Sift, ManySlowCandidatesAreComparedInShorterCalls) {
  constexpr std::size_t kMany = 150;
  add(0, kSlower, kMany);
  const double call_ns = ns_of_call(candidates_[0]);
  add(1, kSlow, 3);
  sift_all(static_cast<std::uint64_t>(kMany * 4 * call_ns / 2));
  EXPECT_LE(staying(0), 15u);
  EXPECT_GE(staying(1), 2u);
}

}  // namespace
}  // namespace trident::pipeline
