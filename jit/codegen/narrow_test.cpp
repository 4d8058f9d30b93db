// Arrays with narrow elements as machine code, at every level: each kind of element, in every length around a vector's,
// off their natural alignment and next to memory that cannot be touched, in place. Oracle: the interpreter, which
// jit/kir/storage_test.cpp compares with C++ and the processor's own conversions. NEON code runs in tests/aarch64 and
// tests/differential.
#include <gtest/gtest.h>

#include "jit/kir/builder.h"
#include "tests/support/narrow_kernels.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using ir::Storage;
using testing::kConverting;
using testing::map_native;
using testing::runnable_isas;

constexpr Variant kElementVariants[] = {{.vectors = 1, .schedule = false},
                                        {.vectors = 1},
                                        {.vectors = 2},
                                        {.vectors = 4},
                                        {.vectors = 2, .vector_bits = 256},
                                        {.vectors = 2, .non_temporal = true}};

void expect_same_elements(const kir::Kernel& kernel, std::initializer_list<std::uint64_t> lengths, std::uint64_t seed) {
  ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
  for (const Isa isa : runnable_isas())
    for (const Variant& variant : kElementVariants) {
      auto native = map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::uint64_t n : lengths)
        for (const bool at_front : {false, true})
          ASSERT_EQ(testing::compare_with_interpreter(kernel, *native,
                                                      {.n = n,
                                                       .in_place = (n + seed) % 2 == 0,
                                                       .at_front = at_front,
                                                       .misalign = static_cast<std::uint32_t>(n % 3),
                                                       .seed = seed + n}),
                    "")
              << name_of(isa) << ", " << int{variant.vectors} << " vectors, n " << n << "\n"
              << print(kernel);
    }
}

/// Copies, and values that do not fit: a store keeps their low bits.
TEST(NarrowElements, EachKindInAndOutBesideEachWidth) {
  for (const Storage from : kConverting)
    for (const ir::Type beside : {ir::Type::f32, ir::Type::f64})
      expect_same_elements(testing::narrow_kernel(from, beside),
                           {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130}, 1);
}

TEST(NarrowElements, ValuesOfEveryBitPattern) {
  for (const Storage from : kConverting) {
    const kir::Kernel kernel = testing::doubling_kernel(from);
    const std::vector<std::uint64_t> all = testing::all_elements(from);
    for (const Isa isa : runnable_isas()) {
      auto native = map_native(kernel, isa, {.vectors = 2});
      ASSERT_TRUE(native.ok());
      ASSERT_EQ(testing::compare_on(kernel, *native, {all}, {}, {.n = all.size()}), "") << ir::facts_of(from).name;
    }
  }
}

/// One load widens bytes and words to 64 bits where nothing else reads them.
TEST(NarrowElements, EachKindAsI64) {
  for (const Storage from : kConverting) {
    if (ir::facts_of(from).type != ir::Type::i32) continue;
    for (const bool reads_both : {false, true}) {
      kir::Kernel kernel;
      kernel.inputs.push_back({"x", ir::Type::i32, {}, from});
      kir::Builder b(kernel);
      const kir::Value x = b.input(0), wide = b.convert(kir::Op::Convert, ir::Type::i64, x);
      kernel.outputs.push_back({"wide", wide, kir::OutputKind::array, Storage::own});
      kernel.outputs.push_back({"sum", b.reduce(kir::Op::Sum, wide), kir::OutputKind::scalar, Storage::own});
      if (reads_both) kernel.outputs.push_back({"x", x, kir::OutputKind::array, Storage::own});
      expect_same_elements(kernel, {0, 1, 3, 7, 8, 17, 31, 64, 65, 130, 5000}, 9);
    }
  }
}

TEST(NarrowElements, RandomKernels) {
  testing::Random random(5);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const bool exits = seed % 5 == 4;
    const kir::Kernel plain = testing::random_kernel(seed, {.ops = 30,
                                                            .inputs_max = 6,
                                                            .outputs_max = 5,
                                                            .narrow_only = seed % 2 == 0,
                                                            .tables = seed % 3 == 0,
                                                            .exits = exits});
    expect_same_elements(testing::with_random_storage(plain, random), {0, 1, 6, 19, 67, 300}, seed);
    if (HasFatalFailure()) return;
  }
}

/// More arrays than there are registers for their pointers.
TEST(NarrowElements, ManyArrays) {
  kir::Kernel kernel;
  for (int i = 0; i < 14; ++i)
    kernel.inputs.push_back({"x", ir::Type::i32, {}, i % 2 == 0 ? Storage::u8 : Storage::i16});
  kir::Builder b(kernel);
  kir::Value sum = b.input(0);
  for (std::uint32_t i = 1; i < 14; ++i) {
    sum = b.add(sum, b.input(i));
    kernel.outputs.push_back({"y", sum, kir::OutputKind::array, i % 3 == 0 ? Storage::u16 : Storage::u8});
  }
  expect_same_elements(kernel, {1, 7, 40, 131}, 3);
}

}  // namespace
}  // namespace trident::codegen
