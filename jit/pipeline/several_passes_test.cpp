// Kernels of several passes through the optimiser. Oracle: the interpreter on the kernel as written, whose bits `exact`
// promises.
#include <gtest/gtest.h>

#include <cstring>

#include "jit/image/image.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

constexpr const char* kTextsInPasses[] = {"x - mean(x)",
                                          "var(x, 1)",
                                          "argmax(x * y) - argmin(x)",
                                          "e = exp(x - maxof(x)); e / sum(e)",
                                          "((x - mean(x)) / std(x) * 1, sum(y), sum(x - y - mean(x)))",
                                          "param a; diff(mean((a * x - mean(a * x))^2), a)"};

expr::Expr source_in_passes(const char* text, expr::Type type) {
  auto source = expr::parse(text, {.type = type, .variables = {}});
  CHECK(source.ok());
  return std::move(source).value();
}

Optimised optimised_in_passes(const expr::Expr& source, expr::PolicyKind policy) {
  const bool wide = os::cpu_features().avx512;
  Options options{.target = {.isa = wide ? codegen::Isa::avx512 : codegen::Isa::avx2, .policy = {policy, 2}}};
  options.budget.cpu_ns = 4'000'000'000;
  auto result = optimise(source, options);
  CHECK(result.ok());
  return std::move(result).value();
}

class SeveralPasses : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  }
};

TEST_F(SeveralPasses, KeepTheirPolicy) {
  for (const expr::Type type : {expr::Type::f32, expr::Type::f64})
    for (const char* text : kTextsInPasses)
      for (const expr::PolicyKind policy : {expr::PolicyKind::bounded, expr::PolicyKind::fast}) {
        const Optimised result = optimised_in_passes(source_in_passes(text, type), policy);
        EXPECT_TRUE(result.baseline_checked) << text << "\n" << result.detail;
        EXPECT_TRUE(result.outcome == Outcome::published || result.outcome == Outcome::no_gain)
            << text << "\n"
            << result.detail << result.note;
      }
}

TEST_F(SeveralPasses, GiveTheBitsOfTheInterpreterUnderExact) {
  constexpr std::size_t kCount = 9000;
  std::vector<double> x(kCount), y(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    x[i] = static_cast<double>(i * i % 1009) / 100, y[i] = 5 - static_cast<double>(i * 7 % 1013) / 97;
  int published = 0;
  for (const char* text : kTextsInPasses) {
    const expr::Expr source = source_in_passes(text, expr::Type::f64);
    const Optimised result = optimised_in_passes(source, expr::PolicyKind::exact);
    EXPECT_TRUE(result.outcome == Outcome::published || result.outcome == Outcome::no_gain) << text << result.detail;
    if (result.outcome != Outcome::published) continue;
    ++published;
    const auto written = expr::lower(source, unrewritten({expr::PolicyKind::exact, 0}));
    ASSERT_TRUE(written.ok());
    const auto fd = image::seal(result.winner.image);
    ASSERT_TRUE(fd.ok());
    const auto mapped = image::Mapped::map(*fd);
    ASSERT_TRUE(mapped.ok());
    const std::size_t outputs = source.outputs.size();
    std::vector<std::vector<double>> wanted(outputs, std::vector<double>(kCount)), got = wanted;
    std::vector<void*> wanted_places, got_places;
    for (std::size_t k = 0; k < outputs; ++k)
      wanted_places.push_back(wanted[k].data()), got_places.push_back(got[k].data());
    const void* in[] = {x.data(), y.data()};
    const std::uint64_t params[] = {0x4004'0000'0000'0000u};  // 2.5
    kir::interpret(*written, kCount, in, wanted_places.data(), params);
    mapped->entry()(nullptr, kCount, in, got_places.data(), params);
    for (std::size_t k = 0; k < outputs; ++k)
      EXPECT_EQ(std::memcmp(wanted[k].data(), got[k].data(), 8 * kCount), 0) << text;
  }
  EXPECT_GT(published, 0);
}

}  // namespace
}  // namespace trident::pipeline
