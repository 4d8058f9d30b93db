// Oracle: each op's definition once more, bit by bit or on 128-bit integers.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace trident::region
