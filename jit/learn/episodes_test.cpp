// Oracles: MPFR for values that scrambling must keep; rules whose part in a derivation is known; pairs counted one by
// one.
#include "jit/learn/episodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "jit/expr/rewrite/kinds.h"
#include "jit/expr/rewrite/time_model.h"
#include "jit/learn/guide_trainer.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::learn {
namespace {

TEST(Scrambles, MeanWhatTheGoodFormMeans) {
  std::size_t made = 0, changed = 0, compared = 0;
  std::set<std::string> themes;
  const ScrambleOptions options{.themes = {"sums", "products", "quotients", "powers", "roots", "exponentials",
                                           "trigonometry", "hyperbolics", "extrema", "additions"},
                                .parts_max = 4,
                                .steps_max = 4};
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const auto scramble = scrambled(seed, options);
    if (!scramble) continue;
    ++made;
    themes.insert(scramble->themes.begin(), scramble->themes.end());
    changed += scramble->steps > 0 ? 1 : 0;
    const auto again = scrambled(seed, options);
    ASSERT_TRUE(again);
    EXPECT_EQ(expr::canonical_bytes(again->expr), expr::canonical_bytes(scramble->expr));
    std::mt19937_64 random(seed);
    for (int point = 0; point < 6; ++point) {
      std::vector<double> at;
      for (std::size_t v = 0; v < scramble->good.variables.size(); ++v)
        at.push_back(0.1 + 1.5 * static_cast<double>(random() >> 11) * 0x1p-53);
      const long double good = testing::evaluate_real(scramble->good, at, 400)[0];
      const long double bad = testing::evaluate_real(scramble->expr, at, 400)[0];
      // Constants are rounded where they are folded, and policy fast may define a form where another is not defined.
      if (!std::isfinite(good) || !std::isfinite(bad) || std::fabs(good) > 1e9L) continue;
      ++compared;
      EXPECT_LE(std::fabs(good - bad), 1e-6L * (1 + std::fabs(good))) << expr::print_infix(scramble->expr);
    }
  }
  EXPECT_GT(made, 60u);
  EXPECT_GT(changed, 30u);
  EXPECT_GT(compared, 150u);
  EXPECT_GT(themes.size(), 6u);
}

// A fourth has types, tables or known truths, and searches apply the rules about these; the others are as
// they are without that option.
TEST(Scrambles, ThatAreDressedHaveWhatTheirRulesAreAbout) {
  const auto has = [](const expr::Expr& e, std::initializer_list<expr::Op> ops) {
    return std::any_of(e.nodes.begin(), e.nodes.end(),
                       [&](const expr::Node& n) { return std::find(ops.begin(), ops.end(), n.op) != ops.end(); });
  };
  std::map<std::string, std::size_t> worn;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ScrambleOptions options{.parts_max = 3, .steps_max = 0, .dressed = true};
    const auto dressed = scrambled(seed, options);
    options.dressed = false;
    const auto plain = scrambled(seed, options);
    if (!dressed) continue;
    const std::string theme = dressed->themes.empty() ? "" : dressed->themes.back();
    if (theme == "types") {
      for (const expr::Variable& v : dressed->good.variables) EXPECT_EQ(v.type, expr::Type::f32);
      EXPECT_EQ(dressed->good.at(dressed->good.outputs[0].node).type, expr::Type::f32);
      worn[theme] += has(dressed->good, {expr::Op::Cast}) ? 1 : 0;
    } else if (theme == "memory") {
      worn[theme] += has(dressed->good, {expr::Op::Gather}) ? 1 : 0;
    } else if (theme == "truths") {
      worn[theme] += has(dressed->good, {expr::Op::Select}) ? 1 : 0;
    } else {
      ASSERT_TRUE(plain) << seed;
      EXPECT_EQ(expr::canonical_bytes(plain->good), expr::canonical_bytes(dressed->good)) << seed;
      ++worn["none"];
    }
  }
  EXPECT_GT(worn["none"], 80u);
  for (const char* theme : {"types", "memory", "truths"}) {
    EXPECT_GT(worn[theme], 3u) << theme;
    EpisodeOptions options;
    options.scrambles = {.themes = {theme}, .parts_max = 3, .dressed = true};
    options.episodes = 12;
    const GuideSamples samples = play(options);
    const auto& tags = expr::rewrite::builtin_rules().tags;
    EXPECT_TRUE(std::any_of(samples.samples.begin(), samples.samples.end(), [&](const GuideSample& s) {
      return tags[s.rule].theme == theme;
    })) << theme;
  }
}

