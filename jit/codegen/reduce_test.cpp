// Reductions in machine code. Oracle: the kir interpreter, whose own oracle is tests/support/reduction_order.h.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "jit/codegen/codegen.h"
#include "jit/kir/builder.h"
#include "jit/kir/reduction.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using ir::Type;
using testing::runnable_isas;

constexpr Variant kVariants[] = {{.vectors = 1, .schedule = false},
                                 {.vectors = 1},
                                 {.vectors = 2},
                                 {.vectors = 3},
                                 {.vectors = 4},
                                 {.vectors = 8},
                                 {.vectors = 8, .schedule = false},
                                 {.vectors = 4, .vector_bits = 256}};
// None to three chunks, and around the ends of chunks and of rows of partial results.
constexpr std::uint64_t kLengths[] = {0, 1, 31, 32, 33, 63, 64, 65, 1000, 4095, 4096, 4097, 8191, 8192, 8229, 12'345};

void expect_same(const kir::Kernel& kernel, std::initializer_list<std::uint64_t> more_lengths = {}) {
  ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
  std::vector<std::uint64_t> lengths(std::begin(kLengths), std::end(kLengths));
  lengths.insert(lengths.end(), more_lengths);
  for (const Isa isa : runnable_isas())
    for (const Variant& variant : kVariants) {
      auto native = testing::map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::uint64_t n : lengths)
        ASSERT_EQ(testing::compare_with_interpreter(kernel, *native, {.n = n, .seed = n + 1}), "")
            << name_of(isa) << " vectors " << int{variant.vectors} << " n " << n << "\n"
            << kir::print(kernel);
    }
}

std::vector<kir::Op> reductions() {
  std::vector<kir::Op> all;
  for (std::uint32_t i = 0; i < kir::kOpCount; ++i)
    if (const auto op = static_cast<kir::Op>(i);
        kir::info(op).signature == kir::Signature::Reduce && kir::info(op).arity == 1)
      all.push_back(op);
  return all;
}

TEST(Reduce, EachOpInEachType) {
  for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64})
    for (const kir::Op op : reductions()) {
      kir::Kernel kernel;
      kir::Builder b(kernel);
      kernel.inputs = {{"x", type}};
      kernel.outputs = {{"r", b.reduce(op, b.input(0)), kir::OutputKind::scalar}};
      ASSERT_NO_FATAL_FAILURE(expect_same(kernel, {70'001}));
    }
}

/// NaN and zeros of either sign, in turns that no row of partial results repeats; and, if asked for, ones of either
/// sign.
std::vector<std::uint64_t> special_lanes(Type type, std::uint64_t n, bool ones, testing::Random& random) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * ir::bytes_of(type) - 1), one = kir::one_bits(type);
  const std::uint64_t nan = kir::start_bits(kir::Op::MinOf, type) | one >> 1;
  const std::uint64_t values[] = {nan, 0, sign, one, one | sign};
  std::vector<std::uint64_t> lanes(n);
  for (std::uint64_t& lane : lanes) lane = values[random.below(ones ? 5 : 3)];
  return lanes;
}

