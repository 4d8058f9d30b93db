// The infix form of an expression: declarations, one line per shared value, the outputs. parse_infix() gives it back.
#include "jit/expr/print_plan.h"

namespace trident::expr {
namespace {

// Levels as in infix.cpp, from loose to tight.
enum Level : std::uint8_t {
  kAny,
  kOrOr,
  kAndAnd,
  kComparison,
  kOr,
  kXor,
  kAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kPrimary
};

struct Form {
  const char* text = nullptr;  // nullptr: a function call
  Level level = kPrimary;
};

Form form_of(const Node& n) {
  const bool truth = n.type == Type::b32;
  switch (n.op) {
    case Op::Add: return {" + ", kSum};
    case Op::Sub: return {" - ", kSum};
    case Op::Mul: return {" * ", kProduct};
    case Op::Div: return {" / ", kProduct};
    case Op::Lt: return {" < ", kComparison};
    case Op::Le: return {" <= ", kComparison};
    case Op::Gt: return {" > ", kComparison};
    case Op::Ge: return {" >= ", kComparison};
    case Op::Eq: return {" == ", kComparison};
    case Op::Ne: return {" != ", kComparison};
    case Op::And: return truth ? Form{" && ", kAndAnd} : Form{" & ", kAnd};
    case Op::Or: return truth ? Form{" || ", kOrOr} : Form{" | ", kOr};
    case Op::Xor: return {" ^^ ", kXor};
    case Op::Shl: return {" << ", kShift};
    case Op::Sar: return {" >> ", kShift};
    case Op::Shr: return {" >>> ", kShift};
    case Op::Neg: return {"-", kUnary};
    case Op::Not: return {truth ? "!" : "~", kUnary};
    case Op::Powi: return {"^", kPower};
    case Op::Constant:
    case Op::Variable:
    case Op::Abs:
    case Op::Min:
    case Op::Max:
    case Op::Fma:
    case Op::Recip:
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Cbrt:
    case Op::Hypot:
    case Op::Exp:
    case Op::Exp2:
    case Op::Expm1:
    case Op::Log:
    case Op::Log2:
    case Op::Log10:
    case Op::Log1p:
    case Op::Pow:
    case Op::Sin:
    case Op::Cos:
    case Op::Tan:
    case Op::Asin:
    case Op::Acos:
    case Op::Atan:
    case Op::Atan2:
    case Op::Sinh:
    case Op::Cosh:
    case Op::Tanh:
    case Op::Asinh:
    case Op::Acosh:
    case Op::Atanh:
    case Op::Erf:
    case Op::Erfc:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Rint:
    case Op::Trunc:
    case Op::Fmod:
    case Op::Copysign:
    case Op::Sign:
    case Op::Select:
    case Op::Cast:
    case Op::Sum:
    case Op::MinOf:
    case Op::MaxOf:
    case Op::Mean:
    case Op::Dot:
    case Op::Diff:
    case Op::Index:
    case Op::Gather:
    case Op::Strided: return {};
  }
  CHECK(false);
}

class InfixPrinter {
 public:
  explicit InfixPrinter(const Expr& expr) : expr_(expr), plan_(expr) {}

  std::string print() {
    declarations();
    for (const std::uint32_t i : plan_.needed) {
      out_ += plan_.names[i] + " = ";
      node(expr_.nodes[i], kAny);
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
      out_ += plan_.variables[i] + ": " + std::string(ir::name_of(v.type));
      if (v.has_range()) out_ += " in [" + print_bound(v.lo) + ", " + print_bound(v.hi) + "]";
    }
    if (!expr_.variables.empty()) out_ += ";\n";
  }

  void outputs() {
    const bool plain = expr_.outputs.size() == 1 && plan_.outputs[0] == "out" &&
                       expr_.at(expr_.outputs[0].node).op != Op::Variable &&
                       plan_.names[expr_.outputs[0].node.index].empty();
    if (plain) {
      operand(expr_.outputs[0].node, kAny, true);
      return;
    }
    out_ += '(';
    for (std::size_t i = 0; i < expr_.outputs.size(); ++i) {
      out_ += (i > 0 ? ", " : "") + plan_.outputs[i] + " = ";
      operand(expr_.outputs[i].node, kAny, true);
    }
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
    } else if (n.op == Op::Variable) {
      out_ += plan_.variables[n.imm];
    } else if (n.op == Op::Index) {
      out_ += info(n.op).text;
    } else if (!plan_.names[id.index].empty()) {
      out_ += plan_.names[id.index];
    } else {
      node(n, level);
    }
  }

  // `n` itself, in brackets where its level is looser than `level`.
  void node(const Node& n, Level level) {
    Form form = form_of(n);
    const bool constant_below = n.a.valid() && expr_.at(n.a).op == Op::Constant;
    if (n.op == Op::Neg && constant_below) form = {};  // "-2" would be a number
    if (form.text == nullptr) {
      call(n);
      return;
    }
    const bool brackets = form.level < level;
    if (brackets) out_ += '(';
    const auto tighter = static_cast<Level>(form.level + 1);
    if (form.level == kUnary) {
      out_ += form.text;
      operand(n.a, kUnary, plan_.states_type(expr_, n, n.a));
    } else if (form.level == kPower) {
      operand(n.a, kPrimary, true);
      out_ += form.text + std::to_string(static_cast<std::int64_t>(n.imm));
    } else {
      operand(n.a, form.level == kComparison ? tighter : form.level, plan_.states_type(expr_, n, n.a));
      out_ += form.text;
      operand(n.b, tighter, plan_.states_type(expr_, n, n.b));
    }
    if (brackets) out_ += ')';
  }

  void call(const Node& n) {
    if (n.op == Op::Gather) {
      operand(n.a, kPrimary, false);
      out_ += '[';
      operand(n.b, kAny, plan_.states_type(expr_, n, n.b));
      out_ += ']';
      return;
    }
    out_ += n.op == Op::Cast && n.type == Type::b32 ? "bool" : n.op == Op::Cast ? ir::name_of(n.type) : info(n.op).text;
    out_ += '(';
    const char* comma = "";
    for (const NodeId id : {n.a, n.b, n.c}) {
      if (!id.valid()) continue;
      out_ += comma;
      operand(id, kAny, plan_.states_type(expr_, n, id));
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
