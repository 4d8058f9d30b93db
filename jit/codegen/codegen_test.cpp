// Oracle: the kir interpreter, on the same data. Every variant at every ISA level that this machine can run.
#include "jit/codegen/codegen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "tests/support/draws.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using testing::Arrangement;
using testing::compare_with_interpreter;
using testing::map_native;
using testing::random_kernel;
using testing::runnable_isas;

std::string explain(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  std::string text = kir::print(kernel);
  if (auto code = emit(kernel, isa, variant); code.ok())
    if (auto listing = disassemble(*code, isa); listing.ok()) text += *listing;
  return std::string(name_of(isa)) + "\n" + text;
}

void expect_same(const kir::Kernel& kernel, const Variant& variant, std::initializer_list<std::uint64_t> sizes,
                 std::uint64_t seed) {
  ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message << kir::print(kernel);
  for (const Isa isa : runnable_isas()) {
    auto native = map_native(kernel, isa, variant);
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint64_t n : sizes) {
      for (const bool in_place : {false, true}) {
        const Arrangement arrangement{.n = n, .in_place = in_place, .at_front = seed % 2 != 0, .seed = seed + n};
        const std::string difference = compare_with_interpreter(kernel, *native, arrangement);
        ASSERT_EQ(difference, "") << "seed " << seed << " in place " << in_place << " "
                                  << explain(kernel, isa, variant);
      }
    }
  }
}

TEST(Codegen, RandomKernels) {
  const Variant kVariants[] = {{.vectors = 1, .schedule = false},
                               {.vectors = 2},
                               {.vectors = 3, .newton = 4},
                               {.vectors = 4},
                               {.vectors = 1, .newton = 8},
                               {.vectors = 1, .vector_bits = 256},
                               {.vectors = 8, .schedule = false},
                               {.vectors = 1, .schedule = false, .newton = 8},
                               {.vectors = 4, .underflow_apart = true}};
  const std::uint64_t any = testing::draws(60), narrow = testing::draws(15);
  std::uint64_t seed = 1;
  for (; seed <= any; ++seed)
    expect_same(random_kernel(seed), kVariants[seed % std::size(kVariants)], {0, 1, 7, 16, 17, 67}, seed);
  for (; seed <= any + narrow; ++seed)
    expect_same(random_kernel(seed, {.ops = 40, .narrow_only = true}), kVariants[seed % std::size(kVariants)],
                {0, 3, 8, 31, 65}, seed);
}

// Tables of 0 to 127 elements at the edge of an inaccessible page; indices that are mostly inside, around the ends or
// anywhere.
TEST(Codegen, RandomKernelsWithTables) {
  const Variant kVariants[] = {{.vectors = 1, .schedule = false},
                               {.vectors = 2},
                               {.vectors = 4},
                               {.vectors = 1, .vector_bits = 256},
                               {.vectors = 3, .newton = 2},
                               {.vectors = 2, .lockstep = true, .underflow_apart = true},
                               {.vectors = 8, .schedule = false}};
  for (std::uint64_t seed = 1; seed <= testing::draws(150); ++seed) {
    const bool many = seed % 50 == 0;  // registers for pointers run out
    const auto kernel = random_kernel(seed, {.ops = many ? 300u : 60u,
                                             .inputs_max = many ? 14u : 3u,
                                             .reductions = seed % 3 == 0,
                                             .narrow_only = seed % 4 == 0,
                                             .tables = true});
    expect_same(kernel, kVariants[seed % std::size(kVariants)], {0, 1, 5, 16, 33, 67, 130}, seed);
  }
}

std::vector<std::uint64_t> numbered(ir::Type type, std::uint64_t count) {
  std::vector<std::uint64_t> lanes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(i + 1);
    lanes.push_back(type == ir::Type::f32   ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                    : type == ir::Type::f64 ? std::bit_cast<std::uint64_t>(value)
                                            : i + 1);
  }
  return lanes;
}

/// Every stride that has code of its own, every length of the table around the vectors', from every offset around it.
TEST(Codegen, StridedLoadsAcrossTheEndsOfTheirTable) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64})
    for (const std::int64_t stride : {1, -1, 2, -2, 3, 4, 5, 8, -9, 65536})
      for (const bool parameter : {false, true})
        for (const Variant& variant : {Variant{.vectors = 2}, Variant{.vectors = 1, .schedule = false},
                                       Variant{.vectors = 1, .vector_bits = 256}})
          for (const std::int64_t offset : {-40, -17, -3, 0, 1, 30, 100}) {
            kir::Kernel kernel;
            kernel.inputs = {{"t", type, 0}};
            kernel.params = {{"t.length", ir::Type::i64}, {"o", ir::Type::i64}};
            kir::Builder b(kernel);
            kernel.outputs = {
                {"y", b.strided(0, stride, parameter ? b.param(1) : b.constant_int(ir::Type::i64, offset))}};
            ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
            for (const Isa isa : runnable_isas()) {
              auto native = map_native(kernel, isa, variant);
              ASSERT_TRUE(native.ok()) << native.error().message;
              for (const std::uint64_t length : {0, 1, 31, 64, 100})
                for (const std::uint64_t n : {1, 35, 70})
                  ASSERT_EQ(
                      testing::compare_on(kernel, *native, {numbered(type, length)},
                                          {length, static_cast<std::uint64_t>(offset)}, {.n = n, .at_front = n == 35}),
                      "")
                      << "stride " << stride << " offset " << offset << " length " << length << " "
                      << explain(kernel, isa, variant);
            }
          }
}

