// Children of checks: each costs milliseconds where memory is virtualised, so their number may not grow
// unnoticed. Oracle: the sandbox's own count.
#include "jit/pipeline/execution.h"

#include <gtest/gtest.h>

#include "jit/pipeline/forms.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"
#include "runtime/os/sandbox.h"

namespace trident::pipeline {
namespace {

using expr::Type;
using expr::VariableKind;

expr::Expr source_of_many_sets() {
  auto e = expr::parse_infix("select(x < y, exp(x) / (x - y), sqrt(x) * p)",
                             {.type = Type::f64,
                              .variables = {{"x", Type::f64, VariableKind::array},
                                            {"y", Type::f64, VariableKind::array},
                                            {"p", Type::f64, VariableKind::scalar}}});
  CHECK(e.ok());
  return std::move(e).value();
}

image::Mapped code_of(const kir::Kernel& kernel) {
  const auto code = codegen::emit(kernel, codegen::Isa::avx2, kBaselineVariant);
  CHECK(code.ok());
  const auto fd =
      image::seal(image::build(*code, image::counts_of(kernel), codegen::Isa::avx2, TRIDENT_TIER_BASELINE, {}));
  CHECK(fd.ok());
  auto mapped = image::Mapped::map(*fd);
  CHECK(mapped.ok());
  return std::move(mapped).value();
}

class Children : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  }
};

TEST_F(Children, OneChecksAllSetsOfACandidate) {
  const expr::Expr source = source_of_many_sets();
  const auto kernel = expr::lower(source, unrewritten({}));
  ASSERT_TRUE(kernel.ok());
  const auto checker = equiv::Checker::make(source, {}, {.samples = {.points = equiv::suggested_points(source)}});
  ASSERT_TRUE(checker.ok());
  EXPECT_GE((*checker)->sets().size(), 8u);
  const auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::policy);
  ASSERT_TRUE(prepared.ok() && prepared->meaning.same());
  const judge::Signature signature = judge::signature_of(*kernel);
  const image::Mapped code = code_of(*kernel);
  const equiv::Execute execute = execute_in_sandbox(source, signature, code);
  for (const equiv::Effort effort : {equiv::Effort::full, equiv::Effort::brief}) {
    const std::uint64_t before = os::thread_children();
    const auto verdict = (*checker)->check_code(*prepared, execute, effort);
    ASSERT_TRUE(verdict.ok() && verdict->same());
    EXPECT_EQ(os::thread_children() - before, 1u);
  }
  const std::uint64_t before = os::thread_children();
  const auto verdict = (*checker)->check_long_calls(*prepared, *kernel, execute, 600'000);
  ASSERT_TRUE(verdict.ok() && verdict->same());
  EXPECT_EQ(os::thread_children() - before, 2u) << "one for each end of the arrays";
}

TEST_F(Children, OfASearchAreShared) {
  const Options options{.target = {.isa = codegen::Isa::avx2},
                        .budget = {.cpu_ns = 20 * kDefaultBudgetNs},  // however slow the machine is
                        .search = {.disabled = {"non_temporal"}},
                        .trace = {.stop_after = "equiv"}};
  std::uint32_t candidates = 0;
  const std::uint64_t before = os::thread_children();
  const auto optimised = optimise(source_of_many_sets(), options, [&](const Progress& progress) {
    if (progress.stage == Stage::equiv) candidates = progress.total;
  });
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_GE(candidates, 20u);
  EXPECT_LE(os::thread_children() - before, 1 + candidates / 8) << "the baseline has its own";
}

}  // namespace
}  // namespace trident::pipeline
