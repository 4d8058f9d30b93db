// Oracles: MPFR for values that variants must keep; the emptied list of a program's allowed ops; sums written out.
#include "jit/learn/variants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "jit/learn/packed_kernels.h"
#include "jit/learn/programs.h"
#include "jit/learn/reassociate.h"
#include "jit/learn/scrambles.h"
#include "jit/learn/variant_timing.h"
#include "jit/pipeline/forms.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::learn {
namespace {

using expr::Expr;

Expr parsed(const std::string& text) {
  auto e = expr::parse(text);
  CHECK(e.ok());
  return *std::move(e);
}

/// True if the evaluator of the reals knows all of its ops.
bool is_real(const Expr& e) {
  for (const expr::Node& n : e.nodes) {
    const expr::Signature s = expr::info(n.op).signature;
    if (ir::is_int(n.type) || s == expr::Signature::Reduce || s == expr::Signature::Reduce2 ||
        s == expr::Signature::Locate || n.op == expr::Op::Copysign)
      return false;
  }
  return true;
}

std::vector<double> point_of(const Expr& e, std::mt19937_64& random) {
  std::vector<double> at;
  for (const expr::Variable& v : e.variables) {
    const double lo = std::isfinite(v.lo) ? v.lo : 0.1, hi = std::isfinite(v.hi) ? v.hi : lo + 2;
    at.push_back(lo + (hi - lo) * (0.02 + 0.96 * static_cast<double>(random() >> 11) * 0x1p-53));
  }
  return at;
}

/// Counts points at which both have a value, and those at which the values are far from each other.
struct Agreement {
  std::size_t compared = 0, apart = 0;
};
void compare(const Expr& source, const Expr& variant, std::uint64_t seed, Agreement& agreement) {
  std::mt19937_64 random(seed);
  for (int point = 0; point < 4; ++point) {
    const std::vector<double> at = point_of(source, random);
    const auto right = testing::evaluate_real(source, at, 300), other = testing::evaluate_real(variant, at, 300);
    ASSERT_EQ(right.size(), other.size());
    for (std::size_t o = 0; o < right.size(); ++o) {
      if (!std::isfinite(right[o]) || !std::isfinite(other[o]) || std::fabs(right[o]) > 1e9L) continue;
      ++agreement.compared;
      if (std::fabs(right[o] - other[o]) > 1e-3L * (1 + std::fabs(right[o]))) ++agreement.apart;
    }
  }
}

TEST(Variants, MeanWhatTheirSourceMeansAndDiffer) {
  Agreement agreement;
  std::map<std::string, std::size_t> made;
  std::size_t families = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Expr source;
    if (seed % 2 == 0) {
      source = random_program(seed, {.nodes_min = 5, .nodes_max = 60});
    } else {
      const auto scramble = scrambled(seed);
      if (!scramble) continue;
      source = scramble->expr;
    }
    const auto variants = variants_of(source, {.seed = seed, .wanted = 10});
    if (!variants.ok()) continue;
    ++families;
    ASSERT_LE(variants->size(), 10u);
    EXPECT_EQ((*variants)[0].how, "source");
    EXPECT_EQ((*variants)[0].text, expr::print_infix(source));
    for (std::size_t a = 0; a < variants->size(); ++a) {
      const KernelVariant& v = (*variants)[a];
      ++made[v.how];
      EXPECT_TRUE(v.how != "source" || a == 0);
      EXPECT_TRUE(v.how != "best" || a == 1);
      const auto again = kernel_of(v.text);
      ASSERT_TRUE(again.ok()) << v.text;
      EXPECT_TRUE(pipeline::same_kernel(*again, v.kernel));
      for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(pipeline::same_kernel((*variants)[b].kernel, v.kernel));
      const Expr form = parsed(v.text);
      if (is_real(source) && is_real(form)) compare(source, form, seed, agreement);
    }
  }
  EXPECT_GT(families, 40u);
  EXPECT_GT(made.size(), 7u);
  EXPECT_GT(agreement.compared, 500u);
  // Constants in f32 that are rounded where they are folded may change a comparison, and a floor.
  EXPECT_LE(agreement.apart * 50, agreement.compared) << agreement.compared;
}

