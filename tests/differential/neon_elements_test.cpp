// NEON code loads and stores arrays with narrow elements as the interpreter does, which jit/kir/storage_test.cpp
// compares with C++ and the processor's own conversions, and multiplies halves of 64-bit integers as the interpreter
// does whole ones. Unicorn runs it, so any machine can; tests/aarch64 has guard pages too.
#include <gtest/gtest.h>

#include "jit/kir/kir.h"
#include "jit/kir/reduction.h"
#include "tests/differential/neon_guest.h"
#include "tests/support/narrow_kernels.h"
#include "tests/support/native_kernel.h"
#include "tests/support/search_kernel.h"

namespace trident::testing {
namespace {

constexpr codegen::Variant kVariants[] = {{.vectors = 1, .schedule = false}, {.vectors = 1}, {.vectors = 4}};

/// Returns what runs the kernel's NEON code.
Run on_neon(NeonGuest& guest) {
  return [&guest](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
    guest.run(n, in, out, params);
    return n;
  };
}

void expect_same_elements(const kir::Kernel& kernel, std::initializer_list<std::uint64_t> lengths, std::uint64_t seed) {
  ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
  for (const codegen::Variant& variant : kVariants) {
    const auto code = codegen::emit(kernel, codegen::Isa::neon, variant);
    ASSERT_TRUE(code.ok()) << code.error().message;
    NeonGuest guest(kernel, *code);
    for (const std::uint64_t n : lengths) {
      Random random(seed + n);
      const Arguments drawn = random_arguments(kernel, n, random);
      ASSERT_EQ(compare_on(kernel, on_neon(guest), drawn.inputs, drawn.params, {.n = n}), "")
          << int{variant.vectors} << " vectors, n " << n << "\n"
          << print(kernel);
    }
  }
}

TEST(NeonElements, EachKindInAndOutBesideEachWidth) {
  for (const ir::Storage elements : kConverting)
    for (const ir::Type beside : {ir::Type::f32, ir::Type::f64})
      expect_same_elements(narrow_kernel(elements, beside), {0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33}, 1);
}

TEST(NeonElements, ValuesOfEveryBitPattern) {
  for (const ir::Storage elements : kConverting) {
    const kir::Kernel kernel = doubling_kernel(elements);
    const auto code = codegen::emit(kernel, codegen::Isa::neon, {.vectors = 2});
    ASSERT_TRUE(code.ok()) << code.error().message;
    NeonGuest guest(kernel, *code);
    const auto all = all_elements(elements);
    ASSERT_EQ(compare_on(kernel, on_neon(guest), {all}, {}, {.n = all.size()}), "") << ir::facts_of(elements).name;
  }
}

TEST(NeonElements, RandomKernels) {
  Random random(5);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const kir::Kernel plain = random_kernel(
        seed, {.ops = 30, .inputs_max = 6, .outputs_max = 5, .narrow_only = seed % 2 == 0, .tables = seed % 3 == 0});
    expect_same_elements(with_random_storage(plain, random), {0, 1, 6, 19, 67}, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(NeonElements, ProductsOfHalves) {
  std::uint64_t seed = 0;
  for (const kir::Kernel& kernel : half_product_kernels()) {
    expect_same_elements(kernel, {1, 7, 18}, ++seed);
    if (HasFatalFailure()) return;
  }
}

TEST(NeonElements, SearchesEndBehindTheChunkThatDecides) {
  const auto kernel = kir::parse(kStopsAtFive);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const codegen::Variant& variant : kVariants) {
    const auto code = codegen::emit(*kernel, codegen::Isa::neon, variant);
    ASSERT_TRUE(code.ok()) << code.error().message;
    NeonGuest guest(*kernel, *code);
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{100}, 3 * kir::kChunk, 3 * kir::kChunk + 101})
      for (std::int32_t chunk = 0; chunk < 5; ++chunk) {
        const SearchCase wanted(n, chunk);
        std::int32_t results[2] = {};
        const void* const in[] = {wanted.x.data()};
        void* const out[] = {&results[0], &results[1]};
        guest.run(n, in, out, nullptr);
        EXPECT_EQ(results[0], wanted.most) << n << " elements, chunk " << chunk;
        EXPECT_EQ(results[1], wanted.least) << n << " elements, chunk " << chunk;
      }
  }
}

}  // namespace
}  // namespace trident::testing
