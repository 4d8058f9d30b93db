// Calls on strided arrays. Oracle: the same call on copies whose elements lie one after the other, made by plain loops.
#include "clients/c/strided_call.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "clients/c/interpreted_context.h"
#include "clients/c/trident.h"
#include "jit/ir/storage.h"
#include "tests/support/random.h"

namespace trident::client {
namespace {

using testing::Random;
using Shape = std::vector<std::uint64_t>;
using Strides = std::vector<std::int64_t>;

/// One array somewhere in a block of bytes that has nothing else in it.
struct Placed {
  std::vector<std::byte> block;
  std::int64_t start = 0;
  Strides strides;

  [[nodiscard]] std::byte* data() { return block.data() + start; }
};

std::uint64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Calls visit(offset) for each element in C order.
template <class Visit>
void each_element(const Shape& shape, const Strides& strides, Visit visit) {
  for (std::uint64_t i = 0; i < count_of(shape); ++i) {
    std::int64_t offset = 0;
    std::uint64_t left = i;
    for (std::size_t d = shape.size(); d-- > 0; left /= shape[d])
      offset += static_cast<std::int64_t>(left % shape[d]) * strides[d];
    visit(offset);
  }
}

/// Draws strides under which no two elements meet, dimensions in any order; for inputs some that repeat elements.
Placed drawn(Random& random, const Shape& shape, std::uint32_t bytes, bool is_input) {
  Placed placed;
  placed.strides.assign(shape.size(), 0);
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    if (random.one_in(3)) std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  std::int64_t next = bytes * (random.one_in(2) ? 1 : static_cast<std::int64_t>(1 + random.below(4)));
  std::int64_t below = 0, above = bytes;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto extent = static_cast<std::int64_t>(shape[order[i]]);
    const std::int64_t stride = is_input && random.one_in(6) ? 0 : random.one_in(3) ? -next : next;
    placed.strides[order[i]] = stride;
    const std::int64_t reach = stride * std::max<std::int64_t>(extent - 1, 0);
    (reach < 0 ? below : above) += reach;
    next *= std::max<std::int64_t>(extent, 1);
    if (random.one_in(4)) next += bytes + (random.one_in(4) ? 1 : 0);  // rows at odd addresses, too
  }
  placed.start = -below + static_cast<std::int64_t>(random.below(9));
  placed.block.assign(static_cast<std::size_t>(placed.start + above + 8), std::byte{0xA5});
  return placed;
}

struct Text {
  const char* text;
  std::vector<trident_type> arrays;  ///< types of a, b, ..
};
const Text kTexts[] = {
    {"a*b + 1", {TRIDENT_F64, TRIDENT_F64}},
    {"a < b", {TRIDENT_F32, TRIDENT_F64}},
    {"p = u8_sat(a + b); q = i16(a - b); (p, q)", {TRIDENT_U8, TRIDENT_I16}},
    {"p = a + b; s = sum(a*b); m = maxof(b); (p, s, m)", {TRIDENT_I64, TRIDENT_U32}},
    {"sum(a*0.1)", {TRIDENT_F64}},
    {"p = any(a > b); q = all(a == a); (p, q)", {TRIDENT_F32, TRIDENT_F32}},
    {"f16(a + b)", {TRIDENT_F16, TRIDENT_F32}},
    {"a - mean(a)", {TRIDENT_F64}},     // does not divide
    {"f64(index) + a", {TRIDENT_F64}},  // nor does this
    {"bool8(a > b)", {TRIDENT_BOOL, TRIDENT_U64}},
};

class StridedCallTest : public InterpretedContext {
 protected:
  void submit(const Text& text) {
    close_kernels();
    static const char* const kNames[] = {"a", "b"};
    std::vector<trident_variable> variables;
    for (std::size_t i = 0; i < text.arrays.size(); ++i)
      variables.push_back({kNames[i], static_cast<std::uint32_t>(text.arrays[i]), TRIDENT_ARRAY, -HUGE_VAL, HUGE_VAL});
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.policy = TRIDENT_EXACT;
    options.variables = variables.data();
    options.variable_count = static_cast<std::uint32_t>(variables.size());
    kernel_ = InterpretedContext::submit(text.text, &options);
    ASSERT_NE(nullptr, kernel_);
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    ASSERT_EQ(TRIDENT_OK, trident_info(kernel_, &info));
    arrays_ = info.array_count, outputs_ = info.output_count;
  }
  static std::uint32_t bytes_of(int type) {
    const auto element = *ir::element_of_number(static_cast<std::uint32_t>(type));
    return ir::bytes_of(element.type, element.storage);
  }

