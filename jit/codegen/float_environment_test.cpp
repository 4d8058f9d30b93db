// Kernels called in non-standard floating-point environments. Oracle: the interpreter in the standard environment;
// plain C++ checks that these environments do change bits.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "jit/codegen/codegen.h"
#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "tests/support/foreign_floats.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using testing::FloatEnvironment;
using testing::ForeignFloats;
using testing::kForeignFloats;

/// Builds a kernel with every kind of arithmetic and every section: y is an array, s and m are reductions.
kir::Kernel sensitive(ir::Type type) {
  kir::Kernel kernel;
  kernel.inputs = {{"a", type}, {"b", type}};
  kernel.params = {{"p", type}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0), z = b.input(1), third = b.div(b.param(0), b.constant(type, 3));
  const kir::Value y = b.add(b.mul(x, third), b.div(x, z));
  kernel.outputs = {{"y", b.fma(y, x, b.sqrt(z))},
                    {"s", b.reduce(kir::Op::Sum, y), kir::OutputKind::scalar},
                    {"m", b.reduce(kir::Op::MaxOf, x), kir::OutputKind::scalar}};
  return kernel;
}

template <class T>
struct Results {
  std::vector<T> y;
  T s{}, m{};
  friend bool operator==(const Results& a, const Results& b) {
    return std::memcmp(a.y.data(), b.y.data(), a.y.size() * sizeof(T)) == 0 &&
           std::memcmp(&a.s, &b.s, sizeof(T)) == 0 && std::memcmp(&a.m, &b.m, sizeof(T)) == 0;
  }
};

/// Subnormals, quotients that round, an overflow and a division by zero.
template <class T>
struct Points {
  std::vector<T> a, b;
  Points() {
    constexpr T kTiny = std::numeric_limits<T>::denorm_min();
    for (int i = 0; i < 67; ++i) {
      a.push_back(i % 3 == 0 ? static_cast<T>(i + 1) * kTiny : static_cast<T>(i + 1) / 7);
      b.push_back(i % 5 == 0 ? std::numeric_limits<T>::min() * 3 : static_cast<T>(i + 3) / 11);
    }
    a[40] = std::numeric_limits<T>::max(), b[40] = T(0.1);
    a[50] = 1, b[50] = 0;
  }
};

template <class T, class Call>
Results<T> results_of(const Points<T>& data, const Call& call) {
  Results<T> r{std::vector<T>(data.a.size())};
  const void* in[] = {data.a.data(), data.b.data()};
  void* out[] = {r.y.data(), &r.s, &r.m};
  const T p = 2;
  std::uint64_t params[1] = {};
  std::memcpy(params, &p, sizeof p);
  call(data.a.size(), in, out, params);
  return r;
}

template <class T>
void expect_standard_bits(ir::Type type, const Variant& variant) {
  const kir::Kernel kernel = sensitive(type);
  ASSERT_TRUE(kir::check(kernel).ok()) << kir::check(kernel).error().message;
  const Points<T> data;
  const kir::Plan plan = kir::Plan::prepare(kernel);
  const auto interpreted = [&](auto... arguments) { plan.run(arguments...); };
  const Results<T> right = results_of(data, interpreted);
  for (const FloatEnvironment& environment : kForeignFloats) {
    bool intact = false;
    const auto elsewhere = [&](const auto& call) {
      return [&](auto... arguments) {
        const ForeignFloats floats(environment);
        call(arguments...);
        intact = floats.intact();
      };
    };
    EXPECT_EQ(results_of(data, elsewhere(interpreted)), right) << environment.name;
    EXPECT_TRUE(intact) << environment.name;
    for (const Isa isa : testing::runnable_isas()) {
      const auto native = testing::map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      const auto call = [&](auto... arguments) { native->entry()(nullptr, arguments...); };
      EXPECT_EQ(results_of(data, call), right) << name_of(isa);
      EXPECT_EQ(results_of(data, elsewhere(call)), right) << name_of(isa) << ", " << environment.name;
      EXPECT_TRUE(intact) << name_of(isa) << ", " << environment.name;
    }
  }
}

TEST(FloatEnvironments, ChangeNoBitsOfKernelsAndAreKept) {
  for (const Variant& variant : {Variant{.vectors = 1, .schedule = false}, Variant{.vectors = 2}, Variant{.vectors = 4},
                                 Variant{.vectors = 2, .newton = 4}, Variant{.vectors = 1, .vector_bits = 256}}) {
    expect_standard_bits<float>(ir::Type::f32, variant);
    expect_standard_bits<double>(ir::Type::f64, variant);
  }
}

// The environments have the effects that their names say; otherwise the test above would show nothing.
TEST(FloatEnvironments, MatterToPlainArithmetic) {
  volatile double tiny = std::numeric_limits<double>::denorm_min(), one = 1, three = 3, five = 5;
  volatile double sum = 0, third = 0, fifth = 0;
  const auto compute = [&] {
    sum = tiny + tiny;
    third = one / three;
    fifth = one / five;
  };
  compute();
  const double right_third = third, right_fifth = fifth;
  for (const FloatEnvironment& environment : kForeignFloats) {
    if (std::string_view(environment.name).starts_with("everything") ||
        std::string_view(environment.name).find("trapped") != std::string_view::npos)
      continue;
    {
      const ForeignFloats floats(environment);
      compute();
    }
    EXPECT_TRUE(sum == 0 || third != right_third || fifth != right_fifth) << environment.name;
  }
}

// Conversions round, overflow and meet NaNs, though no operation computes.
TEST(FloatEnvironments, ChangeNoHalves) {
  kir::Kernel kernel;
  kernel.inputs = {{"a", ir::Type::f32}, {"h", ir::Type::f32, {}, ir::Storage::f16}};
  kir::Builder b(kernel);
  kernel.outputs = {{"y", b.input(0), kir::OutputKind::array, ir::Storage::f16}, {"z", b.input(1)}};
  std::vector<std::uint64_t> floats, halves;
  for (std::uint32_t i = 0; i < 67; ++i) {
    const float scale = i % 3 == 0 ? 1e-7F : i % 5 == 0 ? 1e6F : 1;
    floats.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(i + 1) / 7 * scale));
    halves.push_back(i * 977);
  }
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = testing::map_native(kernel, isa, {.vectors = 1});
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const FloatEnvironment& environment : kForeignFloats) {
      const auto run = [&](std::uint64_t n, auto... arrays) {
        const ForeignFloats scope(environment);
        native->entry()(nullptr, n, arrays...);
        return n;
      };
      EXPECT_EQ(testing::compare_on(kernel, run, {floats, halves}, {}, {.n = 67}), "")
          << name_of(isa) << ", " << environment.name;
    }
  }
}

// Kernels that only move bits give the same everywhere and pay nothing.
TEST(FloatEnvironments, AreNotLookedAtWithoutNeed) {
  kir::Kernel kernel;
  kernel.inputs = {{"a", ir::Type::i64}, {"b", ir::Type::f64}};
  kir::Builder b(kernel);
  kernel.outputs = {{"y", b.add(b.input(0), b.input(0))}, {"z", b.neg(b.input(1))}};
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::neon}) {
    const auto code = emit(kernel, isa, {.vectors = 2});
    ASSERT_TRUE(code.ok()) << code.error().message;
    const auto listing = disassemble(*code, isa);
    ASSERT_TRUE(listing.ok());
    EXPECT_EQ(listing->find("mxcsr"), std::string::npos);
    EXPECT_EQ(listing->find("fpcr"), std::string::npos);
  }
}

}  // namespace
}  // namespace trident::codegen
