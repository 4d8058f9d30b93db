// Narrowed kernels against the interpreter on the original kernels, at inputs within the known ranges.
#include "jit/kir/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "tests/support/random_kernel.h"

namespace trident::kir {
namespace {

using trident::testing::Random;
using trident::testing::random_kernel;
using trident::testing::same_lane;

constexpr std::size_t kElements = 64;

double random_end(Random& random) {
  constexpr double kEnds[] = {0, 1, -1, 0.5, 2, -2, 3.75, 1e-3, 40, -300, 1e6, 5e-324, 1e-40, 1e300, 0.785};
  return random.one_in(3) ? (random.unit() - 0.5) * 8 : kEnds[random.below(std::size(kEnds))];
}

Known random_known(Random& random, Type type) {
  if (random.one_in(6)) return {};
  if (ir::is_int(type)) {
    constexpr double kEnds[] = {0, 1, -1, 2, 15, 16, 31, 127, -128, 255, 256, -32768, 65535, 2147483647, -2147483648.0};
    const double one = kEnds[random.below(std::size(kEnds))], other = kEnds[random.below(std::size(kEnds))];
    return {std::min(one, other), std::max(one, other), false};
  }
  const auto rounded = [&](double x) { return type == Type::f32 ? static_cast<double>(static_cast<float>(x)) : x; };
  const double a = rounded(random_end(random)), b = rounded(random_end(random));
  if (!std::isfinite(a) || !std::isfinite(b)) return {};
  return {std::min(a, b), std::max(a, b), false};
}

std::uint64_t bits_of(Type type, double value) {
  if (ir::is_int(type)) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                           : std::bit_cast<std::uint64_t>(value);
}

// Draws a value; ends and zeros of both signs are frequent.
double draw(Random& random, const Known& known) {
  const double x = random.one_in(4)   ? known.lo
                   : random.one_in(4) ? known.hi
                   : random.one_in(4) ? std::clamp(random.one_in(2) ? 0.0 : -0.0, known.lo, known.hi)
                                      : known.lo + (known.hi - known.lo) * random.unit();
  const double inside = std::isfinite(x) ? std::clamp(x, known.lo, known.hi) : known.hi;
  return inside == 0 && random.one_in(2) ? -inside : inside;
}

std::vector<std::vector<std::uint64_t>> run(const Kernel& kernel, const std::vector<std::vector<std::byte>>& in,
                                            const std::vector<std::uint64_t>& params) {
  std::vector<const void*> from;
  for (const auto& column : in) from.push_back(column.data());
  std::vector<std::vector<std::byte>> out(kernel.outputs.size(), std::vector<std::byte>(kElements * 8));
  std::vector<void*> to;
  for (auto& column : out) to.push_back(column.data());
  interpret(kernel, kElements, from.data(), to.data(), params.data());
  std::vector<std::vector<std::uint64_t>> lanes;
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::size_t bytes = ir::bytes_of(kernel.type_of(kernel.outputs[o].value));
    lanes.emplace_back(kernel.outputs[o].kind == OutputKind::scalar ? 1 : kElements);
    for (std::size_t i = 0; i < lanes.back().size(); ++i)
      std::memcpy(&lanes.back()[i], out[o].data() + i * bytes, bytes);
  }
  return lanes;
}

// Draws facts of inputs and parameters; by instruction.
std::vector<Known> random_facts(Random& random, const Kernel& kernel) {
  std::vector<Known> known(kernel.insts.size());
  for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
    const Inst& inst = kernel.insts[i];
    if (inst.op == Op::Input || inst.op == Op::Param) known[i] = random_known(random, inst.type);
  }
  return known;
}

std::uint64_t lane_for(Random& random, const Kernel& kernel, Op op, std::size_t number, Type type,
                       const std::vector<Known>& known) {
  for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
    const Inst& inst = kernel.insts[i];
    if (inst.op == op && inst.imm == number && !known[i].may_be_nan) return bits_of(type, draw(random, known[i]));
  }
  return testing::random_lane(random, type);
}

