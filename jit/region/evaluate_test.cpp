// Oracle: each op's definition once more, bit by bit or on 128-bit integers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "jit/region/interpreter.h"
#include "tests/support/random.h"

namespace trident::region {
namespace {

using Wide = __int128;

struct Operands {
  unsigned width;
  std::uint64_t a, b, c;
  [[nodiscard]] std::uint64_t mask() const { return width == 64 ? ~0ull : (1ull << width) - 1; }
  [[nodiscard]] Wide as_signed(std::uint64_t x) const {
    return (x >> (width - 1) & 1) != 0 ? Wide{x} - (Wide{1} << width) : Wide{x};
  }
  [[nodiscard]] bool bit(std::uint64_t x, unsigned i) const { return (x >> i & 1) != 0; }
  /// The integer whose bit i is choose(i).
  template <class F>
  [[nodiscard]] std::uint64_t bits(F choose) const {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < width; ++i) result |= std::uint64_t{choose(i)} << i;
    return result;
  }
  [[nodiscard]] std::uint64_t wrapped(Wide x) const { return static_cast<std::uint64_t>(x) & mask(); }
};

std::uint64_t quotient(const Operands& o) {
  const Wide a = o.as_signed(o.a), b = o.as_signed(o.b);
  if (b == 0) return 0;
  Wide magnitude = (a < 0 ? -a : a) / (b < 0 ? -b : b);
  return o.wrapped((a < 0) != (b < 0) ? -magnitude : magnitude);
}

std::uint64_t expected(Op op, const Operands& o) {
  const unsigned n = o.width, s = static_cast<unsigned>(o.b % n);
  switch (op) {
    case Op::Add: return o.wrapped(Wide{o.a} + o.b);
    case Op::Sub: return o.wrapped(Wide{o.a} - o.b);
    case Op::Mul: return o.wrapped(static_cast<Wide>(static_cast<unsigned __int128>(o.a) * o.b));
    case Op::UMulHigh: return static_cast<std::uint64_t>(static_cast<unsigned __int128>(o.a) * o.b >> n) & o.mask();
    case Op::SMulHigh: return o.wrapped((o.as_signed(o.a) * o.as_signed(o.b)) >> n);
    case Op::UDiv: return o.b == 0 ? 0 : o.wrapped(Wide{o.a} / Wide{o.b});
    case Op::SDiv: return quotient(o);
    case Op::And: return o.bits([&](unsigned i) { return o.bit(o.a, i) && o.bit(o.b, i); });
    case Op::Or: return o.bits([&](unsigned i) { return o.bit(o.a, i) || o.bit(o.b, i); });
    case Op::Xor: return o.bits([&](unsigned i) { return o.bit(o.a, i) != o.bit(o.b, i); });
    case Op::Not: return o.bits([&](unsigned i) { return !o.bit(o.a, i); });
    case Op::Neg: return o.wrapped(-Wide{o.a});
    case Op::Shl: return o.bits([&](unsigned i) { return i >= s && o.bit(o.a, i - s); });
    case Op::Shr: return o.bits([&](unsigned i) { return i + s < n && o.bit(o.a, i + s); });
    case Op::Sar: return o.bits([&](unsigned i) { return o.bit(o.a, i + s < n ? i + s : n - 1); });
    case Op::Rotr: return o.bits([&](unsigned i) { return o.bit(o.a, (i + s) % n); });
    case Op::Clz: {
      std::uint64_t count = 0;
      while (count < n && !o.bit(o.a, n - 1 - static_cast<unsigned>(count))) ++count;
      return count;
    }
    case Op::BitSwap: return o.bits([&](unsigned i) { return o.bit(o.a, n - 1 - i); });
    case Op::ByteSwap: return o.bits([&](unsigned i) { return o.bit(o.a, n - 8 - i / 8 * 8 + i % 8); });
    case Op::Sext8: return o.bits([&](unsigned i) { return o.bit(o.a, i < 7 ? i : 7); });
    case Op::Sext16: return o.bits([&](unsigned i) { return o.bit(o.a, i < 15 ? i : 15); });
    case Op::Eq: return Wide{o.a} - o.b == 0;
    case Op::Ne: return Wide{o.a} - o.b != 0;
    case Op::ULt: return Wide{o.a} - Wide{o.b} < 0;
    case Op::ULe: return Wide{o.a} - Wide{o.b} <= 0;
    case Op::SLt: return o.as_signed(o.a) - o.as_signed(o.b) < 0;
    case Op::SLe: return o.as_signed(o.a) - o.as_signed(o.b) <= 0;
    case Op::Constant:
    case Op::FAdd:
    case Op::FSub:
    case Op::FMul:
    case Op::FDiv:
    case Op::FSqrt:
    case Op::FFma:
    case Op::FFloor:
    case Op::FCeil:
    case Op::FTrunc:
    case Op::FRint:
    case Op::FMin:
    case Op::FMax:
    case Op::FNeg:
    case Op::FAbs:
    case Op::FCopysign:
    case Op::FLt:
    case Op::FLe:
    case Op::FEq:
    case Op::FNe:
    case Op::IntToFloat:
    case Op::FloatToInt:
    case Op::BitsToFloat:
    case Op::FloatToBits:
    case Op::Get:
    case Op::Set:
    case Op::Zext32:
    case Op::Sext32:
    case Op::Trunc:
    case Op::Select:
    case Op::Access:
    case Op::Load:
    case Op::Store: break;
  }
  ADD_FAILURE() << info(op).text << " is no op on two equal types";
  return 0;
}

std::vector<std::uint64_t> samples(unsigned width) {
  std::vector<std::uint64_t> values = {0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 127, 128, 255, 32767, 32768, 65535};
  const std::uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  for (const std::uint64_t top :
       {std::uint64_t{mask}, mask >> 1, (mask >> 1) + 1, mask - 1, (mask >> 1) + 2, std::uint64_t{0xFFFF'FFFF} & mask})
    values.push_back(top);
  testing::Random random(width);
  for (int i = 0; i < 30; ++i) values.push_back(random.next() & mask);
  return values;
}

TEST(Evaluate, IsEveryOpsDefinition) {
  for (std::uint32_t number = 0; number < kOpCount; ++number) {
    const auto op = static_cast<Op>(number);
    if (info(op).signature != Signature::Same && info(op).signature != Signature::Compare) continue;
    for (const Type type : {Type::i32, Type::i64}) {
      const unsigned width = bytes_of(type) * 8;
      for (const std::uint64_t a : samples(width))
        for (const std::uint64_t b : samples(width))
          ASSERT_EQ(evaluate(op, type, a, b, 0), expected(op, {width, a, b, 0}))
              << info(op).text << " " << name_of(type) << " " << a << " " << b;
    }
  }
}

TEST(Evaluate, ConvertsAndSelects) {
  EXPECT_EQ(evaluate(Op::Zext32, Type::i32, 0x8000'0001, 0, 0), 0x8000'0001u);
  EXPECT_EQ(evaluate(Op::Sext32, Type::i32, 0x8000'0001, 0, 0), 0xFFFF'FFFF'8000'0001u);
  EXPECT_EQ(evaluate(Op::Sext32, Type::i32, 0x7FFF'FFFF, 0, 0), 0x7FFF'FFFFu);
  EXPECT_EQ(evaluate(Op::Trunc, Type::i64, 0xFFFF'FFFF'8000'0001, 0, 0), 0x8000'0001u);
  EXPECT_EQ(evaluate(Op::Select, Type::i64, 2, ~5ull, 6), ~5ull);
  EXPECT_EQ(evaluate(Op::Select, Type::i64, 0, ~5ull, ~6ull), ~6ull);
  EXPECT_EQ(evaluate(Op::Select, Type::i32, 1, 5, 6), 5u);
}

double from_bits(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The result of one float op by the C library, in long double where that is exact enough.
double expected_float(Op op, double a, double b, double c) {
  // NOLINTBEGIN: a switch would list every op
  if (op == Op::FAdd) return a + b;
  if (op == Op::FSub) return a - b;
  if (op == Op::FMul) return a * b;
  if (op == Op::FDiv) return a / b;
  if (op == Op::FSqrt) return std::sqrt(a);
  if (op == Op::FFma) return std::fma(a, b, c);
  if (op == Op::FFloor) return std::floor(a);
  if (op == Op::FCeil) return std::ceil(a);
  if (op == Op::FTrunc) return a < 0 ? std::ceil(a) : std::floor(a);
  if (op == Op::FRint)
    return std::round(a) - a == 0.5 || std::round(a) - a == -0.5 ? 2 * std::round(a / 2) : std::round(a);
  // The library's make NaN of one that signals.
  if ((op == Op::FMin || op == Op::FMax) && (std::isnan(a) || std::isnan(b))) return std::isnan(a) ? b : a;
  if (op == Op::FMin) return std::fmin(a, b);
  if (op == Op::FMax) return std::fmax(a, b);
  if (op == Op::FNeg) return -a;
  if (op == Op::FAbs) return std::fabs(a);
  if (op == Op::FCopysign) return std::copysign(a, b);
  // NOLINTEND
  ADD_FAILURE() << info(op).text;
  return 0;
}

constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51;

/// The bits of a result that is NaN, as ops.def says.
std::uint64_t nan_bits(Op op, std::uint64_t a, std::uint64_t b) {
  if (op == Op::FFma) return 0x7FF8'0000'0000'0000;
  if (std::isnan(from_bits(a))) return a | kQuiet;
  return std::isnan(from_bits(b)) && info(op).arity > 1 ? b | kQuiet : 0xFFF8'0000'0000'0000;
}

std::vector<std::uint64_t> float_samples() {
  std::vector<std::uint64_t> values;
  testing::Random random(7);
  for (int i = 0; i < 120; ++i) values.push_back(random.float_bits());
  return values;
}

TEST(Evaluate, FloatsAreThoseOfTheLibraryWithStatedNans) {
  for (std::uint32_t number = 0; number < kOpCount; ++number) {
    const auto op = static_cast<Op>(number);
    const bool moves = op == Op::FNeg || op == Op::FAbs || op == Op::FCopysign || op == Op::FMin || op == Op::FMax;
    if (info(op).signature != Signature::Float) continue;
    for (const std::uint64_t a : float_samples())
      for (const std::uint64_t b : float_samples()) {
        const std::uint64_t c = a ^ b;
        const std::uint64_t got = evaluate(op, Type::f64, a, b, c);
        const double want = expected_float(op, from_bits(a), from_bits(b), from_bits(c));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(from_bits(got))) << info(op).text << std::hex << " " << a << " " << b;
          ASSERT_TRUE(moves || got == nan_bits(op, a, b)) << info(op).text << std::hex << " " << a << " " << b;
        } else {
          ASSERT_EQ(from_bits(got), want) << info(op).text << std::hex << " " << a << " " << b;
          const bool is_extreme = op == Op::FMin || op == Op::FMax;  // of 0 and -0 the library may give either
          ASSERT_TRUE(is_extreme || std::signbit(from_bits(got)) == std::signbit(want)) << info(op).text;
        }
      }
  }
}

TEST(Evaluate, FloatsMoveBitsCompareAndConvert) {
  const std::uint64_t nan = 0x7FF0'0000'0000'0001, one = 0x3FF0'0000'0000'0000, sign = std::uint64_t{1} << 63;
  EXPECT_EQ(evaluate(Op::FNeg, Type::f64, nan, 0, 0), nan | sign);
  EXPECT_EQ(evaluate(Op::FAbs, Type::f64, nan | sign, 0, 0), nan);
  EXPECT_EQ(evaluate(Op::FCopysign, Type::f64, one, nan | sign, 0), one | sign);
  EXPECT_EQ(evaluate(Op::FMin, Type::f64, nan, nan | 2, 0), nan | 2);
  EXPECT_EQ(evaluate(Op::FMin, Type::f64, 0, sign, 0), 0u) << "the first of two zeros";
  EXPECT_EQ(evaluate(Op::FMax, Type::f64, sign, 0, 0), sign);
  for (const std::uint64_t a : float_samples())
    for (const std::uint64_t b : float_samples()) {
      const double x = from_bits(a), y = from_bits(b);
      const bool ordered = !std::isnan(x) && !std::isnan(y);
      EXPECT_EQ(evaluate(Op::FLt, Type::f64, a, b, 0), ordered && x < y ? 1u : 0u);
      EXPECT_EQ(evaluate(Op::FLe, Type::f64, a, b, 0), ordered && !(x > y) ? 1u : 0u);
      EXPECT_EQ(evaluate(Op::FEq, Type::f64, a, b, 0), ordered && !(x < y) && !(x > y) ? 1u : 0u);
      EXPECT_EQ(evaluate(Op::FNe, Type::f64, a, b, 0), ordered && !(x < y) && !(x > y) ? 0u : 1u);
    }
  const auto to_int = [](double x) {
    return static_cast<std::int64_t>(evaluate(Op::FloatToInt, Type::f64, std::bit_cast<std::uint64_t>(x), 0, 0));
  };
  EXPECT_EQ(to_int(-3.9), -3);
  EXPECT_EQ(to_int(0x1p63), INT64_MIN);
  EXPECT_EQ(to_int(-0x1p63), INT64_MIN);
  EXPECT_EQ(to_int(0x1.fffffffffffffp62), 0x7FFF'FFFF'FFFF'FC00);
  EXPECT_EQ(to_int(from_bits(nan)), INT64_MIN);
  const auto from_int = [](std::int64_t x) {
    return from_bits(evaluate(Op::IntToFloat, Type::i64, static_cast<std::uint64_t>(x), 0, 0));
  };
  EXPECT_EQ(from_int(-5), -5.0);
  EXPECT_EQ(from_int(0x20'0000'0000'0001), 0x1p53) << "a tie goes to even";
  EXPECT_EQ(from_int(0x20'0000'0000'0003), 0x1p53 + 4);
  EXPECT_EQ(evaluate(Op::FloatToBits, Type::f64, nan, 0, 0), nan);
  EXPECT_EQ(evaluate(Op::BitsToFloat, Type::i64, nan, 0, 0), nan);
}

}  // namespace
}  // namespace trident::region
