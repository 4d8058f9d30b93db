#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/library/oracle/arguments.h"

namespace trident::test {
namespace {

double real(const Arguments& a, std::size_t i) {
  return std::bit_cast<double>(a[i].number);
}

Answer answer(double value) {
  return std::bit_cast<Int>(value);
}

/// The C library's fmin, with the first of two zeros, and the number where the other is a signalling NaN.
double lesser(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == 0 && b == 0 ? a : std::fmin(a, b);
}

double greater(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == 0 && b == 0 ? a : std::fmax(a, b);
}

constexpr Oracle kFloatOracles[] = {
    {"f64_from_bits", [](Arguments& a) -> Answer { return a[0].number; }, nullptr},
    {"f64_to_bits", [](Arguments& a) -> Answer { return a[0].number; }, nullptr},
    {"fabs", [](Arguments& a) { return answer(std::fabs(real(a, 0))); }, nullptr},
    {"fadd", [](Arguments& a) { return answer(real(a, 0) + real(a, 1)); }, nullptr},
    {"fceil", [](Arguments& a) { return answer(std::ceil(real(a, 0))); }, nullptr},
    {"fclamp", [](Arguments& a) { return answer(lesser(greater(real(a, 0), real(a, 1)), real(a, 2))); }, nullptr},
    {"fdiv", [](Arguments& a) { return answer(real(a, 0) / real(a, 1)); }, nullptr},
    {"ffloor", [](Arguments& a) { return answer(std::floor(real(a, 0))); }, nullptr},
    {"fis_infinite", [](Arguments& a) -> Answer { return std::isinf(real(a, 0)); }, nullptr},
    {"fis_nan", [](Arguments& a) -> Answer { return std::isnan(real(a, 0)); }, nullptr},
    {"fmax", [](Arguments& a) { return answer(greater(real(a, 0), real(a, 1))); }, nullptr},
    {"fmin", [](Arguments& a) { return answer(lesser(real(a, 0), real(a, 1))); }, nullptr},
    {"fmod", [](Arguments& a) { return answer(std::fmod(real(a, 0), real(a, 1))); }, nullptr},
    {"fmul", [](Arguments& a) { return answer(real(a, 0) * real(a, 1)); }, nullptr},
    {"frecip", [](Arguments& a) { return answer(1 / real(a, 0)); }, nullptr},
    {"fround", [](Arguments& a) { return answer(std::round(real(a, 0))); }, nullptr},
    {"fsign",
     [](Arguments& a) {
       const double x = real(a, 0);
       return answer(x == 0 || std::isnan(x) ? x : std::copysign(1.0, x));
     },
     nullptr},
    {"fsqrt", [](Arguments& a) { return answer(std::sqrt(real(a, 0))); }, nullptr},
    {"fsub", [](Arguments& a) { return answer(real(a, 0) - real(a, 1)); }, nullptr},
    {"lerp", [](Arguments& a) { return answer(real(a, 0) + (real(a, 1) - real(a, 0)) * real(a, 2)); }, nullptr},
};

}  // namespace

std::span<const Oracle> float_oracles() {
  return kFloatOracles;
}

}  // namespace trident::test