TEST(Narrow, KeepsEveryBitOfRandomKernels) {
  std::size_t shorter = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    Random random(seed * 31);
    const Kernel kernel = random_kernel(seed, {.ops = 40, .reductions = seed % 3 == 0, .floats_only = seed % 2 == 0});
    const std::vector<Known> known = random_facts(random, kernel);
    const Kernel narrowed = narrow(kernel, known, seed % 4 < 2);
    ASSERT_TRUE(check(narrowed).ok()) << check(narrowed).error().message << "\n" << print(kernel) << print(narrowed);
    ASSERT_LE(narrowed.insts.size(), kernel.insts.size() + 8);
    shorter += narrowed.insts.size() < kernel.insts.size() ? 1 : 0;
    std::vector<std::vector<std::byte>> in;
    for (std::size_t input = 0; input < kernel.inputs.size(); ++input) {
      const Type type = kernel.inputs[input].type;
      auto& column = in.emplace_back(kElements * ir::bytes_of(type));
      for (std::size_t i = 0; i < kElements; ++i) {
        const std::uint64_t lane = lane_for(random, kernel, Op::Input, input, type, known);
        std::memcpy(column.data() + i * ir::bytes_of(type), &lane, ir::bytes_of(type));
      }
    }
    std::vector<std::uint64_t> params;
    for (std::size_t p = 0; p < kernel.params.size(); ++p)
      params.push_back(lane_for(random, kernel, Op::Param, p, kernel.params[p].type, known));
    const auto wanted = run(kernel, in, params), got = run(narrowed, in, params);
    for (std::size_t o = 0; o < wanted.size(); ++o) {
      const Type type = kernel.type_of(kernel.outputs[o].value);
      for (std::size_t i = 0; i < wanted[o].size(); ++i)
        ASSERT_TRUE(same_lane(type, wanted[o][i], got[o][i]))
            << "seed " << seed << ", output " << o << ", element " << i << ": " << std::hex << wanted[o][i] << " "
            << got[o][i] << "\n"
            << print(kernel) << "\n"
            << print(narrowed);
    }
  }
  EXPECT_GT(shorter, 1000u);
}

// Returns f(x) of one float input x in [lo, hi], narrowed, as text.
std::string narrowed_text(double lo, double hi, const std::function<Value(Builder&, Value)>& f) {
  Kernel kernel;
  kernel.inputs.push_back({"x", Type::f64});
  Builder b(kernel);
  const Value x = b.input(0);
  const Value y = f(b, x);
  kernel.outputs.push_back({"y", y});
  std::vector<Known> known(kernel.insts.size());
  known[x.index] = {lo, hi, false};
  return print(narrow(kernel, known));
}

TEST(Narrow, LeavesOutWhatDecidesNothing) {
  const std::string same = "input x f64\n%0 = input f64 0\noutput y %0\n";
  EXPECT_EQ(narrowed_text(1, 2, [](Builder& b, Value x) { return b.min(b.constant(Type::f64, 2), x); }), same);
  EXPECT_EQ(narrowed_text(1, 2, [](Builder& b, Value x) { return b.abs(x); }), same);
  EXPECT_EQ(
      narrowed_text(1, 2, [](Builder& b, Value x) { return b.select(b.lt(x, b.constant(Type::f64, 1)), b.neg(x), x); }),
      same);
  EXPECT_EQ(narrowed_text(0.1, 0.4, [](Builder& b, Value x) { return b.sub(x, b.rint(x)); }), same);
  EXPECT_EQ(narrowed_text(2, 3,
                          [](Builder& b, Value x) {
                            const Value product = b.mul(x, b.constant(Type::f64, 0.1));
                            const Value lost = b.fms(x, b.constant(Type::f64, 0.1), product);
                            return b.sub(b.add(x, b.constant(Type::f64, 0)), b.sub(b.add(product, lost), product));
                          }),
            same);
}