// Elements up to the boundary go first, and their registers are set aside where strided loads set theirs aside too.
TEST(Codegen, StridedLoadsInStreams) {
  kir::Kernel kernel;
  kernel.inputs = {{"t", ir::Type::f32, 0}};
  kernel.params = {{"t.length", ir::Type::i64}};
  kir::Builder b(kernel);
  kernel.outputs = {{"y", b.add(b.strided(0, 2, b.constant_int(ir::Type::i64, -3)),
                                b.strided(0, 1, b.constant_int(ir::Type::i64, -3)))}};
  const std::uint64_t n = kStreamBytes / 4 + 1000;
  for (const Isa isa : runnable_isas()) {
    auto native = map_native(kernel, isa, {.vectors = 2, .non_temporal = true});
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint32_t misalign : {0u, 3u})
      ASSERT_EQ(testing::compare_on(kernel, *native, {numbered(ir::Type::f32, n)}, {n}, {.n = n, .misalign = misalign}),
                "");
  }
}

TEST(Codegen, GathersTakeEveryIndex) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64})
    for (const ir::Type index : {ir::Type::i32, ir::Type::i64}) {
      kir::Kernel kernel;
      kernel.inputs = {{"j", index}, {"t", type, 0}};
      kernel.params = {{"t.length", ir::Type::i64}};
      kir::Builder b(kernel);
      kernel.outputs = {{"y", b.gather(1, b.input(0))}};
      std::vector<std::uint64_t> indices = testing::corner_lanes(index);
      for (std::uint64_t i = 0; i < 150; ++i) indices.push_back(i);
      for (const Isa isa : runnable_isas())
        for (const Variant& variant : {Variant{.vectors = 2}, Variant{.vectors = 1, .schedule = false},
                                       Variant{.vectors = 1, .vector_bits = 256}}) {
          auto native = map_native(kernel, isa, variant);
          ASSERT_TRUE(native.ok()) << native.error().message;
          for (const std::uint64_t length : {0, 1, 7, 100, 150}) {
            ASSERT_EQ(testing::compare_on(kernel, *native, {indices, numbered(type, length)}, {length},
                                          {.n = indices.size()}),
                      "")
                << "length " << length << " " << explain(kernel, isa, variant);
          }
          // Negative lengths mean no elements.
          ASSERT_EQ(
              testing::compare_on(kernel, *native, {indices, {}}, {~std::uint64_t{0} << 63}, {.n = indices.size()}),
              "");
        }
    }
}

TEST(Codegen, ManyValuesSpill) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto kernel = random_kernel(seed, {.ops = 600, .inputs_max = 8, .outputs_max = 30});
    expect_same(kernel, {.vectors = 2, .schedule = seed % 2 == 0}, {5, 64}, seed);
  }
}

// Many vectors at once, outputs over inputs. An array element that lost its register may be read again, but not after
// its copy was stored over it.
TEST(Codegen, CrowdedAndInPlace) {
  for (std::uint64_t seed = 1; seed <= testing::draws(15); ++seed) {
    const auto kernel =
        random_kernel(seed, {.ops = 60, .inputs_max = 6, .outputs_max = 6, .narrow_only = seed % 3 == 0});
    const auto vectors = static_cast<std::uint8_t>(5 + seed % 4);
    const auto newton = static_cast<std::uint8_t>(seed % 9);
    expect_same(kernel, {.vectors = vectors, .newton = newton, .lockstep = seed % 2 == 0}, {130}, seed);
  }
}

void check_every_size(std::uint64_t seed, const Variant& variant) {
  const auto kernel = random_kernel(seed, {.ops = 10});
  for (const Isa isa : runnable_isas()) {
    auto native = map_native(kernel, isa, variant);
    ASSERT_TRUE(native.ok());
    for (std::uint64_t n = 0; n <= 67; ++n)
      for (const std::uint32_t misalign : {0u, 1u})
        for (const bool at_front : {false, true}) {
          const Arrangement arrangement{.n = n, .at_front = at_front, .misalign = misalign, .seed = n};
          ASSERT_EQ(compare_with_interpreter(kernel, *native, arrangement), "") << explain(kernel, isa, variant);
        }
  }
}

TEST(Codegen, EverySizeUpToFourVectors) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) check_every_size(seed, {.vectors = 4});
  for (std::uint64_t seed = 1; seed <= 12; ++seed) check_every_size(seed, {.vectors = 1, .schedule = false});
}

// The baseline's tail is its loop's code under masks, so the loop may read an array only where a mask can go. With more
// array elements alive than registers, they have to go through the frame.
TEST(Codegen, MoreElementsAliveThanRegisters) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    kir::Kernel kernel;
    kir::Builder builder(kernel);
    kir::Value sum, product;
    for (std::uint32_t i = 0; i < 40; ++i) {
      kernel.inputs.push_back({"a" + std::to_string(i), type});
      sum = i == 0 ? builder.input(i) : builder.add(sum, builder.input(i));
    }
    for (std::uint32_t i = 0; i < 40; ++i) product = i == 0 ? builder.input(i) : builder.mul(product, builder.input(i));
    kernel.outputs.push_back({"out", builder.mul(sum, product), kir::OutputKind::array});
    for (std::uint64_t seed : {1, 2}) {
      expect_same(kernel, {.vectors = 1, .schedule = false}, {0, 1, 3, 7, 15, 17, 33}, seed);
      expect_same(kernel, {.vectors = 2}, {0, 1, 3, 7, 15, 17, 33}, seed);
    }
  }
}

