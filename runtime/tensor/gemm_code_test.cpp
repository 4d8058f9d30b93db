// Oracle: the compiled kernel of the same level, bit for bit (which kernels_test.cpp holds against the definition),
// over products of every tail, transposition, factor and epilogue whose operands end where memory ends; and a process
// that may make no code.
#include "runtime/tensor/gemm_code.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/os/memfd.h"
#include "runtime/os/self.h"
#include "runtime/tensor/generator.h"
#include "runtime/tensor/random_values.h"

namespace trident::tensor {
namespace {

constexpr Epilogue kEpilogues[] = {Epilogue::none,      Epilogue::bias,         Epilogue::relu,
                                   Epilogue::bias_relu, Epilogue::clipped_relu, Epilogue::bias_clipped_relu};

/// Values that end where memory ends: what reads or writes behind them dies.
template <class Real>
class AtTheEnd {
 public:
  explicit AtTheEnd(const std::vector<Real>& values)
      : count_(values.size()), memory_(os::GuardedMapping::make(count_ * sizeof(Real)).value()) {
    std::memcpy(data(), values.data(), count_ * sizeof(Real));
  }
  Real* data() { return reinterpret_cast<Real*>(memory_.bytes().data() + memory_.bytes().size()) - count_; }
  [[nodiscard]] std::vector<Real> values() { return {data(), data() + count_}; }

 private:
  std::size_t count_;
  os::GuardedMapping memory_;
};

/// C after a product; the operands have exactly the elements that the shape names.
template <class Real>
std::vector<Real> run(const GemmShape<Real>& s, os::SimdLevel level, GemmSource source, bool& emitted) {
  const auto extent = [](std::size_t rows, std::size_t columns, std::size_t stride) {
    return (rows - 1) * stride + columns;
  };
  AtTheEnd a(random_values<Real>(s.trans_a ? extent(s.k, s.m, s.lda) : extent(s.m, s.k, s.lda), 2));
  AtTheEnd b(random_values<Real>(s.trans_b ? extent(s.n, s.k, s.ldb) : extent(s.k, s.n, s.ldb), 3));
  AtTheEnd c(random_values<Real>(extent(s.m, s.n, s.ldc), 4)), bias(random_values<Real>(s.n, 5));
  GemmCode<Real> code(source, level);
  Gemm<Real> gemm;
  code.add(s, gemm);
  code.seal();
  emitted = gemm.is_emitted();
  gemm(a.data(), b.data(), c.data(), bias.data());
  return c.values();
}

template <class Real>
std::string text(const GemmShape<Real>& s, os::SimdLevel level) {
  return std::string(name_of(level)) + " m " + std::to_string(s.m) + " n " + std::to_string(s.n) + " k " +
         std::to_string(s.k) + (s.trans_a ? " ta" : "") + (s.trans_b ? " tb" : "") + " alpha " +
         std::to_string(s.alpha) + " beta " + std::to_string(s.beta) + " epilogue " +
         std::to_string(static_cast<int>(s.epilogue));
}

template <class Real>
void expect_same_bits(const GemmShape<Real>& s, os::SimdLevel level) {
  bool emitted = false, compiled = true;
  const auto got = run(s, level, GemmSource::emitted, emitted), want = run(s, level, GemmSource::compiled, compiled);
  ASSERT_TRUE(emitted) << text(s, level);
  ASSERT_FALSE(compiled);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(Real)), 0)
        << text(s, level) << " row " << i / s.ldc << " column " << i % s.ldc << ": " << got[i] << ", not " << want[i];
  }
}

template <class Real>
class GemmCodeTest : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmCodeTest, Reals);

