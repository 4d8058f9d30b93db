// Machine code with one bit flipped, run in the sandbox: whatever it does, this process lives on, and unless the flip
// is harmless the check of the code refuses it. Harmless is decided on other points and lengths by running the mutant
// again.
#include <gtest/gtest.h>

#include "jit/equiv/checker.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/forms.h"
#include "runtime/os/cpu.h"
#include "tests/chaos/mutations.h"

namespace trident {
namespace {

constexpr const char* kTexts[] = {"x * y + p", "(x - y) / (x + 3) + sqrt(y)", "x < y ? x * p : floor(y)",
                                  "(sum(x * y), max(x, y) - p)"};

std::vector<expr::Variable> variables(expr::Type type) {
  return {{"x", type, expr::VariableKind::array, -2, 2},
          {"y", type, expr::VariableKind::array, 0.5, 4},
          {"p", type, expr::VariableKind::scalar, 1, 2}};
}

struct BitFlips {
  int mutants = 0, refused = 0, harmless = 0, missed = 0;
  std::string why{};  ///< what those that were missed do on other points
};

BitFlips flip_bits(const expr::Expr& source, codegen::Isa isa, std::uint64_t seed, int count) {
  const auto kernel = expr::lower(source, pipeline::unrewritten({}));
  CHECK(kernel.ok());
  const auto code = codegen::emit(*kernel, isa, pipeline::kBaselineVariant);
  CHECK(code.ok());
  auto checker = equiv::Checker::make(source, {}, {.samples = {.points = 512, .seed = 1}});
  auto other = equiv::Checker::make(source, {}, {.samples = {.points = 4096, .seed = 2}});
  CHECK(checker.ok());
  CHECK(other.ok());
  auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::policy);
  auto prepared_other = (*other)->check_meaning(*kernel, equiv::Demand::policy);
  CHECK(prepared.ok());
  CHECK(prepared_other.ok());
  const judge::Signature signature = judge::signature_of(*kernel);
  testing::Random random(seed);
  BitFlips tally;
  for (int i = 0; i < count; ++i) {
    const auto mutant = testing::flip_bit(*code, random);
    auto fd = image::seal(image::build(mutant, image::counts_of(*kernel), isa, TRIDENT_TIER_OPTIMISED, {}));
    CHECK(fd.ok());
    auto mapped = image::Mapped::map(*fd);
    CHECK(mapped.ok());
    const auto execute = pipeline::execute_in_sandbox(source, signature, *mapped, 50'000'000);
    auto verdict = (*checker)->check_code(*prepared, execute, equiv::Effort::full);
    CHECK(verdict.ok());
    ++tally.mutants;
    if (!verdict->same()) {
      ++tally.refused;
      continue;
    }
    auto again = (*other)->check_code(*prepared_other, execute, equiv::Effort::full);
    CHECK(again.ok());
    ++(again->same() ? tally.harmless : tally.missed);
    if (!again->same() && again->counterexample)
      tally.why +=
          "; mutant " + std::to_string(i) + " of seed " + std::to_string(seed) + ": " + again->counterexample->why;
  }
  return tally;
}

TEST(CodeMutation, FlippedBitsAreRefusedUnlessHarmless) {
  std::vector<codegen::Isa> isas;
  if (os::cpu_features().avx2_fma) isas.push_back(codegen::Isa::avx2);
  if (os::cpu_features().avx512) isas.push_back(codegen::Isa::avx512);
  if (isas.empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  BitFlips sum;
  std::uint64_t seed = 1;
  for (const char* text : kTexts) {
    const expr::Type type = seed % 2 == 0 ? expr::Type::f32 : expr::Type::f64;
    auto source = expr::parse_infix(text, {.type = type, .variables = variables(type)});
    ASSERT_TRUE(source.ok()) << source.error().message;
    const BitFlips t = flip_bits(*source, isas[seed % isas.size()], seed, 60);
    sum.mutants += t.mutants, sum.refused += t.refused, sum.harmless += t.harmless, sum.missed += t.missed,
        sum.why += t.why;
    ++seed;
  }
  EXPECT_EQ(sum.missed, 0) << sum.mutants << " mutants, " << sum.refused << " refused, " << sum.harmless << " harmless"
                           << sum.why;
  // The block for other floating-point environments, a quarter of such short code, does not run in this one.
  EXPECT_GE(sum.refused, sum.mutants / 3) << sum.harmless << " harmless";
}

}  // namespace
}  // namespace trident
