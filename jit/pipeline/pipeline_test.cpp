// The spine from end to end. Oracles: the kir interpreter for kernels' results, image::validate for images.
#include "jit/pipeline/pipeline.h"
#include "jit/pipeline/forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "jit/equiv/checker.h"
#include "jit/expr/simplify.h"
#include "jit/judge/guarded.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "jit/pipeline/execution.h"
#include "jit/pipeline/key.h"
#include "jit/pipeline/refine.h"
#include "jit/pipeline/second_look.h"
#include "runtime/os/clock.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

using expr::Type;

std::vector<codegen::Isa> host_isas() {
  std::vector<codegen::Isa> isas;
  if (os::cpu_features().avx2_fma) isas.push_back(codegen::Isa::avx2);
  if (os::cpu_features().avx512) isas.push_back(codegen::Isa::avx512);
  return isas;
}

expr::Expr parsed(std::string_view text, Type type = Type::f64, std::vector<expr::Variable> variables = {}) {
  auto e = expr::parse_infix(text, {.type = type, .variables = std::move(variables)});
  if (!e.ok()) ADD_FAILURE() << e.error().message;
  CHECK(e.ok());
  return std::move(e).value();
}

std::vector<expr::Variable> ranged(Type type) {
  return {{"x", type, expr::VariableKind::array, 0.5, 4},
          {"y", type, expr::VariableKind::array, -3, 3},
          {"p", type, expr::VariableKind::scalar, 1, 2}};
}

constexpr std::string_view kText = "(x * y + p) / (x * x + 1) - sqrt(x + p) * (y - x) * (y + x)";

// Compares the code of `compiled` with the interpreter on its own kernel: points, tails and placements.
void expect_right_code(const expr::Expr& source, const Compiled& compiled, codegen::Isa isa) {
  ASSERT_TRUE(image::validate(compiled.image.bytes).ok());
  auto fd = image::seal(compiled.image);
  ASSERT_TRUE(fd.ok());
  auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok());
  auto checker = equiv::Checker::make(source, {}, {.samples = {.points = 2048, .seed = 9}});
  ASSERT_TRUE(checker.ok());
  auto prepared = (*checker)->check_meaning(compiled.kernel, equiv::Demand::policy);
  ASSERT_TRUE(prepared.ok());
  const judge::Signature signature = judge::signature_of(compiled.kernel);
  auto verdict = (*checker)->check_code(*prepared, execute_in_sandbox(source, signature, *mapped), equiv::Effort::full);
  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_TRUE(verdict->same()) << codegen::name_of(isa) << "\n" << equiv::print(*verdict);
}

TEST(Baseline, CompilesToCodeThatDoesWhatTheSourceMeans) {
  for (const codegen::Isa isa : host_isas()) {
    for (const Type type : {Type::f32, Type::f64}) {
      const auto e = parsed(kText, type, ranged(type));
      auto compiled = compile_baseline(e, {.target = {.isa = isa}});
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      EXPECT_EQ(compiled->image.header().tier, TRIDENT_TIER_BASELINE);
      EXPECT_EQ(compiled->image.header().inputs, 2u);
      EXPECT_EQ(compiled->image.header().params, 1u);
      expect_right_code(e, *compiled, isa);
    }
  }
}

