// eval_lane against formulas that share nothing with it: MPFR for float arithmetic, __int128 for integers, bit
// arithmetic for the rest.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "jit/kir/interpreter.h"

namespace trident::kir {
namespace {

double double_of(Type type, std::uint64_t bits) {
  return type == Type::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
}

std::uint64_t bits_of_double(Type type, double value) {
  return type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                           : std::bit_cast<std::uint64_t>(value);
}

std::uint64_t exponent_mask(Type type) {
  return type == Type::f32 ? 0x7F80'0000u : 0x7FF0'0000'0000'0000u;
}

/// Equal bits, or both NaN (whose sign and payload are not part of kir's meaning).
bool same_bits(Type type, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  return is_float(type) && std::isnan(double_of(type, a)) && std::isnan(double_of(type, b));
}

std::vector<std::uint64_t> corner_bits(Type type) {
  std::vector<std::uint64_t> out;
  if (is_float(type)) {
    const bool narrow = type == Type::f32;
    const double least = narrow ? 0x1p-149 : 0x1p-1074, normal = narrow ? 0x1p-126 : 0x1p-1022;
    const double greatest = narrow ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const double inf = std::numeric_limits<double>::infinity();
    for (const double x : {0.0, least, 3 * least, normal - least, normal, 0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 1e9, 0x1p23,
                           0x1p24, 0x1p52, 0x1p53, greatest / 2, greatest, inf})
      for (const double signed_x : {x, -x}) out.push_back(bits_of_double(type, signed_x));
    out.push_back(bits_of_double(type, std::nan("")));
    out.push_back(exponent_mask(type) + 1);  // a signalling NaN
    out.push_back(bits_of_double(type, -std::nan("")));
    return out;
  }
  const std::uint64_t lanes = ir::bytes_of(type) == 4 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
  if (is_mask(type)) return {0, lanes};
  const std::uint64_t least = lanes / 2 + 1;
  for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{31},
                                std::uint64_t{32}, std::uint64_t{33}, std::uint64_t{63}, std::uint64_t{64},
                                std::uint64_t{1000}, least, least + 1, least - 1, lanes, lanes - 1, lanes / 3})
    out.push_back(x & lanes);
  return out;
}

class SampleBits {
 public:
  explicit SampleBits(std::uint64_t seed) : random_(seed) {}

  std::uint64_t operator()(Type type) {
    const bool narrow = ir::bytes_of(type) == 4;
    const std::uint64_t lanes = narrow ? 0xFFFF'FFFFu : ~std::uint64_t{0};
    if (is_mask(type)) return random_() % 2 == 0 ? 0 : lanes;
    const std::uint64_t kind = random_() % 16;
    if (kind == 0) {
      const std::vector<std::uint64_t> corners = corner_bits(type);
      return corners[random_() % corners.size()];
    }
    if (kind < 4) return random_() & lanes;
    if (is_float(type)) {
      const double unit = 1 + double(random_() >> 12) * 0x1p-52;
      return bits_of_double(type, std::ldexp(random_() % 2 == 0 ? unit : -unit, int(random_() % 80) - 40));
    }
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(random_()) >> (random_() % 64)) & lanes;
  }

  std::uint64_t number() { return random_(); }

 private:
  std::mt19937_64 random_;
};

/// One exact operation rounded once into the format of `type`, subnormals included.
class Exact {
 public:
  Exact() {
    for (auto* x : {a_, b_, c_, r_}) mpfr_init2(x, 4500);  // holds any sum of products of doubles exactly
  }
  ~Exact() {
    for (auto* x : {a_, b_, c_, r_}) mpfr_clear(x);
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  std::uint64_t operator()(Op op, Type type, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    set(a_, type, a);
    set(b_, type, b);
    set(c_, type, c);
    operate(op);
    return rounded(type);
  }

 private:
  static void set(mpfr_t x, Type type, std::uint64_t bits) {
    if (type == Type::f32)
      mpfr_set_flt(x, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), MPFR_RNDN);
    else
      mpfr_set_d(x, std::bit_cast<double>(bits), MPFR_RNDN);
  }