// The tail of a loop of four vectors keeps four masks, which leaves three mask registers on AVX-512.
TEST(Codegen, MasksOfTheWholeCallBesideThoseOfTheTail) {
  kir::Kernel kernel;
  kir::Builder builder(kernel);
  kernel.inputs = {{"x", ir::Type::f64}, {"y", ir::Type::f64}};
  std::vector<kir::Value> masks;
  for (std::uint32_t i = 0; i < 6; ++i) {
    kernel.params.push_back({"p" + std::to_string(i), ir::Type::f64});
    masks.push_back(builder.lt(builder.param(i), builder.constant(ir::Type::f64, 0.5)));
  }
  const kir::Value x = builder.input(0), y = builder.input(1);
  kir::Value value = x;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const kir::Value both = builder.op(kir::Op::And, masks[i], builder.lt(x, value));
    value = builder.select(builder.op(kir::Op::Or, both, masks[(i + 1) % masks.size()]), builder.add(value, y), x);
  }
  kernel.outputs.push_back({"o", value, kir::OutputKind::array});
  kernel.outputs.push_back({"s", builder.reduce(kir::Op::Sum, value), kir::OutputKind::scalar});
  for (const bool schedule : {false, true}) {
    for (const std::uint16_t bits : std::array<std::uint16_t, 2>{0, 256})
      expect_same(kernel, {.vectors = 1, .schedule = schedule, .vector_bits = bits}, {0, 1, 5, 15, 16, 37}, 3);
  }
}

