// Observations made by hand, whose figures are worked out by hand; the convention of bench/corpus for transcendental
// kernels, word by word.
#include "clients/cli/bench/bench_figures.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace trident::cli {
namespace {

constexpr std::uint64_t kN = 1024;
enum : std::size_t { kOurs, kBaseline, kInterpreter, kQuick, kSlow, kNumexpr, kCopy };

expr::Expr parsed(const std::string& text) {
  expr::ParseOptions options;
  options.type = ir::Type::f32;
  for (const char* name : {"x", "y"}) {
    expr::Variable v;
    v.name = name, v.type = ir::Type::f32, v.lo = 1, v.hi = 2;
    if (text.find(name) != std::string::npos) options.variables.push_back(v);
  }
  auto e = expr::parse(text, options);
  EXPECT_TRUE(e.ok()) << text;
  return std::move(*e);
}

/// A kernel that all have answered right: ours, two pinned compilers, numexpr and the copy, in three rounds.
struct Observed {
  expr::Expr e = parsed("sqrt(x)");
  BenchOptions options;
  std::unique_ptr<Workload> workload = std::make_unique<Workload>(e, e.variables, kN, 3);
  std::unique_ptr<AnswerChecker> checker = std::move(AnswerChecker::make(e, *workload)).value();
  TimingRun run;
  KernelResult k;

