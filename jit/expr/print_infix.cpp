// The infix form of an expression: declarations, one line per shared value, the outputs. parse_infix() gives it back.
#include "jit/expr/print_plan.h"

namespace trident::expr {
namespace {

struct Spelling {
  std::string_view text;  ///< empty: a function call
  Level level = Level::primary;
};

// Truth values have signs of their own.
Spelling spelling_of(const Node& n) {
  if (n.type == Type::b32 && n.op == Op::And) return {"&&", Level::and_and};
  if (n.type == Type::b32 && n.op == Op::Or) return {"||", Level::or_or};
  if (n.type == Type::b32 && n.op == Op::Not) return {"!", Level::unary};
  return {info(n.op).symbol, info(n.op).level};
}

class InfixPrinter {
 public:
  explicit InfixPrinter(const Expr& expr) : expr_(expr), plan_(expr) {}

  std::string print() {
    declarations();
    for (const std::uint32_t i : plan_.needed) {
      out_ += plan_.names[i] + " = ";
      node(expr_.nodes[i], Level::any);
      out_ += ";\n";
    }
    outputs();
    return std::move(out_);
  }

 private:
  void declarations() {
    for (std::size_t i = 0; i < expr_.variables.size(); ++i) {
      const Variable& v = expr_.variables[i];
      out_ += i > 0 ? ", " : "";
      if (v.is_scalar()) out_ += "param ";
      if (v.is_table()) out_ += "table ";
      out_ += plan_.variables[i] + ": " + std::string(ir::name_of(v.type, v.storage));
      if (v.has_range()) out_ += " in [" + print_bound(v.lo) + ", " + print_bound(v.hi) + "]";
      if (v.or_nan) out_ += " or nan";
    }
    if (!expr_.variables.empty()) out_ += ";\n";
  }

  void outputs() {
    const bool plain =
        expr_.outputs.size() == 1 && plan_.outputs[0] == "out" &&
        (expr_.at(expr_.outputs[0].node).op != Op::Variable || expr_.outputs[0].storage != Storage::own) &&
        plan_.names[expr_.outputs[0].node.index].empty();
    if (plain) {
      output(expr_.outputs[0]);
      return;
    }
    out_ += '(';
    for (std::size_t i = 0; i < expr_.outputs.size(); ++i) {
      out_ += (i > 0 ? ", " : "") + plan_.outputs[i] + " = ";
      output(expr_.outputs[i]);
    }
    out_ += ')';
  }

  void output(const Output& o) {
    if (o.storage == Storage::own) return operand(o.node, Level::any, true);
    out_ += std::string(ir::facts_of(o.storage).name) + "(";
    operand(o.node, Level::any, true);
    out_ += ')';
  }

  void constant(const Node& n, bool states_type) {
    const std::string text = print_constant(n.type, n.imm);
    const std::string type(ir::name_of(n.type));
    const bool digits = text[0] >= '0' && text[0] <= '9';
    out_ += !states_type ? text : digits ? text + type : type + "(" + text + ")";
  }

  void operand(NodeId id, Level level, bool states_type) {
    const Node& n = expr_.at(id);
    if (n.op == Op::Constant) {
      constant(n, states_type);
    } else if (const std::string_view name = plan_.name_of(expr_, id); !name.empty()) {
      out_ += name;
    } else {
      node(n, level);
    }
  }

  // `n` itself, in brackets where its level is looser than `level`.
  void node(const Node& n, Level level) {
    Spelling spelling = spelling_of(n);
    const bool constant_below = n.a.valid() && expr_.at(n.a).op == Op::Constant;
    if (n.op == Op::Neg && constant_below) spelling = {};  // "-2" would be a number
    if (spelling.text.empty()) {
      call(n);
      return;
    }
    const bool brackets = spelling.level < level;
    if (brackets) out_ += '(';
    const auto tighter = static_cast<Level>(static_cast<int>(spelling.level) + 1);
    if (spelling.level == Level::unary) {
      out_ += spelling.text;
      operand(n.a, Level::unary, plan_.states_type(expr_, n, n.a));
    } else if (spelling.level == Level::power) {
      operand(n.a, Level::primary, true);
      out_ += spelling.text;
      out_ += std::to_string(static_cast<std::int64_t>(n.imm));
    } else {
      operand(n.a, spelling.level == Level::comparison ? tighter : spelling.level, plan_.states_type(expr_, n, n.a));
      out_.append(" ").append(spelling.text).append(" ");
      operand(n.b, tighter, plan_.states_type(expr_, n, n.b));
    }
    if (brackets) out_ += ')';
  }

  void call(const Node& n) {
    if (n.op == Op::Gather) {
      operand(n.a, Level::primary, false);
      out_ += '[';
      operand(n.b, Level::any, plan_.states_type(expr_, n, n.b));
      out_ += ']';
      return;
    }
    out_ += function_of(n);
    out_ += '(';
    const char* comma = "";
    for (const NodeId id : {n.a, n.b, n.c}) {
      if (!id.valid()) continue;
      out_ += comma;
      operand(id, Level::any, plan_.states_type(expr_, n, id));
      comma = ", ";
    }
    out_ += ')';
  }

  const Expr& expr_;
  PrintPlan plan_;
  std::string out_;
};

}  // namespace

std::string print_infix(const Expr& expr) {
  return InfixPrinter(expr).print();
}

}  // namespace trident::expr
