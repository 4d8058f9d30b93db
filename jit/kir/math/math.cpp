// Chooses the expansion of a call. Each theme's file opens with how its functions work.
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
    case Function::Tan:
    case Function::Asin:
    case Function::Acos:
    case Function::Atan:
    case Function::Atan2:
    case Function::Sinh:
    case Function::Cosh:
    case Function::Tanh:
    case Function::Asinh:
    case Function::Acosh:
    case Function::Atanh:
    case Function::Expm1:
    case Function::Pow:
    case Function::Cbrt:
    case Function::Hypot:
    case Function::Erf:
    case Function::Erfc:
    case Function::Fmod:
    case Function::Round:
    case Function::Rsqrt: break;
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