// Factors that are below 2^32 by construction take one instruction, which reads low halves only; factors that nearly
// are must not. The masked factors are outputs too, elements or invariants.
TEST(Codegen, ProductsOfLowHalves) {
  using kir::Op;
  constexpr ir::Type type = ir::Type::i64;
  kir::Kernel kernel;
  kir::Builder b(kernel);
  kernel.inputs = {{"x", type}, {"y", type}};
  kernel.params = {{"p", type}};
  const auto number = [&](std::uint64_t bits) { return b.constant_bits(type, bits); };
  std::vector<kir::Value> factors = {number(0), number(7), number(0xFFFF'FFFF), number(0x1'0000'0000), b.input(0)};
  for (const kir::Value v : {b.input(0), b.input(1), b.param(0), b.add(b.input(1), b.param(0))}) {
    for (const std::uint64_t mask : {0xFFFF'FFFFull, 0x0F0F'0F0Full, 0x1'FFFF'FFFFull, 0xFFFF'FFFF'FFFF'FFFFull})
      factors.push_back(b.op(Op::And, v, number(mask)));
    for (const std::int64_t by : {31, 32, 40, -1}) factors.push_back(b.op(Op::Shr, v, b.constant_int(type, by)));
    factors.push_back(b.op(Op::Sar, v, b.constant_int(type, 32)));
  }
  for (std::size_t first = 0; first < factors.size(); ++first) {
    // Whole and small kernels, so that values are kept in registers, in memory and as constants of the pool.
    kernel.outputs.clear();
    for (std::size_t second = first; second < factors.size() && kernel.outputs.size() < 60; ++second)
      kernel.outputs.push_back({"o", b.mul(factors[first], factors[second])});
    if (first % 2 == 0) kernel.outputs.push_back({"factor", factors[first]});
    expect_same(kernel, {.vectors = 1, .schedule = first % 3 == 0}, {1, 9, 200}, first);
    kernel.outputs.resize(1);
    expect_same(kernel, {.vectors = 2}, {200}, first);
    if (first % 5 == 0) expect_same(kernel, {.vectors = 1, .vector_bits = 256}, {200}, first);
  }
}

// Ops that merge with the op that made their operand: sums under a mask, or of and. Tried where the merged op has other
// readers too, where both operands would do, and with invariants, elements and constants.
TEST(Codegen, SumsUnderMasksAndOrOfAnd) {
  using kir::Op;
  for (const ir::Type type : {ir::Type::i32, ir::Type::i64}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", type}, {"y", type}};
    kernel.params = {{"p", type}, {"q", type}};
    const kir::Value x = b.input(0), y = b.input(1), p = b.param(0), q = b.param(1);
    const kir::Value zero = b.constant_int(type, 0), five = b.constant_int(type, 5);
    const kir::Value sum = b.add(x, y);
    std::vector<kir::Value> terms = {x, y, p, five, sum};
    for (const kir::Value mask : {b.lt(x, y), b.eq(b.op(Op::And, x, five), zero), b.lt(p, q), b.lt(y, p)})
      for (const kir::Value value : {x, p, five, sum}) {
        terms.push_back(b.select(mask, value, zero));
        terms.push_back(b.select(mask, zero, value));
        terms.push_back(b.op(Op::And, value, terms.back()));
      }
    for (std::size_t first = 0; first < terms.size(); ++first) {
      kernel.outputs.clear();
      for (std::size_t second = 0; second < terms.size() && kernel.outputs.size() < 60; second += 1 + second % 2)
        for (const Op op : {Op::Add, Op::Sub, Op::Or})
          if (kernel.outputs.size() < 60) kernel.outputs.push_back({"o", b.op(op, terms[first], terms[second])});
      if (first % 2 == 0) kernel.outputs.push_back({"term", terms[first]});
      expect_same(kernel, {.vectors = 1, .schedule = first % 3 == 0}, {1, 9, 100}, first);
      kernel.outputs.resize(2);
      expect_same(kernel, {.vectors = 2}, {3, 100}, first);
      if (first % 5 == 0) expect_same(kernel, {.vectors = 1, .vector_bits = 256}, {100}, first);
    }
  }
}

// Comparisons whose sides both had their top bit flipped are unsigned: of elements, invariants and constants. Where
// other bits are flipped, or one side's only, they are not. The flipped sides have other readers too.
TEST(Codegen, UnsignedComparisons) {
  using kir::Op;
  for (const ir::Type type : {ir::Type::i32, ir::Type::i64}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", type}, {"y", type}};
    kernel.params = {{"p", type}, {"q", type}};
    const std::uint64_t sign = type == ir::Type::i64 ? std::uint64_t{1} << 63 : 0x8000'0000;
    const kir::Value x = b.input(0), y = b.input(1), p = b.param(0), q = b.param(1), sum = b.add(x, y);
    std::vector<kir::Value> sides;
    for (const kir::Value v : {x, y, p, q, sum, b.sub(sum, p), b.constant_int(type, 5), b.constant_int(type, -5)})
      for (const std::uint64_t bits : {sign, sign | 1, sign >> 1, std::uint64_t{0}})
        sides.push_back(bits == 0 ? v : b.op(Op::Xor, v, b.constant_bits(type, bits)));
    for (std::size_t first = 0; first < sides.size(); ++first) {
      kernel.outputs.clear();
      for (std::size_t second = 0; second < sides.size() && kernel.outputs.size() < 60; ++second) {
        const kir::Value mask = b.lt(sides[first], sides[second]);
        kernel.outputs.push_back({"o", b.add(x, b.select(mask, y, b.constant_int(type, 0)))});
      }
      if (first % 2 == 0) kernel.outputs.push_back({"side", sides[first]});
      expect_same(kernel, {.vectors = 1, .schedule = first % 3 == 0}, {1, 9, 100}, first);
      expect_same(kernel, {.vectors = 2}, {3, 100}, first);
      if (first % 5 == 0) expect_same(kernel, {.vectors = 1, .vector_bits = 256}, {100}, first);
    }
  }
}

TEST(Codegen, AsManyArraysAsAllowed) {
  kir::Kernel kernel;
  kir::Builder builder(kernel);
  kir::Value sum;
  for (std::uint32_t i = 0; i < 64; ++i) {
    kernel.inputs.push_back({"a" + std::to_string(i), i % 3 == 0 ? ir::Type::f64 : ir::Type::f32});
    const kir::Value x = builder.convert(kir::Op::Convert, ir::Type::f64, builder.input(i));
    sum = i == 0 ? x : builder.add(sum, x);
    kernel.outputs.push_back({"o" + std::to_string(i), i % 2 == 0 ? sum : builder.neg(sum), kir::OutputKind::array});
  }
  expect_same(kernel, {.vectors = 1}, {0, 5, 40}, 7);
  expect_same(kernel, {.vectors = 2}, {0, 5, 40}, 7);
}

// Arrays long enough for non-temporal stores, at every alignment of the outputs that matters: aligned, equally
// misaligned, differently misaligned (where the plain loop has to step in).
TEST(Codegen, NonTemporalStores) {
  enum Form { same_type, two_types, with_reduction };
  for (const Form form : {same_type, two_types, with_reduction}) {
    kir::Kernel kernel;
    kir::Builder builder(kernel);
    kernel.inputs = {{"x", ir::Type::f64}, {"y", ir::Type::f32}};
    const kir::Value x = builder.input(0), y = builder.convert(kir::Op::Convert, ir::Type::f64, builder.input(1));
    kir::Value v = builder.fma(x, y, x);
    for (int o = 0; o < 4; ++o, v = builder.add(v, x)) {
      const bool narrow = form == two_types && o == 2;
      kernel.outputs.push_back(
          {"o", narrow ? builder.convert(kir::Op::Convert, ir::Type::f32, v) : v, kir::OutputKind::array});
    }
    if (form == with_reduction)
      kernel.outputs.push_back({"s", builder.reduce(kir::Op::Sum, x), kir::OutputKind::scalar});
    const Variant variant{.vectors = 2, .non_temporal = true};
    for (const Isa isa : runnable_isas()) {
      auto native = map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok());
      for (const std::uint32_t misalign : {0u, 3u})
        for (const bool at_front : {false, true}) {
          const Arrangement arrangement{.n = (1u << 18) + 37u, .at_front = at_front, .misalign = misalign};
          ASSERT_EQ(compare_with_interpreter(kernel, *native, arrangement), "") << explain(kernel, isa, variant);
        }
    }
  }
}

// A constant on the left swaps the comparison's sides; equal operands and NaN show whether every predicate was swapped
// too.
TEST(Codegen, ComparisonsWithConstantsOnEitherSide) {
  constexpr kir::Op kOps[] = {kir::Op::Lt, kir::Op::Le, kir::Op::Eq, kir::Op::Ne};
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64}) {
    kir::Kernel kernel;
    kir::Builder builder(kernel);
    kernel.inputs = {{"x", type}, {"y", type}};
    const bool is_int = ir::is_int(type);
    const auto number = [&](int v) { return is_int ? builder.constant_int(type, v) : builder.constant(type, v); };
    const kir::Value x = builder.input(0), y = builder.add(builder.input(1), number(0));
    for (const kir::Op op : kOps)
      for (const auto& [a, b] :
           {std::pair{x, number(3)}, {number(3), x}, {y, number(3)}, {number(3), y}, {x, y}, {y, x}})
        kernel.outputs.push_back(
            {"o", builder.select(builder.op(op, a, b), number(1), number(2)), kir::OutputKind::array});
    std::vector<std::vector<std::uint64_t>> inputs(2);
    const auto bits = [&](int v) -> std::uint64_t {
      if (type == ir::Type::f32) return std::bit_cast<std::uint32_t>(v == 9 ? NAN : static_cast<float>(v));
      if (type == ir::Type::f64) return std::bit_cast<std::uint64_t>(v == 9 ? NAN : static_cast<double>(v));
      const auto wide = static_cast<std::uint64_t>(std::int64_t{v});
      return type == ir::Type::i32 ? wide & 0xFFFF'FFFFu : wide;
    };
    for (const int a : {-3, 0, 2, 3, 4, 9})
      for (const int b : {-3, 0, 2, 3, 4, 9}) inputs[0].push_back(bits(a)), inputs[1].push_back(bits(b));
    for (const Isa isa : runnable_isas())
      for (const Variant& variant : {Variant{.vectors = 1, .schedule = false}, Variant{.vectors = 2}}) {
        auto native = map_native(kernel, isa, variant);
        ASSERT_TRUE(native.ok()) << native.error().message;
        ASSERT_EQ(testing::compare_on(kernel, *native, inputs, {}, {.n = inputs[0].size()}), "")
            << explain(kernel, isa, variant);
      }
  }
}

// Significands near 1 and near 2 and with few bits, where quotients and roots lie close to midpoints. No lane sends its
// vector to the divider but now and then a zero. campaign/division_campaign.cpp is the long form of this test.
TEST(Codegen, NewtonFormsGiveTheBitsOfTheDivider) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const int mantissa = type == ir::Type::f32 ? 23 : 52;
    const std::uint64_t one = type == ir::Type::f32 ? 0x3F80'0000u : 0x3FF0'0000'0000'0000u;
    for (const std::uint8_t flags : {kir::kNormal, kir::kBounded, std::uint8_t{0}}) {
      kir::Kernel kernel;
      kir::Builder builder(kernel);
      kernel.inputs = {{"a", type}, {"b", type}};
      const kir::Value a = builder.input(0), b = builder.input(1);
      kernel.outputs = {{"q", builder.div(a, b, flags), kir::OutputKind::array},
                        {"r", builder.sqrt(a, flags), kir::OutputKind::array},
                        {"s", builder.div(b, b, flags), kir::OutputKind::array},
                        {"t", builder.div(builder.constant(type, 1), b, flags), kir::OutputKind::array}};
      testing::Random random(flags);
      std::vector<std::vector<std::uint64_t>> inputs(2);
      const auto lane = [&] {
        const std::uint64_t ones = (std::uint64_t{1} << mantissa) - 1;
        std::uint64_t significand = random.next() & ones;
        const std::uint32_t kind = random.below(4), shift = random.below(static_cast<std::uint32_t>(mantissa));
        if (kind == 0) significand = ones - (significand >> shift);
        if (kind == 1) significand >>= shift;
        if (kind == 2) significand &= ~std::uint64_t{0} << shift;
        return (one + (std::uint64_t{random.below(6)} << mantissa)) | significand;
      };
      for (std::uint64_t i = 0; i < testing::draws(15'000); ++i) {
        inputs[0].push_back(flags != kir::kNormal && random.one_in(300) ? 0 : lane());
        inputs[1].push_back(lane());
      }
      for (const Isa isa : runnable_isas()) {
        for (const Variant& variant : {Variant{.vectors = 2, .newton = 8}, Variant{.vectors = 1}}) {
          auto native = map_native(kernel, isa, variant);
          ASSERT_TRUE(native.ok());
          ASSERT_EQ(testing::compare_on(kernel, *native, inputs, {}, {.n = inputs[0].size()}), "")
              << "flags " << int{flags} << explain(kernel, isa, variant);
        }
      }
    }
  }
}