GuideSamples watched(const char* text, Gain gain = Gain::none) {
  const auto source = expr::parse_infix(text);
  CHECK(source.ok());
  const nnue::KindTable& kinds = expr::rewrite::node_kinds();
  GuideSamples out;
  egraph::StaticGuide by_cost(egraph::StaticGuide::Order::best_first);
  const auto rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size());
  expr::rewrite::RewriteOptions how;
  how.policy.kind = expr::PolicyKind::fast;
  how.strategy = egraph::Strategy::guided;
  how.costs = expr::rewrite::reference_costs();
  const Witness::Options watching{.per_graph_max = 100'000, .log_cost = log_cost_by(gain, *source, how.costs)};
  Witness witness(by_cost, counting_weights(kinds, nnue::kDefaultDepth, rules), kinds, watching, out);
  how.guide = &witness;
  how.budget = {.nodes = 800, .nanoseconds = 0, .applications = 200, .graph_nodes = 800};
  how.explain = true;
  const auto found = expr::rewrite::rewrite(*source, how);
  CHECK(found.ok());
  return out;
}

TEST(Episodes, KnowWhichRewritesTheBestTermRestsOn) {
  struct Case {
    const char *text, *rule;
  };
  for (const Case& c : {Case{"sin(x)*sin(x) + cos(x)*cos(x) + y", "pythag"}, Case{"log(exp(x)) + y*z", "log-exp"},
                        Case{"exp(x)*exp(y) + a*b", "exp-mul-rev"}}) {
    const GuideSamples samples = watched(c.text);
    ASSERT_FALSE(samples.samples.empty()) << c.text;
    bool found = false;
    std::size_t needed = 0;
    for (const GuideSample& s : samples.samples) {
      needed += s.needed ? 1 : 0;
      found = found || (s.needed && expr::rewrite::builtin_rules().rules[s.rule].name == c.rule);
    }
    EXPECT_TRUE(found) << c.text << " needs " << c.rule;
    EXPECT_LT(needed, samples.samples.size() / 2) << c.text;
  }
}

// exp(x) exp(y) takes two of 30 and a product of 4; exp(x + y) one of 30 and a sum of 4.
TEST(Gains, AreWhatTheDerivationSaves) {
  const GuideSamples samples = watched("exp(x)*exp(y)", Gain::by_cost);
  ASSERT_EQ(samples.graphs, 1u);
  const double gain = std::log((30 + 30 + 4 + 4.0) / (30 + 4 + 4.0));
  std::size_t needed = 0;
  for (const GuideSample& s : samples.samples) {
    EXPECT_NEAR(s.gain, gain, 1e-6);
    needed += s.needed ? 1 : 0;
  }
  ASSERT_GT(needed, 0u);
  ASSERT_LT(needed, samples.samples.size());
  const auto count = static_cast<double>(samples.samples.size());
  const double mean = (count + static_cast<double>(needed) * gain) / count;
  const std::vector<float> weights = weights_of(samples);
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], (samples.samples[i].needed ? 1 + gain : 1) / mean, 1e-6);
}

TEST(Gains, OfTheJudgeAreItsGuesses) {
  const auto guess = [](const char* text) {
    const auto form = expr::parse_infix(text);
    const auto kernel = expr::lower(
        *form, {.policy = {.kind = expr::PolicyKind::fast}, .simplify = false, .accuracy = kir::math::Accuracy::ulp4});
    return *expr::rewrite::shipped_time_model()->log_ns(*form, *kernel,
                                                        expr::rewrite::default_op_costs("avx512").table());
  };
  const GuideSamples samples = watched("exp(x)*exp(y)", Gain::by_judge);
  const double gain = guess("exp(x)*exp(y)") - guess("exp(x + y)");
  ASSERT_FALSE(samples.samples.empty());
  EXPECT_GT(gain, 0);
  for (const GuideSample& s : samples.samples) EXPECT_NEAR(s.gain, gain, 1e-6);
}

