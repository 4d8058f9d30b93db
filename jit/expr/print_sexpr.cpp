// The S-expression form of an expression: a (kernel ...) with its variables, one let* for shared values, the outputs.
// parse_sexpr() gives it back.
#include "jit/expr/print_plan.h"

namespace trident::expr {
namespace {

class SexprPrinter {
 public:
  explicit SexprPrinter(const Expr& expr) : expr_(expr), plan_(expr) {}

  std::string print() {
    out_ += "(kernel k\n  :vars (";
    for (std::size_t i = 0; i < expr_.variables.size(); ++i) variable(i);
    out_ += ")\n  :body ";
    const bool shared = !plan_.needed.empty();
    if (shared) out_ += "(let* (";
    const char* gap = "";
    for (const std::uint32_t i : plan_.needed) {
      out_ += gap + ("(" + plan_.names[i]) + " ";
      node(expr_.nodes[i]);
      out_ += ")";
      gap = "\n               ";
    }
    if (shared) out_ += ")\n    ";
    outputs();
    if (shared) out_ += ")";
    out_ += ")";
    return std::move(out_);
  }

 private:
  void variable(std::size_t i) {
    const Variable& v = expr_.variables[i];
    out_ += i > 0 ? " (" : "(";
    out_ += (v.is_scalar()  ? "param "
             : v.is_table() ? "table "
                            : "") +
            plan_.variables[i] + ":" + std::string(ir::name_of(v.type, v.storage));
    if (v.has_range()) out_ += " " + print_bound(v.lo) + " " + print_bound(v.hi);
    out_ += ")";
  }

  void outputs() {
    out_ += "(outputs";
    for (std::size_t i = 0; i < expr_.outputs.size(); ++i) {
      const Storage storage = expr_.outputs[i].storage;
      const bool narrow = storage != Storage::own;
      out_ += " (" + plan_.outputs[i] + (narrow ? " (" + std::string(ir::facts_of(storage).name) : std::string()) + " ";
      operand(expr_.outputs[i].node, true);
      out_ += narrow ? "))" : ")";
    }
    out_ += ")";
  }

  void operand(NodeId id, bool states_type) {
    const Node& n = expr_.at(id);
    if (n.op == Op::Constant) {
      const std::string text = print_constant(n.type, n.imm);
      out_ += states_type ? "(" + std::string(ir::name_of(n.type)) + " " + text + ")" : text;
    } else if (const std::string_view name = plan_.name_of(expr_, id); !name.empty()) {
      out_ += name;
    } else {
      node(n);
    }
  }

  void node(const Node& n) {
    out_ += "(";
    out_ += function_of(n);
    for (const NodeId id : {n.a, n.b, n.c}) {
      if (!id.valid()) continue;
      out_ += " ";
      operand(id, n.op == Op::Powi || plan_.states_type(expr_, n, id));
    }
    if (n.op == Op::Powi) out_ += " " + std::to_string(static_cast<std::int64_t>(n.imm));
    out_ += ")";
  }

  const Expr& expr_;
  PrintPlan plan_;
  std::string out_;
};

}  // namespace

std::string print_sexpr(const Expr& expr) {
  return SexprPrinter(expr).print();
}

}  // namespace trident::expr
