// Expressions in brackets: the part that the S-expression form and FPCore share. Walks cells and tells the composer.
#pragma once

#include <span>
#include <string_view>

#include "jit/expr/compact.h"
#include "jit/expr/composer.h"
#include "jit/expr/sexpr_cells.h"
#include "runtime/base/limits.h"

namespace trident::expr {

/// sexpr: unknown names are array variables, literals take the type of the values that they meet.
/// fpcore: names must be arguments or bound, E, PI and the like are constants, and every operation rounds to the
/// precision of its context, which "!" changes.
enum class Dialect : std::uint8_t { sexpr, fpcore };

class SexprWalker {
 public:
  SexprWalker(const Cells& cells, Composer& composer, Dialect dialect)
      : cells_(cells), composer_(composer), dialect_(dialect), precision_(composer.default_type()) {}

  Value expression(std::uint32_t cell);
  /// Makes the bindings of the let or let* at `cell`; false after an error. The caller ends the scope.
  bool bindings(std::uint32_t cell, bool sequential);
  /// Reads a number as a range end or bound has it: literal, signed literal, ratio, named constant. False for others.
  bool constant(std::uint32_t cell, double& value) const;
  /// One of FPCore's properties: sets `type` by ":precision"; false after an Unsupported error at the value, which asks
  /// for a format or a rounding that kernels do not have.
  bool property(std::uint32_t name, std::uint32_t value, Type& type);
  [[nodiscard]] Type precision() const { return precision_; }
  void set_precision(Type type) { precision_ = type; }

 private:
  Value atom(std::uint32_t cell);
  Value list(std::uint32_t cell);
  Value let(std::uint32_t cell, bool sequential);
  Value digits(std::uint32_t cell);
  Value annotated(std::uint32_t cell);
  Value chain(Op op, std::span<const Value> arguments, std::size_t offset);
  Value apply(std::string_view head, std::span<Value> arguments, std::size_t offset);
  Value in_precision(Value value, std::size_t offset);

  const Cells& cells_;
  Composer& composer_;
  Dialect dialect_;
  Type precision_;
};

/// Reads a text in brackets: Form(expr, options, source, cells).run() makes the expression of its cells.
template <class Form>
Result<Expr> parse_brackets(std::string_view text, const ParseOptions& options) {
  if (text.size() > limits::kTextBytesMax) {
    return make_error(ErrorCode::kLimitExceeded, "a text has at most %zu bytes, here %zu", limits::kTextBytesMax,
                      text.size());
  }
  const ir::SourceText source(text, options.file);
  TRY(const Cells cells, Cells::read(source));
  Expr expr;
  TRY_VOID(Form(expr, options, source, cells).run());
  drop_unused(expr);
  return expr;
}

}  // namespace trident::expr
