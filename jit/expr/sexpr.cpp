// The S-expression form.
//
//   text = expr | (outputs (name expr) ...) | (kernel name :vars (variable ...) :body text ...)
//   variable = name | (name lo hi) | (param name) | (param name lo hi); a name may carry its type: x:f32
//   expr = number | name | name:type | (op expr ...) | (let ((name expr) ...) text) | (let* ... text) | (d name expr)
//
// Operators + - * / < <= > >= == != fold or chain over their arguments; every function of the infix form has its name
// here too. Other properties of a kernel are skipped.
#include "jit/expr/lexer.h"
#include "jit/expr/sexpr_walker.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

class SexprText {
 public:
  SexprText(Expr& expr, const ParseOptions& options, const ir::SourceText& source, const Cells& cells)
      : cells_(cells), composer_(expr, options, source), walker_(cells_, composer_, Dialect::sexpr) {}

  Result<void> run() {
    if (cells_.count() == 0) {
      composer_.fail(0, ErrorCode::kSyntaxError, "the text is empty: expected an expression");
    } else if (cells_.next(0) != cells_.count()) {
      composer_.fail(cells_.at(cells_.next(0)).offset, ErrorCode::kSyntaxError,
                     "expected the end of the text: one expression at a time");
    } else if (cells_.is_form(0, "kernel")) {
      kernel(0);
    } else {
      body(0);
    }
    if (composer_.failed()) return composer_.take_error();
    return {};
  }

 private:
  Value syntax(std::uint32_t cell, const char* expected) {
    return composer_.fail(cells_.at(cell).offset, ErrorCode::kSyntaxError, "expected %s", expected);
  }

  void kernel(std::uint32_t cell) {
    std::uint32_t body_cell = 0;
    std::uint32_t child = cells_.next(cells_.first(cell));
    if (child < cells_.end(cell) && !cells_.text(child).starts_with(':')) child = cells_.next(child);
    while (child < cells_.end(cell) && !composer_.failed()) {
      const std::uint32_t value = cells_.next(child);
      if (!cells_.is_atom(child) || !cells_.text(child).starts_with(':') || value >= cells_.end(cell)) {
        syntax(child, ":property value");
        return;
      }
      if (cells_.text(child) == ":vars") variables(value);
      if (cells_.text(child) == ":body") body_cell = value;
      child = cells_.next(value);
    }
    if (composer_.failed()) return;
    if (body_cell == 0) {
      syntax(cell, "a :body in the kernel");
      return;
    }
    body(body_cell);
  }

  void variables(std::uint32_t list) {
    if (!cells_.is_list(list)) {
      syntax(list, "a list of variables");
      return;
    }
    for (std::uint32_t v = cells_.first(list); v < cells_.end(list) && !composer_.failed(); v = cells_.next(v)) {
      variable(v);
    }
  }

  void variable(std::uint32_t cell) {
    Variable variable;
    variable.type = composer_.default_type();
    std::uint32_t name = cell;
    if (cells_.is_list(cell)) {
      std::uint32_t parts = cells_.children(cell);
      name = cells_.first(cell);
      const bool table = cells_.is_form(cell, "table");
      if (parts % 2 == 0 && (table || cells_.is_form(cell, "param"))) {
        variable.kind = table ? VariableKind::table : VariableKind::scalar;
        name = cells_.next(name);
        --parts;
      }
      if ((parts != 1 && parts != 3) || !cells_.is_atom(name)) {
        syntax(cell, "name, (name lo hi), (param name lo hi) or (table name lo hi)");
        return;
      }
      const std::uint32_t lo = cells_.next(name);
      if (parts == 3 && (!walker_.constant(lo, variable.lo) || !walker_.constant(cells_.next(lo), variable.hi) ||
                         !(variable.lo <= variable.hi))) {
        syntax(lo, "the lower and the upper end of a range");
        return;
      }
    }
    std::string_view text = cells_.text(name);
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      const std::optional<ir::Element> element = element_named(text.substr(colon + 1));
      if (!element) {
        syntax(name, kElementNames);
        return;
      }
      variable.type = element->type;
      variable.storage = element->storage;
      text = text.substr(0, colon);
    }
    composer_.declare(variable, text, cells_.at(name).offset);
  }

  // An expression, or several as (outputs ...), perhaps below a let.
  void body(std::uint32_t cell) {
    if (cells_.is_form(cell, "outputs")) {
      outputs(cell);
      return;
    }
    const bool sequential = cells_.is_form(cell, "let*");
    if ((sequential || cells_.is_form(cell, "let")) && cells_.children(cell) == 3) {
      const std::uint32_t inner = cells_.next(cells_.next(cells_.first(cell)));
      if (holds_outputs(inner)) {
        const std::size_t mark = composer_.scope();
        if (walker_.bindings(cell, sequential)) body(inner);
        composer_.leave_scope(mark);
        return;
      }
    }
    composer_.output("out", walker_.expression(cell));
  }

  [[nodiscard]] bool holds_outputs(std::uint32_t cell) const {
    while ((cells_.is_form(cell, "let*") || cells_.is_form(cell, "let")) && cells_.children(cell) == 3) {
      cell = cells_.next(cells_.next(cells_.first(cell)));
    }
    return cells_.is_form(cell, "outputs");
  }

  void outputs(std::uint32_t cell) {
    for (std::uint32_t o = cells_.next(cells_.first(cell)); o < cells_.end(cell); o = cells_.next(o)) {
      if (cells_.children(o) != 2 || cells_.is_list(cells_.first(o)) ||
          cells_.at(cells_.first(o)).size > limits::kNameBytesMax) {
        syntax(o, "(name value)");
        return;
      }
      const std::uint32_t name = cells_.first(o);
      composer_.output(cells_.text(name), walker_.expression(cells_.next(name)));
      if (composer_.failed()) return;
    }
    if (cells_.children(cell) < 2) syntax(cell, "an output");
  }

  const Cells& cells_;
  Composer composer_;
  SexprWalker walker_;
};

}  // namespace

Result<Expr> parse_sexpr(std::string_view text, const ParseOptions& options) {
  return parse_brackets<SexprText>(text, options);
}

}  // namespace trident::expr