TEST(Reduce, SumsOfWhatIsChosen) {
  for (const Type type : {Type::i32, Type::i64})
    for (const std::uint32_t sums : {1u, 2u, 6u}) {  // six have no registers left for all their partial results
      kir::Kernel kernel;
      kir::Builder b(kernel);
      kernel.inputs = {{"x", type}, {"y", type}};
      const kir::Value x = b.input(0), y = b.input(1), zero = b.constant_int(type, 0);
      for (std::uint32_t i = 0; i < sums; ++i) {
        const kir::Value less = b.op(kir::Op::Lt, x, b.constant_int(type, std::int64_t{i} * 3 - 1));
        const kir::Value chosen = i % 2 == 0 ? b.constant_int(type, 1) : y;
        kernel.outputs.push_back({"s", b.reduce(kir::Op::Sum, b.select(less, chosen, zero)), kir::OutputKind::scalar});
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(kernel, {70'001}));
    }
}

TEST(Reduce, NanIsLeftOutAndTheEarlierOfTwoZerosStays) {
  testing::Random random(3);
  for (const Type type : {Type::f32, Type::f64}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", type}};
    kernel.outputs = {{"least", b.reduce(kir::Op::MinOf, b.input(0)), kir::OutputKind::scalar},
                      {"greatest", b.reduce(kir::Op::MaxOf, b.input(0)), kir::OutputKind::scalar}};
    for (const Isa isa : runnable_isas())
      for (const Variant& variant : kVariants) {
        auto native = testing::map_native(kernel, isa, variant);
        ASSERT_TRUE(native.ok()) << native.error().message;
        for (const std::uint64_t n : kLengths)
          for (const bool ones : {false, true})
            ASSERT_EQ(testing::compare_on(kernel, *native, {special_lanes(type, n, ones, random)}, {}, {.n = n}), "")
                << name_of(isa) << " vectors " << int{variant.vectors} << " n " << n;
      }
  }
}

/// Returns numbers near 1, whose sums and products show the order in which they are made.
std::vector<std::uint64_t> plain_lanes(Type type, std::uint64_t n, testing::Random& random) {
  std::vector<std::uint64_t> lanes(n);
  for (std::uint64_t& lane : lanes) {
    const double value = 1 + (static_cast<double>(random.below(2'000'001)) - 1e6) * 1e-8;
    lane = type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                             : std::bit_cast<std::uint64_t>(value);
  }
  return lanes;
}

TEST(Reduce, SumsAndProductsOfPlainNumbers) {
  testing::Random random(4);
  for (const Type type : {Type::f32, Type::f64}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", type}};
    kernel.outputs = {{"sum", b.reduce(kir::Op::Sum, b.input(0)), kir::OutputKind::scalar},
                      {"product", b.reduce(kir::Op::Prod, b.input(0)), kir::OutputKind::scalar},
                      {"squares", b.reduce(kir::Op::Dot, b.input(0), b.input(0)), kir::OutputKind::scalar}};
    for (const Isa isa : runnable_isas())
      for (const Variant& variant : kVariants) {
        auto native = testing::map_native(kernel, isa, variant);
        ASSERT_TRUE(native.ok()) << native.error().message;
        for (const std::uint64_t n : kLengths)
          ASSERT_EQ(testing::compare_on(kernel, *native, {plain_lanes(type, n, random)}, {}, {.n = n}), "")
              << name_of(isa) << " vectors " << int{variant.vectors} << " n " << n;
      }
  }
}

// The product that a sum takes is not rounded: its factors are elements, values, one value twice, or invariants.
TEST(Reduce, DotsOfAllKindsOfFactors) {
  for (const Type type : {Type::f32, Type::f64}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", type}, {"y", type}};
    kernel.params = {{"p", type}};
    const kir::Value x = b.input(0), y = b.input(1), p = b.param(0), sum = b.add(x, y);
    const std::pair<kir::Value, kir::Value> factors[] = {{x, y}, {x, x}, {sum, sum}, {x, sum}, {p, x}, {p, p}};
    for (const auto& [left, right] : factors)
      kernel.outputs.push_back(
          {"d" + std::to_string(kernel.outputs.size()), b.reduce(kir::Op::Dot, left, right), kir::OutputKind::scalar});
    ASSERT_NO_FATAL_FAILURE(expect_same(kernel));
    kernel.outputs.resize(1);
    ASSERT_NO_FATAL_FAILURE(expect_same(kernel, {70'001}));
  }
}

// More partial results than registers, of both widths, beside arrays that are written.
TEST(Reduce, SeveralOfBothWidths) {
  const std::vector<kir::Op> ops = reductions();
  for (const std::size_t count : {3u, 9u}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", Type::f32}, {"y", Type::f64}};
    const kir::Value x = b.input(0), y = b.input(1);
    kernel.outputs = {{"d", b.mul(x, x)}, {"e", b.add(y, b.convert(kir::Op::Convert, Type::f64, x))}};
    for (std::size_t i = 0; i < count; ++i) {
      const bool wide = i % 2 != 0;
      const kir::Value value = wide ? b.mul(y, b.constant(Type::f64, 0.5 + static_cast<double>(i)))
                                    : b.add(x, b.constant(Type::f32, static_cast<double>(i)));
      kernel.outputs.push_back(
          {"r" + std::to_string(i), b.reduce(ops[i % ops.size()], value), kir::OutputKind::scalar});
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(kernel));
  }
}

TEST(Reduce, TwoOfOneWidth) {
  for (const Type type : {Type::f32, Type::f64}) {
    kir::Kernel kernel;
    kir::Builder b(kernel);
    kernel.inputs = {{"x", type}};
    const kir::Value x = b.input(0);
    kernel.outputs = {{"s", b.reduce(kir::Op::Sum, x), kir::OutputKind::scalar},
                      {"q", b.reduce(kir::Op::Sum, b.mul(x, x)), kir::OutputKind::scalar}};
    ASSERT_NO_FATAL_FAILURE(expect_same(kernel));
  }
}

/// Compares calls around kFetchBytes, and looks for fetches in the code.
void expect_fetches(Type type, ir::Storage storage, std::uint32_t element_bytes) {
  kir::Kernel kernel;
  kir::Builder b(kernel);
  kernel.inputs = {{"x", type, {}, storage}, {"y", type}};
  kernel.outputs = {{"s", b.reduce(kir::Op::Sum, b.mul(b.input(0), b.input(1))), kir::OutputKind::scalar}};
  const std::uint64_t long_call = kFetchBytes / element_bytes;
  for (const Isa isa : runnable_isas())
    for (const std::uint8_t vectors : {std::uint8_t{4}, std::uint8_t{8}}) {
      auto native = testing::map_native(kernel, isa, {.vectors = vectors});
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::uint64_t n : {long_call - 1, long_call + 3 * kir::kChunk + 77})
        ASSERT_EQ(testing::compare_with_interpreter(kernel, *native, {.n = n}), "") << name_of(isa) << " n " << n;
      const auto listing = disassemble(emit(kernel, isa, {.vectors = vectors}).value(), isa);
      ASSERT_TRUE(listing.ok());
      EXPECT_NE(listing->find("prefetcht0"), std::string::npos);
    }
}

// Calls that read kFetchBytes and more have a main loop of their own, which fetches beyond the end of arrays.
TEST(Reduce, LongCallsFetchAhead) {
  expect_fetches(Type::f32, ir::Storage::own, 4 + 4);
  expect_fetches(Type::i32, ir::Storage::u8, 1 + 4);
}

// The number of an element goes on from chunk to chunk.
TEST(Reduce, NumbersOfElementsAcrossChunks) {
  kir::Kernel kernel;
  kir::Builder b(kernel);
  kernel.inputs = {{"x", Type::i64}};
  const kir::Value number = b.index(Type::i64);
  kernel.outputs = {{"i", b.add(number, b.input(0))}, {"s", b.reduce(kir::Op::Sum, number), kir::OutputKind::scalar}};
  ASSERT_NO_FATAL_FAILURE(expect_same(kernel));
}

float sum_of_ones(Isa isa, std::uint64_t n) {
  kir::Kernel kernel;
  kir::Builder b(kernel);
  kernel.params = {{"one", Type::f32}};
  kernel.outputs = {{"s", b.reduce(kir::Op::Sum, b.param(0)), kir::OutputKind::scalar}};
  auto native = testing::map_native(kernel, isa, {.vectors = 8});
  EXPECT_TRUE(native.ok());
  float sum = 0;
  void* out[] = {&sum};
  const std::uint64_t params[] = {std::bit_cast<std::uint32_t>(1.0f)};
  native->entry()(nullptr, n, nullptr, out, params);
  return sum;
}

// Sixteen partial results that only grow would stop at 2^28.
TEST(Reduce, ManyOnesAreCounted) {
  for (const Isa isa : runnable_isas())
    for (const std::uint64_t n : {(std::uint64_t{1} << 29) + 4096, std::uint64_t{1'000'000'000}})
      EXPECT_EQ(sum_of_ones(isa, n), static_cast<float>(n));
}

}  // namespace
}  // namespace trident::codegen