TEST(Variants, AreTheSameForTheSameSeed) {
  for (const std::uint64_t seed : {3u, 4u, 11u}) {
    const Expr source = random_program(seed);
    const auto one = variants_of(source, {.seed = seed}), other = variants_of(source, {.seed = seed});
    const auto else_seeded = variants_of(source, {.seed = seed + 100});
    ASSERT_TRUE(one.ok() && other.ok() && else_seeded.ok());
    const auto texts = [](const std::vector<KernelVariant>& all) {
      std::vector<std::string> list;
      for (const KernelVariant& v : all) list.push_back(v.how + ": " + v.text);
      return list;
    };
    EXPECT_EQ(texts(*one), texts(*other));
    EXPECT_NE(texts(*one), texts(*else_seeded));
  }
}

TEST(Variants, RefuseTables) {
  const auto refused = variants_of(parsed("table t: f64, j: i64; t[j]"), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(Programs, HaveAllOpsAndSizesAndTameValues) {
  std::set<expr::Op> ops;
  std::set<ir::Type> types;
  std::size_t small = 0, large = 0, defined = 0, points = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Expr e = random_program(seed);
    ASSERT_TRUE(expr::check(e).ok()) << expr::check(e).error().message;
    EXPECT_EQ(expr::canonical_bytes(e), expr::canonical_bytes(random_program(seed)));
    EXPECT_EQ(expr::canonical_bytes(e), expr::canonical_bytes(parsed(expr::print_infix(e))));
    for (const expr::Node& n : e.nodes) ops.insert(n.op), types.insert(n.type);
    small += e.nodes.size() < 20 ? 1 : 0, large += e.nodes.size() > 200 ? 1 : 0;
    EXPECT_LE(e.nodes.size(), 800u);
    if (!is_real(e) || e.nodes.size() > 120) continue;
    std::mt19937_64 random(seed);
    for (const long double value : testing::evaluate_real(e, point_of(e, random), 200))
      ++points, defined += std::isfinite(value) && std::fabs(value) < 1e12L ? 1 : 0;
  }
  EXPECT_GT(small, 40u);
  EXPECT_GT(large, 40u);
  EXPECT_GT(points, 100u);
  EXPECT_GT(defined * 100, points * 97);
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::b32})
    EXPECT_TRUE(types.contains(type));
  const std::set<expr::Op> none = {expr::Op::Diff, expr::Op::Index, expr::Op::Gather, expr::Op::Strided,
                                   expr::Op::Eq,   expr::Op::MinOf, expr::Op::MaxOf,  expr::Op::Mean,
                                   expr::Op::Dot,  expr::Op::Prod,  expr::Op::ArgMin, expr::Op::ArgMax};
  for (std::uint32_t op = 0; op < expr::kOpCount; ++op)
    EXPECT_EQ(ops.contains(static_cast<expr::Op>(op)), !none.contains(static_cast<expr::Op>(op)))
        << expr::kOpInfos[op].text;
}

TEST(Reassociation, SumsOfTheSameTermsInAnotherOrder) {
  const Expr source = parsed("a: f64, b: f64, c: f64, d: f64; a - b*c*d*a + (c - (d - a)) + 2.5");
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const SumShape shape : {SumShape::chain, SumShape::tree, SumShape::random}) {
      const Expr other = reassociated(source, shape, seed);
      ASSERT_TRUE(expr::check(other).ok());
      texts.insert(expr::print_infix(other));
      const std::vector<double> at{1.5, -2.25, 3.125, 0.5};
      EXPECT_EQ(testing::evaluate_real(other, at, 300), testing::evaluate_real(source, at, 300));
    }
  }
  EXPECT_GT(texts.size(), 30u);
}

