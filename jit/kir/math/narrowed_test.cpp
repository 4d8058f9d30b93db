// Narrows every function for arguments of any size to a known range and compares it with the function as it was: the
// same bits at each point of the range, with fewer operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "jit/kir/builder.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/math/math.h"
#include "jit/kir/narrow.h"
#include "tests/support/random.h"

namespace trident::kir::math {
namespace {

struct Row {
  Function f;
  Range x, y;
};
const Row kRows[] = {
#include "jit/kir/math/test_ranges.def"
};

constexpr std::size_t kPoints = 4096;

// Draws points of the range: ends, zeros, a step beside them, small numbers, and anything between.
template <class Real>
std::vector<Real> points(const Range& range, testing::Random& random) {
  const auto greatest = static_cast<double>(std::numeric_limits<Real>::max());
  const auto lo = static_cast<Real>(std::max(range.lo, -greatest)),
             hi = static_cast<Real>(std::min(range.hi, greatest));
  std::vector<Real> xs;
  while (xs.size() < kPoints) {
    const auto share = static_cast<Real>(random.unit());
    Real x = lo * (1 - share) + hi * share;
    if (random.one_in(8)) x = random.one_in(2) ? lo : hi;
    if (random.one_in(8)) x = std::nextafter(x, random.one_in(2) ? lo : hi);
    if (random.one_in(4)) x = std::ldexp(x, -static_cast<int>(random.below(80)));
    if (random.one_in(16)) x = random.one_in(2) ? Real(0) : Real(-0.0);
    if (range.may_be_nan && random.one_in(16)) x = std::numeric_limits<Real>::quiet_NaN();
    if (x < lo || x > hi) continue;
    xs.push_back(x);
  }
  return xs;
}

template <class Real>
void expect_same(const Row& row, std::size_t& before, std::size_t& after) {
  const Type type = sizeof(Real) == 4 ? Type::f32 : Type::f64;
  Kernel kernel;
  Builder b(kernel);
  std::vector<Value> args;
  const std::vector<Range> anything(arity_of(row.f));
  for (std::uint32_t i = 0; i < arity_of(row.f); ++i) {
    kernel.inputs.push_back({i == 0 ? "x" : "y", type});
    args.push_back(b.input(i));
  }
  kernel.outputs.push_back({"f", emit(b, row.f, args, anything, Accuracy::ulp1)});
  std::vector<Known> known(kernel.insts.size());
  known[args[0].index] = {row.x.lo, row.x.hi, row.x.may_be_nan};
  if (args.size() > 1) known[args[1].index] = {row.y.lo, row.y.hi, row.y.may_be_nan};
  const Kernel narrowed = narrow(kernel, known);
  ASSERT_TRUE(check(narrowed).ok()) << check(narrowed).error().message;
  before += kernel.insts.size();
  after += narrowed.insts.size();
  testing::Random random(static_cast<std::uint64_t>(row.f) + 1);
  const std::vector<Real> x = points<Real>(row.x, random), y = points<Real>(row.y, random);
  std::vector<Real> wanted(kPoints), got(kPoints);
  const void* in[] = {x.data(), y.data()};
  void* to = wanted.data();
  interpret(kernel, kPoints, in, &to, nullptr);
  to = got.data();
  interpret(narrowed, kPoints, in, &to, nullptr);
  for (std::size_t i = 0; i < kPoints; ++i) {
    if (std::isnan(wanted[i]) && std::isnan(got[i])) continue;
    ASSERT_EQ(std::memcmp(&wanted[i], &got[i], sizeof(Real)), 0)
        << name_of(row.f) << "(" << x[i] << ", " << y[i] << ") in [" << row.x.lo << ", " << row.x.hi
        << "]: " << wanted[i] << " narrowed " << got[i] << "\n"
        << print(narrowed);
  }
}

TEST(Narrowed, FunctionsKeepTheirBits) {
  std::size_t before = 0, after = 0;
  for (const Row& row : kRows) {
    expect_same<float>(row, before, after);
    expect_same<double>(row, before, after);
    if (HasFatalFailure()) return;
  }
  EXPECT_LT(after, before * 9 / 10);
}

TEST(Narrowed, FunctionsKeepTheirBitsWhereNanMayCome) {
  std::size_t before = 0, after = 0;
  for (Row row : kRows) {
    row.x.may_be_nan = row.y.may_be_nan = true;
    expect_same<float>(row, before, after);
    expect_same<double>(row, before, after);
    if (HasFatalFailure()) return;
  }
  EXPECT_LT(after, before);
}

}  // namespace
}  // namespace trident::kir::math
