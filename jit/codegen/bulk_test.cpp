// Bulk loops as code. Oracle: the regions' interpreter on the loop as it was. Loops are drawn: counters that go up or
// down, elements ahead and behind, stops, stores, reductions; windows may overlap.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <utility>

#include "jit/codegen/region.h"
#include "jit/region/builder.h"
#include "jit/region/interpreter.h"
#include "jit/regionopt/bulk.h"
#include "runtime/os/cpu.h"
#include "runtime/os/memfd.h"

namespace trident::codegen::bulk_loops {
namespace {

using region::Op;
using region::Type;
using region::Value;
using regionopt::Bulk;
using regionopt::BulkLoop;

constexpr std::uint32_t kBudget = 0, kI = 1, kJ = 2, kN = 3, kX = 4, kCount = 5, kLast = 6, kSum = 7, kVariables = 8;
constexpr std::uint32_t kWindows = 3, kFrameBytes = region::kFrameHeadBytes + 8 * kVariables;
constexpr std::size_t kMemoryBytes = 8192, kWindowBytes = 2400;

class LoopDraw {
 public:
  explicit LoopDraw(std::uint64_t seed) : random_(seed), b_(region_), bytes_(below(2) == 0 ? 8 : 1) {}

  region::Region run() {
    region_.windows = kWindows;
    b_.variable("budget", Type::i64, 0);
    for (std::uint32_t v = 1; v < kVariables; ++v)
      b_.variable("v" + std::to_string(v), Type::i64, region::kFrameHeadBytes + 8 * v);
    // Blocks: 0 entry, 1 head, 2 stop, 3 body, 4 next, 5 left, 6 miss, 7 budget.
    b_.begin_block();
    entry();
    b_.begin_block();
    head();
    b_.begin_block();
    stop();
    b_.begin_block();
    body();
    b_.begin_block();
    next();
    for (const region::Exit exit : {region::Exit::left, region::Exit::miss, region::Exit::budget})
      b_.begin_block(), b_.exit(exit);
    EXPECT_TRUE(region::check(region_).ok());
    return std::move(region_);
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  /// Elements that rounds may read again.
  void entry() {
    for (const std::uint32_t v : {kX, kCount, kSum}) {
      b_.at(4 + v);
      if (below(8) == 0) b_.set(v, load(place()));
    }
    b_.jump(1);
  }

  void head() {
    const Value i = b_.get(kI), n = b_.get(goes_down_ ? kJ : kN);
    constexpr Op kOps[] = {Op::SLt, Op::SLt, Op::SLe, Op::ULt, Op::Ne};
    b_.branch(b_.op(kOps[below(5)], i, n), 2, 5);
  }
  Value place() {
    const std::uint32_t distance = below(3) == 0 ? below(5) - 2 : 0;
    const Value index = b_.get((two_ends_ || below(8) == 0) && below(2) == 0 ? kJ : kI);
    return b_.element(b_.op_with(Op::Add, index, static_cast<std::uint64_t>(static_cast<std::int32_t>(distance))),
                      bytes_, below(kWindows), 6);
  }
  Value load(Value place) { return b_.load(Type::i64, bytes_, false, place); }
  Value operand() { return below(3) == 0 ? b_.constant(Type::i64, below(256)) : b_.get(kX); }
  Value truth(Value x) {
    constexpr Op kOps[] = {Op::Eq, Op::Ne, Op::SLt, Op::SLe, Op::ULt, Op::ULe};
    return b_.op(kOps[below(6)], x, operand());
  }

  void stop() {
    b_.at(1);
    if (below(3) != 0) return b_.jump(3);
    const Value x = load(place());
    b_.branch(truth(x), below(8) == 0 ? 7 : 5, 3);
  }

  /// All accesses and loads, then stores, then variables.
  void body() {
    b_.at(2);
    std::vector<Value> places, values;
    for (std::uint32_t n = 1 + below(3); n > 0; --n) places.push_back(place());
    for (const Value p : places) values.push_back(load(p));
    const auto value = [&] { return values[below(static_cast<std::uint32_t>(values.size()))]; };
    for (std::uint32_t n = below(3); n > 0; --n) {
      constexpr Op kOps[] = {Op::Add, Op::Sub, Op::And, Op::Or, Op::Xor, Op::Mul};
      values.push_back(below(4) == 0 ? b_.op(Op::Select, truth(value()), value(), value())
                                     : b_.op(kOps[below(6)], value(), below(2) == 0 ? value() : operand()));
    }
    for (std::uint32_t n = below(3); n > 0 && n <= places.size(); --n) b_.store(bytes_, places[n - 1], value());
    if (below(3) == 0) b_.set(kCount, b_.op(Op::Add, b_.get(kCount), b_.op(Op::Zext32, truth(value()))));
    if (below(3) == 0) b_.set(kLast, b_.op(Op::Select, truth(value()), b_.get(kI), b_.get(kLast)));
    if (below(5) == 0) b_.set(kLast, b_.op(Op::Select, truth(value()), b_.get(kLast), b_.get(kI)));
    if (below(3) == 0) sum(value());
    b_.jump(4);
  }
  void sum(Value x) {
    const Value sum = b_.get(kSum);
    switch (below(4)) {
      case 0: return b_.set(kSum, b_.op(Op::Add, sum, x));
      case 1: return b_.set(kSum, b_.op(Op::Add, sum, b_.get(kI)));
      case 2: return b_.set(kSum, b_.op(Op::Select, b_.op(Op::SLt, x, sum), x, sum));
      default: return b_.set(kSum, b_.op(Op::Select, b_.op(Op::SLt, sum, x), x, sum));
    }
  }

  void next() {
    b_.at(3);
    b_.set(kI, b_.op_with(Op::Add, b_.get(kI), 1));
    if (two_ends_) b_.set(kJ, b_.op_with(Op::Sub, b_.get(kJ), 1));
    const Value left = b_.op_with(Op::Sub, b_.get(kBudget), 1);
    b_.set(kBudget, left);
    b_.branch(b_.op_with(Op::Eq, left, 0), 7, 1);
  }

  std::mt19937_64 random_;
  region::Region region_;
  region::Builder b_;
  const std::uint8_t bytes_;
  const bool two_ends_ = below(3) == 0, goes_down_ = two_ends_ && below(2) == 0;
};

/// A frame, memory and windows into it.
struct State {
  explicit State(std::uint64_t seed) : frame(kFrameBytes), memory(kMemoryBytes) {
    std::mt19937_64 random(seed);
    const std::uint64_t few = random() % 2 == 0 ? 3 : 256;
    for (std::byte& b : memory) b = static_cast<std::byte>(random() % few);
    const std::uint64_t rounds = random() % (random() % 4 == 0 ? kWindowBytes : 90);
    const auto set = [&](std::uint32_t slot, std::uint64_t v) { std::memcpy(frame.data() + slot, &v, 8); };
    const auto variable = [&](std::uint32_t v, std::uint64_t bits) { set(region::kFrameHeadBytes + 8 * v, bits); };
    set(0, random() % 4 == 0 ? 1 + random() % 80 : 100'000);
    variable(kI, random() % 3);
    variable(kJ, random() % 4 == 0 ? random() % 100 : rounds);
    variable(kN, random() % 8 == 0 ? random() : rounds);
    variable(kX, random() % 8 == 0 ? random() : random() % few);
    for (const std::uint32_t v : {kCount, kLast, kSum}) variable(v, random() % 1000);
    for (std::uint32_t w = 0; w < kWindows; ++w) {
      const std::uint64_t span = random() % kWindowBytes;
      const std::uint64_t offset = random() % 3 == 0 ? random() % 1000 : w * kWindowBytes;
      spans.push_back({random() % 2 == 0 ? 0 : random(), span, offset});
    }
  }
  [[nodiscard]] std::vector<region::Window> windows() {
    std::vector<region::Window> list = spans;
    for (region::Window& w : list) w.delta += reinterpret_cast<std::uint64_t>(memory.data()) - w.lo;
    return list;
  }
  std::vector<std::byte> frame, memory;
  std::vector<region::Window> spans;
};

class Native {
 public:
  Native(const Bulk& bulk, Isa isa) {
    const auto code = emit(bulk, isa);
    EXPECT_TRUE(code.ok()) << code.error().message;
    auto mapping = os::map_code(code->bytes);
    EXPECT_TRUE(mapping.ok());
    code_ = std::move(*mapping);
  }
  void run(State& state) const {
    reinterpret_cast<RegionEntry>(code_.base())(state.frame.data(), state.windows().data());
  }

