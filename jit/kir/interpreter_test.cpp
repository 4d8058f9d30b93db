// The block-wise interpreter at every level of this machine against a model that evaluates element by element with
// eval_lane and relies on nothing but kir.h.
#include "jit/kir/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "jit/kir/builder.h"
#include "tests/support/foreign_floats.h"
#include "tests/support/random_kernel.h"
#include "tests/support/reduction_order.h"

namespace trident::kir {
namespace {

using trident::testing::corner_lanes;
using trident::testing::every_op_kernel;
using trident::testing::Random;
using trident::testing::random_kernel;
using trident::testing::random_lane;
using trident::testing::same_lane;

using Lanes = std::vector<std::uint64_t>;  // bits of one array

std::uint64_t table_element(const Lanes& table, std::int64_t length, std::uint64_t number) {
  const auto index = static_cast<std::int64_t>(number);
  return index >= 0 && index < length ? table.at(number) : 0;
}

/// Outputs of `kernel`, as bits.
std::vector<Lanes> model(const Kernel& kernel, std::size_t n, const std::vector<Lanes>& in, const Lanes& params) {
  Lanes values(kernel.insts.size());
  std::vector<Lanes> outputs(kernel.outputs.size()), reduced(kernel.insts.size()), factors(kernel.insts.size());
  const auto evaluate = [&](Section section, std::size_t element) {
    for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
      const Inst& x = kernel.insts[i];
      if (x.section != section || info(x.op).signature == Signature::Reduce) continue;
      const auto operand = [&](Value v) { return v.valid() ? values[v.index] : 0; };
      if (x.op == Op::Constant)
        values[i] = x.imm;
      else if (x.op == Op::Input)
        values[i] = in[x.imm][element];
      else if (x.op == Op::Param)
        values[i] = params[x.imm];
      else if (x.op == Op::Count)
        values[i] = eval_lane(Op::Convert, x.type, Type::i64, n, 0, 0);
      else if (x.op == Op::Lookup)
        values[i] = kernel.tables[x.imm].entries[operand(x.a)];
      else if (x.op == Op::Index)
        values[i] = ir::bytes_of(x.type) == 4 ? static_cast<std::uint32_t>(element) : element;
      else if (info(x.op).signature == Signature::Read)
        values[i] = table_element(in[x.imm], static_cast<std::int64_t>(params[*kernel.inputs[x.imm].length]),
                                  x.op == Op::Strided ? operand(x.a) * element + operand(x.b)
                                  : kernel.type_of(x.a) == Type::i32
                                      ? static_cast<std::uint64_t>(static_cast<std::int32_t>(operand(x.a)))
                                      : operand(x.a));
      else
        values[i] = eval_lane(x.op, x.type, kernel.type_of(x.op == Op::Select ? x.b : x.a), operand(x.a), operand(x.b),
                              operand(x.c));
    }
  };
  evaluate(Section::invariant, 0);
  for (std::size_t element = 0; element < n; ++element) {
    evaluate(Section::body, element);
    for (std::size_t i = 0; i < kernel.insts.size(); ++i)
      if (const Inst& x = kernel.insts[i]; info(x.op).signature == Signature::Reduce) {
        reduced[i].push_back(values[x.a.index]);
        if (x.op == Op::Dot) factors[i].push_back(values[x.b.index]);
      }
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (kernel.outputs[o].kind == OutputKind::array) outputs[o].push_back(values[kernel.outputs[o].value.index]);
  }
  for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
    const Inst& x = kernel.insts[i];
    if (info(x.op).signature != Signature::Reduce) continue;
    const bool product = x.op == Op::Prod;
    const bool sums = x.op == Op::Sum || x.op == Op::Dot;
    const Op step = sums ? Op::Add : product ? Op::Mul : x.op == Op::MinOf ? Op::Min : Op::Max;
    const double inf = std::numeric_limits<double>::infinity(), start = product ? 1 : x.op == Op::MaxOf ? -inf : inf;
    const std::uint64_t greatest = x.type == Type::i32 ? 0x7FFF'FFFFu : 0x7FFF'FFFF'FFFF'FFFFu;
    const std::uint64_t first =
        sums                ? 0
        : is_float(x.type)  ? eval_lane(Op::Convert, x.type, Type::f64, std::bit_cast<std::uint64_t>(start), 0, 0)
        : product           ? 1
        : x.op == Op::MinOf ? greatest
                            : greatest + 1;
    const auto join = [&](std::uint64_t earlier, std::uint64_t later) {
      return eval_lane(step, x.type, x.type, later, earlier, 0);
    };
    const auto take = [&](std::uint64_t partial, std::size_t e) {
      if (x.op != Op::Dot) return join(partial, reduced[i][e]);
      return eval_lane(Op::Fma, x.type, x.type, reduced[i][e], factors[i][e], partial);
    };
    values[i] = testing::reduced_by(take, n, bytes_of(x.type), first, join);
  }
  evaluate(Section::epilogue, 0);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (kernel.outputs[o].kind == OutputKind::scalar) outputs[o].push_back(values[kernel.outputs[o].value.index]);
  return outputs;
}