  void operate(Op op) {
    if (op == Op::Add)
      mpfr_add(r_, a_, b_, MPFR_RNDN);
    else if (op == Op::Sub)
      mpfr_sub(r_, a_, b_, MPFR_RNDN);
    else if (op == Op::Mul)
      mpfr_mul(r_, a_, b_, MPFR_RNDN);
    else if (op == Op::Fma)
      mpfr_fma(r_, a_, b_, c_, MPFR_RNDN);
    else if (op == Op::Fms)
      mpfr_fms(r_, a_, b_, c_, MPFR_RNDN);
    else if (op == Op::Fnma) {
      mpfr_neg(a_, a_, MPFR_RNDN);
      mpfr_fma(r_, a_, b_, c_, MPFR_RNDN);
    } else if (op == Op::Fnms) {
      mpfr_neg(a_, a_, MPFR_RNDN);
      mpfr_fms(r_, a_, b_, c_, MPFR_RNDN);
    } else if (op == Op::Scalef) {
      scale();
    } else {
      FAIL();
    }
  }

  void scale() {
    if (mpfr_nan_p(b_) != 0 || mpfr_nan_p(a_) != 0) return mpfr_set_nan(r_);
    if (mpfr_zero_p(a_) != 0) {
      mpfr_set(r_, a_, MPFR_RNDN);
      return;
    }
    const long exponent = mpfr_cmp_si(b_, 100000) > 0    ? 100000
                          : mpfr_cmp_si(b_, -100000) < 0 ? -100000
                                                         : mpfr_get_si(b_, MPFR_RNDN);
    mpfr_mul_2si(r_, a_, exponent, MPFR_RNDN);
  }

  /// Rounds the exact r_ to nearest even: on the grid of the result's binade, or of the subnormals.
  std::uint64_t rounded(Type type) {
    const bool narrow = type == Type::f32;
    if (mpfr_nan_p(r_) != 0) return narrow ? 0x7FC0'0000u : 0x7FF8'0000'0000'0000u;
    const long digits = narrow ? 24 : 53, least = narrow ? -149 : -1074, greatest = narrow ? 128 : 1024;
    double value = mpfr_signbit(r_) != 0 ? -0.0 : 0.0;
    if (mpfr_inf_p(r_) != 0) {
      value = std::copysign(std::numeric_limits<double>::infinity(), value);
    } else if (mpfr_zero_p(r_) == 0) {
      const long grid = std::max<long>(static_cast<long>(mpfr_get_exp(r_)) - digits, least);
      mpfr_mul_2si(r_, r_, -grid, MPFR_RNDN);
      mpfr_rint(r_, r_, MPFR_RNDN);
      mpfr_mul_2si(r_, r_, grid, MPFR_RNDN);
      const bool overflows = mpfr_zero_p(r_) == 0 && mpfr_get_exp(r_) > greatest;
      value = overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : mpfr_get_d(r_, MPFR_RNDN);
    }
    return narrow ? std::bit_cast<std::uint32_t>(static_cast<float>(value)) : std::bit_cast<std::uint64_t>(value);
  }

  mpfr_t a_, b_, c_, r_;
};

class FloatLane : public ::testing::TestWithParam<Type> {
 protected:
  std::uint64_t eval(Op op, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    return eval_lane(op, GetParam(), GetParam(), a, b, c);
  }
  [[nodiscard]] double value(std::uint64_t bits) const { return double_of(GetParam(), bits); }
  [[nodiscard]] std::vector<std::uint64_t> corners() const { return corner_bits(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Types, FloatLane, ::testing::Values(Type::f32, Type::f64),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(FloatLane, ArithmeticRoundsOnceLikeMpfr) {
  Exact exact;
  SampleBits sample(1);
  const auto compare = [&](Op op, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    ASSERT_TRUE(same_bits(GetParam(), eval(op, a, b, c), exact(op, GetParam(), a, b, c)))
        << info(op).text << " " << value(a) << " " << value(b) << " " << value(c);
  };
  for (const Op op : {Op::Add, Op::Sub, Op::Mul})
    for (const std::uint64_t a : corners())
      for (const std::uint64_t b : corners()) compare(op, a, b, 0);
  for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Fma, Op::Fms, Op::Fnma, Op::Fnms})
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t a = sample(GetParam()), b = sample(GetParam());
      std::uint64_t c = sample(GetParam());
      if (i % 2 == 0) c = eval(Op::Mul, a, b);  // cancellation leaves the rounding error of the product
      compare(op, a, b, c);
    }
}

