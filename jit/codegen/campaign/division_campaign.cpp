// Evidence for jit/codegen/x86_divide.cpp. Prints one line per question and fails if any answer is not zero.
//
//   model   The sequences of multiply-adds, in C++, from estimates that are anywhere within their stated bound; so the
//           result does not hang on one maker's table of reciprocals. f32 division: every divisor, every quotient
//           within a few units of a midpoint. f32 roots: every significand of two binades. f64 roots: all hard cases,
//           found by square roots modulo powers of two. f64 division: the hard cases of many divisors, close to 2 above
//           all.
//   native  Emitted kernels against the processor's division and square root, random and structured operands.
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "jit/kir/builder.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using testing::Random;
using Wide = __int128;
using UnsignedWide = unsigned __int128;

int failures = 0;

void report(const char* question, long cases, long wrong) {
  std::printf("%-66s %12ld cases, %ld wrong\n", question, cases, wrong);
  std::fflush(stdout);
  if (wrong != 0) ++failures;
}

/// Returns a number in [-1, 1).
double symmetric(Random& random) {
  return static_cast<double>(static_cast<std::int64_t>(random.next())) * 0x1p-63;
}

// --- f32 -------------------------------------------------------------------------------------------------------------

[[gnu::target("fma")]] float corrected_quotient(float a, float b, float y) {
  const float q = a * y;
  return std::fma(std::fma(-q, b, a), y, q);
}