/// An array of n elements with a canary after it, at an address that is a multiple of the element only.
class Array {
 public:
  Array(Type type, std::size_t n) : width_(bytes_of(type)), n_(n), bytes_((n + 2) * width_, kCanary) {}
  void set(const Lanes& lanes) {
    for (std::size_t i = 0; i < n_; ++i) std::memcpy(data() + i * width_, &lanes[i], width_);
  }
  [[nodiscard]] Lanes get() const {
    Lanes lanes(n_);
    for (std::size_t i = 0; i < n_; ++i) std::memcpy(&lanes[i], bytes_.data() + (i + 1) * width_, width_);
    return lanes;
  }
  [[nodiscard]] bool intact() const {
    const auto is_canary = [](std::uint8_t b) { return b == kCanary; };
    return std::all_of(bytes_.begin(), bytes_.begin() + width_, is_canary) &&
           std::all_of(bytes_.end() - width_, bytes_.end(), is_canary);
  }
  std::uint8_t* data() { return bytes_.data() + width_; }

 private:
  static constexpr std::uint8_t kCanary = 0xA5;
  std::ptrdiff_t width_;
  std::size_t n_;
  std::vector<std::uint8_t> bytes_;
};

std::vector<os::SimdLevel> levels() {
  std::vector<os::SimdLevel> out;
  for (const os::SimdLevel level : os::kSimdLevels)
    if (is_available(level)) out.push_back(level);
  return out;
}

/// Runs `kernel` at `level`; outputs named in `in_place` (output -> input) share the input's array.
std::vector<Lanes> run(const Kernel& kernel, os::SimdLevel level, std::size_t n, const std::vector<Lanes>& in,
                       const Lanes& params, const std::vector<std::pair<std::size_t, std::size_t>>& in_place = {}) {
  std::vector<Array> inputs, outputs;
  for (std::size_t i = 0; i < in.size(); ++i) {
    inputs.emplace_back(kernel.inputs[i].type, in[i].size());
    inputs.back().set(in[i]);
  }
  for (const Output& o : kernel.outputs)
    outputs.emplace_back(kernel.type_of(o.value), o.kind == OutputKind::array ? n : 1);
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;
  for (Array& a : inputs) in_pointers.push_back(a.data());
  for (Array& a : outputs) out_pointers.push_back(a.data());
  for (const auto& [o, i] : in_place) out_pointers[o] = inputs[i].data();
  Plan::prepare(kernel, level).run(n, in_pointers.data(), out_pointers.data(), params.data());
  std::vector<Lanes> result;
  for (const Array& a : outputs) {
    EXPECT_TRUE(a.intact());
    result.push_back(a.get());
  }
  for (const Array& a : inputs) EXPECT_TRUE(a.intact());
  for (const auto& [o, i] : in_place) result[o] = inputs[i].get();
  return result;
}