 private:
  os::Mapping code_;
};

std::vector<Isa> isas() {
  if (!os::cpu_features().bmi2) return {};
  return os::cpu_features().avx512 ? std::vector{Isa::avx2, Isa::avx512} : std::vector{Isa::avx2};
}

/// Returns in how many of `states` states the code of `bulk` ends otherwise than `region`.
int differences(const region::Region& region, const Bulk& bulk, std::uint64_t seed, int states) {
  int count = 0;
  for (const Isa isa : isas()) {
    const Native native(bulk, isa);
    for (int i = 0; i < states; ++i) {
      State ours(seed * 1000 + static_cast<std::uint64_t>(i)), theirs(ours);
      EXPECT_TRUE(interpret(region, theirs.frame, theirs.windows(), 100'000'000).exit);
      native.run(ours);
      count += ours.memory == theirs.memory && ours.frame == theirs.frame ? 0 : 1;
    }
  }
  return count;
}

TEST(BulkCode, DoesWhatTheLoopDoes) {
  if (isas().empty()) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2";
  int found = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const region::Region region = LoopDraw(seed).run();
    const Bulk bulk = regionopt::find_bulk(region);
    if (bulk.loops.empty()) continue;
    ++found;
    ASSERT_EQ(differences(region, bulk, seed, 12), 0) << seed << "\n" << print(region);
  }
  EXPECT_GT(found, 1000);
}

TEST(BulkCode, DoesWhatTheLoopDoesWhereValuesAreReused) {
  if (isas().empty()) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2";
  int found = 0;
  for (std::uint64_t seed = 0; seed < 12000; ++seed) {
    const region::Region region = LoopDraw(seed).run();
    const Bulk bulk = regionopt::optimise(region);
    if (!bulk.reuses) continue;
    found += bulk.loops.empty() ? 0 : 1;
    ASSERT_EQ(differences(region, bulk, seed, 12), 0) << seed << "\n" << print(region);
  }
  EXPECT_GT(found, 300);
}

/// AVX2 has products of 32 bits only; drawn loops that are checked above have those of 64.
TEST(BulkCode, DrawnLoopsHaveProductsWithAvx2) {
  if (isas().empty()) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2";
  int products = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Bulk bulk = regionopt::find_bulk(LoopDraw(seed).run());
    if (bulk.loops.size() != 1 || bulk.loops[0].lane_bytes != 8) continue;
    const std::string code = *disassemble(*emit(bulk, Isa::avx2), Isa::avx2);
    products += code.find("vpmuludq ymm") == std::string::npos ? 0 : 1;
  }
  EXPECT_GT(products, 10);
}

/// Each part of a plan is needed: without it, or with another one, some loop does something else. Parts that keep
/// accesses inside of their windows are left alone.
struct Mutation {
  const char* name;
  std::function<bool(BulkLoop&)> apply;  ///< returns whether it changed the plan
};

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> list = {
      {"a step is one more", [](BulkLoop& l) { return !l.steps.empty() && ++l.steps.back().step != -1; }},
      {"windows may overlap", [](BulkLoop& l) { return !std::exchange(l.apart, {}).empty(); }},
      {"stops are ignored", [](BulkLoop& l) { return !l.reductions.empty() && !std::exchange(l.stops, {}).empty(); }},
      {"bytes are not asked for", [](BulkLoop& l) { return !std::exchange(l.bytes, {}).empty(); }},
      {"a reduction is lost", [](BulkLoop& l) { return !std::exchange(l.reductions, {}).empty(); }},
      {"a store is lost", [](BulkLoop& l) { return !std::exchange(l.stores, {}).empty(); }},
      {"reads may lie behind stores",
       [](BulkLoop& l) { return std::erase_if(l.limits, [](const auto& limit) { return limit.closing == 0; }) > 0; }},
      {"two ends may pass each other",
       [](BulkLoop& l) {
         return !l.stores.empty() && std::erase_if(l.limits, [](const auto& limit) { return limit.closing == 2; }) > 0;
       }},
      {"a counter has no bound",
       [](BulkLoop& l) {
         return std::erase_if(l.limits,
                              [](const auto& limit) {
                                return limit.closing == 1 && limit.kind == regionopt::Limit::Kind::below;
                              }) > 0 &&
                !l.references.empty();
       }},
      {"the budget has no bound",
       [](BulkLoop& l) {
         return std::erase_if(l.limits,
                              [](const auto& limit) { return limit.kind == regionopt::Limit::Kind::differ; }) > 0 &&
                !l.references.empty();
       }},
  };
  return list;
}

TEST(BulkCode, EachPartOfAPlanIsNeeded) {
  if (isas().empty()) GTEST_SKIP() << "the code of regions needs a processor with AVX2 and BMI2";
  for (const Mutation& mutation : mutations()) {
    int changed = 0, found = 0;
    for (std::uint64_t seed = 0; seed < 6000 && found == 0; ++seed) {
      const region::Region region = LoopDraw(seed).run();
      Bulk bulk = regionopt::find_bulk(region);
      if (bulk.loops.empty() || !mutation.apply(bulk.loops[0])) continue;
      ++changed;
      found = differences(region, bulk, seed, 12);
    }
    EXPECT_GT(found, 0) << mutation.name << ": " << changed << " plans were changed";
  }
}

}  // namespace
}  // namespace trident::codegen::bulk_loops