bool guarded_f32(float y) {
  return (std::bit_cast<std::uint32_t>(y) & 0x007F'FF80u) == 0;
}

/// Tries all quotients A / B of 24-bit significands with |A 2^s - M B| <= 7 for a midpoint M. Only those could round
/// the wrong way by an error of `bound` in the reciprocal before its rounding.
void divide_f32(const char* question, double bound) {
  constexpr int kNear = 7;
  long cases = 0, wrong = 0;
  for (std::uint32_t divisor = 1u << 23; divisor < 1u << 24; ++divisor) {
    const float b = static_cast<float>(divisor) * 0x1p-23f;
    const double exact = 1.0 / b;
    const std::array<float, 2> reciprocals = {static_cast<float>(exact * (1 - bound)),
                                              static_cast<float>(exact * (1 + bound))};
    const int zeros = std::countr_zero(divisor);
    const std::uint32_t odd = divisor >> zeros;
    std::uint32_t inverse = odd;
    for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
    for (int n = -kNear; n <= kNear; ++n) {
      if (n == 0 || n % (1 << std::min(zeros, 8)) != 0) continue;
      for (int s = 24; s <= 25; ++s) {
        const std::uint64_t modulus = std::uint64_t{1} << (s - zeros);
        const std::uint32_t target = static_cast<std::uint32_t>(-(n >> zeros)) * inverse;
        for (std::uint64_t m = target & (modulus - 1); m < 1u << 25; m += modulus) {
          if (m < 1u << 24 || m % 2 == 0) continue;
          const auto product = static_cast<std::int64_t>(m * divisor) + n;
          const std::int64_t dividend = product >> s;
          if ((dividend << s) != product || dividend < 1 << 23 || dividend >= 1 << 24) continue;
          const float a = static_cast<float>(dividend) * 0x1p-23f;
          for (const float y : reciprocals) {
            ++cases;
            if (corrected_quotient(a, b, y) != a / b && !guarded_f32(y)) ++wrong;
          }
        }
      }
    }
  }
  report(question, cases, wrong);
}

[[gnu::target("fma")]] float newton_root(float x, float estimate, bool longer) {
  float g = x * estimate, h = estimate * 0.5f;
  float r = std::fma(-g, h, 0.5f);
  if (longer) r = std::fma(r * 1.5f, r, r);
  g = std::fma(g, r, g);
  h = std::fma(h, r, h);
  return std::fma(std::fma(-g, g, x), h, g);
}

/// Tries all of [1, 4) with a few estimates, and every estimate within the bound where the root is within 2^-11 ulp of
/// a midpoint (anything further away is far beyond the last step's error).
void root_f32(const char* question, double bound, bool longer) {
  long cases = 0, wrong = 0;
  for (std::uint32_t bits = 0x3F80'0000u; bits < 0x4080'0000u; ++bits) {
    const auto x = std::bit_cast<float>(bits);
    const float right = std::sqrt(x);
    const double root = std::sqrt(static_cast<double>(x));
    if (longer && (bits & 0x007F'FFFFu) == 0x007F'FFFFu) continue;  // guarded
    const double ulps = root * 0x1p23;
    const bool hard = std::fabs(ulps - std::floor(ulps) - 0.5) < 0x1p-11;
    for (const double off : {-1.0, -0.7, -0.3, 0.0, 0.3, 0.7, 1.0}) {
      ++cases;
      if (newton_root(x, static_cast<float>((1 + off * bound) / root), longer) != right) ++wrong;
    }
    if (!hard) continue;
    const auto last = static_cast<float>((1 + bound) / root);
    for (auto y = static_cast<float>((1 - bound) / root); y <= last; y = std::nextafter(y, last * 2)) {
      ++cases;
      if (newton_root(x, y, longer) != right) ++wrong;
    }
  }
  report(question, cases, wrong);
}

// --- f64 -------------------------------------------------------------------------------------------------------------

[[gnu::target("fma")]] double newton_quotient(double a, double b, double estimate, double& y) {
  const double e = std::fma(-b, estimate, 1.0);
  y = std::fma(estimate, std::fma(e, e, e), estimate);
  y = std::fma(y, std::fma(-b, y, 1.0), y);
  const double q = a * y;
  return std::fma(std::fma(-q, b, a), y, q);
}

bool guarded_f64(double y) {
  return (std::bit_cast<std::uint64_t>(y) & 0x000F'FFFF'F000'0000u) == 0;
}

/// Tries the hard cases |A 2^s - M B| <= 3 of odd divisors; half of them at distances from 2 that vary from 1 ulp up.
void divide_f64(long divisors) {
  Random random(2);
  long cases = 0, wrong = 0;
  for (long k = 0; k < divisors; ++k) {
    const std::uint64_t below = random.next() >> (12 + random.below(52));
    const std::uint64_t divisor =
        k % 2 == 0 ? ((std::uint64_t{1} << 53) - 1 - below) | 1 : std::uint64_t{1} << 52 | random.next() >> 12 | 1;
    std::uint64_t inverse = divisor;
    for (int i = 0; i < 6; ++i) inverse *= 2 - divisor * inverse;
    for (int n = -3; n <= 3; ++n) {
      for (int s = 53; s <= 54 && n != 0; ++s) {
        const std::uint64_t modulus = std::uint64_t{1} << s;
        for (std::uint64_t m = static_cast<std::uint64_t>(-static_cast<std::int64_t>(n)) * inverse & (modulus - 1);
             m < std::uint64_t{1} << 54; m += modulus) {
          if (m < std::uint64_t{1} << 53 || m % 2 == 0) continue;
          const Wide product = static_cast<Wide>(static_cast<UnsignedWide>(m) * divisor) + n;
          const auto dividend = static_cast<std::uint64_t>(static_cast<UnsignedWide>(product) >> s);
          if (static_cast<Wide>(static_cast<UnsignedWide>(dividend) << s) != product) continue;
          if (dividend < std::uint64_t{1} << 52 || dividend >= std::uint64_t{1} << 53) continue;
          const double a = static_cast<double>(dividend) * 0x1p-52, b = static_cast<double>(divisor) * 0x1p-52;
          for (const double off : {0.0, 1.0, -1.0, symmetric(random)}) {
            double y = 0;
            ++cases;
            if (newton_quotient(a, b, 1 / b * (1 + off * 0x1p-14), y) != a / b && !guarded_f64(y)) ++wrong;
          }
        }
      }
    }
  }
  report("f64 division, hard cases of odd divisors, estimates within 2^-14", cases, wrong);
}

[[gnu::target("fma")]] double newton_root(double x, double estimate) {
  double g = x * estimate, h = estimate * 0.5;
  for (int step = 0; step < 2; ++step) {
    const double r = std::fma(-g, h, 0.5);
    g = std::fma(g, r, g);
    h = std::fma(h, r, h);
  }
  return std::fma(std::fma(-g, g, x), h, g);
}

/// Tries |X 2^k - M^2| = |n| for a midpoint M: M is one of the four square roots of -n modulo 2^k.
void root_f64() {
  Random random(3);
  long cases = 0, wrong = 0;
  for (int n = -8191; n <= 8191; n += 2) {
    if ((-n & 7) != 1) continue;  // odd squares are 1 modulo 8
    for (int k = 54; k <= 55; ++k) {
      const UnsignedWide modulus = static_cast<UnsignedWide>(1) << k;
      const UnsignedWide square = static_cast<UnsignedWide>(-static_cast<Wide>(n)) & (modulus - 1);
      UnsignedWide root = 1;
      for (int bit = 3; bit < k; ++bit)
        if (((root * root - square) >> bit & 1) != 0) root += static_cast<UnsignedWide>(1) << (bit - 1);
      const UnsignedWide half = modulus / 2;
      for (const UnsignedWide m : {root, modulus - root, (root + half) % modulus, (modulus - root + half) % modulus}) {
        if (m < static_cast<UnsignedWide>(1) << 53 || m >= static_cast<UnsignedWide>(1) << 54) continue;
        const auto operand = static_cast<std::uint64_t>((m * m + static_cast<UnsignedWide>(static_cast<Wide>(n))) >> k);
        if (operand < std::uint64_t{1} << 52 || operand >= std::uint64_t{1} << 53) continue;
        const double x = std::ldexp(static_cast<double>(operand), k - 106);
        const double right = std::sqrt(x);
        for (int trial = 0; trial < 500; ++trial) {
          const double off = trial == 0 ? 0 : trial == 1 ? 1 : trial == 2 ? -1 : symmetric(random);
          ++cases;
          if (newton_root(x, 1 / right * (1 + off * 0x1p-14)) != right) ++wrong;
        }
      }
    }
  }
  report("f64 roots, all hard cases, estimates within 2^-14", cases, wrong);
}

// --- native ----------------------------------------------------------------------------------------------------------

/// Draws a significand: uniform, or close to 1, to 2, or with few bits. Exponents within `spread` of 0, either sign.
template <class F, class Bits, int kMantissa, int kBias>
F operand(Random& random, std::uint32_t spread) {
  const Bits all = (Bits{1} << kMantissa) - 1;
  Bits significand = static_cast<Bits>(random.next()) & all;
  switch (random.below(4)) {
    case 0: significand = all - (significand >> random.below(kMantissa)); break;
    case 1: significand >>= random.below(kMantissa); break;
    case 2: significand &= ~Bits{0} << random.below(kMantissa); break;
    default: break;
  }
  const auto exponent =
      static_cast<Bits>(kBias - static_cast<int>(spread) + static_cast<int>(random.below(2 * spread)));
  const Bits sign = static_cast<Bits>(random.below(2)) << (8 * sizeof(F) - 1);
  return std::bit_cast<F>(sign | exponent << kMantissa | (significand & all));
}

template <class F, class Bits, int kMantissa, int kBias>
void native(ir::Type type, Isa isa, bool root, std::uint8_t flags, long pairs) {
  kir::Kernel kernel;
  kernel.inputs = {{"a", type}, {"b", type}};
  kir::Builder builder(kernel);
  const kir::Value a = builder.input(0);
  kernel.outputs.push_back(
      {"o", root ? builder.sqrt(a, flags) : builder.div(a, builder.input(1), flags), kir::OutputKind::array});
  const auto code = testing::map_native(kernel, isa, {.vectors = 2, .newton = 8});
  CHECK(code.ok());
  constexpr long kBlock = 1 << 16;
  std::vector<F> x(kBlock), y(kBlock), out(kBlock);
  Random random(flags + 7u);
  long wrong = 0;
  for (long done = 0; done < pairs; done += kBlock) {
    for (long i = 0; i < kBlock; ++i) {
      x[i] = operand<F, Bits, kMantissa, kBias>(random, 20);
      if (root) x[i] = std::fabs(x[i]);
      y[i] = operand<F, Bits, kMantissa, kBias>(random, 20);
      if (flags == kir::kNormal || random.below(512) != 0) continue;
      // Now and then an operand that only the divider can handle: the whole vector takes that path.
      x[i] = std::array<F, 3>{F(0), std::numeric_limits<F>::denorm_min() * 5, std::numeric_limits<F>::min()}[i % 3];
    }
    const void* in[] = {x.data(), y.data()};
    void* outputs[] = {out.data()};
    code->entry()(nullptr, kBlock, in, outputs, nullptr);
    for (long i = 0; i < kBlock; ++i) {
      const F right = root ? std::sqrt(x[i]) : x[i] / y[i];
      if (std::bit_cast<Bits>(out[i]) != std::bit_cast<Bits>(right)) ++wrong;
    }
  }
  char question[96];
  std::snprintf(question, sizeof question, "native %s %s %s, flags %u", std::string(name_of(isa)).c_str(),
                std::string(ir::name_of(type)).c_str(), root ? "roots" : "division", flags);
  report(question, pairs, wrong);
}

int run(long pairs) {
  divide_f32("f32 division, hard cases of all divisors, estimates within 2^-14", 0x1p-38 * 0.54);
  divide_f32("f32 division, the same, estimates within 1.5 * 2^-12", 0x1p-33 * 0.6);
  root_f32("f32 roots, two binades, estimates within 2^-14", 0x1p-14, false);
  root_f32("f32 roots, two binades, estimates within 1.5 * 2^-12", 1.5 * 0x1p-12, true);
  divide_f64(pairs / 100);
  root_f64();
  for (const Isa isa : testing::runnable_isas())
    for (const bool root : {false, true})
      for (const std::uint8_t flags : {kir::kNormal, kir::kBounded, std::uint8_t{0}}) {
        native<float, std::uint32_t, 23, 127>(ir::Type::f32, isa, root, flags, pairs);
        native<double, std::uint64_t, 52, 1023>(ir::Type::f64, isa, root, flags, pairs);
      }
  std::printf("%s\n", failures == 0 ? "all right" : "FAILED");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace trident::codegen

int main(int argc, char** argv) {
  return trident::codegen::run(argc > 1 ? std::atol(argv[1]) : 200'000'000);
}
