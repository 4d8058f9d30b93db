// Oracle: the definitions, computed in long double by plain loops. Every level that this machine runs, every width that
// leaves another tail.
#include "runtime/tensor/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "runtime/os/self.h"
#include "runtime/tensor/generator.h"
#include "runtime/tensor/random_values.h"

namespace trident::tensor {
namespace {

template <class Real>
constexpr double kTolerance = sizeof(Real) == 4 ? 2e-5 : 1e-12;

std::vector<os::SimdLevel> levels() {
  std::vector<os::SimdLevel> all;
  for (const os::SimdLevel level : os::kSimdLevels) {
    if (kernels_of<float>(level)) all.push_back(level);
  }
  return all;
}

template <class Real>
class KernelTest : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(KernelTest, Reals);

template <class Real>
void expect_near(const std::vector<Real>& got, const std::vector<long double>& want, const char* what,
                 os::SimdLevel level, std::size_t size) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double tolerance = kTolerance<Real> * (1 + std::fabs(static_cast<double>(want[i])));
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), tolerance)
        << what << " at " << name_of(level) << ", size " << size << ", element " << i;
  }
}

TYPED_TEST(KernelTest, GemmOfEveryTailAndTransposition) {
  using Real = TypeParam;
  const std::size_t extents[] = {1, 2, 3, 5, 8, 13, 16, 17, 33, 64, 131, 300};
  for (const os::SimdLevel level : levels()) {
    const Kernels<Real>& kernels = *kernels_of<Real>(level);
    Generator generator(1);
    for (int round = 0; round < 400; ++round) {
      const bool ta = generator.below(2), tb = generator.below(2);
      const std::size_t m = extents[generator.below(12)], n = extents[generator.below(12)],
                        k = extents[generator.below(12)];
      const std::size_t lda = (ta ? m : k) + generator.below(3), ldb = (tb ? k : n) + generator.below(3);
      const std::size_t ldc = n + generator.below(3);
      const Real alpha = generator.below(2) ? Real(1) : Real(-0.5);
      const Real beta = static_cast<Real>(generator.below(3)) / 2;
      const auto a = random_values<Real>((ta ? k : m) * lda, 2), b = random_values<Real>((tb ? n : k) * ldb, 3);
      auto c = random_values<Real>(m * ldc, 4);
      if (beta == 0) std::fill(c.begin(), c.end(), std::numeric_limits<Real>::quiet_NaN());  // must be ignored
      const auto before = c;
      kernels.gemm(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < ldc; ++j) {
          if (j >= n) {
            ASSERT_EQ(std::isnan(c[i * ldc + j]), std::isnan(before[i * ldc + j]));
            if (!std::isnan(before[i * ldc + j])) {
              ASSERT_EQ(c[i * ldc + j], before[i * ldc + j]) << "wrote beyond the row";
            }
            continue;
          }
          long double sum = 0;
          for (std::size_t l = 0; l < k; ++l) {
            sum +=
                static_cast<long double>(ta ? a[l * lda + i] : a[i * lda + l]) * (tb ? b[j * ldb + l] : b[l * ldb + j]);
          }
          const long double want = sum * alpha + (beta == 0 ? 0 : static_cast<long double>(before[i * ldc + j]) * beta);
          ASSERT_NEAR(static_cast<double>(c[i * ldc + j]), static_cast<double>(want), kTolerance<Real> * 10)
              << name_of(level) << " m " << m << " n " << n << " k " << k << " ta " << ta << " tb " << tb;
        }
      }
    }
  }
}

TYPED_TEST(KernelTest, ProductsFuseIntoSumsAboveTheBaseline) {
  using Real = TypeParam;
  const Real e = sizeof(Real) == 4 ? Real(0x1p-12) : Real(0x1p-27);  // (1 + e)^2 is 1 + 2e when it is rounded
  for (const os::SimdLevel level : levels()) {
    if (level == os::SimdLevel::portable) continue;
    const Real a[2] = {-1, 1 + e}, b[2] = {1 + 2 * e, 1 + e};
    Real c = 0;
    kernels_of<Real>(level)->gemm(false, false, 1, 1, 2, 1, a, 2, b, 1, 0, &c, 1);
    EXPECT_EQ(c, e * e) << name_of(level);
  }
}