// Operations that only nearly decide nothing stay: each differs at one point within the range.
TEST(Narrow, KeepsWhatDecidesSomething) {
  const auto size = [](double lo, double hi, const std::function<Value(Builder&, Value)>& f) {
    const std::string text = narrowed_text(lo, hi, f);
    return std::count(text.begin(), text.end(), '=');
  };
  EXPECT_GT(size(1, 2, [](Builder& b, Value x) { return b.min(b.constant(Type::f64, 1.999), x); }), 1);
  EXPECT_GT(size(0, 2, [](Builder& b, Value x) { return b.abs(x); }), 1);  // x may be -0
  EXPECT_GT(size(0, 2, [](Builder& b, Value x) { return b.add(x, b.constant(Type::f64, 0)); }), 1);
  EXPECT_GT(size(0, 0.4, [](Builder& b, Value x) { return b.sub(x, b.rint(x)); }), 1);
  EXPECT_GT(size(0.1, 0.5, [](Builder& b, Value x) { return b.sub(x, b.rint(b.add(x, x))); }), 1);
  const auto fraction = [](Builder& b, Value x) { return b.sub(x, b.rint(x)); };
  EXPECT_EQ(narrowed_text(0, 0.4, fraction).find("rint"), std::string::npos);
  EXPECT_NE(narrowed_text(0, 0.55, fraction).find("rint"), std::string::npos);
  // -0 - +0 is -0.
  const auto sum_with_zero = [](Builder& b, Value x) {
    const Value zero = b.constant(Type::f64, 0);
    return b.add(zero, b.sub(b.mul(x, zero), b.abs(x)));
  };
  EXPECT_EQ(size(-1, 1, sum_with_zero), 6);
}

