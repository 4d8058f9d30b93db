// Chooses the expansion of a call. Each theme's file begins with its method.
#include "jit/kir/math/math.h"

#include <array>

#include "jit/kir/math/functions.h"

namespace trident::kir::math {

namespace {

struct Row {
  std::string_view text;
  std::uint32_t arity;
};
constexpr std::array kRows = {
#define X(Name, text, arity, special) Row{text, arity},
#include "jit/kir/math/functions.def"
#undef X
};

}  // namespace

std::string_view name_of(Function f) {
  return kRows[static_cast<std::size_t>(f)].text;
}

std::uint32_t arity_of(Function f) {
  return kRows[static_cast<std::size_t>(f)].arity;
}

Value emit(Builder& builder, Function f, std::span<const Value> args, std::span<const Range> ranges,
           Accuracy accuracy) {
  CHECK(args.size() == arity_of(f));
  CHECK(ranges.size() == args.size());
  Expansion e(builder, builder.type_of(args[0]), accuracy);
  CHECK(ir::is_float(e.type));
  switch (f) {
    case Function::Exp: return emit_exp(e, args[0], ranges[0]);
    case Function::Exp2: return emit_exp2(e, args[0], ranges[0]);
    case Function::Log: return emit_log(e, args[0], ranges[0]);
    case Function::Log2: return emit_log2(e, args[0], ranges[0]);
    case Function::Log10: return emit_log10(e, args[0], ranges[0]);
    case Function::Log1p: return emit_log1p(e, args[0], ranges[0]);
    case Function::Sin: return emit_sin(e, args[0], ranges[0]);
    case Function::Cos: return emit_cos(e, args[0], ranges[0]);
    case Function::Tan: return emit_tan(e, args[0], ranges[0]);
    case Function::Asin: return emit_asin(e, args[0], ranges[0]);
    case Function::Acos: return emit_acos(e, args[0], ranges[0]);
    case Function::Atan: return emit_atan(e, args[0], ranges[0]);
    case Function::Atan2: return emit_atan2(e, args[0], args[1], ranges[0], ranges[1]);
    case Function::Sinh: return emit_sinh(e, args[0], ranges[0]);
    case Function::Cosh: return emit_cosh(e, args[0], ranges[0]);
    case Function::Tanh: return emit_tanh(e, args[0], ranges[0]);
    case Function::Asinh: return emit_asinh(e, args[0], ranges[0]);
    case Function::Acosh: return emit_acosh(e, args[0], ranges[0]);
    case Function::Atanh: return emit_atanh(e, args[0], ranges[0]);
    case Function::Expm1: return emit_expm1(e, args[0], ranges[0]);
    case Function::Pow: return emit_pow(e, args[0], args[1], ranges[0], ranges[1]);
    case Function::Cbrt: return emit_cbrt(e, args[0], ranges[0]);
    case Function::Hypot: return emit_hypot(e, args[0], args[1], ranges[0], ranges[1]);
    case Function::Erf: return emit_erf(e, args[0], ranges[0]);
    case Function::Erfc: return emit_erfc(e, args[0], ranges[0]);
    case Function::Fmod: return emit_fmod(e, args[0], args[1], ranges[0], ranges[1]);
    case Function::Round: return emit_round(e, args[0]);
    case Function::Rsqrt: return emit_rsqrt(e, args[0], ranges[0]);
  }
  CHECK(false);
}

double stated_error_ulp(Function f, Type type, Accuracy accuracy) {
  const bool single = type == Type::f32;
  if (accuracy == Accuracy::rel3) return 1e-3 * (single ? 0x1p24 : 0x1p53);
  const bool ulp1 = accuracy == Accuracy::ulp1;
  switch (f) {
#define X(Name, f32_ulp1, f32_ulp4, f64_ulp1, f64_ulp4) \
  case Function::Name:                                  \
    return single ? (ulp1 ? f32_ulp1 : f32_ulp4) : (ulp1 ? f64_ulp1 : f64_ulp4);
#include "jit/kir/math/errors.def"
#undef X
  }
  CHECK(false);
}

}  // namespace trident::kir::math