TYPED_TEST(KernelTest, ActivationsAndTheirSlopes) {
  using Real = TypeParam;
  for (const os::SimdLevel level : levels()) {
    const Kernels<Real>& kernels = *kernels_of<Real>(level);
    for (const std::size_t columns : {1u, 7u, 16u, 67u}) {
      for (const Activation activation :
           {Activation::none, Activation::relu, Activation::clipped_relu, Activation::gelu}) {
        const std::size_t rows = 3;
        auto y = random_values<Real>(rows * columns, 1);
        for (Real& v : y) v *= 2;
        const auto x = y, bias = random_values<Real>(columns, 2), dy = random_values<Real>(rows * columns, 3);
        std::vector<Real> before(rows * columns), dx(rows * columns);
        kernels.bias_activate(rows, columns, bias.data(), activation, before.data(), y.data());
        kernels.activation_backward(rows * columns, activation, before.data(), y.data(), dy.data(), dx.data());
        std::vector<long double> want(rows * columns), slopes(rows * columns);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const long double v = static_cast<long double>(x[i] + bias[i % columns]);
          const long double phi = (1 + std::erf(v / std::sqrt(2.0L))) / 2;
          long double value = v, slope = 1;
          if (activation == Activation::relu) value = std::max(0.0L, v), slope = v > 0;
          if (activation == Activation::clipped_relu) value = std::clamp(v, 0.0L, 1.0L), slope = v > 0 && v < 1;
          if (activation == Activation::gelu) {
            value = v * phi;
            slope = phi + v * std::exp(-v * v / 2) / std::sqrt(2 * 3.14159265358979323846L);
          }
          want[i] = value;
          slopes[i] = slope * dy[i];
        }
        expect_near(y, want, "activation", level, columns);
        expect_near(dx, slopes, "slope", level, columns);
      }
    }
  }
}

TYPED_TEST(KernelTest, ReductionsAndArrays) {
  using Real = TypeParam;
  for (const os::SimdLevel level : levels()) {
    const Kernels<Real>& kernels = *kernels_of<Real>(level);
    for (const std::size_t n : {1u, 5u, 31u, 64u, 65u, 300u, 5000u}) {
      const auto a = random_values<Real>(n, 1), b = random_values<Real>(n, 2);
      std::vector<Real> sum(n), product(n), fused = a, moved = b, scaled = a, mixed = a;
      kernels.add(n, a.data(), b.data(), sum.data());
      kernels.multiply(n, a.data(), b.data(), product.data());
      kernels.multiply_add(n, a.data(), b.data(), fused.data());
      kernels.axpy(n, Real(-3), a.data(), moved.data());
      kernels.scale(n, Real(0.25), scaled.data());
      kernels.lerp(n, Real(0.125), b.data(), mixed.data());
      std::vector<long double> want[6];
      long double squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const long double x = a[i], y = b[i];
        want[0].push_back(x + y), want[1].push_back(x * y), want[2].push_back(x + x * y), want[3].push_back(y - 3 * x);
        want[4].push_back(x / 4), want[5].push_back(x + (y - x) / 8);
        squares += x * x;
      }
      expect_near(sum, want[0], "add", level, n);
      expect_near(product, want[1], "multiply", level, n);
      expect_near(fused, want[2], "multiply_add", level, n);
      expect_near(moved, want[3], "axpy", level, n);
      expect_near(scaled, want[4], "scale", level, n);
      expect_near(mixed, want[5], "lerp", level, n);
      EXPECT_NEAR(kernels.sum_of_squares(n, a.data()) / static_cast<double>(squares), 1, kTolerance<Real>);

      const std::size_t rows = 9;
      const auto x = random_values<Real>(rows * n, 3);
      auto out = random_values<Real>(n, 4);
      std::vector<long double> columns(out.begin(), out.end());
      for (std::size_t i = 0; i < x.size(); ++i) columns[i % n] += x[i];
      kernels.column_sums(rows, n, x.data(), true, out.data());
      expect_near(out, columns, "column_sums", level, n);
    }
  }
}

TYPED_TEST(KernelTest, OptimiserSteps) {
  using Real = TypeParam;
  for (const os::SimdLevel level : levels()) {
    const Kernels<Real>& kernels = *kernels_of<Real>(level);
    for (const std::size_t n : {3u, 16u, 77u}) {
      const auto g = random_values<Real>(n, 1), w0 = random_values<Real>(n, 2), m0 = random_values<Real>(n, 3);
      auto v0 = random_values<Real>(n, 4);
      for (Real& v : v0) v = v * v;
      const AdamStep<Real> s{Real(0.01), Real(0.9), Real(0.99), Real(1e-8), Real(0.1), Real(1.5), Real(2.5), Real(0.5)};
      auto w = w0, m = m0, v = v0, u = m0, x = w0;
      kernels.adam(n, s, g.data(), w.data(), m.data(), v.data());
      const SgdStep<Real> sgd{Real(0.01), Real(0.9), Real(0.1), Real(0.5)};
      kernels.sgd(n, sgd, g.data(), x.data(), u.data());
      std::vector<long double> want_w, want_u, want_x;
      for (std::size_t i = 0; i < n; ++i) {
        const long double gi = g[i] * 0.5L, mi = 0.9L * m0[i] + 0.1L * gi, vi = 0.99L * v0[i] + 0.01L * gi * gi;
        want_w.push_back(w0[i] * (1 - 0.001L) - 0.01L * (mi * 1.5L) / (std::sqrt(vi * 2.5L) + 1e-8L));
        want_u.push_back(0.9L * m0[i] + gi + 0.1L * w0[i]);
        want_x.push_back(w0[i] - 0.01L * want_u.back());
      }
      expect_near(w, want_w, "adam", level, n);
      expect_near(u, want_u, "velocity", level, n);
      expect_near(x, want_x, "sgd", level, n);
    }
  }
}

