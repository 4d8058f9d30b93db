// Reads files of benchmark kernels in three text formats, told apart by their contents:
//
//   kernels.tsv    name <TAB> x:lo:hi,y:lo:hi <TAB> infix definition          ('#' starts a comment line)
//   kernels.sexp   (kernel name :slice s :origin "..." :vars ((x lo hi) ...) :body <S-expression>)   (';' comments)
//   rewrite.txt    name | size | family | assumptions | S-expression          (';' comments)
//
// The files come from anywhere, so everything that is wrong with one is an error that shows the place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/expr/expr.h"
#include "runtime/base/result.h"

namespace trident::corpus {

/// Least value of a variable of which nothing is known but that it is above zero. It is the least normal f32, so
/// that over the reals squares and quotients of it are no zeros in f64.
inline constexpr double kAboveZero = 0x1p-126;

struct CorpusKernel {
  std::string name;
  std::string group;  ///< slice or family; empty when the format has none
  std::string definition;
  /// Declared variables with their ranges; `type` is set by to_expr(). A variable that the file gives no range has
  /// infinite ends.
  std::vector<expr::Variable> variables;
  std::vector<std::string> nonzero;  ///< variables that a rewrite.txt assumes not to be zero
  std::vector<std::string> strict;   ///< ... to be above zero, or below: the range ends at kAboveZero, or its negative
  std::optional<Error> fault;        ///< of its assumptions: this kernel is no expression, the others of its file are
  std::string place;                 ///< "file:line", for messages about the definition
  std::string syntax = "auto";       ///< of the definition: auto, infix, sexpr, fpcore
};

/// The kernels of `text`, in order; `file` is the name shown in errors. SyntaxError with line and caret. What is wrong
/// with a definition or an assumption is told by parse_definition(), so that it fails its own kernel only.
Result<std::vector<CorpusKernel>> parse_corpus(std::string_view text, std::string_view file);
/// Limits a corpus that is read: larger than every real corpus, small enough for memory.
inline constexpr std::size_t kCorpusBytesMax = std::size_t{64} << 20;

/// Reads a file of kernels. Errors besides its own: those of read_file().
Result<std::vector<CorpusKernel>> read_corpus(const std::string& path);

/// The cores of a file of FPCore, comments left out, each for expr::parse_fpcore(). Errors: those of read_file().
Result<std::vector<std::string>> read_fpcores(const std::string& path);

/// The definition as an expression over variables of `type` (f32 or f64), derivatives still in it. SyntaxError with the
/// place, also for an assumption that cannot be read or leaves no value; one about a variable that is not there says
/// nothing.
Result<expr::Expr> parse_definition(const CorpusKernel& kernel, ir::Type type);
/// ... where bits are asked for: what is above zero may be any such number of `type`, and its square then be zero.
Result<expr::Expr> parse_definition_in_bits(const CorpusKernel& kernel, ir::Type type);
/// The second of these where the policy promises bits, else the first.
Result<expr::Expr> parse_definition_under(const expr::Policy& policy, const CorpusKernel& kernel, ir::Type type);
/// Parses as parse_definition() does, then eliminates derivatives.
Result<expr::Expr> to_expr(const CorpusKernel& kernel, ir::Type type);

/// All expressions of a file of kernels or of FPCore (*.fpcore), in f64 and without derivatives; definitions that are
/// no expressions are passed over. Errors: those of read_corpus(); InvalidArgument where none is left.
Result<std::vector<expr::Expr>> read_expressions(const std::string& path);

}  // namespace trident::corpus