  Observed() {
    options.type = ir::Type::f32;
    options.n = kN;
    for (const char* name : {"ours", "baseline", "interpreter", "quick", "slow", "numexpr", "copy"}) {
      Timing t;
      std::vector<std::byte> bytes(kN * sizeof(float));
      for (std::size_t i = 0; i < kN; ++i) {
        const float y = std::sqrt(static_cast<const float*>(workload->inputs()[0])[i]);
        std::memcpy(bytes.data() + i * sizeof y, &y, sizeof y);
      }
      t.outputs = {bytes};
      run.contestants.push_back(std::move(t));
      if (run.contestants.size() == kCopy + 1) break;  // which has a time and no entry
      k.entries.emplace_back();
      k.entries.back().name = name;
      k.entries.back().own = k.entries.size() <= 3;
      k.entries.back().pinned = name == std::string("quick") || name == std::string("slow");
    }
    for (std::size_t c = 0; c <= kCopy; ++c) takes(c, 1000, 500);
    takes(kOurs, 300, 160);
    takes(kQuick, 400, 400);
    takes(kSlow, 600, 200);
    takes(kNumexpr, 100, 100);
    takes(kCopy, 150, 80);
  }
  /// Median times at kN and at kSmallElements, among rounds of which one was disturbed.
  void takes(std::size_t c, double ns, double small_ns) {
    run.contestants[c].ns = {{ns, 9 * ns, ns}, {small_ns, small_ns, 7 * small_ns}};
  }
  void answers_wrong(std::size_t c) {
    const float wrong = 9;
    std::memcpy(run.contestants[c].outputs[0].data() + 77 * sizeof wrong, &wrong, sizeof wrong);
  }
  void judge() { judge_answers(run, options, *checker, k); }
};

TEST(BenchFigures, AWrongAnswerOfOursFailsTheKernel) {
  for (const std::size_t own : {kOurs, kBaseline, kInterpreter}) {
    Observed o;
    o.answers_wrong(own);
    o.judge();
    EXPECT_EQ(o.k.failure.rfind(o.k.entries[own].name + ": ", 0), 0u) << o.k.failure;
    EXPECT_NE(o.k.failure.find("[77]"), std::string::npos) << o.k.failure;
    EXPECT_EQ(o.k.entries[own].ns, 0) << "a wrong answer has no time";
  }
}

TEST(BenchFigures, UnderExactOursHaveTheInterpretersBits) {
  for (const std::size_t own : {kOurs, kBaseline}) {
    Observed o;
    o.options.policy.kind = expr::PolicyKind::exact;
    o.judge();
    ASSERT_EQ(o.k.failure, "");
    std::byte& last_bit = o.run.contestants[own].outputs[0][77 * sizeof(float)];
    last_bit ^= std::byte{1};
    o.judge();
    EXPECT_EQ(o.k.failure.rfind(o.k.entries[own].name + ": ", 0), 0u) << o.k.failure;
    last_bit ^= std::byte{1};
    o.run.contestants[kQuick].outputs[0][77 * sizeof(float)] ^= std::byte{1};
    o.k.failure.clear(), o.k.entries[own].missing.clear();
    o.judge();
    EXPECT_EQ(o.k.failure, "") << "a compiler has promised no bits";
  }
}

TEST(BenchFigures, GainIsOverOursWithoutWhatIsDisabled) {
  Observed o;
  o.judge();
  compare(o.k);
  EXPECT_EQ(o.k.gain, 0) << "there is no such contestant";
  // Seven contestants become eight: the new one stands behind the interpreter.
  Observed with;
  with.k.entries.insert(with.k.entries.begin() + kQuick, Entry{});
  with.k.entries[kQuick].name = "without search";
  with.k.entries[kQuick].own = true;
  with.run.contestants.insert(with.run.contestants.begin() + kQuick, with.run.contestants[kOurs]);
  with.takes(kQuick, 400, 200);
  with.options.without = "search", with.options.disabled = {"search"};
  with.judge();
  ASSERT_EQ(with.k.failure, "");
  compare(with.k);
  EXPECT_EQ(with.k.best, kQuick + 1) << "it is no compiler";
  EXPECT_DOUBLE_EQ(with.k.gain, 300.0 / 400);
  BenchResult r;
  r.options = with.options;
  r.kernels = {with.k, with.k};
  r.kernels[1].gain = 0.12;
  summarise_groups(r);
  EXPECT_DOUBLE_EQ(r.all.gain, std::sqrt(0.75 * 0.12));
  EXPECT_NEAR(nlohmann::json::parse(bench_json(r))["summary"]["all"]["geomean_gain"].get<double>(), 0.3, 1e-12);
  EXPECT_NE(bench_text(r).find("to ours without search: 0.300"), std::string::npos) << bench_text(r);
  EXPECT_NE(bench_html(r).find("Time against ours without search"), std::string::npos);
  with.answers_wrong(kQuick);
  with.judge();
  EXPECT_EQ(with.k.failure.rfind("without search: ", 0), 0u) << with.k.failure;
}

TEST(BenchFigures, CompilersThatDoNotCountAreShownBeside) {
  Observed o;
  o.k.entries[kSlow].pinned = false;
  o.judge();
  compare(o.k);
  const Summary s = summarise({&o.k, &o.k});
  ASSERT_EQ(s.beside.size(), 1u) << "numexpr is no compiler";
  EXPECT_EQ(s.beside[0].first, "slow");
  EXPECT_DOUBLE_EQ(s.beside[0].second, 300.0 / 600);
}

TEST(BenchFigures, DerivativesAreNamedSo) {
  EXPECT_TRUE(is_derivative("d02_sigmoid"));
  for (const char* name : {"", "d", "dot", "b03_gauss", "2d"}) EXPECT_FALSE(is_derivative(name)) << name;
  BenchResult r;
  for (const char* name : {"d02_sigmoid", "g04", "d9"}) {
    r.kernels.emplace_back();
    r.kernels.back().name = name, r.kernels.back().ratio = 0.25 * static_cast<double>(r.kernels.size());
  }
  summarise_groups(r);
  EXPECT_EQ(r.derivatives.count, 2u);
  EXPECT_DOUBLE_EQ(r.derivatives.geomean, std::sqrt(0.25 * 0.75));
}

TEST(BenchFigures, WhatIsPinnedInWords) {
  BenchResult r;
  r.compilers.resize(3);
  r.compilers[1].name = "clang", r.compilers[1].pinned = true;
  EXPECT_EQ(pinned_in_words(r), "clang");
  r.compilers[2].pinned = true;
  EXPECT_EQ(pinned_in_words(r), "best of the 2 pinned compilers");
}

TEST(BenchFigures, ACompilersWrongAnswerOnlyDropsOut) {
  Observed o;
  o.answers_wrong(kQuick);
  o.judge();
  EXPECT_EQ(o.k.failure, "");
  EXPECT_NE(o.k.entries[kQuick].missing, "");
  compare(o.k);
  EXPECT_EQ(o.k.best, kSlow);
  EXPECT_DOUBLE_EQ(o.k.ratio, 0.5);
}

TEST(BenchFigures, WhoMustTakePart) {
  for (const std::size_t c : {kOurs, kInterpreter, kQuick, kSlow}) {
    Observed o;
    o.run.contestants[c].failure = "crashed";
    o.judge();
    EXPECT_EQ(o.k.failure, o.k.entries[c].name + ": crashed");
  }
  Observed o;
  o.run.contestants[kNumexpr].failure = "has no such function";
  o.judge();
  EXPECT_EQ(o.k.failure, "");
  EXPECT_EQ(o.k.entries[kNumexpr].missing, "has no such function");
}

TEST(BenchFigures, TheBestIsTheQuickestPinnedCompilerAtEachSize) {
  Observed o;
  o.judge();
  ASSERT_EQ(o.k.failure, "");
  compare(o.k);
  EXPECT_EQ(o.k.best, kQuick);  // numexpr is quicker, and no compiler
  EXPECT_DOUBLE_EQ(o.k.ratio, 300.0 / 400);
  EXPECT_DOUBLE_EQ(o.k.small_ratio, 160.0 / 200);
  Observed none;
  none.answers_wrong(kQuick);
  none.answers_wrong(kSlow);
  none.judge();
  compare(none.k);
  EXPECT_NE(none.k.failure, "");
}

/// Shares of a kernel whose copy takes `copy_ns` at 512 elements, and a division `divide_ns`.
KernelResult shares(double copy_ns, double divide_ns) {
  Observed o;
  o.takes(kCopy, 150, copy_ns);
  // 64 bytes, 16 elements an iteration: 8 vector instructions are 4 ns, and 512 elements 128 ns, of our 160.
  LoopProfile loop;
  loop.arithmetic = 8, loop.divisions = 1, loop.loads = 1, loop.stores = 1, loop.stored_bytes = 64;
  loop.vector_bits = 512;
  o.k.loop = loop;
  MachineRates rates;
  rates.vector_ns = 0.5, rates.multiply_ns = 0.5, rates.load_ns = 0.5, rates.store_ns = 1;
  rates.divide_ns = divide_ns, rates.root_ns = divide_ns;
  o.run.rates = {{rates, rates, rates}, {rates, rates, rates}};
  o.judge();
  share_of_roof(o.run, o.options, stored_bytes(o.e), o.k);
  return o.k;
}

TEST(BenchFigures, ShareOfTheNearerRoof) {
  const KernelResult port = shares(80, 1);
  EXPECT_DOUBLE_EQ(port.small_roof_share, 128.0 / 160);
  EXPECT_FALSE(port.small_bandwidth_bound);
  EXPECT_DOUBLE_EQ(port.small_limit_share, 128.0 / 160);
  EXPECT_DOUBLE_EQ(port.roof_share, 256.0 / 300);
  const KernelResult bandwidth = shares(144, 1);
  EXPECT_DOUBLE_EQ(bandwidth.small_roof_share, 144.0 / 160);
  EXPECT_TRUE(bandwidth.small_bandwidth_bound);
  const KernelResult divider = shares(80, 4.75);
  EXPECT_DOUBLE_EQ(divider.small_roof_share, 128.0 / 160);
  EXPECT_DOUBLE_EQ(divider.small_limit_share, 152.0 / 160);
}

TEST(BenchFigures, ThePortRoofIsTheDefinedOneUnlessTheProcessorPassesIt) {
  const auto share = [](unsigned additions) {
    Observed o;
    o.takes(kCopy, 150, 40);
    LoopProfile loop;
    loop.arithmetic = 8, loop.multiplies = 4, loop.additions = additions, loop.loads = 1, loop.stores = 1;
    loop.stored_bytes = 64, loop.vector_bits = 512;
    o.k.loop = loop;
    MachineRates rates;
    rates.vector_ns = 0.25, rates.multiply_ns = rates.add_ns = 0.5, rates.load_ns = 0.5, rates.store_ns = 1;
    o.run.rates = {{rates, rates, rates}, {rates, rates, rates}};
    o.judge();
    share_of_roof(o.run, o.options, stored_bytes(o.e), o.k);
    return o.k.small_roof_share;
  };
  // Per 512 elements: an instruction that multiplies or adds is 16 ns, any 8 ns; ours are 160.
  EXPECT_DOUBLE_EQ(share(4), 128.0 / 160);
  EXPECT_DOUBLE_EQ(share(0), 64.0 / 160);
  EXPECT_DOUBLE_EQ(share(8), 128.0 / 160) << "192 are passed, the eight additions are a limit";
}

TEST(BenchFigures, NoShareIsAboveOne) {
  EXPECT_EQ(shares(164, 1).small_roof_share, 1) << "the copy's time has an error of some per cent";
  const KernelResult poor_copy = shares(240, 1);
  EXPECT_DOUBLE_EQ(poor_copy.small_roof_share, 128.0 / 160) << "what is passed by so much is no limit";
  EXPECT_FALSE(poor_copy.small_bandwidth_bound);
  EXPECT_DOUBLE_EQ(shares(80, 6).small_limit_share, 128.0 / 160);
}

TEST(BenchFigures, AReductionIsBoundByItsOrderAndHasNoShareOfARoof) {
  Observed o;
  o.e = parsed("sum(x)");
  o.k.loop = LoopProfile{};
  o.judge();
  share_of_roof(o.run, o.options, stored_bytes(o.e), o.k);
  compare(o.k);
  EXPECT_NE(reason_of_loss(o.k, stored_bytes(o.e)).find("partial results in one documented order"), std::string::npos);
  BenchResult r;
  r.options = o.options;
  r.kernels = {o.k};
  summarise_groups(r);
  const auto json = nlohmann::json::parse(bench_json(r));
  for (const char* field : {"roof_share", "roof_share_512", "roof_share_512_with_divider", "roof", "roof_512"})
    EXPECT_TRUE(json["kernels"][0].at(field).is_null()) << field;
  EXPECT_TRUE(json["summary"]["all"].at("median_roof_share_512").is_null());
  EXPECT_EQ(bench_text(r).find("roof share"), std::string::npos);
  r.kernels = {shares(144, 1)};
  compare(r.kernels[0]);
  summarise_groups(r);
  const auto known = nlohmann::json::parse(bench_json(r));
  EXPECT_DOUBLE_EQ(known["kernels"][0].at("roof_share_512").get<double>(), 144.0 / 160);
  EXPECT_EQ(known["kernels"][0].at("roof_512"), "bandwidth");
  EXPECT_NE(bench_text(r).find("roof share median 90%"), std::string::npos);
  r.options.promise_ranges = false;
  r.kernels[0].name = "first", r.kernels[0].why_not_speculating = "it gains too little";
  EXPECT_NE(bench_text(r).find("  first does not: it gains too little\n"), std::string::npos);
}

KernelResult kernel(double ratio, double small_ratio, double small_share, bool transcendental) {
  KernelResult k;
  k.ratio = ratio, k.small_ratio = small_ratio, k.small_roof_share = small_share, k.transcendental = transcendental;
  return k;
}

TEST(BenchFigures, Summary) {
  BenchResult r;
  r.kernels = {kernel(0.5, 0.25, 0.9, true), kernel(1.1, 1, 0.6, false), kernel(1.25, 2, 0.7, false)};
  r.kernels.push_back(kernel(0.001, 0.001, 1, true));
  r.kernels.back().failure = "wrong";
  for (const std::size_t i : {0, 1, 2, 3}) r.kernels[i].optimise_s = std::array{3.0, 1.0, 2.0, 9.0}[i];
  for (const std::size_t i : {0, 1, 2, 3}) r.kernels[i].first_s = std::array{0.5, 0.25, 2.0, 9.0}[i];
  summarise_groups(r);
  EXPECT_EQ(r.all.count, 3u);
  EXPECT_EQ(r.all.wins, 1u);
  EXPECT_DOUBLE_EQ(r.all.wins_share(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(r.all.optimise_s_median, 2);
  EXPECT_DOUBLE_EQ(r.all.optimise_s_p95, 3);
  EXPECT_DOUBLE_EQ(r.all.optimise_s_max, 3);
  EXPECT_DOUBLE_EQ(r.all.first_s_median, 0.5);
  EXPECT_DOUBLE_EQ(r.all.first_s_max, 2);
  EXPECT_NEAR(r.all.geomean * r.all.geomean * r.all.geomean, 0.5 * 1.1 * 1.25, 1e-12);
  EXPECT_DOUBLE_EQ(r.all.median, 1.1);
  EXPECT_DOUBLE_EQ(r.all.worst, 1.25);
  EXPECT_NEAR(r.all.small_geomean * r.all.small_geomean * r.all.small_geomean, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(r.all.small_roof_share_median, 0.7);
  EXPECT_EQ(r.transcendental.count, 1u);
  EXPECT_DOUBLE_EQ(r.transcendental.geomean, 0.5);
  EXPECT_EQ(r.algebraic.count, 2u);
  EXPECT_EQ(r.algebraic.wins, 0u);
  EXPECT_TRUE(r.failed());
  for (const std::size_t i : {1, 3}) r.kernels[i].speculates = true, r.kernels[i].missing = i == 1 ? 1.03 : 9;
  r.options.promise_ranges = false;
  summarise_groups(r);
  EXPECT_EQ(r.all.speculate, 1u) << "the failed one does not count";
  EXPECT_DOUBLE_EQ(r.all.missing_worst, 1.03);
  r.kernels.pop_back();
  EXPECT_FALSE(r.failed());
}

TEST(BenchFigures, TranscendentalKernels) {
  for (const char* text :
       {"sin(x)", "cos(x)", "tan(x)", "asin(x/2)", "acos(x/2)", "atan(x)", "atan2(x, y)", "sinh(x)", "cosh(x)",
        "tanh(x)", "exp(x)", "log(x)", "pow(x, 0.3)", "pow(x, y)", "cbrt(x)", "erf(x)", "1 + x*tanh(x + y)"})
    EXPECT_TRUE(is_transcendental(parsed(text))) << text;
  for (const char* text : {"x", "x*y/(x + y)", "sqrt(x)", "pow(x, 3)", "floor(x) + abs(y)", "min(x, y) < 1.5 ? x : y"})
    EXPECT_FALSE(is_transcendental(parsed(text))) << text;
}

TEST(BenchFigures, TheInterpreterHasNoMoreInstructionsThanTheOthers) {
  EXPECT_EQ(interpreter_level(codegen::Isa::avx2), os::SimdLevel::avx2);
  EXPECT_EQ(interpreter_level(codegen::Isa::avx512), os::SimdLevel::avx512);
  EXPECT_EQ(interpreter_level(codegen::Isa::neon), os::SimdLevel::portable);
}

TEST(BenchFigures, StoredBytesLeaveTotalsOut) {
  EXPECT_EQ(stored_bytes(parsed("x*y")), 4u);
  EXPECT_EQ(stored_bytes(parsed("sum(x*y)")), 0u);
}

}  // namespace
}  // namespace trident::cli