TEST_P(FloatLane, DivisionAndRootAreNearest) {
  // |q * b - a| <= half an ulp of q times |b|, exactly: checked through the exact residue at both neighbours.
  SampleBits sample(2);
  mpfr_t r, best;
  mpfr_init2(r, 3000);
  mpfr_init2(best, 3000);
  const auto residue_is_least = [&](std::uint64_t q, auto residue) {
    residue(best, value(q));
    mpfr_abs(best, best, MPFR_RNDN);
    for (const std::uint64_t neighbour : {q + 1, q - 1}) {
      if (!std::isfinite(value(neighbour))) continue;
      residue(r, value(neighbour));
      if (mpfr_cmpabs(r, best) < 0) return false;
    }
    return true;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t a = sample(GetParam()), b = sample(GetParam());
    const std::uint64_t q = eval(Op::Div, a, b), s = eval(Op::Sqrt, a);
    if (std::isfinite(value(q)) && value(q) != 0) {
      ASSERT_TRUE(residue_is_least(q,
                                   [&](mpfr_t out, double x) {
                                     mpfr_set_d(out, x, MPFR_RNDN);
                                     mpfr_mul_d(out, out, value(b), MPFR_RNDN);
                                     mpfr_sub_d(out, out, value(a), MPFR_RNDN);
                                   }))
          << value(a) << " / " << value(b);
    }
    if (std::isfinite(value(s)) && value(s) != 0)
      // Nearest root: a lies between the squares of the midpoints to the neighbours.
      for (const int side : {-1, 1}) {
        mpfr_set_d(best, value(s), MPFR_RNDN);
        mpfr_add_d(best, best, value(s + static_cast<std::uint64_t>(side)), MPFR_RNDN);
        mpfr_sqr(best, best, MPFR_RNDN);
        mpfr_div_ui(best, best, 4, MPFR_RNDN);
        ASSERT_EQ(mpfr_cmp_d(best, value(a)) > 0, side > 0) << "sqrt " << value(a);
      }
  }
  mpfr_clear(r);
  mpfr_clear(best);
  const double inf = std::numeric_limits<double>::infinity();
  const auto bits = [&](double x) { return bits_of_double(GetParam(), x); };
  EXPECT_EQ(value(eval(Op::Div, bits(1), bits(-0.0))), -inf);
  EXPECT_EQ(value(eval(Op::Div, bits(-3), bits(inf))), 0);
  EXPECT_TRUE(std::signbit(value(eval(Op::Div, bits(-3), bits(inf)))));
  EXPECT_TRUE(std::isnan(value(eval(Op::Div, bits(0), bits(0)))));
  EXPECT_TRUE(std::isnan(value(eval(Op::Sqrt, bits(-1)))));
  EXPECT_EQ(eval(Op::Sqrt, bits(-0.0)), bits(-0.0));
}

TEST_P(FloatLane, ScalefRoundsOnce) {
  Exact exact;
  SampleBits sample(3);
  std::mt19937_64 random(4);
  const int bias = GetParam() == Type::f32 ? 127 : 1023;
  for (int i = 0; i < 20000; ++i) {
    const double a = std::copysign(std::ldexp(1 + double(random() >> 12) * 0x1p-52, int(random() % 8) - 4),
                                   random() % 2 ? 1.0 : -1.0);
    const int b = i % 4 == 0 ? int(random() % 100000) - 50000 : int(random() % (4 * bias)) - 2 * bias;
    const std::uint64_t ab = bits_of_double(GetParam(), a), bb = bits_of_double(GetParam(), b);
    ASSERT_TRUE(same_bits(GetParam(), eval(Op::Scalef, ab, bb), exact(Op::Scalef, GetParam(), ab, bb, 0)))
        << a << " * 2^" << b;
  }
  const double inf = std::numeric_limits<double>::infinity();
  const auto bits = [&](double x) { return bits_of_double(GetParam(), x); };
  EXPECT_EQ(eval(Op::Scalef, bits(-1.5), bits(inf)), bits(-inf));
  EXPECT_EQ(eval(Op::Scalef, bits(-1.5), bits(-inf)), bits(-0.0));
  EXPECT_EQ(eval(Op::Scalef, bits(0), bits(-inf)), bits(0));
  EXPECT_EQ(eval(Op::Scalef, bits(-0.0), bits(5)), bits(-0.0));
  EXPECT_TRUE(std::isnan(value(eval(Op::Scalef, bits(1), bits(std::nan(""))))));
  EXPECT_TRUE(std::isnan(value(eval(Op::Scalef, bits(std::nan("")), bits(1)))));
}