// The model spares a slow divider and uses a fast one; both forms are always offered.
TEST(Variants, GoByTheDivider) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", ir::Type::f64}, {"y", ir::Type::f64}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0), y = b.input(1);
  kernel.outputs = {{"out", b.div(x, y, kir::kNormal), kir::OutputKind::array}};
  ASSERT_TRUE(kir::check(kernel).ok());
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    DividerCycles slow, fast;
    slow.div_f64 = 200, fast.div_f64 = 0.5;
    const std::vector<Variant> sparing = variants(kernel, isa, slow), dividing = variants(kernel, isa, fast);
    EXPECT_EQ(sparing.front().newton, 8);
    EXPECT_EQ(dividing.front().newton, 0);
    const auto has = [](const std::vector<Variant>& list, bool divides) {
      return std::any_of(list.begin(), list.end(), [&](const Variant& v) { return (v.newton == 0) == divides; });
    };
    for (const auto& list : {sparing, dividing}) EXPECT_TRUE(has(list, true) && has(list, false));
    slow.div_f64 = fast.div_f64, slow.div_f32 = 200;  // of the other type
    EXPECT_EQ(variants(kernel, isa, slow), dividing);
  }
}

/// A polynomial of `degree` while four other values wait.
kir::Kernel crowded_polynomial(int degree) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", ir::Type::f64}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0), one = b.constant(ir::Type::f64, 1);
  const kir::Value u = b.mul(x, x), v = b.add(x, u), w = b.mul(u, v), y = b.sub(v, w);
  kir::Value sum = b.div(one, y, kir::kNormal);
  for (int i = 1; i <= degree; ++i) sum = b.fma(sum, x, b.constant(ir::Type::f64, 1.0 / i));
  const kir::Value out = b.fma(b.fma(sum, u, v), w, y);
  kernel.outputs = {{"out", out, kir::OutputKind::array}};
  return kernel;
}

// Vectors that finish one after the other spill less, and wait more.
TEST(Variants, KeepVectorsInStepWhereTheirValuesCrowd) {
  const kir::Kernel kernel = crowded_polynomial(40);
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    const auto apart = emit(kernel, isa, {.vectors = 8}), in_step = emit(kernel, isa, {.vectors = 8, .lockstep = true});
    ASSERT_TRUE(apart.ok() && in_step.ok());
    EXPECT_GT(in_step->spills, apart->spills);
  }
  expect_same(kernel, {.vectors = 8, .lockstep = true}, {0, 63, 64, 200}, 1);
}

TEST(Variants, OfferVectorsInStepToLongBodies) {
  const auto are_offered = [](const kir::Kernel& kernel, Isa isa) {
    const std::vector<Variant> list = variants(kernel, isa);
    return std::any_of(list.begin(), list.end(), [](const Variant& v) { return v.lockstep; });
  };
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    EXPECT_TRUE(are_offered(crowded_polynomial(40), isa));
    EXPECT_FALSE(are_offered(crowded_polynomial(4), isa));
  }
  EXPECT_FALSE(are_offered(crowded_polynomial(40), Isa::neon));
}

