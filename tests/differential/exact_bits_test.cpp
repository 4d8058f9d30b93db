// Under `exact` an answer has one set of bits: at once from the interpreter, later from baseline and optimised code, in
// every run, on AVX2 and AVX-512 (neon_bits_test.cpp: on NEON). Oracle: the interpreter on the kernel as written.
#include <gtest/gtest.h>

#include "tests/differential/corpus_sources.h"
#include "tests/differential/exact_bits.h"

namespace trident::testing {
namespace {

constexpr std::size_t kEveryForCode = 9, kEveryForRuns = 23;
constexpr std::uint64_t kRunNs = 1'000'000'000;

Run run_of(const image::Mapped& mapped) {
  return [&mapped](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
    mapped.entry()(nullptr, n, in, out, params);
    return n;
  };
}

kir::Kernel as_written(const expr::Expr& source) {
  auto kernel = expr::lower(source, pipeline::unrewritten({expr::PolicyKind::exact, 0}));
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

TEST(ExactBits, EveryFormAndVariantGivesTheInterpretersBits) {
  int compared = 0;
  each_corpus_source(kEveryForCode, [&](const std::string& name, const expr::Expr& source) {
    const kir::Kernel written = as_written(source);
    const auto calls = drawn_calls(source);
    for (const codegen::Isa isa : runnable_isas()) {
      for (const pipeline::Form& form : exact_forms(source, isa)) {
        for (const codegen::Variant& variant : some_variants(form.kernel, isa)) {
          const auto mapped = map_native(form.kernel, isa, variant);
          if (!mapped.ok() && mapped.error().code == ErrorCode::kUnsupported) continue;
          ASSERT_TRUE(mapped.ok()) << name << ": " << mapped.error().message;
          EXPECT_EQ(compare_calls(written, run_of(*mapped), calls), "") << name << " " << form.name;
          ++compared;
        }
      }
    }
  });
  if (!runnable_isas().empty()) {
    EXPECT_GT(compared, 100);
  }
}

TEST(ExactBits, SeveralPassesGiveTheInterpretersBits) {
  each_source_of_passes([&](const std::string& name, const expr::Expr& source) {
    const kir::Kernel written = as_written(source);
    for (const codegen::Isa isa : runnable_isas())
      for (const pipeline::Form& form : exact_forms(source, isa))
        for (const codegen::Variant& variant : some_variants(form.kernel, isa)) {
          const auto mapped = map_native(form.kernel, isa, variant);
          ASSERT_TRUE(mapped.ok()) << name << ": " << mapped.error().message;
          EXPECT_EQ(compare_calls(written, run_of(*mapped), drawn_calls(source)), "") << name << " " << form.name;
        }
  });
}

// Runs of other seeds may choose other kernels; their bits are the same, whatever was measured.
TEST(ExactBits, RunsOfTheOptimiserGiveTheSameBits) {
  if (runnable_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  int published = 0;
  each_corpus_source(kEveryForRuns, [&](const std::string& name, const expr::Expr& source) {
    const kir::Kernel written = as_written(source);
    const auto calls = drawn_calls(source);
    for (const std::uint64_t seed : {1, 2}) {
      pipeline::Options options = exact_options(runnable_isas().back());
      options.search.seed = seed;
      options.budget.cpu_ns = kRunNs;
      const auto optimised = pipeline::optimise(source, options);
      ASSERT_TRUE(optimised.ok()) << name << ": " << optimised.error().message;
      EXPECT_NE(optimised->outcome, pipeline::Outcome::not_equivalent) << name << ": " << optimised->detail;
      if (optimised->outcome != pipeline::Outcome::published) continue;
      const auto fd = image::seal(optimised->winner.image);
      ASSERT_TRUE(fd.ok());
      const auto mapped = image::Mapped::map(*fd);
      ASSERT_TRUE(mapped.ok());
      EXPECT_EQ(compare_calls(written, run_of(*mapped), calls), "") << name << ", seed " << seed;
      ++published;
    }
  });
  EXPECT_GT(published, 0);
}

// The comparison sees one bit: x*3 + y is no fma(x, 3, y), nor is a - b - c one less their sum.
TEST(ExactBits, AnotherRoundingIsSeen) {
  if (runnable_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  for (const auto& [text, other] : {std::pair{"x*3.3 + y", "fma(x, 3.3, y)"}, std::pair{"x - y - 0.1", "x - (y + 0.1)"},
                                    std::pair{"exp(x)*exp(y)", "exp(x + y)"}}) {
    const auto source = expr::parse_infix(text), form = expr::parse_infix(other);
    ASSERT_TRUE(source.ok() && form.ok());
    const auto mapped = map_native(as_written(*form), runnable_isas().front(), {});
    ASSERT_TRUE(mapped.ok());
    EXPECT_NE(compare_calls(as_written(*source), run_of(*mapped), drawn_calls(*source)), "") << text;
  }
}

}  // namespace
}  // namespace trident::testing
