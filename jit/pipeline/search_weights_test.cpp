// Weights and guides through the spine, good ones and bad ones. Oracles: the interpreter on the kernel of
// the unrewritten source, the forms that an unguided search makes, the bytes of a file.
#include "jit/pipeline/search_weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "jit/expr/rewrite/kinds.h"
#include "jit/kir/interpreter.h"
#include "jit/nnue/feature_list.h"
#include "jit/nnue/shipped_weights.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/key.h"
#include "runtime/os/cpu.h"
#include "runtime/store/versions.h"
#include "tests/support/draws.h"

namespace trident::pipeline {
namespace {

using expr::rewrite::GuideKind;

class SearchWeightsTest : public ::testing::Test {
 protected:
  SearchWeightsTest() {
    char pattern[] = "/dev/shm/trident-weights-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~SearchWeightsTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] store::Versions versions() const { return store::Versions::open(folder_).value(); }
  std::string folder_;
};

expr::Expr weighed(std::string_view text) {
  auto e = expr::parse_infix(text, {.type = expr::Type::f64,
                                    .variables = {{"x", expr::Type::f64, expr::VariableKind::array, 0.5, 4},
                                                  {"y", expr::Type::f64, expr::VariableKind::array, 0.5, 4}}});
  CHECK(e.ok());
  return std::move(e).value();
}

std::vector<Form> weighed_forms(const expr::Expr& e, const Options& options) {
  const std::function<void(const Progress&)> nobody;
  auto made = forms(e, e, options, PassScope(options, nobody));
  CHECK(made.ok());
  return std::move(made).value();
}

std::vector<std::byte> shipped() {
  const auto bytes = nnue::shipped_weights();
  return {bytes.begin(), bytes.end()};
}

TEST_F(SearchWeightsTest, CountInTheKeyByTheirBytes) {
  store::Versions folder = versions();
  const std::string name = folder.add(shipped(), "{}").value();
  const auto weights = SearchWeights::map(folder.path_of(name), name);
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  const auto again = SearchWeights::map(folder.path_of(name), name);
  ASSERT_TRUE(again.ok());
  const expr::Expr e = weighed("x*y + x");
  EXPECT_NE(expr_key(e, {}, {}), expr_key(e, {}, {.weights = &*weights}));
  EXPECT_EQ(expr_key(e, {}, {.weights = &*again}), expr_key(e, {}, {.weights = &*weights}));
  // Equal weights from a file make the same forms as from the program.
  std::string mapped, built_in;
  mapped = print(weighed_forms(e, {.search = {.weights = &*weights}})), built_in = print(weighed_forms(e, {}));
  EXPECT_EQ(mapped, built_in);
}

TEST_F(SearchWeightsTest, AreRefusedWhenAnythingIsWrongWithThem) {
  store::Versions folder = versions();
  const std::vector<std::byte> right = shipped();
  for (const std::size_t at : {std::size_t{0}, std::size_t{8}, std::size_t{40}, right.size() / 2, right.size() - 1}) {
    std::vector<std::byte> wrong = right;
    wrong[at] ^= std::byte{1};
    const std::string name = folder.add(wrong, "{}").value();  // of its own digest: the block itself must be refused
    const auto refused = SearchWeights::map(folder.path_of(name), name);
    ASSERT_FALSE(refused.ok()) << at;
    EXPECT_EQ(refused.error().code, ErrorCode::kRejectedRecord) << refused.error().message;
  }
  const std::string name = folder.add(std::span(right).first(right.size() - 1), "{}").value();
  EXPECT_FALSE(SearchWeights::map(folder.path_of(name), name).ok());
  const std::string good = folder.add(right, "{}").value();
  EXPECT_FALSE(SearchWeights::map(folder.path_of(good), name).ok());
  EXPECT_EQ(SearchWeights::map(folder_ + "/nothing", good).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(SearchWeights::map(folder.path_of(good), good).ok());
}

/// Joins `first` and, at the next multiple of 64, `second`.
std::vector<std::byte> one_behind_the_other(std::vector<std::byte> first, std::span<const std::byte> second) {
  first.resize((first.size() + 63) / 64 * 64);
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Makes a judge that ranks an expression's forms by a correction of its own alone.
std::vector<std::byte> headstrong_judge() {
  nn::PlainWeights plain;
  plain.space = nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth);
  for (auto& head : plain.heads) head.bias.resize(1);
  // Scalar 0 counts the nodes: the more, the faster.
  plain.judge_unit = 1e-3f;
  auto& judge = plain.heads[static_cast<std::size_t>(nn::HeadKind::judge)];
  for (std::size_t j = 0; j < nn::kHidden; ++j) judge.ws[j * nn::kScalars] = 100, judge.w2[j] = -100;
  auto packed = nn::AccumulatorWeights::pack(plain);
  CHECK(packed.ok());
  return std::move(packed).value();
}

TEST_F(SearchWeightsTest, MayHaveAJudgeBehindThem) {
  store::Versions folder = versions();
  const std::string alone = folder.add(shipped(), "{}").value();
  const auto guide = SearchWeights::map(folder.path_of(alone), alone);
  ASSERT_TRUE(guide.ok());
  EXPECT_EQ(guide->judge(), nullptr);
  const std::string name = folder.add(one_behind_the_other(shipped(), nnue::shipped_judge()), "{}").value();
  const auto both = SearchWeights::map(folder.path_of(name), name);
  ASSERT_TRUE(both.ok()) << both.error().message;
  ASSERT_NE(both->judge(), nullptr);
  const std::string other = folder.add(one_behind_the_other(shipped(), headstrong_judge()), "{}").value();
  const auto headstrong = SearchWeights::map(folder.path_of(other), other);
  ASSERT_TRUE(headstrong.ok()) << headstrong.error().message;
  // The program's own judge chooses the same forms from a file, another one other forms.
  bool others = false;
  for (const char* text :
       {"exp(x)*exp(y)/exp(x) + x*y + x*x", "log(x*x*y) - log(y)*2", "(x^2 - y^2)/(x + y)*sqrt(x)"}) {
    const expr::Expr e = weighed(text);
    const std::string built_in = print(weighed_forms(e, {}));
    EXPECT_EQ(print(weighed_forms(e, {.search = {.weights = &*both}})), built_in);
    others = others || print(weighed_forms(e, {.search = {.weights = &*headstrong}})) != built_in;
    EXPECT_NE(expr_key(e, {}, {.weights = &*guide}), expr_key(e, {}, {.weights = &*both}));
  }
  EXPECT_TRUE(others);
}

TEST_F(SearchWeightsTest, AreRefusedWithWhatIsNoJudgeBehindThem) {
  store::Versions folder = versions();
  std::vector<std::byte> damaged = one_behind_the_other(shipped(), nnue::shipped_judge());
  damaged.back() ^= std::byte{1};
  const std::string text = "no judge at all";
  for (const std::vector<std::byte>& wrong : {damaged, one_behind_the_other(shipped(), shipped()),
                                              one_behind_the_other(shipped(), std::as_bytes(std::span(text)))}) {
    const std::string name = folder.add(wrong, "{}").value();
    const auto refused = SearchWeights::map(folder.path_of(name), name);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kRejectedRecord);
    EXPECT_NE(refused.error().message.find(folder.path_of(name)), std::string::npos);
  }
}

constexpr const char* kTexts[] = {"x*y + x*x + y*x", "sin(x)*sin(x) + cos(x)*cos(x) + y", "(x^2 - y^2)/(x + y)",
                                  "exp(x)*exp(y)/exp(x)", "log(x*x*y) - log(y)"};
constexpr GuideKind kKinds[] = {GuideKind::network, GuideKind::constant, GuideKind::random, GuideKind::hostile};

// The guide's forms come in addition to all forms without one.
TEST(Guides, TakeNothingAway) {
  for (const char* text : kTexts) {
    const expr::Expr e = weighed(text);
    const auto without = weighed_forms(e, {.search = {.disabled = {"guided"}}});
    for (const GuideKind kind : kKinds) {
      const auto with = weighed_forms(e, {.search = {.guide = kind}});
      ASSERT_GE(with.size(), without.size());
      for (std::size_t f = 0; f < without.size(); ++f) EXPECT_TRUE(same_kernel(with[f].kernel, without[f].kernel));
    }
  }
}

double value_at(const kir::Kernel& kernel, double x, double y) {
  double result = 0;
  const void* in[] = {&x, &y};
  void* out[] = {&result};
  kir::interpret(kernel, 1, in, out, nullptr);
  return result;
}

// Every guide has two of the five texts, and every text a guide; by `make campaign NAME=draws` all have all.
TEST(Guides, BadOnesChangeNoResult) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const std::size_t texts = std::min<std::size_t>(testing::draws(2), std::size(kTexts));
  std::size_t published = 0;
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    for (std::size_t t = 0; t < texts; ++t) {
      const GuideKind kind = kKinds[k];
      const char* const text = kTexts[(k + t) % std::size(kTexts)];
      const expr::Expr e = weighed(text);
      const auto source = expr::lower(e, unrewritten({}));
      ASSERT_TRUE(source.ok());
      const auto best = optimise(e, {.target = {.policy = {expr::PolicyKind::bounded, 4}},
                                     .budget = {.cpu_ns = 4'000'000'000},
                                     .search = {.guide = kind}});
      ASSERT_TRUE(best.ok()) << best.error().message;
      EXPECT_NE(best->outcome, Outcome::not_equivalent) << best->detail;
      if (best->outcome != Outcome::published) continue;
      ++published;
      std::mt19937_64 random(7);
      std::uniform_real_distribution<double> draw(0.5, 4);
      for (int i = 0; i < 500; ++i) {
        const double x = draw(random), y = draw(random);
        const double right = value_at(*source, x, y), found = value_at(best->winner.kernel, x, y);
        EXPECT_LE(std::fabs(found - right), 1e-12 * (1 + std::fabs(right))) << text << " at " << x << ", " << y;
      }
    }
  }
  EXPECT_GE(published, texts);
}

}  // namespace
}  // namespace trident::pipeline