TEST(Reassociation, ATreeIsShallowAndAChainIsDeep) {
  std::string text = "x0: f64";
  for (int i = 1; i < 16; ++i) text += ", x" + std::to_string(i) + ": f64";
  text += "; x0";
  for (int i = 1; i < 16; ++i) text += " + x" + std::to_string(i);
  const Expr source = parsed(text);
  const auto depth_of = [](const Expr& e) {
    std::vector<int> depth(e.nodes.size());
    for (std::size_t i = 0; i < e.nodes.size(); ++i)
      for (const expr::NodeId operand : {e.nodes[i].a, e.nodes[i].b, e.nodes[i].c})
        if (operand.valid()) depth[i] = std::max(depth[i], depth[operand.index] + 1);
    return depth[e.outputs[0].node.index];
  };
  EXPECT_EQ(depth_of(reassociated(source, SumShape::chain, 1)), 15);
  EXPECT_EQ(depth_of(reassociated(source, SumShape::tree, 1)), 4);
  EXPECT_EQ(expr::print_infix(without_fma(parsed("a: f64, b: f64; fma(a, b, fma(b, b, 1))"))),
            expr::print_infix(parsed("a: f64, b: f64; a*b + (b*b + 1)")));
}

TEST(Timing, TellsWhatIsManyTimesAsLongApart) {
  std::string chain = "x";
  for (int i = 0; i < 12; ++i) chain = "sin(" + chain + ")";
  std::vector<KernelVariant> variants;
  for (const std::string& text : {std::string("x: f64 in [0, 1]; x + 1"), "x: f64 in [0, 1]; " + chain}) {
    auto kernel = kernel_of(text);
    ASSERT_TRUE(kernel.ok());
    variants.push_back({text, "source", *std::move(kernel)});
  }
  const auto code = compile(parsed(variants[0].text), variants, codegen::Isa::avx2);
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(elements_timed(*code), 1024u);
  const auto timing = time_family(*code, {.rounds = 5});
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  ASSERT_EQ(timing->times.size(), 2u);
  // A vector of 4 elements takes half a cycle at least; at 10 GHz that is an 80th of a nanosecond for an element.
  EXPECT_GT(timing->times[0].ns, 0.0125);
  EXPECT_GT(timing->times[1].ns, 10 * timing->times[0].ns);
  EXPECT_GT(timing->times[1].ns_again, 10 * timing->times[0].ns_again);
}

TEST(Timing, WhatRepeatsIsToldByTheMedianAndTheWorst) {
  using Pair = FamilyTiming::Pair;
  const std::vector<Pair> steady(8, Pair{1, 1.005});
  EXPECT_TRUE(repeats(steady));
  std::vector<Pair> one = steady;
  one[3].ns_again = 1.3;
  EXPECT_FALSE(repeats(one));
  EXPECT_FALSE(repeats(std::vector<Pair>(8, Pair{1, 1.04})));
  EXPECT_TRUE(repeats(std::vector<Pair>(1)));  // nothing ran
}

// --- packed ---

TimedKernels some_kernels() {
  TimedKernels all;
  all.machines = {{"few", "avx2", "1", "2026-01-01"}, {"A\tCPU \\ n", "avx512", "2", "2026-01-02"}};
  for (std::uint32_t f = 0; f < 90; ++f) {
    const std::uint32_t first = static_cast<std::uint32_t>(all.kernels.size());
    const char* generator = f % 9 == 0 ? "corpus" : f % 2 == 0 ? "program" : "scramble";
    for (std::uint32_t k = 0; k < 5 + f % 17; ++k)
      all.kernels.push_back({f, "x:f64;\nx + " + std::to_string(k * 100 + f),
                             k == 0   ? "source"
                             : k == 1 ? "best"
                                      : "bent",
                             1 + 0.25 * k, 1 + 0.125 * f});
    all.families.push_back({"family " + std::to_string(f), generator, f < 10 ? 0u : 1u, first,
                            static_cast<std::uint32_t>(all.kernels.size())});
  }
  return all;
}