void expect_same(const Kernel& kernel, const std::vector<Lanes>& got, const std::vector<Lanes>& want) {
  for (std::size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(got[o].size(), want[o].size());
    for (std::size_t i = 0; i < want[o].size(); ++i)
      ASSERT_TRUE(same_lane(kernel.type_of(kernel.outputs[o].value), got[o][i], want[o][i]))
          << "output " << o << " element " << i << " of " << want[o].size() << ": " << std::hex << got[o][i] << " for "
          << want[o][i] << "\n"
          << print(kernel);
  }
}

std::vector<Lanes> random_inputs(const Kernel& kernel, std::size_t n, Random& random) {
  std::vector<Lanes> in(kernel.inputs.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t e = 0; e < (kernel.inputs[i].is_table() ? (i * 23) % 70 : n); ++e)
      in[i].push_back(random_lane(random, kernel.inputs[i].type));
  return in;
}

Lanes random_params(const Kernel& kernel, const std::vector<Lanes>& in, Random& random) {
  Lanes params;
  for (const Input& p : kernel.params) params.push_back(random_lane(random, p.type));
  for (std::size_t i = 0; i < in.size(); ++i)
    if (kernel.inputs[i].is_table()) params[*kernel.inputs[i].length] = in[i].size();
  return params;
}

/// Every op of one operand type at every level: all pairs of corners, then random bits.
class EveryOp : public ::testing::TestWithParam<os::SimdLevel> {};
INSTANTIATE_TEST_SUITE_P(Levels, EveryOp, ::testing::ValuesIn(levels()),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(EveryOp, GivesTheBitsOfOneLane) {
  for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64}) {
    const Kernel kernel = every_op_kernel(type);
    ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
    Random random(11);
    std::vector<Lanes> in(3);
    for (const std::uint64_t a : corner_lanes(type))
      for (const std::uint64_t b : corner_lanes(type)) {
        in[0].push_back(a);
        in[1].push_back(b);
        in[2].push_back(random_lane(random, type));
      }
    for (int i = 0; i < 20000; ++i)
      for (Lanes& lanes : in) lanes.push_back(random_lane(random, type));
    const std::size_t n = in[0].size();
    expect_same(kernel, run(kernel, GetParam(), n, in, {}), model(kernel, n, in, {}));
  }
}

TEST_P(EveryOp, ReadsSplatsLikeArrays) {
  // Runs the ops again with each choice of operands turned into parameters.
  for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64})
    for (int choice = 1; choice < 8; ++choice) {
      Kernel kernel = every_op_kernel(type);
      for (Inst& x : kernel.insts)
        if (x.op == Op::Input && (choice >> x.imm & 1) != 0) x.op = Op::Param;
      kernel.params = kernel.inputs;
      for (Inst& x : kernel.insts) x.section = section_for(kernel, x).value();
      ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
      Random random(static_cast<std::uint64_t>(choice));
      const std::vector<Lanes> in = random_inputs(kernel, 100, random);
      const Lanes params = random_params(kernel, in, random);
      expect_same(kernel, run(kernel, GetParam(), 100, in, params), model(kernel, 100, in, params));
    }
}

TEST_P(EveryOp, RandomKernelsOfAnyLength) {
  const std::size_t lengths[] = {0, 1, 2, 15, 16, 17, 31, 100, 1000, 1023, 1024, 1025, 2500, 4096, 4097, 9000};
  Random random(12);
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Kernel kernel = random_kernel(seed, {.ops = seed % 3 == 0 ? 120u : 30u, .tables = seed % 2 == 0});
    ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
    const std::size_t n = lengths[seed % std::size(lengths)];
    const std::vector<Lanes> in = random_inputs(kernel, n, random);
    const Lanes params = random_params(kernel, in, random);
    expect_same(kernel, run(kernel, GetParam(), n, in, params), model(kernel, n, in, params));
  }
}