// Real streaming code past its threshold, all instruction sets; and the same code with its first streaming store made a
// load.
TEST(Streaming, LongCallsDoWhatShortOnesDo) {
  for (const codegen::Isa isa : host_isas()) {
    for (const Type type : {Type::f32, Type::f64}) {
      for (const char* text : {"x * y + p", "(sum(x), x - y)"}) {
        const auto e = parsed(text, type, ranged(type));
        auto kernel = expr::lower(e, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
        ASSERT_TRUE(kernel.ok());
        auto checker = equiv::Checker::make(e, {}, {.samples = {.points = 2048, .seed = 9}});
        ASSERT_TRUE(checker.ok());
        auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::policy);
        ASSERT_TRUE(prepared.ok());
        auto code = codegen::emit(*kernel, isa, {.vectors = 2, .non_temporal = true});
        ASSERT_TRUE(code.ok());
        const judge::Signature signature = judge::signature_of(*kernel);
        const std::uint64_t elements = codegen::kStreamBytes / ir::bytes_of(type);
        const auto verdict_of = [&](const codegen::MachineCode& machine_code) {
          auto image = image::build(machine_code, image::counts_of(*kernel), isa, TRIDENT_TIER_OPTIMISED, {});
          auto fd = image::seal(image);
          CHECK(fd.ok());
          auto mapped = image::Mapped::map(*fd);
          CHECK(mapped.ok());
          auto verdict =
              (*checker)->check_long_calls(*prepared, *kernel, execute_in_sandbox(e, signature, *mapped), elements);
          CHECK(verdict.ok());
          return *verdict;
        };
        EXPECT_TRUE(verdict_of(*code).same())
            << text << " " << codegen::name_of(isa) << equiv::print(verdict_of(*code));
        // vmovntps/pd [mem], reg is ... 2B /r; as 28 /r it is the load of the same place.
        auto disassembly = codegen::disassemble(*code, isa);
        ASSERT_TRUE(disassembly.ok());
        std::size_t stores = 0;
        for (std::size_t i = 4; i + 1 < code->code_size; ++i) {
          const auto at = [&](std::size_t k) { return std::to_integer<unsigned>(code->bytes[k]); };
          const bool vex = at(i - 2) == 0xC5 || at(i - 3) == 0xC4, evex = at(i - 4) == 0x62;
          if (at(i) != 0x2B || !(vex || evex)) continue;
          if (++stores > 1) break;
          codegen::MachineCode broken = *code;
          broken.bytes[i] = std::byte{0x28};
          EXPECT_FALSE(verdict_of(broken).same()) << text << " " << codegen::name_of(isa) << " at " << i;
        }
        const bool reduces = std::any_of(kernel->insts.begin(), kernel->insts.end(), kir::is_reduction);
        EXPECT_EQ(stores == 0, reduces) << *disassembly;  // loops in chunks do not stream
      }
    }
  }
}

