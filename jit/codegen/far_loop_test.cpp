// The far loop of short kernels: calls beyond the first-level cache take it, and others do not. Oracles: the kir
// interpreter, and the emitted code as Capstone reads it.
#include <gtest/gtest.h>

#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/kir/builder.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using ir::Type;
using testing::runnable_isas;

constexpr Variant kShapes[] = {{.vectors = 1, .schedule = false},
                               {.vectors = 1},
                               {.vectors = 2},
                               {.vectors = 3},
                               {.vectors = 8},
                               {.vectors = 8, .lockstep = true},
                               {.vectors = 4, .non_temporal = true},
                               {.vectors = 4, .vector_bits = 256}};

/// x*y + a, ..: outputs of one short body, whose constants and parameters are held or read in the loop.
kir::Kernel short_kernel(Type type, std::size_t outputs) {
  kir::Kernel kernel;
  kir::Builder b(kernel);
  kernel.inputs = {{"x", type}, {"y", type}};
  kernel.params = {{"a", type}};
  kir::Value v = b.mul(b.input(0), b.input(1));
  for (std::size_t o = 0; o < outputs; ++o) {
    v = b.add(v, b.param(0));
    kernel.outputs.push_back({"o", v, kir::OutputKind::array});
  }
  return kernel;
}

/// Returns the elements from which a call is far.
std::uint64_t far_elements(Type type, std::size_t outputs) {
  return kNearBytes / ((2 + outputs) * ir::bytes_of(type));
}

bool fetches(const kir::Kernel& kernel, Isa isa, const Variant& variant) {
  const auto listing = disassemble(emit(kernel, isa, variant).value(), isa);
  EXPECT_TRUE(listing.ok());
  return listing->find("prefetchw") != std::string::npos;
}

TEST(FarLoop, EveryElementIsDoneOnceWhereverTheLoopEnds) {
  for (const Isa isa : runnable_isas())
    for (const Variant& variant : kShapes)
      for (const Type type : {Type::f32, Type::f64})
        for (const std::size_t outputs : {1u, 2u}) {
          const kir::Kernel kernel = short_kernel(type, outputs);
          ASSERT_TRUE(fetches(kernel, isa, variant));
          auto native = testing::map_native(kernel, isa, variant);
          ASSERT_TRUE(native.ok()) << native.error().message;
          const std::uint64_t far = far_elements(type, outputs);
          std::vector<std::uint64_t> lengths = {far - 1};
          for (std::uint64_t left = 0; left < 36; left += left < 4 ? 1 : 5)
            lengths.push_back(far / 32 * 32 + 32 + left);
          for (const std::uint64_t n : lengths)
            ASSERT_EQ(testing::compare_with_interpreter(
                          kernel, *native, {.n = n, .in_place = n % 2 != 0, .at_front = n % 3 == 0, .seed = n + 1}),
                      "")
                << name_of(isa) << " vectors " << int{variant.vectors} << " n " << n;
        }
}

// Where a kernel exits may decide bits, so steps are the same in calls of all lengths.
TEST(FarLoop, KernelsThatExitReduceOrComputeMuchHaveNone) {
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    kir::Kernel leaves = short_kernel(Type::f64, 1);
    kir::Builder b(leaves);
    leaves.exit = b.lt(b.input(0), b.input(1));
    EXPECT_FALSE(fetches(leaves, isa, {.vectors = 2}));

    kir::Kernel reduces = short_kernel(Type::f64, 1);
    kir::Builder sum(reduces);
    reduces.outputs.push_back({"s", sum.reduce(kir::Op::Sum, reduces.outputs[0].value), kir::OutputKind::scalar});
    EXPECT_FALSE(fetches(reduces, isa, {.vectors = 4}));

    kir::Kernel computes = short_kernel(Type::f64, 1);
    kir::Builder more(computes);
    for (int i = 0; i < 20; ++i)
      computes.outputs[0].value = more.mul(more.add(computes.outputs[0].value, more.input(0)), more.input(1));
    EXPECT_FALSE(fetches(computes, isa, {.vectors = 2}));
  }
}

}  // namespace
}  // namespace trident::codegen
