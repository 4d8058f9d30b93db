// Under `exact` NEON code gives the interpreter's bits. Unicorn runs it, so any machine can. Oracle: the interpreter on
// the kernel as written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "jit/codegen/speculative.h"
#include "jit/kir/guard.h"
#include "tests/differential/corpus_sources.h"
#include "tests/differential/exact_bits.h"
#include "tests/differential/neon_guest.h"

namespace trident::testing {
namespace {

constexpr std::size_t kEvery = 13;

std::string compare_on_neon(const kir::Kernel& written, const kir::Kernel& kernel, const codegen::MachineCode& code,
                            const std::vector<CallArguments>& calls) {
  NeonGuest guest(kernel, code);
  const Run run = [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
    guest.run(n, in, out, params);
    return n;
  };
  return compare_calls(written, run, calls);
}

TEST(NeonBits, EveryFormAndVariantGivesTheInterpretersBits) {
  int compared = 0;
  each_corpus_source(kEvery, [&](const std::string& name, const expr::Expr& source) {
    const auto written = expr::lower(source, pipeline::unrewritten({expr::PolicyKind::exact, 0}));
    ASSERT_TRUE(written.ok());
    const auto calls = drawn_calls(source);
    for (const pipeline::Form& form : exact_forms(source, codegen::Isa::neon)) {
      for (const codegen::Variant& variant : some_variants(form.kernel, codegen::Isa::neon)) {
        const auto code = codegen::emit(form.kernel, codegen::Isa::neon, variant);
        if (!code.ok() && code.error().code == ErrorCode::kUnsupported) continue;
        ASSERT_TRUE(code.ok()) << name << ": " << code.error().message;
        EXPECT_EQ(compare_on_neon(*written, form.kernel, *code, calls), "") << name << " " << form.name;
        ++compared;
      }
    }
  });
  EXPECT_GT(compared, 50);
}

TEST(NeonBits, SeveralPassesGiveTheInterpretersBits) {
  each_source_of_passes([&](const std::string& name, const expr::Expr& source) {
    const auto written = expr::lower(source, pipeline::unrewritten({expr::PolicyKind::exact, 0}));
    ASSERT_TRUE(written.ok());
    for (const codegen::Variant& variant : some_variants(*written, codegen::Isa::neon)) {
      const auto code = codegen::emit(*written, codegen::Isa::neon, variant);
      ASSERT_TRUE(code.ok()) << name << ": " << code.error().message;
      EXPECT_EQ(compare_on_neon(*written, *written, *code, drawn_calls(source)), "") << name;
    }
  });
}

TEST(NeonBits, RemaindersOfAnyOperandsHaveTheInterpretersBits) {
  const auto written = expr::lower(remainder_source(), pipeline::unrewritten({expr::PolicyKind::exact, 0}));
  ASSERT_TRUE(written.ok());
  for (const codegen::Variant& variant : some_variants(*written, codegen::Isa::neon)) {
    const auto code = codegen::emit(*written, codegen::Isa::neon, variant);
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_EQ(compare_on_neon(*written, *written, *code, remainder_calls()), "");
  }
}

kir::Kernel total_and(double more, const std::string& element = "x") {
  const auto source = expr::parse_infix("sum(" + element + ") + " + std::to_string(more));
  CHECK(source.ok());
  auto kernel = expr::lower(*source, pipeline::unrewritten({expr::PolicyKind::exact, 0}));
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

/// The fast kernel adds 1 and the general one 2: the answer says which of them did the call.
TEST(NeonBits, SpeculativeCallsAsAWholeAreTheFastKernelsWhereAllElementsFit) {
  const kir::Kernel fast = total_and(1), general = total_and(2);
  kir::Kernel scan;
  scan.inputs = general.inputs;
  const kir::Assumed unit{0, 1};
  ASSERT_TRUE(kir::guard(scan, {&unit, 1}, {}) && kir::check(scan).ok());
  const auto emitted = [](const kir::Kernel& kernel) { return codegen::emit(kernel, codegen::Isa::neon, {}).value(); };
  const auto code = codegen::join_selected({emitted(scan), emitted(fast), emitted(general)}, 5, codegen::Isa::neon);
  ASSERT_TRUE(code.ok()) << code.error().message;
  for (const std::size_t n : {0u, 1u, 4u, 5u, 63u, 700u, 9000u})
    for (const std::size_t bad : {n, std::size_t{0}, n / 2, n - 1}) {
      if (bad == n - 1 && n == 0) continue;
      std::vector<double> x(n, 0.5);
      if (bad < n) x[bad] = 1.5;
      double sum = -1;
      const void* in[] = {x.data()};
      void* out[] = {&sum};
      NeonGuest(general, *code).run(n, in, out, nullptr);
      const double right = 0.5 * static_cast<double>(n) + (bad < n ? 1 : 0);
      EXPECT_EQ(sum, right + (bad < n || n < 5 ? 2 : 1)) << n << " " << bad;
    }
}

/// As above, where NaN may come: it counts a quarter and is no reason to leave the fast kernel.
TEST(NeonBits, SpeculativeCallsLetNanPassWhereItIsAssumed) {
  const std::string element = "x == x ? x : 0.25";
  const kir::Kernel fast = total_and(1, element), general = total_and(2, element);
  const auto emitted = [](const kir::Kernel& kernel) { return codegen::emit(kernel, codegen::Isa::neon, {}).value(); };
  for (const bool admits : {false, true})
    for (const kir::Assumed& range : {kir::Assumed{0, 1, admits}, {-1, 1, admits}}) {
      kir::Kernel scan;
      scan.inputs = general.inputs;
      ASSERT_TRUE(kir::guard(scan, {&range, 1}, {}) && kir::check(scan).ok());
      const auto code = codegen::join_selected({emitted(scan), emitted(fast), emitted(general)}, 0, codegen::Isa::neon);
      ASSERT_TRUE(code.ok()) << code.error().message;
      constexpr std::size_t n = 63;
      for (std::size_t nan = 0; nan <= n; ++nan)
        for (const std::size_t bad : {n, (nan + 1) % n}) {
          std::vector<double> x(n, 0.5);
          if (nan < n) x[nan] = NAN;
          if (bad < n) x[bad] = 1.5;
          double sum = -1;
          const void* in[] = {x.data()};
          void* out[] = {&sum};
          NeonGuest(general, *code).run(n, in, out, nullptr);
          const bool fits = bad == n && (admits || nan == n);
          EXPECT_EQ(sum, 0.5 * n - (nan < n ? 0.25 : 0) + (bad < n ? 1 : 0) + (fits ? 1 : 2)) << nan << " " << bad;
        }
    }
}

TEST(NeonBits, SumsTakeUnroundedProducts) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const auto source =
        expr::parse_infix("(d = dot(x, y), s = sum(x*(x + y)) - mean(3*x))", {.type = type, .variables = {}});
    ASSERT_TRUE(source.ok());
    const auto kernel = expr::lower(*source, {.policy = {expr::PolicyKind::fast, 0}, .simplify = false});
    ASSERT_TRUE(kernel.ok());
    const auto dots = std::count_if(kernel->insts.begin(), kernel->insts.end(),
                                    [](const kir::Inst& inst) { return inst.op == kir::Op::Dot; });
    EXPECT_EQ(dots, 3);
    for (const codegen::Variant& variant : some_variants(*kernel, codegen::Isa::neon)) {
      const auto code = codegen::emit(*kernel, codegen::Isa::neon, variant);
      ASSERT_TRUE(code.ok());
      EXPECT_EQ(compare_on_neon(*kernel, *kernel, *code, drawn_calls(*source)), "");
    }
  }
}

TEST(NeonBits, AnotherRoundingIsSeen) {
  const auto source = expr::parse_infix("x*3.3 + y"), form = expr::parse_infix("fma(x, 3.3, y)");
  ASSERT_TRUE(source.ok() && form.ok());
  const auto written = expr::lower(*source, {.policy = {}, .simplify = false}),
             kernel = expr::lower(*form, {.policy = {}, .simplify = false});
  ASSERT_TRUE(written.ok() && kernel.ok());
  const auto code = codegen::emit(*kernel, codegen::Isa::neon, {});
  ASSERT_TRUE(code.ok());
  EXPECT_NE(compare_on_neon(*written, *kernel, *code, drawn_calls(*source)), "");
}

}  // namespace
}  // namespace trident::testing