// A policy with room for it gets functions of three digits, within that room; others do not.
TEST(Forms, ThreeDigitsWhereThePolicyAllowsThem) {
  const std::vector<expr::Variable> x = {{"x", Type::f32, expr::VariableKind::array, -4, 4}};
  const auto e = parsed("exp(x) * 0.5", Type::f32, x);
  const codegen::Isa isa = host_isas().front();
  const auto tried = [&](const expr::Expr& source, double k) {
    auto optimised = optimise(source, {.target = {.isa = isa, .policy = {expr::PolicyKind::bounded, k}}});
    CHECK(optimised.ok());
    return std::move(optimised).value();
  };
  const auto mentions = [](const Optimised& o) {
    return std::any_of(o.candidates.begin(), o.candidates.end(), [](const auto& c) { return c.form == "rel3"; });
  };
  EXPECT_FALSE(mentions(tried(e, 2)));
  EXPECT_FALSE(mentions(tried(e, 10'000)));
  EXPECT_FALSE(
      mentions(tried(parsed("exp(x) * 0.5", Type::f64, {{"x", Type::f64, expr::VariableKind::array, -4, 4}}), 1e6)));
  const Optimised coarse = tried(e, 20'000);
  const auto found = std::find_if(coarse.candidates.begin(), coarse.candidates.end(),
                                  [](const auto& c) { return c.form == "rel3" && c.same; });
  ASSERT_NE(found, coarse.candidates.end());
  // Its kernel against libm in double.
  auto kernel = expr::lower(
      e, {.policy = {expr::PolicyKind::bounded, 20'000}, .simplify = true, .accuracy = kir::math::Accuracy::rel3});
  ASSERT_TRUE(kernel.ok());
  const kir::Plan plan = kir::Plan::prepare(*kernel);
  double worst = 0;
  for (float value = -4; value <= 4; value += 0x1p-12F) {
    float got = 0;
    const void* in[] = {&value};
    void* out[] = {&got};
    plan.run(1, in, out, nullptr);
    const double wanted = std::exp(static_cast<double>(value)) * 0.5;
    worst = std::max(worst, std::fabs(got - wanted) / std::ldexp(1.0, std::ilogb(wanted) - 23));
  }
  EXPECT_LE(worst, 20'000 * 0.5 + 2);
  EXPECT_GT(worst, 100);  // the form does use less accurate functions
}

TEST(CheckOnly, AnswersForTheBaselineAlone) {
  for (const codegen::Isa isa : host_isas()) {
    auto checked =
        optimise(parsed(kText, Type::f32, ranged(Type::f32)), {.target = {.isa = isa}, .budget = {.check_only = true}});
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    EXPECT_EQ(checked->outcome, Outcome::no_gain);
    EXPECT_TRUE(checked->baseline_checked);
    auto late = optimise(parsed(kText), {.target = {.isa = isa}, .budget = {.cpu_ns = 1, .check_only = true}});
    ASSERT_TRUE(late.ok());
    EXPECT_EQ(late->outcome, Outcome::budget_spent);
    EXPECT_FALSE(late->baseline_checked);
    // The whole job checks this first.
    Options options{.target = {.isa = isa}, .trace = {.stop_after = "meaning"}};
    auto stopped = optimise(parsed(kText), options);
    ASSERT_TRUE(stopped.ok());
    EXPECT_TRUE(stopped->baseline_checked);
  }
}

/// Returns the shipped table with an op at `fmas`.
cost::Table with_op_at(kir::Op op, double fmas, codegen::Isa isa) {
  cost::Table table = cost::shipped(codegen::name_of(isa));
  for (std::size_t i = 0; i < cost::rows().size(); ++i)
    if (cost::rows()[i].op == op) table.figures[i].throughput = fmas;
  return table;
}

TEST(Key, MeasuredCostsCountWhereTheyAreForTheInstructionSet) {
  const expr::rewrite::OpCosts costs(with_op_at(kir::Op::Mul, 30, codegen::Isa::avx2));
  const expr::rewrite::OpCosts others(with_op_at(kir::Op::Mul, 31, codegen::Isa::avx2));
  const auto key = [&](codegen::Isa isa, const expr::rewrite::OpCosts* measured) {
    return expr_key(parsed("a + b * 2"), {.isa = isa}, {.costs = measured});
  };
  std::set<image::Key> keys;
  for (const auto* measured : {static_cast<const expr::rewrite::OpCosts*>(nullptr), &costs, &others})
    EXPECT_TRUE(keys.insert(key(codegen::Isa::avx2, measured)).second);
  EXPECT_EQ(key(codegen::Isa::avx512, &costs), key(codegen::Isa::avx512, nullptr));
}

// x*y + x*z is a product and an fma, or a sum and a product: the search avoids the dear instruction.
TEST(Optimise, MeasuredCostsSteerTheSearch) {
  const codegen::Isa isa = host_isas().front();
  const auto e = parsed("x * y + x * z", Type::f64,
                        {{"x", Type::f64, expr::VariableKind::array, 1, 2},
                         {"y", Type::f64, expr::VariableKind::array, 1, 2},
                         {"z", Type::f64, expr::VariableKind::array, 1, 2}});
  // Returns the search's kernels, the best first.
  const auto searched = [&](kir::Op dear) {
    const expr::rewrite::OpCosts costs(with_op_at(dear, 30, isa));
    std::string forms;
    Options options{.target = {.isa = isa},
                    .search = {.disabled = {"contracted", "simplified"}, .costs = &costs},
                    .trace = {.stop_after = "forms"}};
    options.trace.dump = [&](std::string_view pass, std::string_view text) { forms += pass == "forms" ? text : ""; };
    EXPECT_TRUE(optimise(e, options).ok());
    const std::size_t first = forms.find("; searched\n");
    EXPECT_NE(first, std::string::npos);
    return first == std::string::npos ? "" : forms.substr(first, forms.find("; searched\n", first + 1) - first);
  };
  const std::string without_fma = searched(kir::Op::Fma), without_add = searched(kir::Op::Add);
  EXPECT_EQ(without_fma.find(" fma "), std::string::npos) << without_fma;
  EXPECT_NE(without_fma.find(" add "), std::string::npos) << without_fma;
  EXPECT_EQ(without_add.find(" add "), std::string::npos) << without_add;
  EXPECT_NE(without_add.find(" fma "), std::string::npos) << without_add;
}

// A total that becomes a constant stays one element: as an array it would be written over other data.
TEST(Forms, ATotalThatIsAConstantIsOneElement) {
  const Options options{.target = {.policy = {expr::PolicyKind::fast, 2}}};
  const std::function<void(const Progress&)> nobody;
  const auto total = parsed("sum(x)^0 + 2");
  const auto made = forms(total, total, options, PassScope(options, nobody));
  ASSERT_TRUE(made.ok());
  bool constant = false;
  for (const Form& form : *made) {
    EXPECT_EQ(form.kernel.outputs[0].kind, kir::OutputKind::scalar) << form.name;
    EXPECT_TRUE(kir::check(form.kernel).ok()) << form.name;
    constant = constant || kir::print(form.kernel).find("sum") == std::string::npos;
  }
  EXPECT_TRUE(constant) << print(*made);
}

// 160 operations that wait for each other: two vectors at a time take little longer than one.
TEST(Optimise, AnInterimKernelOfALargeExpressionIsRight) {
  std::string text = "t0 = x";
  for (int i = 0; i < 80; ++i)
    text += "; t" + std::to_string(i + 1) + " = t" + std::to_string(i) + "*x + 0." + std::to_string(i + 1);
  const auto large = parsed(text + "; t80", Type::f32, {{"x", Type::f32, expr::VariableKind::array, 0, 0.9}});
  const auto small = parsed(kText, Type::f32, ranged(Type::f32));
  for (const codegen::Isa isa : host_isas()) {
    int offered = 0;
    Options options{.target = {.isa = isa}, .trace = {.stop_after = "meaning"}};
    options.interim = [&](const Interim& interim) {
      ++offered;
      EXPECT_LT(interim.winner_ns, interim.baseline_ns);
      auto baseline = compile_baseline(large, options);
      ASSERT_TRUE(baseline.ok());
      baseline->image = interim.image;  // the same kernel in another shape of the loop
      expect_right_code(large, *baseline, isa);
    };
    ASSERT_TRUE(optimise(large, options).ok());
    EXPECT_EQ(offered, 1);
    ASSERT_TRUE(optimise(small, options).ok());
    EXPECT_EQ(offered, 1) << "its search takes no time";
  }
}

TEST(Optimise, WhatIsBetterIsOfferedBeforeSmallStepsAreTried) {
  const auto e = parsed(kText, Type::f32, ranged(Type::f32));
  for (const codegen::Isa isa : host_isas()) {
    std::vector<std::vector<std::byte>> offered;
    Options options{.target = {.isa = isa}, .trace = {.stop_after = "judge"}};
    options.interim = [&](const Interim& interim) {
      EXPECT_LT(interim.winner_ns, interim.baseline_ns);
      offered.push_back(interim.image.bytes);
    };
    const auto optimised = optimise(e, options);
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    if (optimised->outcome != Outcome::published) continue;  // nothing was faster
    ASSERT_EQ(offered.size(), 1u);
    EXPECT_EQ(offered[0], optimised->winner.image.bytes) << "nothing but small steps follows";
    expect_right_code(e, optimised->winner, isa);
  }
}

TEST(Optimise, TheWinnerIsRightAndMeasuredFaster) {
  for (const codegen::Isa isa : host_isas()) {
    const auto e = parsed(kText, Type::f32, ranged(Type::f32));
    std::set<Stage> stages;
    auto optimised = optimise(e, {.target = {.isa = isa}}, [&](const Progress& p) {
      stages.insert(p.stage);
      EXPECT_TRUE(p.baseline_checked || p.stage == Stage::lower) << "nothing is emitted before the baseline is right";
    });
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    ASSERT_TRUE(optimised->outcome == Outcome::published || optimised->outcome == Outcome::no_gain)
        << optimised->detail;
    EXPECT_GT(optimised->baseline_ns, 0);
    EXPECT_GE(optimised->candidates.size(), 2u);
    std::size_t held = 0;
    for (const auto& c : optimised->candidates) {
      if (c.form != "source") continue;
      held += c.same ? 1 : 0;
      EXPECT_TRUE(c.same || c.verdict == "not checked: others were faster at a first look") << c.verdict;
    }
    EXPECT_GE(held, 3u) << "the baseline and the fastest two";
    EXPECT_EQ(stages, (std::set{Stage::lower, Stage::emit, Stage::equiv, Stage::judge}));
    if (optimised->outcome != Outcome::published) continue;
    EXPECT_LT(optimised->winner_ns, optimised->baseline_ns);
    EXPECT_EQ(optimised->winner.image.header().tier, TRIDENT_TIER_OPTIMISED);
    expect_right_code(e, optimised->winner, isa);
  }
}

TEST(Optimise, ChecksThatTakeTooLongLeaveTimeForTheJudge) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const auto e = parsed(kText, Type::f32, ranged(Type::f32));
  const Options options{.target = {.isa = host_isas().back()}, .budget = {.cpu_ns = 6'000'000'000}};
  auto optimised = optimise(e, options, [](const Progress& p) {
    for (const std::uint64_t end = os::thread_work_ns() + 500'000'000;
         p.stage == Stage::equiv && os::thread_work_ns() < end;) {
    }
  });
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_TRUE(optimised->outcome == Outcome::published || optimised->outcome == Outcome::no_gain) << optimised->note;
  EXPECT_GT(optimised->baseline_ns, 0);
}

// Sixteen products and sums in a chain: several vectors at once take a fraction of the baseline's time.
TEST(Optimise, WinnersThatCannotBeCheckedInTimeLeaveTheBestOfTheSource) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  constexpr std::uint64_t kBudgetNs = 6'000'000'000, kReserveNs = 250'000'000;
  std::string text = "x";
  for (int i = 0; i < 16; ++i) text = "(" + text + ") * y + x";
  const auto e = parsed(text, Type::f32, ranged(Type::f32));
  const Options options{.target = {.isa = host_isas().back()}, .budget = {.cpu_ns = kBudgetNs}};
  const std::uint64_t late_ns = os::thread_work_ns() + kBudgetNs - kReserveNs;
  auto optimised = optimise(e, options, [&](const Progress& p) {  // the first tournament leaves nothing but the reserve
    while (p.stage == Stage::judge && os::thread_work_ns() < late_ns) {
    }
  });
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_EQ(optimised->outcome, Outcome::published) << optimised->note;
  EXPECT_TRUE(optimised->detail.starts_with("source")) << optimised->detail;
  expect_right_code(e, optimised->winner, host_isas().back());
}

// Behind a mask that is 0 at all but one of 10^6 points of a grid, where expm1(x) / x is 1 and (exp(x) - 1) / x is not.
TEST(Optimise, WhatNoDrawnPointShowsIsCarefulToo) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const auto e = parsed("(k == 7 && m == 3 && p == 5) * (expm1(x) / x) + exp(x) * y", Type::f64,
                        {{"k", Type::f64, expr::VariableKind::array, 0, 100},
                         {"m", Type::f64, expr::VariableKind::array, 0, 100},
                         {"p", Type::f64, expr::VariableKind::array, 0, 100},
                         {"x", Type::f64, expr::VariableKind::array, -1, 1},
                         {"y", Type::f64, expr::VariableKind::array, -1, 1}});
  auto optimised = optimise(e, {.target = {.isa = host_isas().back()}}, nullptr);
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  if (optimised->outcome != Outcome::published) return;  // nothing was faster; what was rewritten is no matter then
  const double k = 7, m = 3, p = 5, x = 1e-12, y = 0;
  const void* in[] = {&k, &m, &p, &x, &y};
  double result = 0;
  void* out[] = {&result};
  kir::Plan::prepare(optimised->winner.kernel).run(1, in, out, nullptr);
  EXPECT_NEAR(result, std::expm1(x) / x, 1e-14);
}

// Near x = 0 the forms that the search finds cheapest, with exp(x) - 1, break the policy; small steps leave expm1
// alone. Eight products are joined by fma then, a gain that no noise hides. Oracle: MPFR at points of another seed.
expr::Expr sum_with_small_steps() {
  std::vector<expr::Variable> inputs;
  for (const char* name : {"x", "y", "z", "v"}) inputs.push_back({name, Type::f32, expr::VariableKind::array, -1, 1});
  return parsed("expm1(x)/x + x*y + x*z + x*x + y*y + y*z + y*v + z*v + x*v", Type::f32, inputs);
}

// Asks refine() itself, as a search asks it but for the quick look at times: no answer depends on the machine's speed.
TEST(Optimise, SmallStepsHoldWhereLargeOnesDoNot) {
  const expr::Expr e = sum_with_small_steps();
  Options options{.target = {.isa = codegen::Isa::avx2}};
  options.search.costs = &expr::rewrite::default_op_costs(codegen::name_of(options.target.isa));
  options.budget.cpu_ns = 1000 * kDefaultBudgetNs;
  const std::function<void(const Progress&)> no_progress;
  const PassScope passes(options, no_progress);
  auto list = forms(e, e, options, passes);
  ASSERT_TRUE(list.ok());
  const equiv::CheckOptions check{.samples = {.points = equiv::suggested_points(e), .seed = options.search.seed}};
  auto first = equiv::Checker::make(e, {}, check);
  ASSERT_TRUE(first.ok());
  FormChecks checks(e, {}, check, **first);
  std::vector<Tried> tried;
  for (Form& form : *list) {
    Tried& one = tried.emplace_back();
    one.form = std::move(form);
    auto prepared = tried.size() == 1 ? (*first)->check_meaning(one.form.kernel) : checks.at_first(one.form, tried[0]);
    ASSERT_TRUE(prepared.ok());
    one.prepared = std::move(*prepared);
  }
  const auto holds = [&](std::size_t f) { return checks.at_rare_points(tried[f]); };
  const auto found = refine({e, tried, **first, checks, holds, options, passes});
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->has_value()) << print_meanings(tried);
  const kir::Kernel* const kernel = &(*found)->form.kernel;
  auto checker = equiv::Checker::make(e, {}, {.samples = {.points = 40'000, .seed = 77}});
  ASSERT_TRUE(checker.ok());
  const auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::policy);
  ASSERT_TRUE(prepared.ok());
  EXPECT_TRUE(prepared->meaning.same()) << equiv::print(prepared->meaning);
  const auto fused = std::count_if(kernel->insts.begin(), kernel->insts.end(),
                                   [](const kir::Inst& inst) { return inst.op == kir::Op::Fma; });
  EXPECT_GE(fused, 3);
}

TEST(Optimise, TakesNoSmallStepsWhereTheyAreOff) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const expr::Expr e = sum_with_small_steps();
  Options options{
      .target = {.isa = host_isas().back()}, .search = {.disabled = {"careful"}}, .trace = {.stop_after = "refine"}};
  options.budget.cpu_ns = 20 * kDefaultBudgetNs;
  std::string refined;
  options.trace.dump = [&](std::string_view pass, std::string_view text) {
    if (pass == "refine") refined = text;
  };
  ASSERT_TRUE(optimise(e, options, nullptr).ok());
  EXPECT_EQ(refined, "no step passes the check, or may win\n");
}

// Forms that are wrong in an interval around 1.3 only, each half as wide as the one before: no point of the first check
// meets the narrow ones. The other looks meet some of these.
TEST(SecondLooks, RefuteWhatTheFirstPointsLetPass) {
  const std::vector<expr::Variable> inputs = {{"x", Type::f32, expr::VariableKind::array, 1, 2},
                                              {"y", Type::f32, expr::VariableKind::array, 1, 2}};
  const auto source = parsed("x * y", Type::f32, inputs);
  const expr::LowerOptions how{.policy = {}, .simplify = false};
  const equiv::CheckOptions first{.samples = {.points = equiv::suggested_points(source), .seed = 1}};
  const auto checker = equiv::Checker::make(source, {}, first);
  ASSERT_TRUE(checker.ok());
  SecondLooks looks(source, {}, first);
  constexpr double kNear = 0.9, kFar = 0.3;
  int passed = 0, refuted = 0;
  for (int narrow = 8; narrow <= 20; ++narrow) {
    const std::string near = "abs(x - 1.3) * " + std::to_string(1 << narrow) + " < 1";
    const auto form = expr::lower(parsed("select(" + near + ", 1.001*x*y, x*y)", Type::f32, inputs), how);
    ASSERT_TRUE(form.ok());
    const auto meaning = (*checker)->check_meaning(*form, equiv::Demand::policy);
    ASSERT_TRUE(meaning.ok());
    if (!meaning->meaning.same()) continue;
    ++passed;
    const auto refused = looks.ask(*form, kNear), unasked = looks.ask(*form, kFar);
    ASSERT_TRUE(refused.ok() && unasked.ok());
    refuted += refused->same() ? 0 : 1;
    EXPECT_TRUE(unasked->same()) << "not asked";
  }
  EXPECT_GT(passed, 0);
  EXPECT_GT(refuted, 0);
  const auto plain = expr::lower(source, how);
  ASSERT_TRUE(plain.ok());
  const auto kept = looks.ask(*plain, kNear);
  ASSERT_TRUE(kept.ok());
  EXPECT_TRUE(kept->same());
}

// More selections than the check explores: only a form with the source's roundings may replace the source.
TEST(Optimise, WhatIsNotExploredIsNotRewritten) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  std::string text, sum;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    text += "a" + n + " = select(x > " + n + ", exp(x / 32) - 1, x); ";
    sum += (i == 0 ? "a" : " * a") + n;
  }
  text += sum;
  const auto e = parsed(text, Type::f64, {{"x", Type::f64, expr::VariableKind::array, 0, 32}});
  auto optimised = optimise(e, {.target = {.isa = host_isas().back()}}, nullptr);
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  for (const CandidateReport& c : optimised->candidates) {
    if (!c.same) continue;
    EXPECT_TRUE(c.form == "source" || c.form == "identities") << c.form;
  }
}

TEST(Optimise, PassesAreSeenStoppedAndSwitchedOff) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const auto e = parsed("x * x + diff(x * x, x)", Type::f64, {{"x", Type::f64, expr::VariableKind::array, 0, 1}});
  std::vector<std::string> seen;
  Options options{.target = {.isa = host_isas()[0]}};
  options.trace.dump = [&](std::string_view pass, std::string_view text) {
    seen.emplace_back(pass);
    EXPECT_FALSE(text.empty()) << pass;
    if (pass != "derivatives") return;
    EXPECT_EQ(text.find("diff"), std::string_view::npos) << text;
  };
  auto all = optimise(e, options);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(seen, (std::vector<std::string>{"derivatives", "forms", "meaning", "emit", "equiv", "judge", "refine"}));
  EXPECT_EQ(all->times.size(), 7u);

  seen.clear();
  options.trace.stop_after = "emit";
  auto stopped = optimise(e, options);
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(stopped->outcome, Outcome::budget_spent);
  EXPECT_EQ(seen, (std::vector<std::string>{"derivatives", "forms", "meaning", "emit"}));

  options.trace.stop_after.clear();
  options.search.disabled = {"identities", "contracted", "simplified", "accuracy4",
                             "careful",    "interleave", "schedule",   "non_temporal"};
  auto bare = optimise(e, options);
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->candidates.size(), 1u);
  EXPECT_EQ(bare->outcome, Outcome::no_gain);

  options.search.disabled = {"equiv"};
  EXPECT_EQ(optimise(e, options).error().code, ErrorCode::kInvalidArgument);
  options.search.disabled.clear();
  options.trace.stop_after = "nonsense";
  EXPECT_EQ(optimise(e, options).error().code, ErrorCode::kInvalidArgument);
}

TEST(Optimise, BudgetAndCancelAreKept) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const auto e = parsed(kText, Type::f64, ranged(Type::f64));
  Options options{.target = {.isa = host_isas()[0]}};
  options.budget.cpu_ns = 1;
  auto late = optimise(e, options);
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->outcome, Outcome::budget_spent);

  std::atomic<bool> cancelled{false};
  options.budget.cpu_ns = 600'000'000'000;
  options.budget.cancelled = &cancelled;
  auto cut = optimise(e, options, [&](const Progress& p) { cancelled = p.stage == Stage::emit; });
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->outcome, Outcome::budget_spent);
}

