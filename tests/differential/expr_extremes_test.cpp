// minof and maxof of arrays that hold NaN, against a plain loop of std::fmin and std::fmax: the interpreter on the
// lowered kernel, native code at every level that this machine runs, and the strict evaluator of the other tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "jit/kir/interpreter.h"
#include "tests/differential/special_values.h"
#include "tests/support/native_kernel.h"
#include "tests/support/random_kernel.h"
#include "tests/support/strict_evaluator.h"

namespace trident {
namespace {

expr::Expr extremes(ir::Type type) {
  Result<expr::Expr> e = expr::parse("(minof(x), maxof(x))", {.type = type, .variables = {}, .file = "<text>"});
  CHECK(e.ok());
  return std::move(e).value();
}

// Arrays with NaN in every residue of the partial results: first, last, between, everywhere.
std::vector<std::vector<double>> arrays() {
  std::vector<double> reported(33, 9);
  reported[0] = 1;
  reported[16] = kNan;
  reported[32] = 5;
  std::vector<std::vector<double>> out = {
      reported, {kNan}, {kNan, kNan, kNan}, {kNan, 2}, {2, kNan}, {-kInf, kNan, kInf}, std::vector<double>(100, kNan),
      {}};
  testing::Random random(5);
  for (const std::size_t n : {1u, 15u, 16u, 17u, 33u, 64u, 200u}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> a(n);
      const std::uint32_t share = random.below(1000);
      for (double& x : a) x = random.below(1000) < share ? kNan : static_cast<double>(random.below(2000)) - 1000;
      out.push_back(a);
    }
  }
  return out;
}

template <class T>
void check(const std::vector<double>& array, const kir::Kernel& kernel, const expr::Expr& e) {
  std::vector<T> x(array.begin(), array.end());
  T least = std::numeric_limits<T>::infinity();
  T greatest = -least;
  for (const T v : x) {
    least = std::fmin(least, v);
    greatest = std::fmax(greatest, v);
  }
  T lo = 0;
  T hi = 0;
  const void* in[] = {x.data()};
  void* out[] = {&lo, &hi};
  kir::interpret(kernel, x.size(), in, out, nullptr);
  ASSERT_EQ(lo, least) << "minof of " << x.size();
  ASSERT_EQ(hi, greatest) << "maxof of " << x.size();
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<std::uint64_t> bits;
  for (const T v : x) bits.push_back(std::bit_cast<Bits>(v));
  const auto strict = testing::evaluate_strict(e, {bits}, bits.size());
  for (std::size_t k = 0; k < 2; ++k) {
    const T got = std::bit_cast<T>(static_cast<Bits>(strict[e.outputs[k].node.index][0]));
    ASSERT_EQ(got, k == 0 ? least : greatest) << "strict evaluator, " << x.size() << " elements";
  }
}

TEST(ExprExtremes, NanElementsAreLeftOut) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const expr::Expr e = extremes(type);
    for (const auto policy : {expr::PolicyKind::exact, expr::PolicyKind::bounded}) {
      const Result<kir::Kernel> kernel = expr::lower(e, {.policy = {.kind = policy}});
      ASSERT_TRUE(kernel.ok());
      for (const std::vector<double>& array : arrays()) {
        if (type == ir::Type::f32)
          check<float>(array, *kernel, e);
        else
          check<double>(array, *kernel, e);
      }
    }
  }
}

TEST(ExprExtremes, NativeCodeLeavesThemOutToo) {
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
    const Result<kir::Kernel> kernel = expr::lower(extremes(type), {});
    ASSERT_TRUE(kernel.ok());
    for (const codegen::Isa isa : testing::runnable_isas()) {
      const Result<image::Mapped> native = testing::map_native(*kernel, isa, {});
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::vector<double>& array : arrays()) {
        std::vector<std::uint64_t> bits;
        for (const double v : array) {
          bits.push_back(type == ir::Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(v))
                                               : std::bit_cast<std::uint64_t>(v));
        }
        EXPECT_EQ(testing::compare_on(*kernel, *native, {bits}, {}, {.n = bits.size()}), "");
      }
    }
  }
}

TEST(ExprExtremes, NanCostsNothing) {
  const auto insts = [](const char* text) {
    const Result<expr::Expr> e = expr::parse(text);
    CHECK(e.ok());
    const Result<kir::Kernel> kernel = expr::lower(*e, {});
    CHECK(kernel.ok());
    return kernel->insts.size();
  };
  EXPECT_EQ(insts("minof(x)"), 2u);  // the input and the reduction
}

TEST(ExprExtremes, AnyAndAllAreThoseOfTheStandardLibrary) {
  const Result<expr::Expr> e =
      expr::parse("(any(x), all(x), any(x > 0.5), all(x < 0.5))", {.type = ir::Type::f64, .variables = {}});
  ASSERT_TRUE(e.ok()) << e.error().message;
  const Result<kir::Kernel> kernel = expr::lower(*e, {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (std::vector<double> x : arrays()) {
    for (const bool zero : {false, true}) {
      if (zero) std::fill(x.begin(), x.end(), -0.0);
      double got[4];
      const void* in[] = {x.data()};
      void* out[] = {&got[0], &got[1], &got[2], &got[3]};
      kir::interpret(*kernel, x.size(), in, out, nullptr);
      const auto is_true = [](double v) { return v != 0; };  // NaN is
      EXPECT_EQ(got[0], std::any_of(x.begin(), x.end(), is_true)) << x.size();
      EXPECT_EQ(got[1], std::all_of(x.begin(), x.end(), is_true)) << x.size();
      EXPECT_EQ(got[2], std::any_of(x.begin(), x.end(), [](double v) { return v > 0.5; })) << x.size();
      EXPECT_EQ(got[3], std::all_of(x.begin(), x.end(), [](double v) { return v < 0.5; })) << x.size();
    }
  }
}

}  // namespace
}  // namespace trident