// The cast back to f64 stays as it is: the search is about its operand, an output beside the source's own.
TEST(Gains, OfSourcesWithPartsThatStayAreToldByCostAlone) {
  const char* const text = "f64(f32(exp(x)*exp(y))) + z";
  for (const auto& [gain, least, most] :
       {std::tuple{Gain::by_cost, 0.1f, 1.0f}, std::tuple{Gain::by_judge, 0.0f, 0.0f}}) {
    const GuideSamples samples = watched(text, gain);
    ASSERT_FALSE(samples.samples.empty());
    for (const GuideSample& s : samples.samples) {
      EXPECT_GE(s.gain, least);
      EXPECT_LE(s.gain, most);
    }
  }
}

TEST(Gains, TheJudgeIsAskedOnlyOfTermsWithTheOutputsOfTheirSource) {
  const auto source = expr::parse_sexpr("(exp x)");
  ASSERT_TRUE(source.ok());
  egraph::Term term = *expr::rewrite::to_term(*source);
  expr::Expr two = *source;
  two.outputs.push_back({"other", two.outputs[0].node});
  EXPECT_TRUE(log_cost_by(Gain::by_judge, *source, {})(term).has_value());
  EXPECT_FALSE(log_cost_by(Gain::by_judge, two, {})(term).has_value());
}

TEST(Gains, WeighAtMostThreeTimesAndAlikeWithoutThem) {
  GuideSamples samples = watched("exp(x)*exp(y)");
  for (const float w : weights_of(samples)) EXPECT_EQ(w, 1);
  for (GuideSample& s : samples.samples) s.gain = s.needed ? 9.0f : -5.0f;
  const std::vector<float> weights = weights_of(samples);
  double sum = 0, needed = 0, other = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    (samples.samples[i].needed ? needed : other) = weights[i];
  }
  EXPECT_NEAR(needed, 3 * other, 1e-6);
  EXPECT_NEAR(sum, static_cast<double>(weights.size()), 1e-3);
}

TEST(Episodes, ChangesAreWhatTellsAfterstatesFromStates) {
  const GuideSamples samples = watched("(a*b + a*c)*(x - x + 1) + sqrt(y)*sqrt(y)");
  ASSERT_FALSE(samples.samples.empty());
  std::vector<std::uint32_t> before, after;
  for (const GuideSample& s : samples.samples) {
    samples.features_of(s, false, before);
    samples.features_of(s, true, after);
    EXPECT_EQ(after.size(), before.size() + (s.end - s.first_gained) - (s.first_gained - s.first_lost));
    // Every node has itself with the empty path: such features are as many as nodes.
    const auto at_zero = [](const std::vector<std::uint32_t>& list) {
      return static_cast<std::uint32_t>(
          std::count_if(list.begin(), list.end(), [](std::uint32_t f) { return f % nnue::kCodes == 0; }));
    };
    EXPECT_EQ(at_zero(after), s.nodes);
    EXPECT_EQ(at_zero(before), samples.states[s.state].nodes);
  }
}

TEST(Episodes, OfACurriculumBeginSoManyRewritesAwayFromAGoodForm) {
  ScrambleOptions exact;
  for (const std::uint32_t steps : {1u, 3u, 6u}) {
    exact.steps_min = exact.steps_max = steps;
    std::size_t made = 0, all = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
      const auto one = scrambled(seed, exact);
      if (!one) continue;
      ++all, made += one->steps == steps ? 1 : 0;
    }
    EXPECT_GT(all, 20u);
    EXPECT_GT(made * 10, all * 9) << "but where nothing matches any more";
  }
  // A search that may apply rewrites finds more ways back than one that may not, which is as cheap as the good form
  // only if no step made it dearer. From further away fewer are found.
  const auto solved = [](std::uint32_t steps, std::uint32_t applications) {
    train::Curriculum curriculum({{steps, 2, 0}, {steps + 1}}, 60);
    EpisodeOptions options;
    options.seed = 5, options.episodes = 60, options.applications = applications, options.curriculum = &curriculum;
    static_cast<void>(play(options));
    EXPECT_EQ(curriculum.episodes(), 60u);
    EXPECT_EQ(curriculum.difficulty(), steps) << "a bar that nobody can reach";
    return curriculum.success();
  };
  const double near = solved(1, 600), far = solved(8, 600), unable = solved(8, 1);
  EXPECT_GT(near, 0.7);
  EXPECT_LT(far, near);
  EXPECT_LT(unable, far - 0.2) << near << " " << far;
}