TEST(Codegen, DivisionByConstants) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const bool narrow = type == ir::Type::f32;
    const std::uint64_t one = narrow ? 0x3F80'0000u : 0x3FF0'0000'0000'0000u;
    const std::uint64_t bit = narrow ? 0x0080'0000u : 0x0010'0000'0000'0000u, sign = narrow ? 0x8000'0000u : 1ull << 63;
    testing::Random random(3);
    std::vector<std::uint64_t> divisors = {one,
                                           one + bit,
                                           one - 7 * bit,
                                           sign | (one + 2 * bit),
                                           bit,
                                           2 * bit,
                                           one - 1,
                                           one + bit - 1,
                                           one + 2,
                                           0,
                                           sign,
                                           1,
                                           2 * one - bit,
                                           2 * one - 2 * bit,
                                           2 * one - 3 * bit};
    for (int i = 0; i < 12; ++i) divisors.push_back(one + random.next() % bit);
    for (const std::uint64_t divisor : divisors) {
      for (const std::uint8_t flags : {std::uint8_t{0}, kir::kBounded}) {
        if (flags != 0 && (divisor < one - 8 * bit || divisor > one + 8 * bit)) continue;
        kir::Kernel kernel;
        kir::Builder builder(kernel);
        kernel.inputs = {{"a", type}};
        kernel.outputs = {
            {"q", builder.div(builder.input(0), builder.constant_bits(type, divisor), flags), kir::OutputKind::array}};
        std::vector<std::vector<std::uint64_t>> inputs(1);
        for (int i = 0; i < 2000; ++i) {
          const bool odd = i % 100 == 0;
          inputs[0].push_back(odd && flags == 0 ? testing::random_lane(random, type)
                              : odd             ? random.next() % bit  // denormal
                                                : one - 4 * bit + random.next() % (8 * bit));
        }
        for (const Isa isa : runnable_isas()) {
          const Variant variant{.vectors = 2, .newton = 8};
          auto native = map_native(kernel, isa, variant);
          ASSERT_TRUE(native.ok());
          ASSERT_EQ(testing::compare_on(kernel, *native, inputs, {}, {.n = inputs[0].size()}), "")
              << explain(kernel, isa, variant);
        }
      }
    }
  }
}

// --- op by op --------------------------------------------------------------------------------------------------------

constexpr ir::Type kNumeric[] = {ir::Type::f32, ir::Type::f64, ir::Type::i32, ir::Type::i64};

/// One op on array inputs as a kernel, with its corner cases in all combinations (up to a bound).
struct OpCase {
  kir::Kernel kernel;
  std::vector<std::vector<std::uint64_t>> inputs;
};

void add_combinations(OpCase& test) {
  const std::size_t operands = test.kernel.inputs.size();
  testing::Random random(operands);
  std::vector<const std::vector<std::uint64_t>*> corners;
  std::size_t all = 1;
  for (const kir::Input& input : test.kernel.inputs)
    all *= corners.emplace_back(&testing::corner_lanes(input.type))->size();
  test.inputs.resize(operands);
  constexpr std::size_t kMost = 8000;
  for (std::size_t k = 0; k < std::min(all, kMost); ++k) {
    std::size_t rest = all <= kMost ? k : random.next() % all;
    for (std::size_t i = 0; i < operands; ++i) {
      test.inputs[i].push_back((*corners[i])[rest % corners[i]->size()]);
      rest /= corners[i]->size();
    }
  }
  for (int k = 0; k < 1500; ++k)
    for (std::size_t i = 0; i < operands; ++i)
      test.inputs[i].push_back(testing::random_lane(random, test.kernel.inputs[i].type));
}

constexpr Variant kOpVariants[] = {
    {.vectors = 1, .schedule = false}, {.vectors = 2, .newton = 8}, {.vectors = 2, .newton = 8, .vector_bits = 256}};

void run_case(const OpCase& test, std::span<const Variant> variants = kOpVariants) {
  ASSERT_TRUE(kir::check(test.kernel).ok()) << kir::check(test.kernel).error().message << kir::print(test.kernel);
  for (const Isa isa : runnable_isas()) {
    for (const Variant& variant : variants) {
      auto native = map_native(test.kernel, isa, variant);
      ASSERT_TRUE(native.ok());
      const std::string difference =
          testing::compare_on(test.kernel, *native, test.inputs, {}, {.n = test.inputs[0].size()});
      EXPECT_EQ(difference, "") << explain(test.kernel, isa, variant);
    }
  }
}

/// Builds a case: `make` appends one op to operands of types `types` and returns its result; masks come out as numbers.
template <class Make>
void check_op(std::initializer_list<ir::Type> types, const Make& make) {
  OpCase test;
  kir::Builder builder(test.kernel);
  std::vector<kir::Value> operands;
  for (const ir::Type type : types) {
    test.kernel.inputs.push_back({"a", type});
    operands.push_back(builder.input(static_cast<std::uint32_t>(operands.size())));
  }
  kir::Value result = make(builder, operands);
  if (is_mask(builder.type_of(result))) {
    const ir::Type type = builder.type_of(result) == ir::Type::b32 ? ir::Type::i32 : ir::Type::i64;
    result = builder.select(result, builder.constant_int(type, 17), builder.constant_int(type, 4));
  }
  test.kernel.outputs.push_back({"o", result, kir::OutputKind::array});
  add_combinations(test);
  run_case(test);
}

bool allowed(kir::Types types, ir::Type type) {
  return types == kir::Types::N || types == kir::Types::A || (types == kir::Types::F) == is_float(type);
}