TEST_P(EveryOp, TablesAreReadInsideOnly) {
  const auto kernel = parse(
      "input j i64\ninput k i32\ninput t f32 length 0\nparam t.length i64\nparam offset i64\n"
      "%0 = input i64 0\n%1 = input i32 1\n%2 = gather f32 %0, 2\n%3 = gather f32 %1, 2\n%4 = index i64\n"
      "%5 = const i64 -2\n%6 = param i64 1\n%7 = strided f32 %5, %6, 2\n%8 = gather f32 %6, 2\n"
      "output a %2\noutput b %3\noutput i %4\noutput c %7\noutput d %8\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::int64_t j[5] = {0, 2, 3, -1, kLeast};
  const std::int32_t k[5] = {2, -1, 3, 1, std::numeric_limits<std::int32_t>::max()};
  const float t[3] = {10, 20, 30};
  float a[5], b[5], c[5], d[5];
  std::int64_t i[5];
  const void* in[] = {j, k, t};
  void* out[] = {a, b, i, c, d};
  const auto call = [&](std::int64_t length, std::int64_t offset) {
    const std::uint64_t params[] = {static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(offset)};
    Plan::prepare(*kernel, GetParam()).run(5, in, out, params);
  };
  using Five = std::array<float, 5>;
  call(3, 4);
  EXPECT_EQ(std::to_array(a), (Five{10, 30, 0, 0, 0}));
  EXPECT_EQ(std::to_array(b), (Five{30, 0, 0, 20, 0}));
  EXPECT_EQ(std::to_array(i), (std::array<std::int64_t, 5>{0, 1, 2, 3, 4}));
  EXPECT_EQ(std::to_array(c), (Five{0, 30, 10, 0, 0}));
  EXPECT_EQ(std::to_array(d), (Five{0, 0, 0, 0, 0}));
  call(3, kLeast + 2);  // -2 * 1 + least + 2 = least, then around to the greatest
  EXPECT_EQ(std::to_array(c), (Five{0, 0, 0, 0, 0}));
  call(3, 2);
  EXPECT_EQ(std::to_array(c), (Five{30, 10, 0, 0, 0}));
  EXPECT_EQ(std::to_array(d), (Five{30, 30, 30, 30, 30}));
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}, kLeast}) {
    in[2] = nullptr;
    call(none, 1);
    for (const float* each : {a, b, c, d}) EXPECT_EQ(std::count(each, each + 5, 0.0f), 5) << none;
  }
}

TEST_P(EveryOp, OutputsMayBeTheInputsArrays) {
  // Swaps two arrays in place, with a third output that reads both.
  Kernel k;
  k.inputs = {{"x", Type::f64}, {"y", Type::f64}, {"z", Type::f64}};
  Builder b(k);
  const Value x = b.input(0), y = b.input(1), z = b.input(2);
  k.outputs = {{"x2", y}, {"y2", x}, {"z2", b.fma(x, y, z)}};
  Random random(13);
  for (const std::size_t n : {1u, 16u, 100u, 5000u}) {
    const std::vector<Lanes> in = random_inputs(k, n, random);
    expect_same(k, run(k, GetParam(), n, in, {}, {{0, 0}, {1, 1}, {2, 2}}), model(k, n, in, {}));
  }
  // A result that overwrites x, while another output is x itself.
  k.outputs = {{"x2", b.fma(x, y, z)}, {"y2", x}};
  const std::vector<Lanes> in2 = random_inputs(k, 3000, random);
  expect_same(k, run(k, GetParam(), 3000, in2, {}, {{0, 0}, {1, 1}}), model(k, 3000, in2, {}));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Kernel kernel = random_kernel(1000 + seed, {.ops = 20});
    std::vector<std::pair<std::size_t, std::size_t>> in_place;
    for (std::size_t o = 0; o < kernel.outputs.size(); ++o)
      for (std::size_t i = 0; i < kernel.inputs.size(); ++i)
        if (kernel.outputs[o].kind == OutputKind::array &&
            kernel.inputs[i].type == kernel.type_of(kernel.outputs[o].value) &&
            std::ranges::none_of(in_place, [&](const auto& p) { return p.second == i || p.first == o; }))
          in_place.emplace_back(o, i);
    const std::vector<Lanes> in = random_inputs(kernel, 777, random);
    const Lanes params = random_params(kernel, in, random);
    expect_same(kernel, run(kernel, GetParam(), 777, in, params, in_place), model(kernel, 777, in, params));
  }
}