TEST(AreaUnderCurve, CountsPairs) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> scores;
    bool needed[40];
    for (bool& n : needed) scores.push_back(static_cast<double>(random() % 8)), n = random() % 3 == 0;
    double right = 0, pairs = 0;
    for (std::size_t i = 0; i < 40; ++i)
      for (std::size_t j = 0; j < 40; ++j)
        if (needed[i] && !needed[j]) ++pairs, right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
    EXPECT_NEAR(area_under_curve(scores, needed), pairs == 0 ? 0.5 : right / pairs, 1e-12);
  }
}

// A trained network ranks needed rewrites of unseen episodes above others, better than the change of cost;
// and one thread and two learn the same.
TEST(GuideTrainer, LearnsFromEpisodes) {
  EpisodeOptions play_options;
  play_options.episodes = 120;
  play_options.scrambles.parts_max = 3;
  const GuideSamples train = play(play_options);
  play_options.seed = 99;
  play_options.episodes = 40;
  const GuideSamples held_out = play(play_options);
  ASSERT_GT(train.samples.size(), 1000u);
  const std::string folder = ::testing::TempDir() + "/trident_guide_trainer";
  std::vector<float> weights;
  double auc = 0;
  for (const unsigned threads : {1u, 2u}) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    NetworkShape shape;
    shape.width = 64;
    shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
    Network network(shape, expr::rewrite::node_kinds().hash, 1);
    GuideTraining how;
    how.trainer.folder = folder;
    how.trainer.seed = 1, how.trainer.epochs = 2, how.trainer.samples_per_shard = 16, how.trainer.threads = threads;
    how.trainer.schedule.peak = 3e-3;
    const auto result = train_guide(network, train, held_out, how);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const auto flat = network.store().flat();
    if (threads == 1) {
      weights.assign(flat.begin(), flat.end());
      const GuideFigures figures = figures_of(network, train, held_out);
      auc = figures.auc;
      std::printf("AUC %.3f, of static cost %.3f, of the rule alone %.3f\n", figures.auc, figures.auc_static,
                  figures.auc_rule);
      EXPECT_GT(figures.auc, 0.75);
    } else {
      EXPECT_TRUE(std::equal(flat.begin(), flat.end(), weights.begin(), weights.end()));
      EXPECT_EQ(figures_of(network, train, held_out).auc, auc);
    }
  }
  std::filesystem::remove_all(folder);
}

// The second of four epochs is judged to be the best, whatever the area under the curve is.
TEST(GuideTrainer, EndsWithTheEpochThatIsJudgedBest) {
  EpisodeOptions play_options;
  play_options.episodes = 20;
  play_options.scrambles.parts_max = 3;
  const GuideSamples train = play(play_options);
  const std::string folder = ::testing::TempDir() + "/trident_guide_judged";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  NetworkShape shape;
  shape.width = 16;
  shape.rules = static_cast<std::uint32_t>(expr::rewrite::builtin_rules().rules.size()) + 1;
  Network network(shape, expr::rewrite::node_kinds().hash, 1);
  GuideTraining how;
  how.trainer.folder = folder;
  how.trainer.epochs = 4, how.trainer.samples_per_shard = 16;
  how.trainer.schedule.peak = 3e-3;
  std::vector<std::vector<float>> after;
  how.judge = [&](double auc) {
    const double verdicts[] = {0.9, 0.3, 0.5, 0.4};
    EXPECT_GE(auc, 0);
    EXPECT_LE(auc, 1);
    const auto flat = network.store().flat();
    after.emplace_back(flat.begin(), flat.end());
    return verdicts[after.size() - 1];
  };
  const auto result = train_guide(network, train, train, how);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(result->best_metric, 0.3);
  const auto flat = network.store().flat();
  EXPECT_TRUE(std::equal(flat.begin(), flat.end(), after[1].begin(), after[1].end()));
  EXPECT_NE(after[1], after[3]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trident::learn
