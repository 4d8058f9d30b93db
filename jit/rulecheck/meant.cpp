#include "jit/rulecheck/meant.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace trident::rulecheck {
namespace {

// Finds a fraction of small terms that rounds to the constant, by continued fractions.
std::optional<mpq_class> small_fraction(double constant) {
  constexpr long kDenominatorMax = 1000;
  const mpq_class exact(constant);
  mpq_class rest = exact;
  mpz_class p = 1, q = 0, p_before = 0, q_before = 1;
  for (int i = 0; i < 40; ++i) {
    const mpz_class whole = floor_of(rest);
    const mpz_class p_next = whole * p + p_before, q_next = whole * q + q_before;
    p_before = p, q_before = q, p = p_next, q = q_next;
    if (q > kDenominatorMax) return std::nullopt;
    const mpq_class fraction(p, q);
    // get_d() truncates: the nearest double is this or the next.
    const double near = fraction.get_d();
    if (near == constant || abs(fraction - exact) * 2 <= mpq_class(std::nextafter(std::fabs(constant), HUGE_VAL)) -
                                                             mpq_class(std::fabs(constant)))
      return fraction;
    rest -= whole;
    if (rest == 0) return std::nullopt;
    rest = 1 / rest;
  }
  return std::nullopt;
}

}  // namespace

bool is_dyadic(double constant) {
  return std::isfinite(constant) && constant * 1024 == std::round(constant * 1024);
}

mpz_class floor_of(const mpq_class& x) {
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return whole;
}

std::optional<mpq_class> meant_by(double constant) {
  if (!std::isfinite(constant)) return std::nullopt;
  if (is_dyadic(constant)) return mpq_class(constant);
  if (const auto fraction = small_fraction(constant)) return fraction;
  // A decimal of few digits.
  char text[40];
  std::snprintf(text, sizeof text, "%.11e", constant);
  if (std::strtod(text, nullptr) != constant) return std::nullopt;
  std::string digits(text);
  const std::size_t e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1) - 11;
  digits.erase(e);
  std::erase(digits, '.');
  mpz_class scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  const mpz_class whole(digits);
  mpq_class made = exponent < 0 ? mpq_class(whole, scale) : mpq_class(whole * scale);
  made.canonicalize();
  return made;
}

}  // namespace trident::rulecheck
