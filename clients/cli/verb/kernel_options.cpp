#include "clients/cli/verb/kernel_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>

#include "jit/corpus/setting_names.h"
#include "runtime/base/limits.h"
#include "runtime/base/submission_limits.h"
#include "runtime/os/cpu.h"
#include "runtime/os/regular_file.h"
#include "runtime/os/text_file.h"

namespace trident::cli {
namespace {

Result<double> parse_bound(const std::string& text, const std::string& whole, const char* option) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || std::isnan(value))
    return make_error(ErrorCode::kInvalidArgument, "%s %s: '%s' is not a number", option, whole.c_str(), text.c_str());
  return value;
}

/// Reads name:lo:hi and, where `may_have_nan`, name:lo:hi:nan.
Result<expr::Variable> parse_range(const std::string& text, const char* option, bool may_have_nan = false) {
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  if (first == std::string::npos || first == 0 || second == std::string::npos)
    return make_error(ErrorCode::kInvalidArgument, "%s %s: expected name:lo:hi", option, text.c_str());
  expr::Variable v;
  constexpr std::string_view kOrNan = ":nan";
  v.name = text.substr(0, first);
  v.or_nan = may_have_nan && text.ends_with(kOrNan) && text.size() - kOrNan.size() > second;
  const std::size_t end = v.or_nan ? text.size() - kOrNan.size() : text.size();
  TRY(v.lo, parse_bound(text.substr(first + 1, second - first - 1), text, option));
  TRY(v.hi, parse_bound(text.substr(second + 1, end - second - 1), text, option));
  if (v.lo > v.hi) return make_error(ErrorCode::kInvalidArgument, "%s %s: the range is empty", option, text.c_str());
  return v;
}

}  // namespace

void KernelOptions::add_text_options(Verb verb) {
  verb.add_option("-t,--type", type, "Default type of variables and literals: f32 or f64").capture_default_str();
  verb.add_option("--syntax", syntax, "Syntax of EXPR: auto, infix, sexpr (S-expression) or fpcore")
      .capture_default_str();
  verb.add_option("-r,--range", ranges, "Promise about a variable's values, name:lo:hi; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
  verb.add_option("-s,--scalar", scalars, "Variable with one value per call, not an array; repeatable")
      .take_all()
      .expected(1)
      .allow_extra_args(false);
}

void KernelOptions::add_code_options(Verb verb) {
  verb.add_option(
          "-p,--policy", policy,
          "Freedom of rewriting: exact (the source's bits), bounded:K (at each point, what the source may be off "
          "with K units of error an operation, 2 to 1e6, default 2) or fast (16 units and 64 ulp, where inputs "
          "and the source's result are finite)")
      .capture_default_str();
  verb.add_option("--isa", isa, "Greatest instruction set: auto (this processor's), avx2, avx512 or neon")
      .capture_default_str();
}

Result<std::vector<expr::Variable>> declared_variables(const KernelOptions& options, ir::Type type) {
  std::vector<expr::Variable> variables;
  for (const std::string& text : options.ranges) {
    TRY(expr::Variable v, parse_range(text, "--range"));
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

Result<std::vector<expr::Variable>> assumed_variables(const std::vector<std::string>& texts, const expr::Expr& e) {
  std::vector<expr::Variable> variables = e.variables;
  for (expr::Variable& v : variables) {
    const expr::Variable anything;
    v.lo = anything.lo, v.hi = anything.hi;
  }
  for (const std::string& text : texts) {
    TRY(const expr::Variable assumed, parse_range(text, "--assume", true));
    const auto v =
        std::find_if(variables.begin(), variables.end(), [&](const auto& x) { return x.name == assumed.name; });
    if (v == variables.end())
      return make_error(ErrorCode::kInvalidArgument, "--assume: the expression has no variable '%s'",
                        assumed.name.c_str());
    if (assumed.or_nan && !ir::is_float(v->type))
      return make_error(ErrorCode::kInvalidArgument, "--assume %s: integers have no NaN", text.c_str());
    v->lo = assumed.lo, v->hi = assumed.hi, v->or_nan = assumed.or_nan;
  }
  return variables;
}

Result<expr::Expr> parse_expression(const SourceText& source, const KernelOptions& options) {
  expr::ParseOptions parse;
  parse.file = source.place;
  TRY(parse.type, corpus::parse_float_type(options.type));
  TRY(parse.variables, declared_variables(options, parse.type));
  corpus::take_declared_types(source.text, options.syntax, parse);
  TRY(expr::Expr e, corpus::parse_in_syntax(source.text, options.syntax, parse));
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
  if (type == std::filesystem::file_type::directory) return os::folder_error(argument);
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
    TRY(source.text, os::read_text(argument, limits::kTextBytesMax));
  }
  if (source.text.size() > limits::kTextBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: the text is longer than %zu bytes", source.place.c_str(),
                      limits::kTextBytesMax);
  return source;
}

}  // namespace trident::cli