// A baseline is published before it is checked, and withdrawn if its check refuses it. Huge and undeclared arguments of
// trigonometric functions once did that.
TEST(Optimise, BaselinesWithHugeArgumentsAreNotRevoked) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  for (const char* text : {"sin(x) * y + 0.25", "exp(-x * x) * cos(3 * x) + sqrt(x * x + 1) + y"}) {
    for (const Type type : {Type::f32, Type::f64}) {
      const double huge = type == Type::f32 ? 1e30 : 1e200;
      const std::vector<expr::Variable> inputs[] = {
          {{"x", type, expr::VariableKind::array}, {"y", type, expr::VariableKind::array}},
          {{"x", type, expr::VariableKind::array, -4, 4}, {"y", type, expr::VariableKind::array, 0, 1}},
          {{"x", type, expr::VariableKind::array, -huge, huge}, {"y", type, expr::VariableKind::array, -huge, huge}},
      };
      for (const auto& variables : inputs) {
        Options options{.target = {.isa = host_isas().back()}, .budget = {.cpu_ns = 1'500'000'000}};
        options.trace.stop_after = "equiv";
        auto optimised = optimise(parsed(text, type, variables), options);
        ASSERT_TRUE(optimised.ok()) << optimised.error().message;
        EXPECT_TRUE(optimised->baseline_checked) << text;
        EXPECT_NE(optimised->outcome, Outcome::not_equivalent) << text << "\n" << optimised->detail;
      }
    }
  }
}

// Factors leave sums, sums are joined, functions are applied once: the forms of the search are found right, and one of
// them is the fastest, but where a kernel only waits for memory.
/// Counts instructions for every element, inputs aside; those of reductions count.
std::ptrdiff_t work_of(const kir::Kernel& kernel) {
  return std::count_if(kernel.insts.begin(), kernel.insts.end(), [](const kir::Inst& inst) {
    const bool reduces = kir::info(inst.op).signature == kir::Signature::Reduce;
    return reduces || (inst.section == kir::Section::body && inst.op != kir::Op::Input);
  });
}

// A busy machine may hide a gain from one tournament, but not from several.
Result<Optimised> optimised_with_gain(const expr::Expr& source, const Options& options) {
  constexpr int kTournaments = 6;
  for (int held = 1;; ++held) {
    auto optimised = optimise(source, options);
    if (!optimised.ok() || optimised->outcome != Outcome::no_gain || held == kTournaments) return optimised;
  }
}

// Forms that the search finds for totals do less work per element, and equiv accepts them.
TEST(Optimise, ReductionsGetTheirForms) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const codegen::Isa isa = host_isas().back();
  const std::vector<expr::Variable> variables = {{"x", Type::f32, expr::VariableKind::array, 0.5, 4},
                                                 {"y", Type::f32, expr::VariableKind::array, -3, 3}};
  struct Case {
    const char* text;
    expr::PolicyKind policy;
    std::ptrdiff_t less;  ///< least number of instructions saved
  };
  for (const Case& c : {Case{"sum(2 * x * y)", expr::PolicyKind::bounded, 1},
                        {"sum(x / 3) + sum(y / 3)", expr::PolicyKind::bounded, 2},
                        {"mean(x * 2 - y / 4)", expr::PolicyKind::bounded, 1},
                        {"maxof(exp(x + y))", expr::PolicyKind::fast, 10}}) {
    const expr::Expr source = parsed(c.text, Type::f32, variables);
    const Options options{.target = {.isa = isa, .policy = {c.policy, 2}}};
    const std::function<void(const Progress&)> nobody;
    const auto list = forms(source, source, options, PassScope(options, nobody));
    ASSERT_TRUE(list.ok());
    std::ptrdiff_t least = work_of(list->front().kernel);
    for (const Form& form : *list)
      if (form.name == "searched") least = std::min(least, work_of(form.kernel));
    EXPECT_LE(least, work_of(list->front().kernel) - c.less) << c.text;

    auto optimised = optimised_with_gain(source, options);
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    ASSERT_EQ(optimised->outcome, Outcome::published) << c.text << ": " << optimised->detail;
    const bool searched =
        std::any_of(optimised->candidates.begin(), optimised->candidates.end(),
                    [](const auto& candidate) { return candidate.form == "searched" && candidate.same; });
    EXPECT_TRUE(searched) << c.text;
  }
}

