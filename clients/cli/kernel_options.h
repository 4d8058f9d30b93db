// The options that verbs share: those about a text (type, syntax, declared variables) and those about the kernel that
// is made of it (policy, instruction set). A verb has only those that change what it does.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/corpus_reader.h"
#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"

namespace CLI {
class App;
}

namespace trident::cli {

struct KernelOptions {
  std::string type = "f64", policy = "bounded", isa = "auto", syntax = "auto";
  std::vector<std::string> ranges, scalars;

  /// --type, --syntax, --range, --scalar.
  void add_text_options(CLI::App& verb);
  /// --policy, --isa.
  void add_code_options(CLI::App& verb);
};

/// "f32" or "f64".
Result<ir::Type> parse_float_type(const std::string& text);
/// "exact", "bounded", "bounded:3", "fast".
Result<expr::Policy> parse_policy(const std::string& text);
/// "auto" is the best that this processor has; Unsupported for one that it lacks.
Result<codegen::Isa> parse_isa(const std::string& text);
/// "exact", "bounded(2)", "fast".
std::string policy_name(const expr::Policy& policy);

/// The variables that --range and --scalar declare, in the order given.
Result<std::vector<expr::Variable>> declared_variables(const KernelOptions& options, ir::Type type);
/// A text in a syntax by name: auto, infix, sexpr, fpcore.
Result<expr::Expr> parse_in_syntax(const std::string& text, const std::string& syntax,
                                   const expr::ParseOptions& options);
/// A text and its name in errors.
struct SourceText {
  std::string text, place = "<text>";
};
/// A text in the syntax of the options, derivatives still in it. InvalidArgument for a --range or --scalar that names
/// no variable of it.
Result<expr::Expr> parse_expression(const SourceText& source, const KernelOptions& options);
/// The text of a FILE|EXPR|- argument: standard input, a file's contents, or the argument itself. Errors besides those
/// of check_no_lost_file(): those of read_file().
Result<SourceText> source_of(const std::string& argument);
/// InvalidArgument where an argument that is no file can only be meant as one: by its beginning or ending, or as the
/// path of a folder (but x is an expression, whatever else is called so).
Result<void> check_no_lost_file(const std::string& argument);

}  // namespace trident::cli
