#include "tests/accuracy/reference.h"

#include <cmath>

namespace trident::accuracy {

namespace {

template <typename Float>
Float evaluate(kir::math::Function f, Float x, Float y) {
  using kir::math::Function;
  switch (f) {
    case Function::Sin: return std::sin(x);
    case Function::Cos: return std::cos(x);
    case Function::Tan: return std::tan(x);
    case Function::Asin: return std::asin(x);
    case Function::Acos: return std::acos(x);
    case Function::Atan: return std::atan(x);
    case Function::Atan2: return std::atan2(x, y);
    case Function::Sinh: return std::sinh(x);
    case Function::Cosh: return std::cosh(x);
    case Function::Tanh: return std::tanh(x);
    case Function::Asinh: return std::asinh(x);
    case Function::Acosh: return std::acosh(x);
    case Function::Atanh: return std::atanh(x);
    case Function::Exp: return std::exp(x);
    case Function::Exp2: return std::exp2(x);
    case Function::Expm1: return std::expm1(x);
    case Function::Log: return std::log(x);
    case Function::Log2: return std::log2(x);
    case Function::Log10: return std::log10(x);
    case Function::Log1p: return std::log1p(x);
    case Function::Pow: return std::pow(x, y);
    case Function::Cbrt: return std::cbrt(x);
    case Function::Hypot: return std::hypot(x, y);
    case Function::Erf: return std::erf(x);
    case Function::Erfc: return std::erfc(x);
    case Function::Fmod: return std::fmod(x, y);
    case Function::Round: return std::round(x);
    case Function::Rsqrt: return 1 / std::sqrt(x);
  }
  CHECK(false);
}

}  // namespace

double reference_f32(kir::math::Function f, double x, double y) {
  return evaluate<double>(f, x, y);
}

void reference_f32(kir::math::Function f, const float* x, double* out, std::size_t count) {
#if defined(__x86_64__)
  static const bool has_lanes = __builtin_cpu_supports("avx512f");
  if (has_lanes && vector_reference_f32(f, x, out, count)) {
    static thread_local std::size_t turn = 0;
    const std::size_t i = turn++ % count;
    const double exact = reference_f32(f, x[i], 0);
    const bool near = std::fabs(out[i] - exact) <= 0x1p-44 * std::fabs(exact) + 0x1p-1000;
    CHECK(near || out[i] == exact || (std::isnan(out[i]) && std::isnan(exact)));
    return;
  }
#endif
  for (std::size_t i = 0; i < count; ++i) out[i] = reference_f32(f, x[i], 0);
}

long double reference_f64(kir::math::Function f, long double x, long double y) {
  return evaluate<long double>(f, x, y);
}

}  // namespace trident::accuracy
