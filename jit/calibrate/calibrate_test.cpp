// Oracles: times made by hand; the kir interpreter for the values that the measured kernels go through; counts by hand.
#include "jit/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "jit/calibrate/calibrate_kernels.h"
#include "jit/calibrate/costs_file.h"
#include "jit/kir/interpreter.h"
#include "runtime/os/cpu.h"
#include "runtime/os/self.h"

namespace trident::calibrate {
namespace {

using cost::Figures;
using cost::Form;
using cost::Row;
using ir::Type;
using kir::Op;
using kir::Signature;

TEST(StepsInFmas, IsTheMedianOverTheRounds) {
  // An fma takes 2 ns, an op 10 ns; loops and loads 100 ns. One round was disturbed, and one ran at half the clock.
  const StepRounds rounds{
      {150, 150, 300, 1150, 150}, {250, 250, 500, 1250, 999}, {120, 120, 240, 120, 120}, {160, 160, 320, 160, 160}};
  const auto ratio = steps_in_fmas(rounds, 10, 20);
  ASSERT_TRUE(ratio.ok());
  EXPECT_DOUBLE_EQ(*ratio, 5);
}

TEST(StepsInFmas, LeavesDisturbedRoundsOutAndSaysWhenFewAreLeft) {
  EXPECT_DOUBLE_EQ(*steps_in_fmas({{1, 1, 1}, {3, 3, 3}, {1, 9, 1}, {2, 2, 2}}, 1, 1), 2);
  const auto few = steps_in_fmas({{1, 1, 1}, {3, 3, 3}, {9, 9, 1}, {2, 2, 2}}, 1, 1);
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.error().code, ErrorCode::kTimeout);
  EXPECT_FALSE(steps_in_fmas({}, 1, 1).ok());
  EXPECT_EQ(*steps_in_fmas({{3}, {2}, {1}, {2}}, 1, 1), 0);  // an op that is no instruction, and noise
}

TEST(Calibrate, KnowsHowOldADayIs) {
  EXPECT_TRUE(is_recent(today(), 0));
  EXPECT_FALSE(is_recent("2020-01-01", 6));
  EXPECT_TRUE(is_recent("2020-01-01", 100'000));
  EXPECT_FALSE(is_recent("2999-01-01", 6));  // a clock that was wrong
  EXPECT_FALSE(is_recent("", 100'000));
  EXPECT_FALSE(is_recent("yesterday", 100'000));
}

TEST(Calibrate, EveryWeekHasItsSeed) {
  EXPECT_EQ(weekly_seed(2, 20'000 * 7), weekly_seed(2, 20'000 * 7 + 6));
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (std::int64_t week = 0; week < 520; ++week) EXPECT_TRUE(seeds.insert(weekly_seed(seed, 7 * week)).second);
  // Seeds of --seed are smaller, and the shifted names of random families stay apart.
  EXPECT_GE(*seeds.begin(), std::uint64_t{1} << 30);
  EXPECT_LT(*seeds.rbegin(), std::uint64_t{1} << 31);
}

std::size_t place(const Row& row) {
  for (std::size_t i = 0; i < cost::rows().size(); ++i)
    if (cost::rows()[i] == row) return i;
  ADD_FAILURE() << cost::name_of(row);
  return 0;
}
Row plain(Op op, Type type) {
  return {op, type, type, Form::plain};
}

TEST(Figures, TakeOffWhatIsBesideAnOp) {
  std::vector<Figures> steps(cost::rows().size(), Figures{1, 1});
  const Row to_int{Op::Convert, Type::i32, Type::f32, Form::plain},
      back{Op::Convert, Type::f32, Type::i32, Form::plain};
  const Row nearest{Op::ToIntRint, Type::i32, Type::f32, Form::plain};
  steps[place(plain(Op::Add, Type::f32))] = {0.12345, 0.5};
  steps[place(plain(Op::Lt, Type::f32))] = {2.5, 1.25};
  steps[place(plain(Op::Select, Type::f32))] = {0.5, 0.75};
  steps[place(plain(Op::Sqrt, Type::f64))] = {6, 15};
  steps[place(plain(Op::Mul, Type::f64))] = {0.75, 1};
  steps[place(to_int)] = {3, 2};
  steps[place(nearest)] = {4, 0.5};
  const std::vector<Figures> figures = figures_of(steps);
  EXPECT_EQ(figures[place(plain(Op::Add, Type::f32))], (Figures{0.123, 0.5}));
  EXPECT_EQ(figures[place(plain(Op::Lt, Type::f32))], (Figures{2, 0.5}));
  EXPECT_EQ(figures[place(plain(Op::Sqrt, Type::f64))], (Figures{5.25, 15}));  // no multiplication beside it there
  EXPECT_EQ(figures[place(to_int)], (Figures{1.5, 1}));
  EXPECT_EQ(figures[place(back)], (Figures{1.5, 1}));
  EXPECT_EQ(figures[place(nearest)], (Figures{2.5, 0}));  // never below 0
}

/// The instructions of a kernel that are the row's op.
std::size_t count_of(const Row& row, const kir::Kernel& kernel) {
  std::size_t count = 0;
  for (const kir::Inst& inst : kernel.insts) {
    auto found = cost::row_of(kernel, inst);
    if (found && inst.flags != 0) found->form = Form::newton;
    count += found == row ? 1 : 0;
  }
  return count;
}

TEST(OpKernels, HaveTheOpInEveryStep) {
  for (const Row& row : cost::rows()) {
    if (!is_measured(row)) continue;
    const bool reduces = kir::info(row.op).signature == Signature::Reduce;
    for (const Measure measure : {Measure::latency, Measure::throughput})
      for (const unsigned chains : {1u, 3u}) {
        const kir::Kernel kernel = op_kernel(row, measure, chains, 10);
        const auto sound = kir::check(kernel);
        ASSERT_TRUE(sound.ok()) << cost::name_of(row) << ": " << sound.error().message;
        // Masks and selects need comparisons and selects to begin and to end.
        const std::size_t least = reduces ? chains : chains * std::size_t{10};
        EXPECT_GE(count_of(row, kernel), least) << cost::name_of(row);
        EXPECT_LE(count_of(row, kernel), least + chains) << cost::name_of(row);
        for (const Row& beside : step_of(row, measure).beside)
          EXPECT_EQ(count_of(beside, kernel), least) << cost::name_of(row);
      }
    EXPECT_EQ(count_of(plain(Op::Fma, reference_type(row)), reference_kernel(row, 2, 10)), 20u);
  }
}

/// Returns true for a value that may be computed at another speed than most: denormals, infinities, NaN.
bool is_odd(Type type, std::uint64_t bits) {
  const int kind = type == Type::f32 ? std::fpclassify(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                                     : std::fpclassify(std::bit_cast<double>(bits));
  return kind != FP_NORMAL;
}

// Every value of every instruction becomes an output of its own, for the interpreter to say what it is.
TEST(OpKernels, GoThroughNormalValuesOnly) {
  constexpr std::uint64_t kElements = 16;
  constexpr unsigned kSteps = 6;  // throughput's longest chain of roots
  for (const Row& row : cost::rows()) {
    if (!is_measured(row) || row.op == Op::Lookup || kir::info(row.op).signature == Signature::Reduce) continue;
    for (const Measure measure : {Measure::latency, Measure::throughput}) {
      kir::Kernel kernel = op_kernel(row, measure, 1, kSteps);
      kernel.outputs.clear();
      std::vector<Type> types;
      for (std::uint32_t i = 0; i < kernel.insts.size(); ++i) {
        const kir::Inst& inst = kernel.insts[i];
        if (inst.section != kir::Section::body || !ir::is_float(inst.type)) continue;
        kernel.outputs.push_back({"v" + std::to_string(i), kir::Value(i), kir::OutputKind::array});
        types.push_back(inst.type);
      }
      if (types.empty()) continue;
      const kir::Plan plan = kir::Plan::prepare(kernel);
      const OpInputs inputs = op_inputs(row, kElements);
      std::vector<const void*> in;
      for (const auto& array : inputs.arrays) in.push_back(array.data());
      std::vector<std::vector<std::byte>> results(types.size(), std::vector<std::byte>(kElements * 8));
      std::vector<void*> out;
      for (auto& result : results) out.push_back(result.data());
      plan.run(kElements, in.data(), out.data(), inputs.params.data());
      for (std::size_t o = 0; o < types.size(); ++o)
        for (std::uint64_t i = 0; i < kElements; ++i) {
          std::uint64_t bits = 0;
          std::memcpy(&bits, results[o].data() + i * ir::bytes_of(types[o]), ir::bytes_of(types[o]));
          // Bits of integers in the guise of a float are looked at by no unit for floats.
          if (row.op == Op::Bitcast) continue;
          EXPECT_FALSE(is_odd(types[o], bits)) << cost::name_of(row) << ", " << kernel.outputs[o].name;
        }
    }
  }
}

TEST(OpKernels, RootsAndQuotientsAreNoPowersOfTwo) {
  for (const Row& row : cost::rows()) {
    if (row.op != Op::Sqrt && row.op != Op::Div) continue;
    for (const Measure measure : {Measure::latency, Measure::throughput}) {
      // Roots alone come near 1 after some more steps than are measured.
      const unsigned steps = row.op == Op::Sqrt && measure == Measure::throughput ? 6 : 1000;
      const kir::Kernel kernel = op_kernel(row, measure, 1, steps);
      const kir::Plan plan = kir::Plan::prepare(kernel);
      const OpInputs inputs = op_inputs(row, 16);
      std::vector<const void*> in;
      for (const auto& array : inputs.arrays) in.push_back(array.data());
      std::vector<std::byte> result(16 * 8);
      void* out[] = {result.data()};
      plan.run(16, in.data(), out, inputs.params.data());
      for (int i = 0; i < 16; ++i) {
        float narrow = 0;
        double value = 0;
        if (row.type == Type::f32) {
          std::memcpy(&narrow, result.data() + i * 4, 4);
          value = static_cast<double>(narrow);
        } else {
          std::memcpy(&value, result.data() + i * 8, 8);
        }
        int exponent = 0;
        EXPECT_NE(std::frexp(value, &exponent), 0.5) << cost::name_of(row) << " " << value;
        EXPECT_GT(value, 1.01) << cost::name_of(row);
      }
    }
  }
}

TEST(CostsFile, IsReplacedWholeAndReadBack) {
  char pattern[] = "/tmp/trident-costs-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  const std::string path = folder + "/a/b/x.costs";
  cost::Table table = cost::shipped("avx2");
  for (const double first : {1.0, 2.0}) {
    table.figures[0].latency = first;
    ASSERT_TRUE(write_costs(path, table).ok());
    const auto back = read_costs(path);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, table);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder + "/a/b"), {}), 1);  // nothing half-written
  EXPECT_FALSE(write_costs("/proc/nowhere/x.costs", table).ok());
  EXPECT_NE(read_costs(folder + "/none").error().message.find(folder + "/none"), std::string::npos);
  std::ofstream(path) << "trident costs 1\nadd f32 1\n";
  EXPECT_NE(read_costs(path).error().message.find(path + ":2: "), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(CostsFile, IsStaleOnAnotherProcessorByAnotherBuildAndAfterSomeDays) {
  cost::Table table = cost::shipped("avx2");
  EXPECT_FALSE(is_current(table, "avx2", 6));  // no build measured it here
  table.cpu = os::cpu_model();
  table.build = os::build_id();
  table.date = today();
  EXPECT_TRUE(is_current(table, "avx2", 6));
  EXPECT_FALSE(is_current(table, "avx512", 6));
  for (std::string cost::Table::*field : {&cost::Table::cpu, &cost::Table::build, &cost::Table::date}) {
    cost::Table other = table;
    other.*field = field == &cost::Table::date ? "2020-01-01" : "another";
    EXPECT_FALSE(is_current(other, "avx2", 6)) << other.*field;
  }
}

}  // namespace
}  // namespace trident::calibrate