  /// Compares one call on arrays that are placed at random.
  void expect_same(Random& random, const Shape& shape, std::uint32_t threads, bool in_place) {
    const std::uint64_t n = count_of(shape);
    std::vector<Placed> in, out;
    std::vector<std::vector<std::byte>> plain, wanted;
    for (std::uint32_t i = 0; i < arrays_; ++i)
      add_input(random, shape, in, plain, bytes_of(trident_array_type(kernel_, i)), in_place);
    for (std::uint32_t o = 0; o < outputs_; ++o) {
      const bool scalar = trident_output_is_scalar(kernel_, o) == 1;
      const std::uint32_t bytes = bytes_of(trident_output_type(kernel_, o));
      out.push_back(scalar ? Placed{std::vector<std::byte>(8), 0, {}} : drawn(random, shape, bytes, false));
      wanted.emplace_back(scalar ? 8 : n * bytes);
    }
    std::vector<const void*> in_places, plain_places;
    std::vector<void*> out_places, wanted_places;
    std::vector<const std::int64_t*> in_strides, out_strides;
    for (std::size_t i = 0; i < in.size(); ++i) {
      in_places.push_back(in[i].data()), in_strides.push_back(in[i].strides.data());
      plain_places.push_back(plain[i].data());
    }
    const bool takes = in_place && !in.empty() && trident_output_is_scalar(kernel_, 0) != 1 &&
                       bytes_of(trident_output_type(kernel_, 0)) == bytes_of(trident_array_type(kernel_, 0));
    if (takes) out[0] = in[0];
    for (std::size_t o = 0; o < out.size(); ++o) {
      out_places.push_back(o == 0 && takes ? in[0].data() : out[o].data());
      out_strides.push_back(out[o].strides.empty() && !shape.empty() ? nullptr : out[o].strides.data());
      wanted_places.push_back(wanted[o].data());
    }
    trident_call(kernel_, n, plain_places.data(), wanted_places.data(), nullptr);
    ASSERT_EQ(TRIDENT_OK,
              trident_call_strided(kernel_, static_cast<std::uint32_t>(shape.size()), shape.data(), in_places.data(),
                                   in_strides.data(), out_places.data(), out_strides.data(), nullptr, threads))
        << trident_last_error();
    for (std::size_t o = 0; o < out.size(); ++o) {
      Placed& made = o == 0 && takes ? in[0] : out[o];
      if (trident_output_is_scalar(kernel_, static_cast<std::uint32_t>(o)) == 1) {
        ASSERT_EQ(made.block, wanted[o]);
        continue;
      }
      Placed expected = out[o];  // as it was before the call, for what lies between the elements
      const std::uint32_t bytes = bytes_of(trident_output_type(kernel_, static_cast<std::uint32_t>(o)));
      std::fill(expected.block.begin(), expected.block.end(), std::byte{0xA5});
      std::size_t next = 0;
      each_element(shape, expected.strides, [&](std::int64_t offset) {
        std::memcpy(expected.data() + offset, wanted[o].data() + next, bytes);
        next += bytes;
      });
      ASSERT_EQ(made.block, expected.block) << "output " << o;
    }
  }

  static void add_input(Random& random, const Shape& shape, std::vector<Placed>& in,
                        std::vector<std::vector<std::byte>>& plain, std::uint32_t bytes, bool is_written) {
    Placed& placed = in.emplace_back(drawn(random, shape, bytes, !is_written));
    const bool floats = bytes >= 4;  // small ones of any bits; no NaN, whose payload nobody promises
    each_element(shape, placed.strides, [&](std::int64_t offset) {
      std::uint64_t value = random.below(120);
      if (floats && bytes == 8) value |= 0x3FF0'0000'0000'0000u;
      if (floats && bytes == 4) value |= 0x3F80'0000u;
      std::memcpy(placed.data() + offset, &value, bytes);
    });
    std::vector<std::byte>& copy = plain.emplace_back();
    each_element(shape, placed.strides, [&](std::int64_t offset) {
      copy.insert(copy.end(), placed.data() + offset, placed.data() + offset + bytes);
    });
  }

