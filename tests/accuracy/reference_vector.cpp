// glibc's vector math in double, eight lanes at a time: some ten times as fast as one call each, which is what makes a
// walk over all floats affordable. It promises 4 ulp of a double, 2^-27 ulp of a float. Compiled for AVX-512 alone; the
// caller asks the processor first.
#include "tests/accuracy/reference.h"

namespace trident::accuracy {

namespace {

using kir::math::Function;
typedef double Lanes __attribute__((vector_size(64)));  // NOLINT: the alias form loses the attribute

// The names that the vector ABI gives to the functions of libmvec.
#define TRIDENT_VECTOR(name) Lanes vector_##name(Lanes) __asm__("_ZGVeN8v_" #name);
extern "C" {
TRIDENT_VECTOR(sin)
TRIDENT_VECTOR(cos)
TRIDENT_VECTOR(tan)
TRIDENT_VECTOR(asin)
TRIDENT_VECTOR(acos)
TRIDENT_VECTOR(atan)
TRIDENT_VECTOR(sinh)
TRIDENT_VECTOR(cosh)
TRIDENT_VECTOR(tanh)
TRIDENT_VECTOR(asinh)
TRIDENT_VECTOR(acosh)
TRIDENT_VECTOR(atanh)
TRIDENT_VECTOR(exp)
TRIDENT_VECTOR(exp2)
TRIDENT_VECTOR(expm1)
TRIDENT_VECTOR(log)
TRIDENT_VECTOR(log2)
TRIDENT_VECTOR(log10)
TRIDENT_VECTOR(log1p)
TRIDENT_VECTOR(cbrt)
TRIDENT_VECTOR(erf)
TRIDENT_VECTOR(erfc)
}
#undef TRIDENT_VECTOR

using VectorFunction = Lanes (*)(Lanes);

VectorFunction vector_function(Function f) {
  switch (f) {
    case Function::Sin: return vector_sin;
    case Function::Cos: return vector_cos;
    case Function::Tan: return vector_tan;
    case Function::Asin: return vector_asin;
    case Function::Acos: return vector_acos;
    case Function::Atan: return vector_atan;
    case Function::Sinh: return vector_sinh;
    case Function::Cosh: return vector_cosh;
    case Function::Tanh: return vector_tanh;
    case Function::Asinh: return vector_asinh;
    case Function::Acosh: return vector_acosh;
    case Function::Atanh: return vector_atanh;
    case Function::Exp: return vector_exp;
    case Function::Exp2: return vector_exp2;
    case Function::Expm1: return vector_expm1;
    case Function::Log: return vector_log;
    case Function::Log2: return vector_log2;
    case Function::Log10: return vector_log10;
    case Function::Log1p: return vector_log1p;
    case Function::Cbrt: return vector_cbrt;
    case Function::Erf: return vector_erf;
    case Function::Erfc: return vector_erfc;
    case Function::Atan2:
    case Function::Pow:
    case Function::Hypot:
    case Function::Fmod:
    case Function::Round:
    case Function::Rsqrt: return nullptr;
  }
  CHECK(false);
}

}  // namespace

bool vector_reference_f32(Function f, const float* x, double* out, std::size_t count) {
  const VectorFunction function = vector_function(f);
  if (function == nullptr) return false;
  typedef float Singles __attribute__((vector_size(32), aligned(4), may_alias));     // NOLINT: as above
  typedef double Unaligned __attribute__((vector_size(64), aligned(8), may_alias));  // NOLINT: as above
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    *reinterpret_cast<Unaligned*>(out + i) =
        function(__builtin_convertvector(*reinterpret_cast<const Singles*>(x + i), Lanes));
  if (i < count) {
    Lanes lanes{};
    for (std::size_t j = i; j < count; ++j) lanes[j - i] = x[j];
    const Lanes value = function(lanes);
    for (std::size_t j = i; j < count; ++j) out[j] = value[j - i];
  }
  return true;
}

}  // namespace trident::accuracy
