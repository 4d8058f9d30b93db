// Under `exact` an answer has one set of bits: at once from the interpreter, later from baseline and optimised code, in
// every run, on AVX2 and AVX-512 (neon_bits_test.cpp: on NEON), in every floating-point environment. Oracle: the
// interpreter on the kernel as written.
#include <gtest/gtest.h>

#include <algorithm>

#include "jit/kir/interpreter.h"
#include "tests/differential/corpus_sources.h"
#include "tests/differential/exact_bits.h"
#include "tests/support/draws.h"
#include "tests/support/foreign_floats.h"
#include "tests/support/random_expr.h"

namespace trident::testing {
namespace {

constexpr std::size_t kEveryForCode = 9, kEveryForRuns = 23;
/// Each kernel has its turn, in some environments, its optimised forms in one; by `make campaign NAME=environments` in
/// all.
constexpr std::uint64_t kEnvironments = 2, kFormEnvironments = 1;
/// Optimised forms in other environments: of each so many-th kernel of the corpora, and of drawn ones.
constexpr std::uint64_t kEveryForForms = 31, kDrawn = 12;
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

/// The source order of a long sum may take too many registers or too much stack; the interpreter answers then.
bool is_too_large(const auto& mapped) {
  return !mapped.ok() && mapped.error().code == ErrorCode::kLimitExceeded;
}

TEST(ExactBits, EveryFormAndVariantGivesTheInterpretersBits) {
  int compared = 0, too_large = 0;
  each_corpus_source(kEveryForCode, [&](const std::string& name, const expr::Expr& source) {
    const kir::Kernel written = as_written(source);
    const auto calls = drawn_calls(source);
    for (const codegen::Isa isa : runnable_isas()) {
      for (const pipeline::Form& form : exact_forms(source, isa)) {
        for (const codegen::Variant& variant : some_variants(form.kernel, isa)) {
          const auto mapped = map_native(form.kernel, isa, variant);
          if (!mapped.ok() && mapped.error().code == ErrorCode::kUnsupported) continue;
          if (is_too_large(mapped)) {
            ++too_large;
            continue;
          }
          ASSERT_TRUE(mapped.ok()) << name << ": " << mapped.error().message;
          EXPECT_EQ(compare_calls(written, run_of(*mapped), calls), "") << name << " " << form.name;
          ++compared;
        }
      }
    }
  });
  if (!runnable_isas().empty()) {
    EXPECT_GT(compared, 100);
    EXPECT_LT(too_large, compared / 50);
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

TEST(ExactBits, RemaindersOfAnyOperandsHaveTheInterpretersBits) {
  const kir::Kernel written = as_written(remainder_source());
  const auto calls = remainder_calls();
  for (const codegen::Isa isa : runnable_isas())
    for (const codegen::Variant& variant : some_variants(written, isa)) {
      const auto mapped = map_native(written, isa, variant);
      ASSERT_TRUE(mapped.ok()) << mapped.error().message;
      EXPECT_EQ(compare_calls(written, run_of(*mapped), calls), "") << codegen::name_of(isa);
    }
}

/// Runs in the environment; `intact` becomes false where it comes back as another one. The scope only calls.
Run in_environment(const FloatEnvironment& environment, const Run& run, bool& intact) {
  return [&environment, &run, &intact](std::uint64_t n, const void* const* in, void* const* out,
                                       const std::uint64_t* params) {
    const ForeignFloats floats(environment);
    n = run(n, in, out, params);
    if (!floats.intact()) intact = false;
    return n;
  };
}

/// Compares code and interpreter in some environments, which change from kernel to kernel.
class Environments {
 public:
  void compare(const std::string& name, const expr::Expr& source) {
    const kir::Kernel written = as_written(source);
    const auto calls = drawn_calls(source);
    const Run interpreter = [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
      kir::interpret(written, n, in, out, params);
      return n;
    };
    compare_in(name, written, interpreter, calls, kEnvironments);
    for (const codegen::Isa isa : runnable_isas())
      for (const codegen::Variant& variant : {pipeline::kBaselineVariant, codegen::Variant{}}) {
        const auto mapped = map_native(written, isa, variant);
        if (is_too_large(mapped)) continue;
        ASSERT_TRUE(mapped.ok()) << name << ": " << mapped.error().message;
        ++compared;
        compare_in(name, written, run_of(*mapped), calls, kEnvironments);
      }
  }

  /// Does so with the optimised forms, in the variants that may be published.
  void compare_forms(const std::string& name, const expr::Expr& source) {
    const kir::Kernel written = as_written(source);
    const auto calls = drawn_calls(source);
    for (const codegen::Isa isa : runnable_isas())
      for (const pipeline::Form& form : exact_forms(source, isa))
        for (const codegen::Variant& variant : some_variants(form.kernel, isa)) {
          const auto mapped = map_native(form.kernel, isa, variant);
          if (!mapped.ok() && mapped.error().code == ErrorCode::kUnsupported) continue;
          if (is_too_large(mapped)) continue;
          ASSERT_TRUE(mapped.ok()) << name << ": " << mapped.error().message;
          ++compared;
          compare_in(name + " " + form.name, written, run_of(*mapped), calls, kFormEnvironments);
        }
  }

  int compared = 0;

 private:
  void compare_in(const std::string& name, const kir::Kernel& written, const Run& run,
                  const std::vector<CallArguments>& calls, std::uint64_t few) {
    const std::size_t all = std::size(kForeignFloats), some = std::min<std::size_t>(all, draws(few));
    for (std::size_t i = 0; i < some; ++i) {
      const FloatEnvironment& environment = kForeignFloats[next_++ % all];
      bool intact = true;
      EXPECT_EQ(compare_calls(written, in_environment(environment, run, intact), calls), "")
          << name << ", " << environment.name;
      EXPECT_TRUE(intact) << name << ", " << environment.name;
    }
  }

  std::size_t next_ = 0;
};

TEST(ExactBits, TheCallersEnvironmentChangesNoBitOfAnyKernelOfTheCorpora) {
  Environments environments;
  each_corpus_source(1, [&](const std::string& name, const expr::Expr& source) { environments.compare(name, source); });
  each_source_of_passes([&](const std::string& name, const expr::Expr& source) { environments.compare(name, source); });
  EXPECT_TRUE(runnable_isas().empty() || environments.compared > 1000) << environments.compared;
}

TEST(ExactBits, TheCallersEnvironmentChangesNoBitOfOptimisedForms) {
  Environments environments;
  const auto every = static_cast<std::size_t>(std::max<std::uint64_t>(1, kEveryForForms / draws(1)));
  each_corpus_source(
      every, [&](const std::string& name, const expr::Expr& source) { environments.compare_forms(name, source); });
  for (std::uint64_t seed = 1; seed <= draws(kDrawn); ++seed)
    environments.compare_forms("drawn " + std::to_string(seed), random_expr(seed, {.passes_max = 2}));
  EXPECT_TRUE(runnable_isas().empty() || environments.compared > 200) << environments.compared;
}

// The comparison sees an environment: C++ that rounds as the caller does has other bits.
TEST(ExactBits, ArithmeticInTheCallersEnvironmentIsSeen) {
  const auto source = expr::parse_infix("x/3");
  ASSERT_TRUE(source.ok());
  const testing::Run divides = [](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t*) {
    const auto* const x = static_cast<const volatile double*>(in[0]);
    for (std::uint64_t i = 0; i < n; ++i) static_cast<double*>(out[0])[i] = x[i] / 3;
    return n;
  };
  const kir::Kernel written = as_written(*source);
  EXPECT_EQ(compare_calls(written, divides, drawn_calls(*source)), "");
  for (const FloatEnvironment& environment : kForeignFloats) {
    const std::string name = environment.name;
    if (name.find("trapped") != std::string::npos || name.find("everything") != std::string::npos) continue;
    bool intact = true;
    const std::string fault =
        compare_calls(written, in_environment(environment, divides, intact), drawn_calls(*source));
    EXPECT_NE(fault, "") << environment.name;
  }
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