  trident_kernel* kernel_ = nullptr;
  std::uint32_t arrays_ = 0, outputs_ = 0;
};

TEST_F(StridedCallTest, GivesTheBitsOfACallOnCopies) {
  Random random(11);
  const Shape shapes[] = {{},        {0},       {1},        {7},       {4096},       {4097},          {9000},   {3, 5},
                          {1, 4096}, {130, 97}, {97, 1, 3}, {2, 0, 3}, {17, 31, 29}, {2, 3, 4, 5, 6}, {100'003}};
  for (const Text& text : kTexts) {
    submit(text);
    for (const Shape& shape : shapes)
      for (const std::uint32_t threads : {1u, 3u})
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(std::string(text.text) + ", " + ::testing::PrintToString(shape));
          expect_same(random, shape, threads, in_place);
          if (HasFatalFailure()) return;
        }
  }
}

TEST_F(StridedCallTest, TablesAreTakenAsTheyLie) {
  trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
  options.policy = TRIDENT_EXACT;
  kernel_ = InterpretedContext::submit("t[i64(x)]", &options);
  ASSERT_NE(nullptr, kernel_);
  const double table[] = {10, 11, 12}, x[] = {2, -1, 0, -1, 1, -1, 7, -1};
  const bool table_first = trident_array_index(kernel_, "t") == 0;
  const std::int64_t stride = 16;
  const void* in[] = {table_first ? table : x, table_first ? x : table};
  const std::int64_t* in_strides[] = {table_first ? nullptr : &stride, table_first ? &stride : nullptr};
  double made[4] = {};
  void* out[] = {made};
  const std::int64_t* out_strides[] = {nullptr};
  const std::uint64_t shape = 4, length = 3;
  ASSERT_EQ(TRIDENT_OK, trident_call_strided(kernel_, 1, &shape, in, in_strides, out, out_strides, &length, 1));
  EXPECT_EQ(std::vector<double>(made, made + 4), (std::vector<double>{12, 10, 11, 0}));
}

TEST_F(StridedCallTest, MoreDimensionsThanTheLimitAreRefused) {
  submit(kTexts[0]);
  const Shape shape(TRIDENT_DIMENSIONS_MAX + 1, 1);
  EXPECT_EQ(TRIDENT_E_LIMIT, trident_call_strided(kernel_, TRIDENT_DIMENSIONS_MAX + 1, shape.data(), nullptr, nullptr,
                                                  nullptr, nullptr, nullptr, 1));
}

/// One argument `x` and one output, both doubles.
class ExtremeShapeTest : public InterpretedContext {
 protected:
  void submit(const char* text) {
    close_kernels();
    kernel_ = InterpretedContext::submit(text, nullptr);
    ASSERT_NE(nullptr, kernel_);
  }
  /// Calls with one place for the argument and one for the output.
  trident_status call(const Shape& shape, const Strides& in_strides, const Strides* out_strides = nullptr) {
    const void* in[] = {&x_};
    void* out[] = {&y_};
    const std::int64_t* in_list[] = {in_strides.data()};
    const std::int64_t* out_list[] = {out_strides != nullptr ? out_strides->data() : nullptr};
    return trident_call_strided(kernel_, static_cast<std::uint32_t>(shape.size()), shape.data(), in, in_list, out,
                                out_list, nullptr, 1);
  }

  trident_kernel* kernel_ = nullptr;
  double x_ = 1, y_ = -7;
};

constexpr std::uint64_t power(int exponent) {
  return std::uint64_t{1} << exponent;
}

// 2^61 doubles are 2^64 bytes.
TEST_F(ExtremeShapeTest, CopiesThatNoMemoryHoldsAreRefused) {
  for (const char* text : {"argmax(x)", "sum(x - mean(x))"}) {
    submit(text);
    for (const int exponent : {49, 58, 60, 61, 62})
      EXPECT_EQ(TRIDENT_E_MEMORY, call({power(exponent)}, {0})) << text << " of 2^" << exponent;
    EXPECT_EQ(TRIDENT_E_MEMORY, call({power(31), power(30)}, {0, 0})) << text;
  }
  EXPECT_EQ(-7, y_);
}

TEST_F(ExtremeShapeTest, ProductsOfExtentsFrom2To63OnAreRefused) {
  const Shape shapes[] = {{power(32), power(32)}, {power(32) + 1, power(32)},      {power(63)},
                          {~std::uint64_t{0}},    {power(31), power(31), 3, 5, 7}, {power(62), 2}};
  for (const char* text : {"sum(x*x)", "argmax(x)"}) {
    submit(text);
    for (const Shape& shape : shapes)
      EXPECT_EQ(TRIDENT_E_LIMIT, call(shape, Strides(shape.size(), 0))) << text << ::testing::PrintToString(shape);
  }
  EXPECT_EQ(-7, y_);
}

TEST_F(ExtremeShapeTest, AnExtentOf0MakesAnyShapeEmpty) {
  submit("sum(x*x)");
  for (const Shape& shape : {Shape{power(32), power(32), 0}, Shape{0, power(63), 3}}) {
    y_ = -7;
    EXPECT_EQ(TRIDENT_OK, call(shape, Strides(shape.size(), std::numeric_limits<std::int64_t>::min())));
    EXPECT_EQ(0, y_);
  }
}

TEST_F(ExtremeShapeTest, SpansThatNoMemoryHasAreRefused) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kStep = std::int64_t{1} << 61;
  for (const char* text : {"sum(x*x)", "argmax(x)", "x + 1"}) {
    submit(text);
    for (const Strides& strides :
         {Strides{kLeast, 8}, Strides{8, kLeast}, Strides{kStep, kStep}, Strides{-kStep, 8}, Strides{kStep, -kStep}})
      EXPECT_EQ(TRIDENT_E_LIMIT, call({3, 3}, strides)) << text << ::testing::PrintToString(strides);
    EXPECT_EQ(TRIDENT_E_LIMIT, call({2, power(61)}, {0, 8})) << text;
  }
  submit("x + 1");
  const Strides far = {kStep, kStep};
  EXPECT_EQ(TRIDENT_E_LIMIT, call({3, 3}, {0, 0}, &far));
  EXPECT_EQ(TRIDENT_E_LIMIT, call({power(60)}, {0})) << "an output as it is without strides";
  EXPECT_EQ(-7, y_);
}

TEST_F(ExtremeShapeTest, StridesOfExtentsOf1AreNotLookedAt) {
  submit("sum(x*x)");
  ASSERT_EQ(TRIDENT_OK, call({1, 3, 1}, {std::numeric_limits<std::int64_t>::min(), 0, power(62)}));
  EXPECT_EQ(3, y_);
}

TEST_F(ExtremeShapeTest, ListsOfStridesMayBeNull) {
  submit("x + 1");
  const double x[] = {1, 2, 3, 4};
  double y[4] = {};
  const void* in[] = {x};
  void* out[] = {y};
  const std::uint64_t shape[] = {2, 2};
  ASSERT_EQ(TRIDENT_OK, trident_call_strided(kernel_, 2, shape, in, nullptr, out, nullptr, nullptr, 1));
  EXPECT_EQ(std::vector<double>(y, y + 4), (std::vector<double>{2, 3, 4, 5}));
}

TEST_F(ExtremeShapeTest, OtherListsMayBeNullWhereNothingIsReadOrWritten) {
  const std::uint64_t none[] = {3, 0}, some[] = {3, 2};
  const void* in[] = {&x_};
  void* out[] = {&y_};
  const auto status = [&](const std::uint64_t* shape, const void* const* from, void* const* to) {
    return trident_call_strided(kernel_, 2, shape, from, nullptr, to, nullptr, nullptr, 1);
  };
  for (const char* text : {"x + 1", "x - mean(x)"}) {
    submit(text);
    EXPECT_EQ(TRIDENT_OK, status(none, nullptr, nullptr)) << text;
    EXPECT_EQ(TRIDENT_E_INVALID, status(some, nullptr, out)) << text;
    EXPECT_EQ(TRIDENT_E_INVALID, status(some, in, nullptr)) << text;
    EXPECT_EQ(TRIDENT_E_INVALID, status(nullptr, in, out)) << text;
  }
  submit("sum(x)");
  EXPECT_EQ(TRIDENT_E_INVALID, status(none, nullptr, out));
  EXPECT_EQ(TRIDENT_E_INVALID, status(none, in, nullptr));
  EXPECT_EQ(-7, y_);
  EXPECT_EQ(TRIDENT_OK, status(none, in, out));
  EXPECT_EQ(0, y_);
}

}  // namespace
}  // namespace trident::client