TYPED_TEST(GemmCodeTest, GivesTheBitsOfTheCompiledKernel) {
  using Real = TypeParam;
  const std::size_t extents[] = {1, 2, 3, 5, 6, 7, 8, 13, 16, 17, 31, 33, 48, 64, 65, 97, 131, 144, 300, 520};
  for (const os::SimdLevel level : {os::SimdLevel::avx2, os::SimdLevel::avx512}) {
    if (!kernels_of<Real>(level)) continue;
    Generator generator(1);
    for (int round = 0; round < 600; ++round) {
      GemmShape<Real> s;
      s.trans_a = generator.below(2), s.trans_b = generator.below(2);
      s.m = extents[generator.below(18)], s.n = extents[generator.below(18)], s.k = extents[generator.below(20)];
      s.lda = (s.trans_a ? s.m : s.k) + generator.below(3), s.ldb = (s.trans_b ? s.k : s.n) + generator.below(3);
      s.ldc = s.n + generator.below(3);
      s.alpha = generator.below(2) ? Real(1) : Real(-0.3);
      s.beta = static_cast<Real>(generator.below(3)) * Real(0.5);
      s.epilogue = kEpilogues[generator.below(6)];
      expect_same_bits(s, level);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(GemmCodeTest, GivesTheSameBitsWithoutNumbersAndWithoutC) {
  using Real = TypeParam;
  for (const os::SimdLevel level : {os::SimdLevel::avx2, os::SimdLevel::avx512}) {
    if (!kernels_of<Real>(level)) continue;
    const std::size_t m = 9, n = 21, k = 5;
    auto a = random_values<Real>(m * k, 1);
    const auto b = random_values<Real>(k * n, 2), bias = random_values<Real>(n, 3);
    a[7] = std::numeric_limits<Real>::quiet_NaN(), a[12] = std::numeric_limits<Real>::infinity();
    for (std::size_t i = 20; i < 25; ++i) a[i] = Real(-0.0);  // a whole row: signs of zero
    for (const Epilogue epilogue : kEpilogues) {
      std::vector<Real> c[2];
      for (const GemmSource source : {GemmSource::emitted, GemmSource::compiled}) {
        GemmCode<Real> code(source, level);
        Gemm<Real> gemm;
        code.add({.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n, .epilogue = epilogue}, gemm);
        code.seal();
        auto& to = c[source == GemmSource::compiled];
        to.assign(m * n, std::numeric_limits<Real>::quiet_NaN());  // beta 0: must be ignored
        gemm(a.data(), b.data(), to.data(), bias.data());
      }
      for (std::size_t i = 0; i < m * n; ++i) {
        ASSERT_EQ(std::isnan(c[0][i]), std::isnan(c[1][i])) << i;
        ASSERT_TRUE(std::isnan(c[0][i]) || std::memcmp(&c[0][i], &c[1][i], sizeof(Real)) == 0) << i;
      }
    }
  }
}

TEST(GemmCode, SharesTheCodeOfEqualShapesAndRunsTheRestCompiled) {
  if (best_level() == os::SimdLevel::portable) GTEST_SKIP() << "this machine runs neither AVX2 nor AVX-512 code";
  constexpr std::size_t kMore = GemmCode<float>::kShapesMax + 20;
  GemmCode<float> code;
  std::vector<Gemm<float>> gemms(2 * kMore);
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const std::size_t k = i % kMore + 1;
    code.add({.m = 1, .n = 1, .k = k, .lda = k, .ldb = 1, .ldc = 1}, gemms[i]);
  }
  code.seal();
  const std::vector<float> ones(kMore, 1);
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    EXPECT_EQ(gemms[i].is_emitted(), i % kMore < GemmCode<float>::kShapesMax) << i;
    float c = 0;
    gemms[i](ones.data(), ones.data(), &c);
    EXPECT_EQ(c, static_cast<float>(i % kMore + 1));
  }
}

TEST(GemmCode, MayMoveOnceSealed) {
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  Gemm<float> gemm;
  GemmCode<float> first;
  first.add({.trans_b = true, .m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2}, gemm);
  first.seal();
  const GemmCode<float> second = std::move(first);
  float c[4];
  gemm(a, b, c);
  EXPECT_EQ(c[0], 17);
  EXPECT_EQ(c[3], 53);
  EXPECT_EQ(second.code_bytes() > 0, gemm.is_emitted());
}

TEST(GemmCode, EmptyAndUnreachableShapesRunCompiled) {
  for (const os::SimdLevel level : {os::SimdLevel::portable, best_level()}) {
    GemmCode<float> code(GemmSource::emitted, level);
    Gemm<float> empty, far;
    code.add({.m = 2, .n = 2, .k = 0, .lda = 1, .ldb = 2, .beta = 0.5f, .ldc = 2}, empty);
    code.add({.m = 1, .n = 1, .k = 1, .lda = std::size_t{1} << 40, .ldb = 1, .ldc = 1}, far);
    code.seal();
    float a = 3, b = 5, c[4] = {2, 4, 6, 8};
    empty(&a, &b, c);
    EXPECT_EQ(c[0], 1);
    EXPECT_EQ(c[3], 4);
    far(&a, &b, c);
    EXPECT_EQ(c[0], 15);
    EXPECT_FALSE(empty.is_emitted() || far.is_emitted());
  }
}

/// Ends with 0 where a product is right and `emitted` says whether it is run by code of its own.
[[noreturn]] void multiply(bool emitted) {
  GemmCode<float> code;
  Gemm<float> gemm;
  code.add({.trans_b = true, .m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2, .epilogue = Epilogue::bias}, gemm);
  code.seal();
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, bias[2] = {100, 200};
  float c[4];
  gemm(a, b, c, bias);
  const bool right = c[0] == 117 && c[1] == 223 && c[2] == 139 && c[3] == 253;
  std::_Exit(right && gemm.is_emitted() == emitted && (code.code_bytes() != 0) == emitted ? 0 : 1);
}

[[noreturn]] void multiply_where_writable_code_is_denied() {
  (void)os::deny_writable_code();  // where the system does not know it there is nothing to deny
  multiply(!emit_gemm(GemmShape<float>{.m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2}, best_level()).empty());
}

[[noreturn]] void multiply_where_no_code_can_be_made() {
  const rlimit no_more_files{};
  if (::setrlimit(RLIMIT_NOFILE, &no_more_files) != 0) std::_Exit(2);
  multiply(false);
}

TEST(GemmCode, IsMadeWhereWritableCodeIsDenied) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(multiply_where_writable_code_is_denied(), testing::ExitedWithCode(0), "");
}

TEST(GemmCode, FallsBackWhereNoCodeCanBeMade) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(multiply_where_no_code_can_be_made(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace trident::tensor
