// Lanes of one and two bytes: which texts have them, and their code at every level, on all pairs of elements and on
// drawn kernels, in lengths around the steps of the loops, at all places within a line, in place. Oracles: reviewed
// widths, and the interpreter of jit/kir, which knows nothing of lanes.
#include "jit/codegen/small_lanes.h"

#include <gtest/gtest.h>

#include <array>

#include "jit/expr/expr.h"
#include "jit/kir/builder.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using ir::Storage;
using kir::Op;
using testing::map_native;
using testing::runnable_isas;

constexpr Variant kLaneVariants[] = {
    {.vectors = 1, .schedule = false}, {.vectors = 1}, {.vectors = 2}, {.vectors = 3, .vector_bits = 256}};

struct Row {
  const char* text;
  std::uint32_t bytes;  ///< of the lanes that the text gets; 0: no small ones
};
const Row kRows[] = {
    // Low bits are enough.
    {"u8(x + y)", 1},
    {"u8(x - y + 77)", 1},
    {"u8(x & 12 | y | 3)", 1},
    {"u8(~x & y)", 1},
    {"u8(-x)", 1},
    {"u8(x*y)", 2},
    {"u8(x << 3)", 1},
    {"u8(x + s)", 1},
    {"u8(x*s - y)", 2},
    {"i8(x - y)", 1},
    {"u8(i8(x))", 1},
    {"u16(x*y*y*y)", 2},
    {"u16(i8(x))", 2},
    // All of a value is.
    {"u8(select(x > y, 255, 0))", 1},
    {"u8(select(x <= y, x, 7))", 1},
    {"u8(select(x < y && x != 3 || !(y == 9), x - y, y))", 1},
    {"u8(select(x - y == 3, x, y))", 2},
    {"u8(select(x == y + 1, x, y))", 2},
    {"u8(select((x & 127) + 100 == (y & 63) - 20, x, y))", 1},
    {"bool8(x >= y)", 1},
    {"u8(min(x, y) + max(x, y))", 1},
    {"u8(x >> 3)", 1},
    {"u8(min(max(x - 128, -100), 27))", 1},
    {"u8(abs(x - 128))", 1},
    {"i8((x - 128) >> 2)", 2},
    {"u8((x*77 + y*179) >> 8)", 2},
    {"u8((x*y + 128) >> 8)", 2},
    {"u8((x*y*3) >> 10)", 0},
    {"u8(max(x*y*3, 9))", 0},
    // Values that do not fit are never made.
    {"u8(abs(x - y))", 1},
    {"u8(min(x + y, 255))", 1},
    {"u8(min(x + y, 99))", 1},
    {"u8(min(y, x + y))", 1},
    {"u8_sat(x + y)", 1},
    {"u8_sat(x - y)", 1},
    {"u8(max(x - y, 5))", 1},
    {"u8((x + y + 1) >> 1)", 1},
    {"u8((1 + x + y) >> 1)", 1},
    {"u8((x + y) >> 1)", 1},
    {"i8_sat((x - 128) + (y - 128))", 1},
    {"i8_sat((x - 128) - (y - 128))", 1},
    {"u8(abs((x - 128) - (y - 128)))", 1},
    // Other lanes.
    {"u8(f32(x)*0.5)", 0},
    {"u8(x) + 0", 0},
    {"u32(x)", 0},
    {"(u8(x + y), u16(x*y))", 2},
};
const Row kWordRows[] = {
    {"u16(abs(x - y))", 2},
    {"u16_sat(x + y)", 2},
    {"u16_sat(x - y)", 2},
    {"u16((x + y + 1) >> 1)", 2},
    {"u16((x + y) >> 1)", 2},
    {"u16((x + y) >> 2)", 0},
    {"u16((x*y) >> 8)", 0},
    {"u16(((x & 32767)*y) >> 16)", 2},
    {"u8(x >> 8)", 2},
    {"u8(x)", 2},
    {"i16_sat((x - 32768) + (y - 32768))", 2},
    {"i16_sat((x - 32768) - (y - 32768))", 2},
    {"i16(((x - 32768)*(y - 32768)) >> 16)", 2},
    {"u16(x << 3) ", 2},
    {"i16((x - 32768) >> 3)", 2},
    {"u16(select(x - 32768 < y - 32768, x, y))", 2},
};

