// Drawn expressions with hints about their data through the whole pipeline, to published images: under `exact` each
// gives the bits of the interpreter on the kernel as written, on data inside the hints, at their ends and anywhere.
// A quarter is of integers alone. `make campaign NAME=speculation-pipeline` draws 5,000.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "jit/cost/cost.h"
#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/feature_list.h"
#include "jit/pipeline/observed.h"
#include "jit/pipeline/pipeline.h"
#include "jit/pipeline/search_weights.h"
#include "runtime/store/versions.h"
#include "tests/support/assumption.h"
#include "tests/support/draws.h"
#include "tests/support/native_kernel.h"
#include "tests/support/random_expr.h"
#include "tests/support/random_integers.h"

namespace trident::testing {
namespace {

constexpr std::uint64_t kDraws = 4;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Processor time of a search. A campaign of thousands gives each less, because most is spent on the last per cents.
std::uint64_t budget_ns() {
  return from_environment("TRIDENT_BUDGET_MS", 2000) * 1'000'000;
}

/// Nested functions gain much from ranges, so that these kernels are published with a guard on any machine. Each second
/// one reduces, each fourth in two passes.
expr::Expr nested(std::uint64_t number) {
  const std::string element = "sin(" + std::to_string(number) + "*sin(x) + cos(y))*sin(x + y)";
  const std::string text = number % 2 == 0   ? element
                           : number % 4 == 1 ? "sum(" + element + ")"
                                             : element + " - mean(cos(x))";
  auto parsed = expr::parse_infix(text, {.type = ir::Type::f32, .variables = {}});
  EXPECT_TRUE(parsed.ok());
  return std::move(parsed).value();
}

expr::Expr drawn(std::uint64_t seed) {
  if (seed % 4 == 3) return random_integers(seed);
  return random_expr(seed,
                     {.nodes_max = 16, .outputs_max = 2, .reductions = seed % 2 == 0, .passes_max = 2, .ranged = 0});
}

std::vector<kir::Assumed> drawn_hints(const expr::Expr& source, Random& random) {
  const kir::Assumed kSeen[] = {{-3, 3},      {0.5, 2},      {0, 100},       {-7, -1},       {1, 1},
                                {},           {-3, 3, true}, {0.5, 2, true}, {0, 100, true}, {-7, -1, true},
                                {1, 1, true}, {0, 0, true}};
  const kir::Assumed kSeenOfIntegers[] = {{-3, 3}, {0, 200}, {-30'000, 30'000}, {-7, -1}, {1, 0x1p28}, {0, 0x1p40}, {}};
  std::vector<kir::Assumed> seen(source.variables.size());
  for (std::size_t v = 0; v < seen.size(); ++v)
    seen[v] = ir::is_int(source.variables[v].type) ? kSeenOfIntegers[random.below(std::size(kSeenOfIntegers))]
                                                   : kSeen[random.below(std::size(kSeen))];
  return pipeline::widened(source, seen);
}

Arguments drawn_arguments(const expr::Expr& source, const std::vector<kir::Assumed>& assumed, std::uint64_t n,
                          Random& random) {
  const std::uint32_t kOutside[] = {0, 0, 1000, 40, 2};
  const std::uint32_t one_in = kOutside[random.below(std::size(kOutside))];
  Arguments arguments;
  for (std::size_t v = 0; v < source.variables.size(); ++v) {
    const expr::Variable& variable = source.variables[v];
    const auto lane = [&] { return lane_around(random, variable.type, assumed[v], one_in); };
    if (variable.is_scalar()) {
      arguments.params.push_back(lane());
    } else {
      auto& lanes = arguments.inputs.emplace_back(n);
      for (std::uint64_t& one : lanes) one = lane();
    }
  }
  return arguments;
}

/// Returns whether a speculative image was published. The answers of whatever was published are compared. `search`: how
/// forms are found.
bool is_published_and_right(const expr::Expr& source, std::uint64_t seed, const pipeline::Search& search = {}) {
  Random random(seed);
  pipeline::Options options;
  options.search = search;
  const std::vector<codegen::Isa> isas = runnable_isas();
  const codegen::Isa isa = search.costs != nullptr ? isas.back() : isas[seed / 4 % isas.size()];
  options.target = {.isa = isa, .policy = {expr::PolicyKind::exact, 0}};
  options.target.assumed = drawn_hints(source, random);
  options.budget.cpu_ns = budget_ns();
  if (options.target.assumed.empty()) return false;
  const auto result = pipeline::optimise(source, options);
  const auto written = expr::lower(source, {.policy = options.target.policy, .simplify = false});
  if (!result.ok() || !written.ok() || result->outcome != pipeline::Outcome::published) return false;
  const bool is_speculative = result->speculation && result->speculation->published;
  const auto fd = image::seal(result->winner.image);
  EXPECT_TRUE(fd.ok());
  const auto mapped = image::Mapped::map(*fd);
  EXPECT_TRUE(mapped.ok());
  EXPECT_EQ(mapped->header().version == TRIDENT_SPECULATIVE_IMAGE_VERSION, is_speculative);
  for (const std::uint64_t n : {1, 64, 300, 3000, 20'000}) {
    const Arguments arguments = drawn_arguments(source, options.target.assumed, n, random);
    const bool in_place = random.one_in(2);
    EXPECT_EQ(compare_on(*written, *mapped, arguments.inputs, arguments.params, {.n = n, .in_place = in_place}), "")
        << "seed " << seed << " n " << n << "\n"
        << expr::print_sexpr(source);
  }
  return is_speculative;
}

TEST(SpeculationPipeline, PublishedKernelsGiveTheBitsOfTheSource) {
  std::uint64_t published = 0;
  for (std::uint64_t seed = first_seed(); seed < first_seed() + draws(kDraws); ++seed) {
    published += is_published_and_right(drawn(seed), seed) ? 1 : 0;
    if (seed % kDraws == 0) published += is_published_and_right(nested(seed / kDraws), seed) ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  // Times decide, and a busy machine refuses some.
  for (std::uint64_t more = 1; published == 0 && more <= 4; ++more)
    published += is_published_and_right(nested(1000 + more), more) ? 1 : 0;
  RecordProperty("published", std::to_string(published));
  EXPECT_GT(published, 0u);
}

// --- learnt numbers that are random ---

std::vector<std::int8_t> noise(std::size_t count, Random& random) {
  std::vector<std::int8_t> numbers(count);
  for (std::int8_t& one : numbers) one = static_cast<std::int8_t>(static_cast<int>(random.below(200)) - 100);
  return numbers;
}

/// Weights of both heads, of which one is said to be trained.
std::vector<std::byte> random_weights(nn::HeadKind trained, Random& random) {
  nn::PlainWeights plain;
  plain.space = nnue::feature_space(expr::rewrite::node_kinds().hash, nnue::kDefaultDepth);
  for (std::uint32_t feature = 0; feature < 500; ++feature) plain.order.push_back(feature);
  plain.rows = noise(plain.order.size() * nn::kLanes, random);
  for (auto& head : plain.heads) {
    head.w1 = noise(head.w1.size(), random), head.ws = noise(head.ws.size(), random);
    const auto w2 = noise(head.w2.size(), random);
    std::copy(w2.begin(), w2.end(), head.w2.begin());
  }
  if (trained == nn::HeadKind::judge) plain.judge_unit = 1e-3F;
  if (trained == nn::HeadKind::guide) plain.heads[static_cast<std::size_t>(trained)].keys = {1};
  auto packed = nn::AccumulatorWeights::pack(plain);
  EXPECT_TRUE(packed.ok()) << packed.error().message;
  return std::move(packed).value();
}

/// Weights of a guide with those of a judge behind them, in a file for a test's life.
class RandomWeights {
 public:
  explicit RandomWeights(std::uint64_t seed) {
    Random random(seed);
    char pattern[] = "/dev/shm/trident-weights-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    std::vector<std::byte> both = random_weights(nn::HeadKind::guide, random);
    both.resize((both.size() + 63) / 64 * 64);
    const std::vector<std::byte> judge = random_weights(nn::HeadKind::judge, random);
    both.insert(both.end(), judge.begin(), judge.end());
    store::Versions versions = store::Versions::open(folder_).value();
    const std::string name = versions.add(both, "{}").value();
    auto mapped = pipeline::SearchWeights::map(versions.path_of(name), name);
    EXPECT_TRUE(mapped.ok()) << mapped.error().message;
    weights_.emplace(std::move(mapped).value());
  }
  ~RandomWeights() { std::filesystem::remove_all(folder_); }
  RandomWeights(const RandomWeights&) = delete;
  RandomWeights& operator=(const RandomWeights&) = delete;
  [[nodiscard]] const pipeline::SearchWeights& operator*() const { return *weights_; }

 private:
  std::string folder_;
  std::optional<pipeline::SearchWeights> weights_;
};

expr::rewrite::OpCosts random_costs(std::uint64_t seed) {
  Random random(seed);
  cost::Table table = cost::shipped(codegen::name_of(runnable_isas().back()));
  for (cost::Figures& one : table.figures) one = {std::exp(8 * random.unit() - 4), std::exp(8 * random.unit() - 4)};
  return expr::rewrite::OpCosts(std::move(table));
}

/// The guide, the judge and the costs advise; what is published is checked and timed all the same.
TEST(SpeculationPipeline, RandomNumbersInPlaceOfLearntOnesChangeNoBit) {
  if (runnable_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  std::uint64_t published = 0;
  // Times decide, and a busy machine refuses some.
  for (std::uint64_t seed = 1; seed <= draws(2) || (published == 0 && seed <= 6); ++seed) {
    const RandomWeights weights(seed);
    ASSERT_NE((*weights).judge(), nullptr);
    const expr::rewrite::OpCosts costs = random_costs(seed);
    const pipeline::Search search{.seed = seed, .costs = &costs, .weights = &*weights};
    ASSERT_NE(pipeline::measured_costs(runnable_isas().back(), search), nullptr) << "the costs are not used";
    published += is_published_and_right(drawn(seed), seed, search) ? 1 : 0;
    published += is_published_and_right(nested(seed), seed, search) ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(published, 0u);
}

}  // namespace
}  // namespace trident::testing
