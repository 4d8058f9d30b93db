// The options that verbs share: those about a text (type, syntax, declared variables) and those about the kernel that
// is made of it (policy, instruction set). A verb has only those that change what it does.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/verb/options.h"
#include "jit/codegen/codegen.h"
#include "jit/corpus/corpus_reader.h"
#include "jit/expr/expr.h"

namespace trident::cli {

struct KernelOptions {
  std::string type = "f64", policy = "bounded", isa = "auto", syntax = "auto";
  std::vector<std::string> ranges, scalars;

  /// --type, --syntax, --range, --scalar.
  void add_text_options(Verb verb);
  /// --policy, --isa.
  void add_code_options(Verb verb);
};

/// The variables that --range and --scalar declare, in the order given.
Result<std::vector<expr::Variable>> declared_variables(const KernelOptions& options, ir::Type type);
/// The variables of `e` with the ranges that --assume gives as name:lo:hi or name:lo:hi:nan, and no other ranges.
Result<std::vector<expr::Variable>> assumed_variables(const std::vector<std::string>& texts, const expr::Expr& e);
/// A text and its name in errors.
struct SourceText {
  std::string text, place = "<text>";
};
/// A text in the syntax of the options, derivatives still in it. InvalidArgument for a --range or --scalar that names
/// no variable of it.
Result<expr::Expr> parse_expression(const SourceText& source, const KernelOptions& options);
/// The text of a FILE|EXPR|- argument: standard input, a file's contents, or the argument itself. Errors besides those
/// of check_no_lost_file(): those of os::read_text().
Result<SourceText> source_of(const std::string& argument);
/// InvalidArgument where an argument that is no file can only be meant as one: by its beginning or ending, or as the
/// path of a folder (but x is an expression, whatever else is called so).
Result<void> check_no_lost_file(const std::string& argument);

}  // namespace trident::cli
