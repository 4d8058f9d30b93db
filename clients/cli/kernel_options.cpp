#include "clients/cli/kernel_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>

#include "clients/cli/text_file.h"
#include "runtime/base/limits.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/cpu.h"

namespace trident::cli {
namespace {

Result<double> parse_bound(const std::string& text, const std::string& whole) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || std::isnan(value))
    return make_error(ErrorCode::kInvalidArgument, "--range %s: '%s' is not a number", whole.c_str(), text.c_str());
  return value;
}

Result<expr::Variable> parse_range(const std::string& text) {
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  if (first == std::string::npos || first == 0 || second == std::string::npos)
    return make_error(ErrorCode::kInvalidArgument, "--range %s: expected name:lo:hi", text.c_str());
  expr::Variable v;
  v.name = text.substr(0, first);
  TRY(v.lo, parse_bound(text.substr(first + 1, second - first - 1), text));
  TRY(v.hi, parse_bound(text.substr(second + 1), text));
  if (v.lo > v.hi) return make_error(ErrorCode::kInvalidArgument, "--range %s: an empty range", text.c_str());
  return v;
}

}  // namespace

void KernelOptions::add_text_options(CLI::App& verb) {
  verb.add_option("-t,--type", type, "Type of variables and literals that do not say: f32 or f64")
      ->capture_default_str();
  verb.add_option("--syntax", syntax, "Syntax of EXPR: auto, infix, sexpr (S-expression) or fpcore")
      ->capture_default_str();
  verb.add_option("-r,--range", ranges, "A promise about a variable's values, name:lo:hi; may be repeated")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  verb.add_option("-s,--scalar", scalars, "A variable that is one value per call, not an array; may be repeated")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
}

void KernelOptions::add_code_options(CLI::App& verb) {
  verb.add_option(
          "-p,--policy", policy,
          "What rewriting may do: exact (the bits of the source); bounded, bounded:K or bounded(K): at most K times "
          "the error of strict evaluation, K from 2 (functions are good to one ulp, the strict ones to half of one) to "
          "1e6, 2 where it is not given (from about 17000 on f32 kernels "
          "may use functions of three digits); fast: 16 times that plus 64 ulp, where all inputs and that result are "
          "finite; anything elsewhere")
      ->capture_default_str();
  verb.add_option("--isa", isa, "Greatest instruction set: auto (what this processor has), avx2, avx512 or neon")
      ->capture_default_str();
}

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

Result<std::vector<expr::Variable>> declared_variables(const KernelOptions& options, ir::Type type) {
  std::vector<expr::Variable> variables;
  for (const std::string& text : options.ranges) {
    TRY(expr::Variable v, parse_range(text));
    variables.push_back(std::move(v));
  }
  for (const std::string& name : options.scalars) {
    bool known = false;
    for (expr::Variable& v : variables)
      if (v.name == name) v.kind = expr::VariableKind::scalar, known = true;
    if (known) continue;
    expr::Variable v;
    v.name = name;
    v.kind = expr::VariableKind::scalar;
    variables.push_back(std::move(v));
  }
  for (expr::Variable& v : variables) v.type = type;
  return variables;
}

Result<expr::Expr> parse_in_syntax(const std::string& text, const std::string& syntax,
                                   const expr::ParseOptions& options) {
  if (syntax == "auto") return expr::parse(text, options);
  if (syntax == "infix") return expr::parse_infix(text, options);
  if (syntax == "sexpr") return expr::parse_sexpr(text, options);
  if (syntax == "fpcore") return expr::parse_fpcore(text, options);
  return make_error(ErrorCode::kInvalidArgument, "--syntax %s: expected auto, infix, sexpr or fpcore", syntax.c_str());
}

Result<expr::Expr> parse_expression(const SourceText& source, const KernelOptions& options) {
  expr::ParseOptions parse;
  parse.file = source.place;
  TRY(parse.type, parse_float_type(options.type));
  TRY(parse.variables, declared_variables(options, parse.type));
  TRY(expr::Expr e, parse_in_syntax(source.text, options.syntax, parse));
  for (const expr::Variable& declared : parse.variables) {
    const auto reads = [&](const expr::Node& n) {
      return n.op == expr::Op::Variable && e.variables[static_cast<std::size_t>(n.imm)].name == declared.name;
    };
    if (std::none_of(e.nodes.begin(), e.nodes.end(), reads))
      return make_error(ErrorCode::kInvalidArgument, "%s: the expression has no variable '%s'",
                        declared.is_scalar() ? "--scalar" : "--range", declared.name.c_str());
  }
  return e;
}

Result<void> check_no_lost_file(const std::string& argument) {
  bool file = false;
  for (const char* beginning : {"/", "./", "../", "~/"}) file = file || argument.starts_with(beginning);
  for (const char* folder : {".", ".."}) file = file || argument == folder;
  for (const char* ending : {".tsv", ".sexp", ".txt", ".fpcore", ".image"}) file = file || argument.ends_with(ending);
  std::error_code code;
  const std::filesystem::file_type type = std::filesystem::status(argument, code).type();
  file = file || (type == std::filesystem::file_type::directory && argument.find('/') != std::string::npos);
  if (!file) return {};
  if (code && type != std::filesystem::file_type::not_found)
    return make_error(ErrorCode::kInvalidArgument, "%s: %s", argument.c_str(), code.message().c_str());
  if (type == std::filesystem::file_type::directory)
    return make_error(ErrorCode::kInvalidArgument, "%s is a folder: expected a file or an expression",
                      argument.c_str());
  if (type != std::filesystem::file_type::not_found)
    return make_error(ErrorCode::kInvalidArgument, "%s is neither a file nor an expression", argument.c_str());
  return make_error(ErrorCode::kInvalidArgument, "%s: there is no such file", argument.c_str());
}

Result<SourceText> source_of(const std::string& argument) {
  SourceText source;
  if (argument == "-") {
    source = {std::string(std::istreambuf_iterator<char>(std::cin), {}), "<standard input>"};
  } else {
    std::error_code code;
    const std::filesystem::file_type type = std::filesystem::status(argument, code).type();
    using enum std::filesystem::file_type;
    if (type != regular && type != fifo && type != character) {
      TRY_VOID(check_no_lost_file(argument));
      return SourceText{argument};
    }
    source.place = argument;
    TRY(source.text, read_file(argument, limits::kTextBytesMax));
  }
  if (source.text.size() > limits::kTextBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: a text of more than %zu bytes", source.place.c_str(),
                      limits::kTextBytesMax);
  return source;
}

}  // namespace trident::cli