// Patterns of the math functions: values just inside their bound are decided, those just outside are not.
TEST(Narrow, KnowsTheRemaindersAndMantissasOfFunctions) {
  const auto is_one_leaf = [](const std::string& text) { return std::count(text.begin(), text.end(), '=') == 1; };
  const auto remainder_below = [&](double bound) {
    return is_one_leaf(narrowed_text(-10, 10, [&](Builder& b, Value x) {
      const Value magic = b.constant(Type::f64, 0x1.8p52);
      const Value n = b.sub(b.fma(x, b.constant(Type::f64, 1.4426950408889634), magic), magic);
      const Value r = b.fnma(n, b.constant(Type::f64, 0.6931471805599453), x);
      return b.select(b.lt(r, b.constant(Type::f64, bound)), x, b.neg(x));
    }));
  };
  EXPECT_FALSE(remainder_below(0.3465));  // ln 2 / 2 is 0.34657...
  EXPECT_TRUE(remainder_below(0.3466));
  const auto fraction_below = [&](double bound) {
    return is_one_leaf(narrowed_text(-1000, 1000, [&](Builder& b, Value x) {
      const Value magic = b.constant(Type::f64, 0x1.8p52);
      const Value r = b.sub(x, b.sub(b.add(x, magic), magic));
      return b.select(b.lt(r, b.constant(Type::f64, bound)), x, b.neg(x));
    }));
  };
  EXPECT_FALSE(fraction_below(0.4999));
  EXPECT_TRUE(fraction_below(0.5001));
  const auto mantissa_below = [&](double bound) {
    return is_one_leaf(narrowed_text(1e-3, 1e5, [&](Builder& b, Value x) {
      const Value bits = b.as_int(x);
      const Value low = b.constant_int(Type::i64, 0x3FE6'A09E'667F'3BCD);
      const Value exponent =
          b.op(Op::And, b.op(Op::Sub, bits, low), b.constant_int(Type::i64, -(std::int64_t{1} << 52)));
      const Value m = b.as_float(b.op(Op::Sub, bits, exponent));
      return b.select(b.lt(m, b.constant(Type::f64, bound)), x, b.neg(x));
    }));
  };
  EXPECT_FALSE(mantissa_below(1.4142));
  EXPECT_TRUE(mantissa_below(1.4143));
  const auto part_of_sum = [&](double share) {
    return is_one_leaf(narrowed_text(1, 2, [&](Builder& b, Value x) {
      const Value sum = b.add(x, b.mul(x, b.constant(Type::f64, share)));
      return b.sub(sum, b.sub(sum, x));
    }));
  };
  // The sum of 1e308 and 0.9e308 is infinite, and its difference with itself a NaN.
  EXPECT_NE(narrowed_text(1e308, 1.5e308,
                          [](Builder& b, Value x) {
                            const Value sum = b.add(x, b.mul(x, b.constant(Type::f64, 0.9)));
                            return b.sub(sum, b.sub(sum, x));
                          })
                .find("sub"),
            std::string::npos);
  EXPECT_TRUE(part_of_sum(0.5));
  EXPECT_FALSE(part_of_sum(0.7));
}

// Returns f(x, y) of x in [-3, 5] and y in [2, 7], i64, narrowed, as text.
std::string small_text(const std::function<Value(Builder&, Value, Value)>& f) {
  Kernel kernel;
  kernel.inputs = {{"x", Type::i64}, {"y", Type::i64}, {"z", Type::i32}};
  Builder b(kernel);
  const Value x = b.input(0), y = b.input(1);
  kernel.outputs.push_back({"f", f(b, x, y)});
  std::vector<Known> known(kernel.insts.size());
  known[x.index] = {-3, 5, false}, known[y.index] = {2, 7, false};
  return print(narrow(kernel, known));
}

// Each interval is the least: its ends decide comparisons, numbers next to them do not.
TEST(Narrow, BoundsIntegers) {
  using Form = std::function<Value(Builder&, Value, Value)>;
  struct Case {
    std::int64_t lo, hi;
    Form form;
  };
  const Case cases[] = {
      {-1, 12, [](Builder& b, Value x, Value y) { return b.add(x, y); }},
      {-10, 3, [](Builder& b, Value x, Value y) { return b.sub(x, y); }},
      {-21, 35, [](Builder& b, Value x, Value y) { return b.mul(x, y); }},
      {0, 25, [](Builder& b, Value x, Value) { return b.mul(x, x); }},
      {4, 49, [](Builder& b, Value, Value y) { return b.mul(y, y); }},
      {-105, 175, [](Builder& b, Value x, Value y) { return b.mul(b.constant_int(Type::i64, 5), b.mul(x, y)); }},
      {-5, 3, [](Builder& b, Value x, Value) { return b.neg(x); }},
      {0, 5, [](Builder& b, Value x, Value) { return b.abs(x); }},
      {2, 7, [](Builder& b, Value, Value y) { return b.abs(b.neg(y)); }},
      {-3, 5, [](Builder& b, Value x, Value y) { return b.op(Op::Min, x, y); }},
      {2, 7, [](Builder& b, Value x, Value y) { return b.op(Op::Max, x, y); }},
      {-3, 7, [](Builder& b, Value x, Value y) { return b.select(b.eq(x, y), x, y); }},
      {-48, 80, [](Builder& b, Value x, Value) { return b.op(Op::Shl, x, b.constant_int(Type::i64, 4)); }},
      {-3, 5, [](Builder& b, Value x, Value) { return b.convert(Op::Convert, Type::i32, x); }},
      {INT32_MIN, INT32_MAX, [](Builder& b, Value, Value) { return b.convert(Op::Convert, Type::i64, b.input(2)); }},
  };
  const auto decides = [](const Form& form, bool above, std::int64_t end) {
    const std::string text = small_text([&](Builder& b, Value x, Value y) {
      const Value v = form(b, x, y), limit = b.constant_int(b.type_of(v), end);
      return b.select(above ? b.lt(limit, v) : b.lt(v, limit), b.op(Op::Not, v), v);
    });
    return text.find(" lt ") == std::string::npos;
  };
  for (const Case& c : cases) {
    const auto number = &c - cases;
    EXPECT_TRUE(decides(c.form, true, c.hi)) << number;
    EXPECT_FALSE(decides(c.form, true, c.hi - 1)) << number;
    EXPECT_TRUE(decides(c.form, false, c.lo)) << number;
    EXPECT_FALSE(decides(c.form, false, c.lo + 1)) << number;
  }
}

// Results that may wrap have no bounds.
TEST(Narrow, KnowsNothingOfIntegersThatWrap) {
  const auto keeps_comparison = [](Type type, double lo, double hi, const std::function<Value(Builder&, Value)>& f) {
    Kernel kernel;
    kernel.inputs = {{"x", type}};
    Builder b(kernel);
    const Value x = b.input(0), v = f(b, x);
    kernel.outputs.push_back({"f", b.select(b.lt(v, b.constant_int(type, 0)), b.constant_int(type, 1), x)});
    std::vector<Known> known(kernel.insts.size());
    known[x.index] = {lo, hi, false};
    return print(narrow(kernel, known)).find(" lt ") != std::string::npos;
  };
  const auto twice = [](Builder& b, Value x) { return b.add(x, x); };
  const auto squared = [](Builder& b, Value x) { return b.mul(x, x); };
  EXPECT_FALSE(keeps_comparison(Type::i32, 0, 0x1p30 - 1, twice));
  EXPECT_TRUE(keeps_comparison(Type::i32, 0, 0x1p30, twice));
  EXPECT_FALSE(keeps_comparison(Type::i32, 0, 46340, squared));
  EXPECT_TRUE(keeps_comparison(Type::i32, 0, 46341, squared));
  EXPECT_FALSE(keeps_comparison(Type::i64, 0, 3037000499, squared));
  EXPECT_TRUE(keeps_comparison(Type::i64, 0, 3037000500, squared));
  EXPECT_TRUE(keeps_comparison(Type::i32, -0x1p31, -1, [](Builder& b, Value x) { return b.abs(x); }));
  EXPECT_TRUE(keeps_comparison(Type::i32, -0x1p31, -1, [](Builder& b, Value x) { return b.neg(x); }));
}

// Oracle: C++, at the ends of the ranges.
TEST(Narrow, MultipliesHalvesOfIntegersThatFit) {
  struct Range {
    std::int64_t lo, hi;
    bool fits_signed, fits_unsigned;
  };
  const Range ranges[] = {{-5, 1000, true, false},
                          {INT32_MIN, INT32_MAX, true, false},
                          {std::int64_t{INT32_MIN} - 1, 0, false, false},
                          {0, INT32_MAX, true, true},
                          {0, std::int64_t{INT32_MAX} + 1, false, true},
                          {0, UINT32_MAX, false, true},
                          {0, std::int64_t{UINT32_MAX} + 1, false, false},
                          {-1, UINT32_MAX, false, false},
                          {-(std::int64_t{1} << 52), std::int64_t{1} << 52, false, false}};
  for (const Range& a : ranges)
    for (const Range& b : ranges) {
      Kernel kernel;
      kernel.inputs = {{"x", Type::i64}, {"y", Type::i64}};
      Builder builder(kernel);
      const Value x = builder.input(0), y = builder.input(1);
      kernel.outputs = {{"xy", builder.mul(x, y)}};
      std::vector<Known> known(kernel.insts.size());
      known[x.index] = {static_cast<double>(a.lo), static_cast<double>(a.hi), false};
      known[y.index] = {static_cast<double>(b.lo), static_cast<double>(b.hi), false};
      const Kernel narrowed = narrow(kernel, known);
      const std::string text = print(narrowed);
      const bool is_signed = a.fits_signed && b.fits_signed, is_unsigned = a.fits_unsigned && b.fits_unsigned;
      EXPECT_EQ(text.find("convert i32") != std::string::npos, is_signed) << text;
      EXPECT_EQ(text.find("= and ") != std::string::npos, is_unsigned && !is_signed) << text;
      std::vector<std::int64_t> xs, ys;
      for (const std::int64_t p : {a.lo, a.hi, std::max<std::int64_t>(a.lo, -1), std::min<std::int64_t>(a.hi, 77)})
        for (const std::int64_t q : {b.lo, b.hi, std::max<std::int64_t>(b.lo, -1), std::min<std::int64_t>(b.hi, 77)})
          xs.push_back(p), ys.push_back(q);
      std::vector<std::int64_t> products(xs.size());
      const void* in[] = {xs.data(), ys.data()};
      void* out[] = {products.data()};
      interpret(narrowed, xs.size(), in, out, nullptr);
      for (std::size_t i = 0; i < xs.size(); ++i)
        EXPECT_EQ(static_cast<std::uint64_t>(products[i]),
                  static_cast<std::uint64_t>(xs[i]) * static_cast<std::uint64_t>(ys[i]))
            << xs[i] << " " << ys[i] << "\n"
            << text;
    }
}

// Oracle: conversions of C++, up to the ends of what sums convert.
TEST(Narrow, ConvertsSmallLongsBySums) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::vector<std::int64_t> longs;
  std::vector<double> doubles;
  for (const std::int64_t base : {std::int64_t{0}, std::int64_t{1} << 24, std::int64_t{1} << 31, kMost - 9})
    for (std::int64_t n = base - 9; n <= base + 9; ++n)
      for (const std::int64_t number : {n, -n}) {
        longs.push_back(number);
        for (const double part : {-0.5, -0.25, 0.0, 0.25, 0.5, 0.75}) {
          const double x = static_cast<double>(number) + part;
          if (std::fabs(x) <= static_cast<double>(kMost)) doubles.push_back(x);
        }
      }
  doubles.push_back(-0.0);
  const auto converted = [](Op op, Type from, Type to, double most, const void* data, std::size_t n) {
    Kernel kernel;
    kernel.inputs = {{"x", from}};
    Builder b(kernel);
    const Value x = b.input(0);
    kernel.outputs = {{"y", b.convert(op, to, x)}};
    std::vector<Known> known(kernel.insts.size());
    known[x.index] = {-most, most, false};
    const Kernel narrowed = narrow(kernel, known, false);
    const std::string text = print(narrowed);
    EXPECT_EQ(text.find("bitcast") != std::string::npos, most <= static_cast<double>(kMost)) << text;
    EXPECT_EQ(print(narrow(kernel, known)), print(kernel)) << "a host that converts";
    std::vector<std::uint64_t> out(n);
    const void* in[] = {data};
    void* to_data[] = {out.data()};
    interpret(narrowed, n, in, to_data, nullptr);
    return out;
  };
  const auto most = static_cast<double>(kMost);
  for (const double end : {most, most + 1}) {
    const auto to_f64 = converted(Op::Convert, Type::i64, Type::f64, end, longs.data(), longs.size());
    const auto to_f32 = converted(Op::Convert, Type::i64, Type::f32, end, longs.data(), longs.size());
    std::vector<float> floats(longs.size());
    std::memcpy(floats.data(), to_f32.data(), floats.size() * sizeof(float));
    for (std::size_t i = 0; i < longs.size(); ++i) {
      EXPECT_EQ(to_f64[i], std::bit_cast<std::uint64_t>(static_cast<double>(longs[i]))) << longs[i];
      EXPECT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(static_cast<float>(longs[i])));
    }
    const auto truncated = converted(Op::Convert, Type::f64, Type::i64, end, doubles.data(), doubles.size());
    const auto rounded = converted(Op::ToIntRint, Type::f64, Type::i64, end, doubles.data(), doubles.size());
    for (std::size_t i = 0; i < doubles.size(); ++i) {
      EXPECT_EQ(static_cast<std::int64_t>(truncated[i]), static_cast<std::int64_t>(doubles[i])) << doubles[i];
      EXPECT_EQ(static_cast<std::int64_t>(rounded[i]), std::llrint(doubles[i])) << doubles[i];
    }
    const auto whole = converted(Op::Convert, Type::f32, Type::i64, end, floats.data(), floats.size());
    for (std::size_t i = 0; i < floats.size(); ++i)
      EXPECT_EQ(static_cast<std::int64_t>(whole[i]), static_cast<std::int64_t>(floats[i])) << floats[i];
  }
}

TEST(Narrow, ShiftsInsteadOfMultiplying) {
  const auto text = [](std::int64_t factor) {
    return small_text([&](Builder& b, Value x, Value) { return b.mul(x, b.constant_int(Type::i64, factor)); });
  };
  EXPECT_NE(text(64).find("shl"), std::string::npos) << text(64);
  EXPECT_NE(text(INT64_MIN).find("shl"), std::string::npos) << text(INT64_MIN);
  EXPECT_EQ(text(65).find("shl"), std::string::npos) << text(65);
  const auto shifted = [](bool first) {
    return small_text(
        [&](Builder& b, Value x, Value y) { return b.op(Op::Sar, first ? x : y, b.constant_int(Type::i64, 1)); });
  };
  EXPECT_NE(shifted(true).find("sar"), std::string::npos) << "x may be negative";
  EXPECT_NE(shifted(false).find("shr"), std::string::npos) << "y is not";
}

}  // namespace
}  // namespace trident::kir