TEST_P(EveryOp, MoreLiveValuesThanTheStackHolds) {
  // Every product is used again at the end, in reverse: 900 values are alive at once.
  Kernel k;
  k.inputs = {{"x", Type::f64}};
  Builder b(k);
  std::vector<Value> alive = {b.input(0)};
  for (int i = 1; i < 900; ++i)
    alive.push_back(b.fma(alive.back(), b.constant(Type::f64, 0.99), b.constant(Type::f64, i)));
  Value total = b.constant(Type::f64, 0);
  for (std::size_t i = alive.size(); i-- > 0;) total = b.add(b.mul(total, b.constant(Type::f64, 0.5)), alive[i]);
  k.outputs = {{"y", total}};
  Random random(14);
  const std::vector<Lanes> in = random_inputs(k, 100, random);
  expect_same(k, run(k, GetParam(), 100, in, {}), model(k, 100, in, {}));
}

TEST(Plan, OnePlanRunsInManyThreadsAtOnce) {
  const Kernel kernel = random_kernel(77, {.ops = 60});
  const Plan plan = Plan::prepare(kernel);
  Random random(15);
  const std::vector<Lanes> in = random_inputs(kernel, 3000, random);
  const Lanes params = random_params(kernel, in, random);
  const std::vector<Lanes> want = model(kernel, 3000, in, params);
  std::vector<Array> inputs;
  std::vector<const void*> in_pointers;
  for (std::size_t i = 0; i < in.size(); ++i) {
    inputs.emplace_back(kernel.inputs[i].type, 3000);
    inputs.back().set(in[i]);
  }
  for (Array& a : inputs) in_pointers.push_back(a.data());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        std::vector<Array> outputs;
        std::vector<void*> out_pointers;
        std::vector<Lanes> got;
        for (const Output& o : kernel.outputs)
          outputs.emplace_back(kernel.type_of(o.value), o.kind == OutputKind::array ? 3000 : 1);
        for (Array& a : outputs) out_pointers.push_back(a.data());
        plan.run(3000, in_pointers.data(), out_pointers.data(), params.data());
        for (const Array& a : outputs) got.push_back(a.get());
        expect_same(kernel, got, want);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Interpret, FillsArraysWithInvariantsAndReducesNothingToTheStart) {
  const auto kernel = parse(
      "input x f32\nparam s f32\n%0 = input f32 0\n%1 = param f32 0\n%2 = count f32\n%3 = mul f32 %1, %2\n"
      "%4 = minof f32 %0\n%5 = sum f32 %3\noutput y %3\noutput scalar least %4\noutput scalar total %5\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const float x[3] = {5, -2, 7};
  float y[3] = {}, least = 0, total = 1;
  const void* in[] = {x};
  void* out[] = {y, &least, &total};
  const std::uint64_t params[] = {std::bit_cast<std::uint32_t>(1.5f)};
  interpret(*kernel, 3, in, out, params);
  EXPECT_EQ(y[0] + y[1] + y[2], 13.5f);
  EXPECT_EQ(least, -2);
  EXPECT_EQ(total, 13.5f);
  interpret(*kernel, 0, in, out, params);
  EXPECT_EQ(least, std::numeric_limits<float>::infinity());
  EXPECT_EQ(total, 0);
}

template <class T>
void expect_order(os::SimdLevel level, std::size_t n) {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const auto kernel = parse("input x " + type + "\n%0 = input " + type + " 0\n%1 = sum " + type + " %0\n%2 = prod " +
                            type + " %0\noutput scalar s %1\noutput scalar p %2\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  Random random(n + 1);
  std::vector<T> x(n);
  for (T& v : x) v = 1 + std::ldexp(static_cast<T>(random.below(1u << 20)), -26) * (random.one_in(2) ? 1 : -1);
  T sum = 0, product = 0;
  const void* in[] = {x.data()};
  void* out[] = {&sum, &product};
  Plan::prepare(*kernel, level).run(n, in, out, nullptr);
  const auto element = [&](std::size_t i) { return x[i]; };
  EXPECT_EQ(sum, testing::reduced_in_order(element, n, sizeof(T), T{0}, [](T a, T b) { return a + b; })) << n;
  EXPECT_EQ(product, testing::reduced_in_order(element, n, sizeof(T), T{1}, [](T a, T b) { return a * b; })) << n;
}

// Numbers of like size show where two are exchanged; sums of random bits are mostly infinite.
TEST(Interpret, SumsAndProductsAreInTheirOrder) {
  for (const os::SimdLevel level : os::kSimdLevels) {
    if (!is_available(level)) continue;
    for (const std::size_t n : {1u, 33u, 67u, 100u, 1000u, 1023u, 4095u, 4096u, 4177u, 8192u, 9000u, 12'345u}) {
      ASSERT_NO_FATAL_FAILURE(expect_order<float>(level, n));
      ASSERT_NO_FATAL_FAILURE(expect_order<double>(level, n));
    }
  }
}

/// Adds as NumPy does: by halves down to 128 numbers, and those in eight sums.
float pairwise_sum(const float* x, std::size_t n) {
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(x, half) + pairwise_sum(x + half, n - half);
  }
  float sums[8] = {};
  for (std::size_t i = 0; i < n; ++i) sums[i % 8] += x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Returns the squares of the errors of our sum and of the pairwise one, of 10^6 numbers from `least` to least + 1.
std::array<double, 2> squared_errors(const Kernel& kernel, float least, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(1'000'000);
  for (float& v : x) v = least + std::ldexp(static_cast<float>(random.below(1u << 24)), -24);
  const double exact = std::accumulate(x.begin(), x.end(), 0.0);
  float total = 0;
  const void* in[] = {x.data()};
  void* out[] = {&total};
  interpret(kernel, x.size(), in, out, nullptr);
  return {std::pow(total - exact, 2), std::pow(pairwise_sum(x.data(), x.size()) - exact, 2)};
}

// Sixteen sums that only grow have 35 times the error. tests/accuracy/sums.py does the same with NumPy, for 10^8
// numbers.
TEST(Interpret, SumsOfManyFloatsHaveErrorsNearThoseOfPairwiseOnes) {
  const auto kernel = parse("input x f32\n%0 = input f32 0\n%1 = sum f32 %0\noutput scalar total %1\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const float least : {0.0F, -0.5F}) {
    double ours = 0, pairwise = 0;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
      const auto errors = squared_errors(*kernel, least, seed);
      ours += errors[0], pairwise += errors[1];
    }
    EXPECT_LE(std::sqrt(ours), 2 * std::sqrt(pairwise)) << least;
  }
}

TEST(Interpret, GivesTheSameBitsInEveryFloatEnvironment) {
  const auto kernel = parse(
      "input x f64\nparam s f64\n%0 = input f64 0\n%1 = param f64 0\n%2 = div f64 %0, %1\n%3 = add f64 %2, %0\n"
      "%4 = sum f64 %3\noutput y %3\noutput scalar total %4\n");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  const double x[3] = {2, kTiny, std::numeric_limits<double>::max()};
  const std::uint64_t params[] = {std::bit_cast<std::uint64_t>(3.0)};
  for (const auto& environment : testing::kForeignFloats) {
    double y[3] = {}, total = 0;
    const void* in[] = {x};
    void* out[] = {y, &total};
    bool intact = false;
    {
      const testing::ForeignFloats floats(environment);
      interpret(*kernel, 3, in, out, params);
      intact = floats.intact();
    }
    EXPECT_TRUE(intact) << environment.name;
    EXPECT_EQ(y[0], 2.0 / 3 + 2) << environment.name;
    EXPECT_EQ(y[1], kTiny) << environment.name;
    EXPECT_EQ(y[2], std::numeric_limits<double>::infinity()) << environment.name;
  }
}

}  // namespace
}  // namespace trident::kir