TEST_P(FloatLane, RoundingToIntegralMatchesMpfr) {
  SampleBits sample(5);
  mpfr_t x;
  mpfr_init2(x, 60);
  std::vector<std::uint64_t> all = corners();
  for (int i = 0; i < 5000; ++i)
    all.push_back(i % 2 ? sample(GetParam()) : bits_of_double(GetParam(), (i - 2500) / 8.0));
  const std::pair<Op, mpfr_rnd_t> ops[] = {
      {Op::Rint, MPFR_RNDN}, {Op::Floor, MPFR_RNDD}, {Op::Ceil, MPFR_RNDU}, {Op::Trunc, MPFR_RNDZ}};
  for (const auto& [op, mode] : ops)
    for (const std::uint64_t a : all) {
      if (std::isnan(value(a))) {
        EXPECT_TRUE(std::isnan(value(eval(op, a))));
        continue;
      }
      mpfr_set_d(x, value(a), MPFR_RNDN);
      mpfr_rint(x, x, mode);
      ASSERT_EQ(eval(op, a), bits_of_double(GetParam(), mpfr_get_d(x, MPFR_RNDN))) << info(op).text << value(a);
    }
  mpfr_clear(x);
}

TEST_P(FloatLane, SignsOrderAndComparisons) {
  const std::uint64_t sign = GetParam() == Type::f32 ? 0x8000'0000u : 0x8000'0000'0000'0000u;
  const std::uint64_t ones = GetParam() == Type::f32 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
  const Type mask = mask_of(GetParam());
  for (const std::uint64_t a : corners()) {
    EXPECT_EQ(eval(Op::Neg, a), a ^ sign);
    EXPECT_EQ(eval(Op::Abs, a), a & ~sign);
    for (const std::uint64_t b : corners()) {
      const bool unordered = (a & ~sign) > exponent_mask(GetParam()) || (b & ~sign) > exponent_mask(GetParam());
      // Ordering by bits: sign-magnitude to two's complement; both zeros are equal.
      const auto key = [&](std::uint64_t x) {
        const auto magnitude = static_cast<std::int64_t>(x & ~sign);
        return (x & sign) != 0 ? -magnitude : magnitude;
      };
      const bool less = !unordered && key(a) < key(b), equal = !unordered && key(a) == key(b);
      EXPECT_EQ(eval(Op::Min, a, b), less ? a : b);
      EXPECT_EQ(eval(Op::Max, a, b), !unordered && key(a) > key(b) ? a : b);
      EXPECT_EQ(eval_lane(Op::Lt, mask, GetParam(), a, b, 0), less ? ones : 0);
      EXPECT_EQ(eval_lane(Op::Le, mask, GetParam(), a, b, 0), less || equal ? ones : 0);
      EXPECT_EQ(eval_lane(Op::Eq, mask, GetParam(), a, b, 0), equal ? ones : 0);
      EXPECT_EQ(eval_lane(Op::Ne, mask, GetParam(), a, b, 0), equal ? 0 : ones);
    }
  }
}