TEST(PackedKernels, GiveBackWhatWasPacked) {
  const TimedKernels all = some_kernels();
  const auto again = unpack(pack(all), "x");
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_EQ(again->machines.size(), 2u);
  EXPECT_EQ(again->machines[1].cpu, all.machines[1].cpu);
  ASSERT_EQ(again->families.size(), all.families.size());
  ASSERT_EQ(again->kernels.size(), all.kernels.size());
  for (std::size_t f = 0; f < all.families.size(); ++f) {
    EXPECT_EQ(again->families[f].name, all.families[f].name);
    EXPECT_EQ(again->families[f].generator, all.families[f].generator);
    EXPECT_EQ(again->families[f].machine, all.families[f].machine);
    EXPECT_EQ(again->families[f].first, all.families[f].first);
    EXPECT_EQ(again->families[f].end, all.families[f].end);
  }
  for (std::size_t k = 0; k < all.kernels.size(); ++k) {
    EXPECT_EQ(again->kernels[k].text, all.kernels[k].text);
    EXPECT_EQ(again->kernels[k].how, all.kernels[k].how);
    EXPECT_EQ(again->kernels[k].family, all.kernels[k].family);
    EXPECT_EQ(again->kernels[k].ns, all.kernels[k].ns);
    EXPECT_NEAR(again->kernels[k].ns_again, all.kernels[k].ns_again, 1e-3 * all.kernels[k].ns_again);
  }
}

TEST(PackedKernels, ACutHasAllGeneratorsOfOneMachine) {
  const TimedKernels all = some_kernels(), some = cut(all, 200, 7);
  ASSERT_EQ(some.machines.size(), 1u);
  EXPECT_EQ(some.machines[0].isa, "avx512");
  EXPECT_GE(some.kernels.size(), 200u);
  EXPECT_LT(some.kernels.size(), 207u);
  std::map<std::string, std::size_t> generators;
  std::set<std::string> names;
  for (const TimedFamily& family : some.families) {
    ++generators[family.generator];
    EXPECT_TRUE(names.insert(family.name).second);
    ASSERT_LE(family.end - family.first, 7u);
    EXPECT_EQ(some.kernels[family.first].how, "source");
    EXPECT_EQ(some.kernels[family.first + 1].how, "best");
    const auto& whole = all.families[static_cast<std::size_t>(std::stoi(family.name.substr(7)))];
    for (std::uint32_t k = family.first; k < family.end; ++k) {
      bool there = false;
      for (std::uint32_t w = whole.first; w < whole.end; ++w) there |= all.kernels[w].text == some.kernels[k].text;
      EXPECT_TRUE(there);
    }
  }
  EXPECT_EQ(generators.size(), 3u);
  for (const auto& [generator, count] : generators) EXPECT_GE(count, 8u) << generator;
  EXPECT_EQ(pack(some), pack(cut(all, 200, 7)));
}

TEST(PackedKernels, MutatedBytesAreRefused) {
  const std::vector<std::byte> whole = pack(cut(some_kernels(), 100));
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes = whole;
    if (round % 3 == 0)
      bytes.resize(random() % bytes.size());
    else
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
    EXPECT_FALSE(unpack(bytes, "x").ok()) << round;
  }
}

TEST(FamilyTiming, KeepsTheAttemptThatRepeatsBestAndNumbersTheOthers) {
  using Attempt = std::vector<FamilyTiming::Pair>;
  const Attempt apart{{1, 1.3}, {2, 2.6}}, close{{1, 1.01}, {2, 2.02}}, further{{1, 2}, {2, 4}};
  FamilyTiming timing = choose({apart, close, further});
  EXPECT_EQ(timing.kept, 1u);
  EXPECT_EQ(timing.times[1].ns_again, 2.02);
  ASSERT_EQ(timing.earlier.size(), 2u);
  EXPECT_EQ(timing.earlier[0][0].ns_again, 1.3);
  EXPECT_EQ(timing.earlier[1][0].ns_again, 2);
  timing = choose({close});
  EXPECT_EQ(timing.kept, 0u);
  EXPECT_TRUE(timing.earlier.empty());
}

}  // namespace
}  // namespace trident::learn
