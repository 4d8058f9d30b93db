#include "jit/corpus/setting_names.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "runtime/base/limits.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/cpu.h"

namespace trident::corpus {

Result<ir::Type> parse_float_type(const std::string& text) {
  if (text == "f32") return ir::Type::f32;
  if (text == "f64") return ir::Type::f64;
  return make_error(ErrorCode::kInvalidArgument, "--type %s: expected f32 or f64", text.c_str());
}

Result<expr::Policy> parse_policy(const std::string& text) {
  if (text == "exact") return expr::Policy{expr::PolicyKind::exact, 2};
  if (text == "fast") return expr::Policy{expr::PolicyKind::fast, 2};
  if (text == "bounded") return expr::Policy{expr::PolicyKind::bounded, 2};
  if (text.starts_with("bounded:") || (text.starts_with("bounded(") && text.ends_with(")"))) {
    const std::string k = text.ends_with(")") ? text.substr(8, text.size() - 9) : text.substr(8);
    char* end = nullptr;
    const double value = std::strtod(k.c_str(), &end);
    if (!k.empty() && end == k.c_str() + k.size() && value >= limits::kPolicyKMin && value <= limits::kPolicyKMax)
      return expr::Policy{expr::PolicyKind::bounded, value};
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "--policy %s: expected exact, bounded, bounded:k with k from 2 to 1e6, or fast", text.c_str());
}

Result<codegen::Isa> parse_isa(const std::string& text) {
  const os::CpuFeatures& cpu = os::cpu_features();
  if (text == "auto") {
    if (cpu.avx512) return codegen::Isa::avx512;
    if (cpu.avx2_fma) return codegen::Isa::avx2;
    if (cpu.neon) return codegen::Isa::neon;
    return make_error(ErrorCode::kUnsupported, "this processor (%s) has neither AVX2 with FMA nor NEON",
                      os::cpu_name().c_str());
  }
  const auto known = [&](const char* name, bool here, codegen::Isa isa) -> std::optional<Result<codegen::Isa>> {
    if (text != name) return std::nullopt;
    if (here) return isa;
    return Result<codegen::Isa>(
        make_error(ErrorCode::kUnsupported, "--isa %s: this processor (%s) lacks it", name, os::cpu_name().c_str()));
  };
  if (auto isa = known("avx2", cpu.avx2_fma, codegen::Isa::avx2)) return *isa;
  if (auto isa = known("avx512", cpu.avx512, codegen::Isa::avx512)) return *isa;
  if (auto isa = known("neon", cpu.neon, codegen::Isa::neon)) return *isa;
  return make_error(ErrorCode::kInvalidArgument, "--isa %s: expected auto, avx2, avx512 or neon", text.c_str());
}

std::string policy_name(const expr::Policy& policy) {
  switch (policy.kind) {
    case expr::PolicyKind::exact: return "exact";
    case expr::PolicyKind::fast: return "fast";
    case expr::PolicyKind::bounded: {
      char text[48];
      std::snprintf(text, sizeof text, "bounded(%g)", policy.k);
      return text;
    }
  }
  CHECK(false);
}

Result<expr::Expr> parse_in_syntax(const std::string& text, const std::string& syntax,
                                   const expr::ParseOptions& options) {
  if (syntax == "auto") return expr::parse(text, options);
  if (syntax == "infix") return expr::parse_infix(text, options);
  if (syntax == "sexpr") return expr::parse_sexpr(text, options);
  if (syntax == "fpcore") return expr::parse_fpcore(text, options);
  return make_error(ErrorCode::kInvalidArgument, "--syntax %s: expected auto, infix, sexpr or fpcore", syntax.c_str());
}

void take_declared_types(const std::string& text, const std::string& syntax, expr::ParseOptions& options) {
  if (options.variables.empty()) return;
  expr::ParseOptions types_only = options;
  types_only.variables.clear();
  const auto found = parse_in_syntax(text, syntax, types_only);
  if (!found.ok()) return;  // the text is wrong, which parsing it with the variables tells, or needs them
  for (expr::Variable& v : options.variables) {
    const auto declared = std::ranges::find(found->variables, v.name, &expr::Variable::name);
    if (declared == found->variables.end()) continue;
    v.type = declared->type;
    if (!v.is_scalar()) v.kind = declared->kind, v.storage = declared->storage;
  }
}

}  // namespace trident::corpus