TEST(CodegenOps, ArithmeticAndComparisons) {
  using Operands = std::vector<kir::Value>;
  for (std::uint32_t id = 0; id < kir::kFirstEstimate; ++id) {
    const auto op = static_cast<kir::Op>(id);
    const kir::OpInfo& row = kir::info(op);
    if (row.signature != kir::Signature::Same && row.signature != kir::Signature::Compare) continue;
    if (op == kir::Op::Scalef) continue;
    for (const ir::Type type : kNumeric) {
      if (!allowed(row.types, type)) continue;
      const auto make = [&](kir::Builder& b, const Operands& v) {
        return b.op(op, v[0], v.size() > 1 ? v[1] : kir::Value{}, v.size() > 2 ? v[2] : kir::Value{});
      };
      if (row.arity == 1) check_op({type}, make);
      if (row.arity == 2) check_op({type, type}, make);
      if (row.arity == 3) check_op({type, type, type}, make);
      if (row.arity != 2) continue;
      // A constant operand takes other forms, on either side.
      for (const std::uint64_t bits : {testing::corner_lanes(type)[4], testing::corner_lanes(type)[11]}) {
        check_op({type},
                 [&](kir::Builder& b, const Operands& v) { return b.op(op, v[0], b.constant_bits(type, bits)); });
        check_op({type},
                 [&](kir::Builder& b, const Operands& v) { return b.op(op, b.constant_bits(type, bits), v[0]); });
      }
    }
  }
}

TEST(CodegenOps, MasksAndSelect) {
  using kir::Op;
  for (const ir::Type type : kNumeric) {
    for (const Op op : {Op::And, Op::Or, Op::Xor, Op::AndNot, Op::Not})
      check_op({type, type}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
        const kir::Value x = b.lt(v[0], v[1]), y = b.le(b.neg(v[0]), v[1]);
        return op == Op::Not ? b.op(op, x) : b.op(op, x, y);
      });
    check_op({type, type},
             [&](kir::Builder& b, const std::vector<kir::Value>& v) { return b.select(b.lt(v[0], v[1]), v[1], v[0]); });
    check_op({type, type}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
      return b.select(b.lt(v[0], v[1]), b.constant_bits(type, 0), v[0]);
    });
    check_op({type, type}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
      return b.select(b.eq(v[0], v[1]), v[1], b.constant_bits(type, 0));
    });
    for (const ir::Type other : kNumeric)  // a mask of one width chooses between values of another
      check_op({type, other}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
        const kir::Value mask = b.convert(Op::Convert, ir::mask_of(other), b.lt(v[0], b.neg(v[0])));
        return b.select(mask, v[1], b.neg(v[1]));
      });
  }
}

TEST(CodegenOps, Conversions) {
  for (const ir::Type from : kNumeric)
    for (const ir::Type to : kNumeric) {
      check_op({from}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
        return b.convert(kir::Op::Convert, to, v[0]);
      });
      if (ir::bytes_of(from) == ir::bytes_of(to))
        check_op({from}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
          return b.convert(kir::Op::Bitcast, to, v[0]);
        });
      if (is_float(from) && to == ir::int_of(from))
        check_op({from}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
          return b.convert(kir::Op::ToIntRint, to, v[0]);
        });
    }
}

TEST(CodegenOps, ShiftsByConstants) {
  for (const ir::Type type : {ir::Type::i32, ir::Type::i64})
    for (const kir::Op op : {kir::Op::Shl, kir::Op::Shr, kir::Op::Sar})
      for (const std::int64_t count : {-1, 0, 1, 13, 31, 32, 63, 64, 300})
        check_op({type}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
          return b.op(op, v[0], b.constant_int(type, count));
        });
}

TEST(CodegenOps, Lookups) {
  testing::Random random(1);
  for (const ir::Type type : kNumeric)
    for (std::uint32_t size = 2; size <= 32; size *= 2)
      for (const bool mixed : {false, true})
        check_op({ir::int_of(type), ir::Type::f64}, [&](kir::Builder& b, const std::vector<kir::Value>& v) {
          kir::Table table{type, {}};
          for (std::uint32_t i = 0; i < size; ++i) table.entries.push_back(testing::random_lane(random, type));
          // By the low bits, which permutations take alone, or by the top ones.
          const int top = 8 * static_cast<int>(ir::bytes_of(type)) - std::countr_zero(size);
          const kir::Value index = mixed ? b.op(kir::Op::Shr, v[0], b.constant_int(ir::int_of(type), top))
                                         : b.op(kir::Op::And, v[0], b.constant_int(ir::int_of(type), size - 1));
          const kir::Value found = b.lookup(b.add_table(table), index);
          return mixed ? b.add(b.convert(kir::Op::Convert, ir::Type::f64, found), v[1]) : found;
        });
}

// Permutations read the low bits of an index alone: the mask that keeps it inside the table costs nothing.
TEST(CodegenOps, LookupsNeedNoMask) {
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    kir::Kernel kernel;
    kernel.inputs = {{"x", ir::Type::i64}};
    kir::Builder b(kernel);
    const std::uint32_t table = b.add_table({ir::Type::i64, {1, 2, 3, 4, 5, 6, 7, 8}});
    const kir::Value index = b.op(kir::Op::And, b.input(0), b.constant_int(ir::Type::i64, 7));
    kernel.outputs.push_back({"o", b.lookup(table, index), kir::OutputKind::array});
    const auto listing = disassemble(emit(kernel, isa, {.vectors = 1}).value(), isa);
    ASSERT_TRUE(listing.ok());
    EXPECT_NE(listing->find("vperm"), std::string::npos) << *listing;
    EXPECT_EQ(listing->find("vpand"), std::string::npos) << *listing;
  }
}