TYPED_TEST(KernelTest, RowsSumAndLearn) {
  using Real = TypeParam;
  for (const os::SimdLevel level : levels()) {
    const Kernels<Real>& kernels = *kernels_of<Real>(level);
    for (const std::size_t width : {1u, 6u, 64u, 100u, 256u}) {
      const std::size_t rows = 50, stride = width + 3;
      const auto table = random_values<Real>(rows * stride, 1);
      std::vector<std::int32_t> ids;
      Generator generator(3);
      for (int i = 0; i < 40; ++i) ids.push_back(static_cast<std::int32_t>(generator.below(rows)));
      std::vector<Real> out(width);
      kernels.sum_rows(width, table.data(), stride, ids.data(), ids.size(), out.data());
      std::vector<long double> want(width);
      for (const std::int32_t id : ids) {
        for (std::size_t c = 0; c < width; ++c) want[c] += table[static_cast<std::size_t>(id) * stride + c];
      }
      expect_near(out, want, "sum_rows", level, width);

      const auto gradients = random_values<Real>(10 * width, 2);
      std::vector<const Real*> gradient_rows;
      for (std::size_t i = 0; i < 10; ++i) gradient_rows.push_back(gradients.data() + i * width);
      const std::vector<std::uint32_t> samples = {1, 4, 4, 9};
      std::vector<Real> summed(width);
      for (std::size_t c = 0; c < width; ++c) {
        summed[c] = gradients[width + c] + 2 * gradients[4 * width + c] + gradients[9 * width + c];
      }
      const AdamStep<Real> s{Real(0.01), Real(0.9), Real(0.99), Real(1e-8), Real(0), Real(1.5), Real(2.5), Real(0.5)};
      auto row = random_values<Real>(3 * width, 3);
      for (std::size_t c = 0; c < width; ++c) row[2 * width + c] *= row[2 * width + c];
      std::vector<long double> adam(3 * width);
      for (std::size_t c = 0; c < width; ++c) {
        const long double gi = summed[c] * 0.5L, mi = 0.9L * row[width + c] + 0.1L * gi;
        const long double vi = 0.99L * row[2 * width + c] + 0.01L * gi * gi;
        adam[c] = row[c] - 0.01L * mi * 1.5L / (std::sqrt(vi * 2.5L) + 1e-8L);
        adam[width + c] = mi;
        adam[2 * width + c] = vi;
      }
      kernels.row_adam(width, width, s, gradient_rows.data(), samples.data(), samples.size(), row.data(), row.data());
      expect_near(row, adam, "row_adam", level, width);

      const AdagradStep<Real> a{Real(0.1), Real(1e-6), Real(0.5)};
      auto pair = random_values<Real>(2 * width, 4);
      for (std::size_t c = 0; c < width; ++c) pair[width + c] *= pair[width + c];
      std::vector<long double> adagrad(2 * width);
      for (std::size_t c = 0; c < width; ++c) {
        const long double gi = summed[c] * 0.5L, square = pair[width + c] + gi * gi;
        adagrad[c] = pair[c] - 0.1L * gi / (std::sqrt(square) + 1e-6L);
        adagrad[width + c] = square;
      }
      kernels.row_adagrad(width, width, a, gradient_rows.data(), samples.data(), samples.size(), pair.data(),
                          pair.data());
      expect_near(pair, adagrad, "row_adagrad", level, width);
    }
  }
}

[[noreturn]] void gemm_where_writable_code_is_denied() {
  (void)os::deny_writable_code();  // where the system does not know it there is nothing to deny
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  float c[4];
  kernels<float>().gemm(false, true, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
  std::_Exit(c[0] == 17 && c[1] == 23 && c[2] == 39 && c[3] == 53 ? 0 : 1);
}

TEST(Kernels, MultiplyWhereWritableCodeIsDenied) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(gemm_where_writable_code_is_denied(), testing::ExitedWithCode(0), "");
}

TEST(Kernels, TheBestLevelIsOneThatRuns) {
  EXPECT_NE(kernels_of<float>(best_level()), nullptr);
  EXPECT_EQ(&kernels<float>(), kernels_of<float>(best_level()));
  EXPECT_EQ(kernels<double>().adam, kernels_of<double>(best_level())->adam);
}

}  // namespace
}  // namespace trident::tensor