kir::Kernel kernel_of(const Row& row, Storage storage) {
  const std::string name(ir::facts_of(storage).name);
  const auto parsed = expr::parse("x: " + name + ", y: " + name + ", param s: i32; " + row.text);
  if (!parsed.ok()) ADD_FAILURE() << parsed.error().message;
  auto lowered = expr::lower(*parsed, {.policy = {}, .simplify = false, .narrow = false});
  CHECK(lowered.ok());
  return *lowered;
}

void expect_width(const kir::Kernel& kernel, const Row& row) {
  const auto plan = small_lanes(kernel);
  EXPECT_EQ(plan ? plan->bytes : 0, row.bytes) << row.text << "\n" << print(kernel);
}

TEST(SmallLanes, TextsHaveTheirWidths) {
  for (const Row& row : kRows) expect_width(kernel_of(row, Storage::u8), row);
  for (const Row& row : kWordRows) expect_width(kernel_of(row, Storage::u16), row);
}

/// Compares on `n` elements at all levels.
void expect_same(const kir::Kernel& kernel, const std::vector<std::vector<std::uint64_t>>& inputs, std::uint64_t n) {
  for (const Isa isa : runnable_isas())
    for (const Variant& variant : kLaneVariants) {
      const auto native = map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      ASSERT_EQ(testing::compare_on(kernel, *native, inputs, {0x1234'5678'9ABC'DEF1u}, {.n = n}), "")
          << name_of(isa) << "\n"
          << print(kernel);
    }
}

TEST(SmallLanes, AllPairsOfBytes) {
  std::vector<std::vector<std::uint64_t>> pairs(2);
  for (std::uint64_t i = 0; i < 65'536; ++i) pairs[0].push_back(i >> 8), pairs[1].push_back(i & 255);
  for (const Row& row : kRows)
    for (const Storage storage : {Storage::u8, Storage::i8}) expect_same(kernel_of(row, storage), pairs, 65'536);
}

TEST(SmallLanes, WordsAtTheirEndsAndBetween) {
  std::vector<std::vector<std::uint64_t>> pairs(2);
  testing::Random random(7);
  constexpr std::uint64_t kEnds[] = {0, 1, 2, 127, 128, 255, 256, 32766, 32767, 32768, 32769, 65534, 65535};
  for (const std::uint64_t x : kEnds)
    for (const std::uint64_t y : kEnds) pairs[0].push_back(x), pairs[1].push_back(y);
  for (int i = 0; i < 20'000; ++i) pairs[0].push_back(random.below(65'536)), pairs[1].push_back(random.below(65'536));
  for (const Row& row : kWordRows)
    for (const Storage storage : {Storage::u16, Storage::i16})
      expect_same(kernel_of(row, storage), pairs, pairs[0].size());
}

/// More truths at once than there are mask registers: those in the frame keep 64 bits each.
TEST(SmallLanes, TruthsInTheFrame) {
  constexpr std::uint32_t kTruths = 12;
  kir::Kernel kernel;
  kernel.inputs = {{"x", ir::Type::i32, {}, Storage::u8}, {"y", ir::Type::i32, {}, Storage::u8}};
  kir::Builder b(kernel);
  std::vector<kir::Value> truths;
  kir::Value value = b.input(1);
  for (std::uint32_t i = 0; i < kTruths; ++i) {
    truths.push_back(b.lt(b.input(0), b.constant_int(ir::Type::i32, 20 * i + 5)));
    value = b.select(truths[i], b.add(value, b.input(0)), b.op(Op::Not, value));
  }
  for (const kir::Value truth : truths) value = b.select(truth, b.sub(value, b.input(1)), b.neg(value));
  kernel.outputs = {{"z", value, kir::OutputKind::array, Storage::u8}};
  ASSERT_EQ(small_lanes(kernel)->bytes, 1U);
  const auto code = emit(kernel, Isa::avx512, {.vectors = 1});
  ASSERT_TRUE(code.ok());
  EXPECT_GT(code->spills, 0U);
  std::vector<std::vector<std::uint64_t>> pairs(2);
  for (std::uint64_t i = 0; i < 65'536; ++i) pairs[0].push_back(i & 255), pairs[1].push_back(i >> 8);
  expect_same(kernel, pairs, 65'536);
}

/// Draws kernels of i32 over narrow arrays, of ops that small lanes have.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  kir::Kernel run() {
    constexpr Storage kIn[] = {Storage::u8, Storage::i8, Storage::boolean, Storage::u8, Storage::u16, Storage::i16};
    const bool words = random_.one_in(2);
    for (int i = 0; i < 3; ++i) kernel_.inputs.push_back({"x", ir::Type::i32, {}, kIn[random_.below(words ? 6 : 4)]});
    kernel_.params = {{"s", ir::Type::i32}};
    for (std::uint32_t i = 0; i < 3; ++i) values_.push_back(b_.input(i));
    values_.push_back(b_.constant_int(ir::Type::i32, static_cast<std::int64_t>(random_.below(256))));
    if (random_.one_in(4)) values_.push_back(b_.param(0));
    for (std::uint64_t ops = 2 + random_.below(7); ops > 0; --ops) values_.push_back(drawn());
    constexpr Storage kOut[] = {Storage::u8, Storage::i8, Storage::u16, Storage::i16};
    for (int i = 0; i < 2; ++i) {
      const kir::Value value = values_[values_.size() - 1 - random_.below(3)];
      kernel_.outputs.push_back({"y", value, kir::OutputKind::array, kOut[random_.below(words ? 4 : 2)]});
    }
    return std::move(kernel_);
  }

 private:
  kir::Value any() { return values_[random_.below(static_cast<std::uint32_t>(values_.size()))]; }
  kir::Value integer(std::int64_t value) { return b_.constant_int(ir::Type::i32, value); }

  kir::Value drawn() {
    constexpr Op kPairs[] = {Op::Add, Op::Sub, Op::And, Op::Or, Op::Xor, Op::AndNot, Op::Min, Op::Max, Op::Mul};
    constexpr Op kShifts[] = {Op::Shl, Op::Shr, Op::Sar};
    constexpr Op kComparisons[] = {Op::Lt, Op::Le, Op::Eq, Op::Ne};
    const kir::Value x = any(), y = any();
    switch (random_.below(10)) {
      case 0: return b_.op(kShifts[random_.below(3)], x, integer(static_cast<std::int64_t>(random_.below(9))));
      case 1: return b_.select(b_.op(kComparisons[random_.below(4)], x, y), any(), any());
      case 2: return b_.op(Op::And, x, integer(random_.one_in(2) ? 255 : 15));
      case 3: return b_.abs(random_.one_in(2) ? b_.sub(x, y) : x);
      case 4: return b_.min(b_.max(random_.one_in(2) ? b_.add(x, y) : b_.sub(x, y), integer(0)), integer(255));
      case 5: return b_.max(b_.min(b_.add(x, y), integer(127)), integer(-128));
      case 6: return b_.op(Op::Sar, b_.add(b_.add(x, y), integer(1)), integer(1));
      case 7: return b_.op(Op::Sar, b_.op(Op::Shl, x, integer(24)), integer(24));
      case 8: return b_.op(random_.one_in(2) ? Op::Not : Op::Neg, x);
      default: return b_.op(kPairs[random_.below(std::size(kPairs))], x, y);
    }
  }

  testing::Random random_;
  kir::Kernel kernel_;
  kir::Builder b_{kernel_};
  std::vector<kir::Value> values_;
};

void expect_same_in_all_places(const kir::Kernel& kernel, std::uint64_t seed) {
  constexpr std::uint64_t kLengths[] = {0, 1, 15, 16, 31, 63, 64, 65, 127, 200, 511, 513, 1100, 2111};
  for (const Isa isa : runnable_isas()) {
    const auto native = map_native(kernel, isa, kLaneVariants[seed % std::size(kLaneVariants)]);
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint64_t n : kLengths)
      ASSERT_EQ(testing::compare_with_interpreter(kernel, *native,
                                                  {.n = n,
                                                   .in_place = (n + seed) % 2 == 0,
                                                   .at_front = (n + seed) % 3 == 0,
                                                   .misalign = static_cast<std::uint32_t>((n + 7 * seed) % 64),
                                                   .seed = seed + n}),
                "")
          << name_of(isa) << ", n " << n << "\n"
          << print(kernel);
  }
}

TEST(SmallLanes, DrawnKernels) {
  std::array<int, 3> widths{};
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const kir::Kernel kernel = Drawing(seed).run();
    ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
    const auto plan = small_lanes(kernel);
    ++widths[plan ? plan->bytes : 0];
    if (plan) expect_same_in_all_places(kernel, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(widths[1], 60);
  EXPECT_GT(widths[2], 60);
}

}  // namespace
}  // namespace trident::codegen