TEST_P(FloatLane, ConversionsToIntegersTruncateOrRoundAndGiveTheLeastOutOfRange) {
  SampleBits sample(6);
  mpfr_t x;
  mpfr_init2(x, 60);
  std::vector<std::uint64_t> all = corners();
  for (int i = 0; i < 20000; ++i) all.push_back(sample(GetParam()));
  for (const double near : {0x1p31, -0x1p31, 0x1p63, -0x1p63})
    for (const double step : {-1.0, -0.5, 0.0, 0.5, 1.0}) all.push_back(bits_of_double(GetParam(), near + step));
  for (const Type to : {Type::i32, Type::i64})
    for (const bool nearest : {false, true}) {
      if (nearest && bytes_of(to) != bytes_of(GetParam())) continue;
      for (const std::uint64_t a : all) {
        const __int128 end = __int128{1} << (bytes_of(to) * 8 - 1);
        __int128 expected = -end;
        mpfr_set_d(x, value(a), MPFR_RNDN);
        if (mpfr_number_p(x) != 0) {
          mpfr_rint(x, x, nearest ? MPFR_RNDN : MPFR_RNDZ);
          const long double whole = mpfr_get_ld(x, MPFR_RNDN);
          if (std::fabs(whole) < 0x1p100L && __int128(whole) >= -end && __int128(whole) < end)
            expected = __int128(whole);
        }
        std::uint64_t bits = static_cast<std::uint64_t>(expected);
        if (to == Type::i32) bits &= 0xFFFF'FFFFu;
        ASSERT_EQ(eval_lane(nearest ? Op::ToIntRint : Op::Convert, to, GetParam(), a, 0, 0), bits) << value(a);
      }
    }
  mpfr_clear(x);
}

TEST(Lane, ConversionsToFloatsRoundOnceLikeMpfr) {
  SampleBits sample(7);
  mpfr_t narrow, wide;
  mpfr_init2(narrow, 24);
  mpfr_init2(wide, 53);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t i64 = sample(Type::i64), i32 = sample(Type::i32);
    for (const bool from_wide : {true, false}) {
      const Type from = from_wide ? Type::i64 : Type::i32;
      const std::uint64_t bits = from_wide ? i64 : i32;
      const std::int64_t value = from_wide ? static_cast<std::int64_t>(i64) : static_cast<std::int32_t>(i32);
      mpfr_set_sj(narrow, value, MPFR_RNDN);
      mpfr_set_sj(wide, value, MPFR_RNDN);
      ASSERT_EQ(eval_lane(Op::Convert, Type::f32, from, bits, 0, 0),
                std::bit_cast<std::uint32_t>(mpfr_get_flt(narrow, MPFR_RNDN)));
      ASSERT_EQ(eval_lane(Op::Convert, Type::f64, from, bits, 0, 0),
                std::bit_cast<std::uint64_t>(mpfr_get_d(wide, MPFR_RNDN)));
    }
  }
  mpfr_clear(narrow);
  mpfr_clear(wide);
  // f64 -> f32: below half of the least subnormal, at it (ties to even) and above; and the edge of overflow.
  const auto to_f32 = [](double x) {
    return eval_lane(Op::Convert, Type::f32, Type::f64, std::bit_cast<std::uint64_t>(x), 0, 0);
  };
  EXPECT_EQ(to_f32(0x1p-150), 0u);
  EXPECT_EQ(to_f32(0x1.0000001p-150), 1u);
  EXPECT_EQ(to_f32(0x1.8p-149), 2u);
  EXPECT_EQ(to_f32(-0x1.fffffefp127), 0xFF7F'FFFFu);
  EXPECT_EQ(to_f32(0x1.ffffffp127), 0x7F80'0000u);
  EXPECT_EQ(eval_lane(Op::Convert, Type::f64, Type::f32, 0x8000'0001u, 0, 0), std::bit_cast<std::uint64_t>(-0x1p-149));
}

class IntLane : public ::testing::TestWithParam<Type> {};
INSTANTIATE_TEST_SUITE_P(Types, IntLane, ::testing::Values(Type::i32, Type::i64),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(IntLane, MatchesWideArithmetic) {
  const Type type = GetParam();
  const int width = static_cast<int>(bytes_of(type)) * 8;
  const std::uint64_t lanes = width == 32 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
  const auto wide = [&](std::uint64_t bits) -> __int128 {
    return width == 32 ? __int128{static_cast<std::int32_t>(bits)} : __int128{static_cast<std::int64_t>(bits)};
  };
  const auto wrapped = [&](__int128 x) { return static_cast<std::uint64_t>(x) & lanes; };
  const auto power = [](int k) { return __int128{1} << k; };
  SampleBits sample(8);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const std::uint64_t a : corner_bits(type))
    for (const std::uint64_t b : corner_bits(type)) pairs.emplace_back(a, b);
  for (int i = 0; i < 5000; ++i) pairs.emplace_back(sample(type), i % 2 ? sample(type) : std::uint64_t(i % 70));
  for (const auto& [a, b] : pairs) {
    const __int128 x = wide(a), y = wide(b);
    const auto eval = [&, a = a, b = b](Op op) { return eval_lane(op, type, type, a, b, 0); };
    ASSERT_EQ(eval(Op::Add), wrapped(x + y));
    ASSERT_EQ(eval(Op::Sub), wrapped(x - y));
    ASSERT_EQ(eval(Op::Mul),
              wrapped(static_cast<__int128>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y))));
    ASSERT_EQ(eval(Op::Neg), wrapped(-x));
    ASSERT_EQ(eval(Op::Abs), wrapped(x < 0 ? -x : x));
    ASSERT_EQ(eval(Op::Min), wrapped(std::min(x, y)));
    ASSERT_EQ(eval(Op::Max), wrapped(std::max(x, y)));
    ASSERT_EQ(eval(Op::AndNot), ~a & b & lanes);
    ASSERT_EQ(eval(Op::Not), lanes - a);
    ASSERT_EQ(eval(Op::Xor), (a | b) - (a & b));
    ASSERT_EQ(eval(Op::And) + eval(Op::Or), a + b);  // as 64-bit sums: carries agree bit by bit
    const bool inside = y >= 0 && y < width;
    const int k = inside ? static_cast<int>(y) : 0;
    ASSERT_EQ(eval(Op::Shl), inside ? wrapped(x * power(k)) : 0);
    ASSERT_EQ(eval(Op::Shr), inside ? static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) / power(k)) : 0);
    const __int128 floor_quotient = (x - ((x % power(k)) + power(k)) % power(k)) / power(k);
    ASSERT_EQ(eval(Op::Sar), inside ? wrapped(floor_quotient) : wrapped(x < 0 ? -1 : 0));
    const Type mask = mask_of(type);
    ASSERT_EQ(eval_lane(Op::Lt, mask, type, a, b, 0), y - x > 0 ? lanes : 0);
    ASSERT_EQ(eval_lane(Op::Le, mask, type, a, b, 0), y - x >= 0 ? lanes : 0);
    ASSERT_EQ(eval_lane(Op::Eq, mask, type, a, b, 0), y - x == 0 ? lanes : 0);
    ASSERT_EQ(eval_lane(Op::Ne, mask, type, a, b, 0), y - x != 0 ? lanes : 0);
    ASSERT_EQ(eval_lane(Op::Select, type, type, lanes, a, b), a);
    ASSERT_EQ(eval_lane(Op::Select, type, type, 0, a, b), b);
  }
}

