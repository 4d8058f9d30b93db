// Kernels of several passes in machine code. Oracle: the interpreter, whose own oracle here is plain loops.
#include "jit/codegen/passes.h"

#include <gtest/gtest.h>

#include <bit>

#include "jit/kir/interpreter.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

// Three passes: the greatest element, the sum of the distances from it, and its share of each; a parameter, a table and
// values of both widths go through all of them.
constexpr const char* kShares = R"(input x f64
input t f32 length 1
param s f64
param t.length i64
%0 = input f64 0
%1 = maxof f64 %0
%2 = convert f32 %1
output scalar greatest %1
output scalar narrow %2
then
%0 = input f64 0
%1 = param f64 2
%2 = sub f64 %1, %0
%3 = sum f64 %2
%4 = param f32 3
%5 = param f64 0
%6 = mul f64 %3, %5
output scalar sum %6
output scalar greatest %1
output scalar narrow %4
then
%0 = input f64 0
%1 = param f64 2
%2 = param f64 3
%3 = sub f64 %2, %0
%4 = div f64 %3, %1
%5 = index i32
%6 = gather f32 %5, 1
%7 = param f32 4
%8 = add f32 %6, %7
output share %4
output read %8
)";

// A last pass with a scalar output, which a call of no elements has, too.
constexpr const char* kSquares = R"(input x f32
%0 = input f32 0
%1 = sum f32 %0
%2 = count f32
%3 = div f32 %1, %2
output scalar mean %3
then
%0 = input f32 0
%1 = param f32 0
%2 = sub f32 %0, %1
%3 = mul f32 %2, %2
%4 = sum f32 %3
output scalar squares %4
output distance %2
)";

constexpr Variant kPassVariants[] = {{.vectors = 1, .schedule = false},
                                     {.vectors = 2},
                                     {.vectors = 8},
                                     {.vectors = 4, .non_temporal = true, .newton = 4},
                                     {.vectors = 4, .vector_bits = 256}};

kir::Kernel kernel_of_passes(const char* text) {
  const Result<kir::Kernel> kernel = kir::parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  return *kernel;
}

TEST(Passes, GiveTheBitsOfTheInterpreter) {
  for (const char* text : {kShares, kSquares}) {
    const kir::Kernel kernel = kernel_of_passes(text);
    for (const Isa isa : testing::runnable_isas())
      for (const Variant& variant : kPassVariants) {
        auto native = testing::map_native(kernel, isa, variant);
        ASSERT_TRUE(native.ok()) << native.error().message;
        for (const std::uint64_t n : {0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 12'345})
          for (const bool in_place : {false, true})
            ASSERT_EQ(testing::compare_with_interpreter(
                          kernel, *native, {.n = n, .in_place = in_place, .at_front = n % 2 == 0, .seed = n + 1}),
                      "")
                << name_of(isa) << " vectors " << int{variant.vectors} << " n " << n << "\n"
                << text;
      }
  }
}

TEST(Passes, EachSeesTheResultsOfTheOneBefore) {
  const kir::Kernel kernel = kernel_of_passes(kShares);
  const double x[] = {1, 4, -3, 2};
  const float t[] = {10, 20};
  const std::uint64_t params[] = {std::bit_cast<std::uint64_t>(0.5), 2};
  const void* in[] = {x, t};
  const auto expect_shares = [&](auto run) {
    double share[4] = {};
    float read[4] = {};
    void* out[] = {share, read};
    run(out);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(share[i], (4 - x[i]) / (0.5 * (3 + 0 + 7 + 2)));
      EXPECT_EQ(read[i], (i < 2 ? t[i] : 0) + 4);
    }
  };
  expect_shares([&](void* const* out) { kir::interpret(kernel, 4, in, out, params); });
  for (const Isa isa : testing::runnable_isas()) {
    auto native = testing::map_native(kernel, isa, {.vectors = 2});
    ASSERT_TRUE(native.ok()) << native.error().message;
    expect_shares([&](void* const* out) { native->entry()(nullptr, 4, in, out, params); });
  }
}

// A call of no elements may have no tables of pointers where nothing is written; else results of no elements.
TEST(Passes, OverNoElements) {
  for (const Isa isa : testing::runnable_isas()) {
    auto shares = testing::map_native(kernel_of_passes(kShares), isa, {});
    ASSERT_TRUE(shares.ok());
    shares->entry()(nullptr, 0, nullptr, nullptr, nullptr);
    auto squares = testing::map_native(kernel_of_passes(kSquares), isa, {});
    ASSERT_TRUE(squares.ok());
    float sum = 1;
    const void* in[] = {nullptr};
    void* out[] = {&sum, nullptr};
    squares->entry()(nullptr, 0, in, out, nullptr);
    EXPECT_EQ(sum, 0.0F);
  }
}

TEST(Passes, CodeForArmIsMadeToo) {
  for (const char* text : {kShares, kSquares}) {
    const Result<MachineCode> code = emit(kernel_of_passes(text), Isa::neon, {.vectors = 2});
    ASSERT_TRUE(code.ok()) << code.error().message;
    const Result<std::string> listing = disassemble(*code, Isa::neon);
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(listing->find(".word"), std::string::npos);
  }
}

}  // namespace
}  // namespace trident::codegen