// A form that breaks the policy with functions of 4 ulp may hold with those of one.
TEST(Forms, WithLessAccurateFunctionsComeWithThoseOfOneUlp) {
  const expr::Expr source = parsed("sin(x) * cos(y) + cos(x) * sin(y)", Type::f64, ranged(Type::f64));
  const Options options{.target = {.isa = codegen::Isa::avx2}};
  const std::function<void(const Progress&)> nobody;
  const auto list = forms(source, source, options, PassScope(options, nobody));
  ASSERT_TRUE(list.ok());
  std::size_t pairs = 0;
  for (const Form& form : *list) {
    if (!form.in_place_of) continue;
    ++pairs;
    const Form& other = (*list)[*form.in_place_of];
    EXPECT_EQ(form.name, other.name);
    EXPECT_EQ(expr::canonical_bytes(form.expr), expr::canonical_bytes(other.expr));
    EXPECT_EQ(form.how.accuracy, kir::math::Accuracy::ulp1);
    EXPECT_EQ(other.how.accuracy, kir::math::Accuracy::ulp4);
  }
  EXPECT_GT(pairs, 0u);
}

TEST(Optimise, ReductionsIntegersAndSeveralOutputs) {
  if (host_isas().empty()) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  const codegen::Isa isa = host_isas().back();
  const auto sums = parsed("(sum(x * y), x + y * p, maxof(x - y))", Type::f32, ranged(Type::f32));
  auto optimised = optimise(sums, {.target = {.isa = isa}});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_TRUE(optimised->outcome == Outcome::published || optimised->outcome == Outcome::no_gain) << optimised->detail;

  const std::vector<expr::Variable> ints = {{"i", Type::i32, expr::VariableKind::array},
                                            {"j", Type::i32, expr::VariableKind::array}};
  const auto bits = parsed("(i * j | (i << 3)) & (j >> 5)", Type::f64, ints);
  auto integers = optimise(bits, {.target = {.isa = isa, .policy = {expr::PolicyKind::exact, 2}}});
  ASSERT_TRUE(integers.ok()) << integers.error().message;
  EXPECT_TRUE(integers->outcome == Outcome::published || integers->outcome == Outcome::no_gain) << integers->detail;
}

}  // namespace
}  // namespace trident::pipeline