/// Returns a * 2^b with the flag, for b between the ends; b comes as it is, or from a sum with the magic constant.
OpCase scalef_case(ir::Type type, std::uint8_t flag, double least, double greatest, bool by_sum) {
  OpCase test;
  kir::Builder builder(test.kernel);
  test.kernel.inputs = {{"a", type}, {"b", type}};
  const kir::Value magic = builder.constant(type, type == ir::Type::f32 ? 0x1.8p23 : 0x1.8p52);
  const kir::Value given = builder.input(1);
  const kir::Value b = by_sum ? builder.sub(builder.add(given, magic), magic) : given;
  test.kernel.outputs.push_back(
      {"o", builder.op(kir::Op::Scalef, builder.input(0), b, {}, flag), kir::OutputKind::array});
  test.inputs.resize(2);
  const auto add = [&](double a, double n) {
    const auto bits = [&](double value) {
      return kir::eval_lane(kir::Op::Convert, type, ir::Type::f64, std::bit_cast<std::uint64_t>(value), 0, 0);
    };
    test.inputs[0].push_back(bits(a)), test.inputs[1].push_back(bits(n));
  };
  const double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double a : {1.0, 1.5, 0.0625, 15.999, -1.0, -15.5, 1.0000001, -0.999999999, 3.1415926, 0.0, -0.0, kNan})
    for (double n = least; n <= greatest; ++n) add(a, n);
  add(kNan, kNan);
  if (flag != 0) return test;
  for (const double a : {1.0, 1.5, -15.5})
    for (const double n : {kInfinity, -kInfinity, kNan, 1e30, -1e30}) add(a, n);
  return test;
}

/// Both forms of scalef with AVX-512, whichever this processor does faster.
constexpr Variant kScalefVariants[] = {{.vectors = 1, .schedule = false},
                                       {.vectors = 2},
                                       {.vectors = 2, .vector_bits = 256},
                                       {.vectors = 1, .schedule = false, .underflow_apart = true},
                                       {.vectors = 4, .underflow_apart = true},
                                       {.vectors = 8, .lockstep = true, .underflow_apart = true},
                                       {.vectors = 2, .vector_bits = 256, .underflow_apart = true}};

TEST(CodegenOps, Scalef) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    run_case(scalef_case(type, 0, -1200, 1200, false), kScalefVariants);
    const double e = type == ir::Type::f32 ? 127 : 1023;
    for (const bool by_sum : {false, true}) {
      run_case(scalef_case(type, kir::kNormal, 1 - e, e, by_sum), kScalefVariants);
      run_case(scalef_case(type, kir::kBounded, -e - 60, e + 60, by_sum), kScalefVariants);
      run_case(scalef_case(type, kir::kFalling, -e - 60, std::floor(e / 2) - 4, by_sum), kScalefVariants);
    }
  }
}

// Random factors of both signs, halfway cases among them, with exponents around the thresholds: vectors hold normal,
// subnormal and zero results side by side.
TEST(CodegenOps, ScalefAroundSubnormalResults) {
  testing::Random random(3);
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const int least = type == ir::Type::f32 ? -149 : -1074;
    const std::uint32_t digits = type == ir::Type::f32 ? 24 : 53;
    for (const std::uint8_t flag : {std::uint8_t{0}, kir::kBounded, kir::kFalling}) {
      OpCase test = scalef_case(type, flag, 0, -1, false);
      const auto bits = [&](double value) {
        return kir::eval_lane(kir::Op::Convert, type, ir::Type::f64, std::bit_cast<std::uint64_t>(value), 0, 0);
      };
      for (std::uint64_t i = 0; i < testing::draws(60'000); ++i) {
        const int exponent = least - 6 + static_cast<int>(random.below(digits + 12));
        // Zeros behind some digits make halfway cases; a last digit after them makes neighbours of these.
        const std::uint32_t zeros = random.below(digits);
        std::uint64_t significand = random.next() >> (64 - digits) | std::uint64_t{1} << (digits - 1);
        significand = significand >> zeros << zeros;
        if (random.one_in(3)) significand |= 1;
        const double a = std::ldexp(static_cast<double>(significand),
                                    static_cast<int>(random.below(7)) - 2 - static_cast<int>(digits));
        test.inputs[0].push_back(bits(random.one_in(4) ? -a : a));
        test.inputs[1].push_back(bits(random.one_in(40) ? 3 : exponent));
      }
      run_case(test, kScalefVariants);
    }
  }
}

TEST(CodegenOps, ScalefBranchesWhereAsked) {
  const auto branches = [](const kir::Kernel& kernel, const Variant& variant) {
    const auto listing = disassemble(emit(kernel, Isa::avx512, variant).value(), Isa::avx512);
    return listing.value().find("kortest") != std::string::npos;
  };
  const kir::Kernel falling = scalef_case(ir::Type::f32, kir::kFalling, 0, -1, true).kernel;
  const kir::Kernel normal = scalef_case(ir::Type::f32, kir::kNormal, 0, -1, true).kernel;
  EXPECT_TRUE(branches(falling, {.vectors = 2, .underflow_apart = true}));
  EXPECT_FALSE(branches(falling, {.vectors = 2}));
  EXPECT_FALSE(branches(normal, {.vectors = 2, .underflow_apart = true}));
  const auto offers = [](const kir::Kernel& kernel, Isa isa) {
    const std::vector<Variant> list = variants(kernel, isa);
    return std::any_of(list.begin(), list.end(), [](const Variant& v) { return v.underflow_apart; });
  };
  EXPECT_TRUE(offers(falling, Isa::avx512));
  EXPECT_FALSE(offers(falling, Isa::avx2));
  EXPECT_FALSE(offers(normal, Isa::avx512));
}

}  // namespace
}  // namespace trident::codegen
