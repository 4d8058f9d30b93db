// Elements of arrays that are narrower than values, in the interpreter. Oracle: conversions of C++, and for f16 those
// of the processor where it has them, else exact arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "tests/support/random.h"

namespace trident::kir {
namespace {

/// The value of a half by its definition.
double value_of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

/// The nearest half by search; the even one of two.
std::uint16_t nearest_half(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(value));
  if (size >= 65520) return sign | 0x7C00;
  std::uint16_t below = 0, above = 0x7C00;
  while (above - below > 1) {
    const auto middle = static_cast<std::uint16_t>((below + above) / 2);
    (value_of_half(middle) <= size ? below : above) = middle;
  }
  const double up = above == 0x7C00 ? 65536 : value_of_half(above);
  const double left = size - value_of_half(below), right = up - size;
  return sign | (left < right || (left == right && below % 2 == 0) ? below : above);
}

TEST(Storage, EveryHalfHasItsValue) {
  for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    float value = 0;
    ir::widen(Storage::f16, &half, &value, 1);
    const double wanted = value_of_half(half);
    if (std::isnan(wanted))
      ASSERT_GE(std::bit_cast<std::uint32_t>(value) & 0x7FFF'FFFFu, 0x7FC0'0000u) << bits;  // quiet
    else
      ASSERT_EQ(std::bit_cast<std::uint64_t>(wanted), std::bit_cast<std::uint64_t>(static_cast<double>(value))) << bits;
  }
}

TEST(Storage, FloatsRoundToTheNearestHalf) {
  testing::Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    auto bits = static_cast<std::uint32_t>(random.next());
    if (i % 2 == 0) {  // near the middle between two halves
      const auto half = static_cast<std::uint16_t>(random.below(0x7C00));
      bits = std::bit_cast<std::uint32_t>(static_cast<float>((value_of_half(half) + value_of_half(half + 1)) / 2));
      bits += static_cast<std::uint32_t>(random.below(3)) - 1;
    }
    const auto value = std::bit_cast<float>(bits);
    std::uint16_t half = 0;
    ir::narrow(Storage::f16, &value, &half, 1);
    if (std::isnan(value))
      ASSERT_TRUE((half & 0x7FFF) > 0x7C00) << bits;
    else
      ASSERT_EQ(half, nearest_half(value)) << bits;
  }
}

template <class Element, class T>
void expect_conversions(Storage storage) {
  Kernel kernel;
  const Type type = ir::facts_of(storage).type;
  kernel.inputs = {{"x", type, {}, storage}};
  kernel.params = {{"s", type}};
  Builder b(kernel);
  const Value x = b.input(0);
  kernel.outputs = {{"wide", b.add(x, b.constant_int(type, 3))},
                    {"low", b.mul(x, b.constant_int(type, 1001)), OutputKind::array, storage},
                    {"copy", x, OutputKind::array, storage},
                    {"filled", b.param(0), OutputKind::array, storage},
                    {"sum", b.reduce(Op::Sum, x), OutputKind::scalar}};
  ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
  const auto printed = parse(print(kernel));
  ASSERT_TRUE(printed.ok()) << printed.error().message;
  ASSERT_EQ(print(*printed), print(kernel));
  testing::Random random(2);
  for (const std::size_t n : {0, 1, 5, 16, 17, 100, 5000}) {
    std::vector<Element> elements(n), low(n), copy(n), filled(n);
    for (Element& e : elements) e = static_cast<Element>(random.next());
    std::vector<T> wide(n);
    T sum = 0;
    const void* in[] = {elements.data()};
    void* out[] = {wide.data(), low.data(), copy.data(), filled.data(), &sum};
    const std::uint64_t params[] = {300};
    interpret(*printed, n, in, out, params);
    T total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto value = static_cast<T>(elements[i]);
      total = static_cast<T>(static_cast<std::uint64_t>(total) + static_cast<std::uint64_t>(value));
      ASSERT_EQ(wide[i], value + 3) << ir::facts_of(storage).name << " " << i;
      ASSERT_EQ(low[i], static_cast<Element>(static_cast<std::uint64_t>(value) * 1001));
      ASSERT_EQ(copy[i], elements[i]);
      ASSERT_EQ(filled[i], static_cast<Element>(300));
    }
    ASSERT_EQ(sum, total);
  }
}

TEST(Storage, IntegersWidenOnLoadAndKeepTheirLowBitsOnStore) {
  expect_conversions<std::uint8_t, std::int32_t>(Storage::u8);
  expect_conversions<std::uint8_t, std::int32_t>(Storage::boolean);
  expect_conversions<std::int8_t, std::int32_t>(Storage::i8);
  expect_conversions<std::uint16_t, std::int32_t>(Storage::u16);
  expect_conversions<std::int16_t, std::int32_t>(Storage::i16);
  expect_conversions<std::uint32_t, std::int64_t>(Storage::u32);
  expect_conversions<std::uint64_t, std::int64_t>(Storage::u64);
}

TEST(Storage, OutputsMayTakeThePlaceOfInputs) {
  Kernel kernel;
  kernel.inputs = {{"x", Type::i32, {}, Storage::u8}, {"y", Type::i32, {}, Storage::u8}};
  Builder b(kernel);
  kernel.outputs = {{"swapped", b.input(1), OutputKind::array, Storage::u8},
                    {"sum", b.add(b.input(0), b.input(1)), OutputKind::array, Storage::u8}};
  for (const std::size_t n : {3, 16, 1000, 3001}) {
    std::vector<std::uint8_t> x(n), y(n);
    for (std::size_t i = 0; i < n; ++i)
      x[i] = static_cast<std::uint8_t>(i * 7), y[i] = static_cast<std::uint8_t>(i * 31);
    const std::vector<std::uint8_t> first = x, second = y;
    const void* in[] = {x.data(), y.data()};
    void* out[] = {x.data(), y.data()};
    interpret(kernel, n, in, out, nullptr);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(x[i], second[i]);
      ASSERT_EQ(y[i], static_cast<std::uint8_t>(first[i] + second[i]));
    }
  }
}

TEST(Storage, OnlyArraysOfFittingValuesHaveOne) {
  for (const char* text : {"input x f32 as u8\n%0 = input f32 0\noutput y %0\n",
                           "param s i32 as u8\n%0 = param i32 0\noutput scalar y %0\n",
                           "input x i32\n%0 = input i32 0\noutput y %0 as u32\n",
                           "input x i32\n%0 = input i32 0\n%1 = sum i32 %0\noutput scalar y %1 as u8\n",
                           "input t i32 length 0 as u8\nparam t.length i64\n%0 = param i64 0\noutput scalar y %0\n"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace trident::kir