TEST(Lane, IntegerWidthsAndMasks) {
  EXPECT_EQ(eval_lane(Op::Convert, Type::i64, Type::i32, 0x8000'0001u, 0, 0), 0xFFFF'FFFF'8000'0001u);
  EXPECT_EQ(eval_lane(Op::Convert, Type::i32, Type::i64, 0x1234'5678'9ABC'DEF0u, 0, 0), 0x9ABC'DEF0u);
  EXPECT_EQ(eval_lane(Op::Convert, Type::b64, Type::b32, 0xFFFF'FFFFu, 0, 0), ~std::uint64_t{0});
  EXPECT_EQ(eval_lane(Op::Convert, Type::b32, Type::b64, ~std::uint64_t{0}, 0, 0), 0xFFFF'FFFFu);
  EXPECT_EQ(eval_lane(Op::Convert, Type::b32, Type::b64, 0, 0, 0), 0u);
  EXPECT_EQ(eval_lane(Op::Not, Type::b32, Type::b32, 0, 0, 0), 0xFFFF'FFFFu);
  EXPECT_EQ(eval_lane(Op::Bitcast, Type::i32, Type::f32, 0x7FA0'0001u, 0, 0), 0x7FA0'0001u);
}

}  // namespace
}  // namespace trident::kir
