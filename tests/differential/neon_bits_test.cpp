// Under `exact` NEON code gives the interpreter's bits. Unicorn runs it, so any machine can. Oracle: the interpreter on
// the kernel as written.
#include <gtest/gtest.h>

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
