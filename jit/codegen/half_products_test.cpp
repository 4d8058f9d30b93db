// Products of 32-bit halves. Oracle: the interpreter, which multiplies whole lanes. NEON code runs in tests/aarch64.
#include "jit/codegen/half_products.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "jit/kir/builder.h"
#include "jit/kir/narrow.h"
#include "tests/support/draws.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using ir::Type;
using kir::Op;
using kir::Value;
using testing::map_native;
using testing::runnable_isas;

void expect_same(const kir::Kernel& kernel, const Variant& variant, std::initializer_list<std::uint64_t> sizes,
                 std::uint64_t seed) {
  ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message << kir::print(kernel);
  for (const Isa isa : runnable_isas()) {
    auto native = map_native(kernel, isa, variant);
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::uint64_t n : sizes)
      ASSERT_EQ(
          testing::compare_with_interpreter(
              kernel, *native, {.n = n, .in_place = (n + seed) % 2 == 0, .at_front = seed % 2 != 0, .seed = seed + n}),
          "")
          << name_of(isa) << " seed " << seed << "\n"
          << kir::print(kernel);
  }
}

// The data have every bit. Whole kernels and such of one product, so that values are kept in registers and in memory.
TEST(HalfProducts, OfAllPairsOfFactors) {
  std::uint64_t seed = 0;
  for (kir::Kernel kernel : testing::half_product_kernels()) {
    ++seed;
    expect_same(kernel, {.vectors = 1, .schedule = seed % 3 == 0}, {1, 9, 130}, seed);
    kernel.outputs.resize(1);
    expect_same(kernel, {.vectors = 2}, {130}, seed);
    if (seed % 5 == 0) expect_same(kernel, {.vectors = 1, .vector_bits = 256}, {130}, seed);
    if (HasFatalFailure()) return;
  }
}

/// Adds the products of the first two inputs of integers, of the first three, and so on.
void multiply_inputs(kir::Kernel& kernel) {
  kir::Builder b(kernel);
  Value last, product;
  for (std::uint32_t i = 0; i < kernel.inputs.size(); ++i) {
    if (!ir::is_int(kernel.inputs[i].type)) continue;
    const Value x = b.convert(Op::Convert, Type::i64, b.input(i));
    product = last.valid() ? b.mul(x, product.valid() ? product : last) : product;
    if (product.valid()) kernel.outputs.push_back({"p" + std::to_string(i), product});
    last = x;
  }
}

// Kernels that narrow() has made: right for any data, although they equal their originals on small integers alone.
TEST(HalfProducts, OfNarrowedRandomKernels) {
  std::size_t products = 0;
  for (std::uint64_t seed = 1; seed <= testing::draws(60); ++seed) {
    kir::Kernel kernel = testing::random_kernel(seed, {.ops = 40, .inputs_max = 6, .reductions = seed % 3 == 0});
    multiply_inputs(kernel);
    std::vector<kir::Known> known(kernel.insts.size());
    for (std::size_t i = 0; i < known.size(); ++i)
      if (kernel.insts[i].op == Op::Input || kernel.insts[i].op == Op::Param) known[i] = {-1000, 1000, false};
    const kir::Kernel narrowed = kir::narrow(kernel, known);
    for (const kir::Inst& inst : narrowed.insts) products += half_product(narrowed, inst).valid() ? 1 : 0;
    expect_same(narrowed, {.vectors = static_cast<std::uint8_t>(1 + seed % 2)}, {1, 19, 130}, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(products, 20u);
}

std::string code_of_product(Isa isa, Value (*factor)(kir::Builder&, Value)) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", Type::i64}, {"y", Type::i64}};
  kir::Builder b(kernel);
  const Value x = b.input(0), y = b.input(1);
  kernel.outputs = {{"z", b.mul(factor(b, x), factor(b, y))}};
  const auto code = emit(kernel, isa, {.vectors = 1});
  EXPECT_TRUE(code.ok());
  auto listing = disassemble(*code, isa);
  EXPECT_TRUE(listing.ok());
  return std::move(listing).value();
}

TEST(HalfProducts, AreOneInstruction) {
  const auto low_half = [](kir::Builder& b, Value v) {
    return b.convert(Op::Convert, Type::i64, b.convert(Op::Convert, Type::i32, v));
  };
  const auto masked = [](kir::Builder& b, Value v) {
    return b.op(Op::And, v, b.constant_int(Type::i64, 0xFFFF'FFFFLL));
  };
  const auto has = [](const std::string& code, const char* mnemonic) {
    return code.find(mnemonic) != std::string::npos;
  };
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    const std::string of_signed = code_of_product(isa, low_half), of_unsigned = code_of_product(isa, masked);
    EXPECT_TRUE(has(of_signed, "vpmuldq") && has(of_unsigned, "vpmuludq")) << of_signed << of_unsigned;
    for (const std::string& code : {of_signed, of_unsigned})
      for (const char* other : {"vpmulld", "vpmullq", "vpmovsxdq", "vpmovqd", "vpand", "vpshuf"})
        EXPECT_FALSE(has(code, other)) << other << "\n" << code;
  }
  const std::string of_signed = code_of_product(Isa::neon, low_half), of_unsigned = code_of_product(Isa::neon, masked);
  EXPECT_TRUE(has(of_signed, "smull") && has(of_unsigned, "umull")) << of_signed << of_unsigned;
  for (const std::string& code : {of_signed, of_unsigned})
    for (const char* other : {"rev64", "sxtl", "sshll", "uaddlp"})
      EXPECT_FALSE(has(code, other)) << other << "\n" << code;
}

}  // namespace
}  // namespace trident::codegen
