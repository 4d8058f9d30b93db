// check(): every rule that the passes of this folder rely on, in one pass over the nodes. An Expr may come from the
// wire, so nothing is assumed but that the vectors are vectors.
#include <algorithm>
#include <cmath>

#include "jit/expr/expr.h"
#include "jit/expr/shape.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

bool allowed(Types types, Type type) {
  switch (types) {
    case Types::N: return ir::is_float(type) || ir::is_int(type);
    case Types::F: return ir::is_float(type);
    case Types::I: return ir::is_int(type);
    case Types::B: return ir::is_int(type) || ir::is_mask(type);
    case Types::A: return ir::is_float(type) || ir::is_int(type) || ir::is_mask(type);
  }
  return false;
}

const char* words_of(Types types) {
  switch (types) {
    case Types::N: return "numbers";
    case Types::F: return "floats";
    case Types::I: return "integers";
    case Types::B: return "integers or comparisons";
    case Types::A: return "values";
  }
  return "";
}

class Checker {
 public:
  explicit Checker(const Expr& expr) : expr_(expr) {}

  Result<void> run() {
    TRY_VOID(variables());
    if (expr_.nodes.size() > limits::kExprNodesMax) {
      return make_error(ErrorCode::kLimitExceeded, "more than %u operations, inputs and constants in one expression",
                        limits::kExprNodesMax);
    }
    const auto matters = [](const Node& n) {
      return static_cast<std::uint32_t>(n.op) < kOpCount && (makes_total(n.op) || n.op == Op::Strided);
    };
    follows_shapes_ = std::any_of(expr_.nodes.begin(), expr_.nodes.end(), matters);
    if (follows_shapes_) places_.reserve(expr_.nodes.size());
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i) TRY_VOID(node(i));
    return outputs();
  }

 private:
  Result<void> variables() const {
    const auto is_table = [](const Variable& v) { return v.is_table(); };
    const auto tables = std::count_if(expr_.variables.begin(), expr_.variables.end(), is_table);
    if (expr_.variables.size() + static_cast<std::size_t>(tables) > limits::kInputsMax) {
      return make_error(ErrorCode::kLimitExceeded, "more than %u variables and lengths of tables", limits::kInputsMax);
    }
    for (const Variable& v : expr_.variables) {
      const std::size_t name_bytes_max = limits::kNameBytesMax - (v.is_table() ? kLengthSuffix.size() : 0);
      if (v.name.size() > name_bytes_max) {
        return make_error(ErrorCode::kLimitExceeded, "a name is longer than %zu bytes", name_bytes_max);
      }
      if (v.kind > VariableKind::table) {
        return make_error(ErrorCode::kInvalidArgument, "variable '%s' is no array, scalar or table", v.name.c_str());
      }
      if (!allowed(Types::N, v.type)) {
        return make_error(ErrorCode::kTypeError, "variable '%s' is not of type f32, f64, i32 or i64", v.name.c_str());
      }
      if (v.storage != Storage::own && (!ir::fits(v.type, v.storage) || v.kind != VariableKind::array)) {
        return make_error(ErrorCode::kTypeError, "variable '%s' is no array of %s", v.name.c_str(),
                          ir::facts_of(v.storage).name.data());
      }
      if (!(v.lo <= v.hi)) {
        return make_error(ErrorCode::kInvalidArgument, "the range of variable '%s' is empty", v.name.c_str());
      }
    }
    return {};
  }

  Result<void> fault(std::uint32_t i, const char* what) const {
    const Node& n = expr_.nodes[i];
    const bool known = static_cast<std::uint32_t>(n.op) < kOpCount;
    return make_error(ErrorCode::kTypeError, "node %u (%s): %s", i, known ? info(n.op).text.data() : "?", what);
  }

  Result<void> node(std::uint32_t i) {
    const Node& n = expr_.nodes[i];
    if (static_cast<std::uint32_t>(n.op) >= kOpCount) return fault(i, "no such op");
    if (!allowed(Types::A, n.type)) return fault(i, "no such type");
    const NodeId operands[] = {n.a, n.b, n.c};
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (operands[k].valid() != (k < info(n.op).arity)) return fault(i, "wrong number of operands");
      if (operands[k].valid() && operands[k].index >= i) return fault(i, "an operand is not defined before its use");
    }
    for (std::uint32_t k = 0; k < info(n.op).arity; ++k) {
      if (reads_table(n, k) != is_table(operands[k])) {
        return fault(i, reads_table(n, k) ? "its first operand is not a table"
                                          : "a table is read by gather and strided, and by nothing else");
      }
    }
    TRY_VOID(types(i, n));
    TRY_VOID(immediate(i, n));
    if (!follows_shapes_) return {};
    const std::optional<Place> place = place_of(n, places_, expr_.variables);
    if (!place) return fault(i, "it would need more than 8 passes over the arrays");
    places_.push_back(*place);
    if (n.op == Op::Strided && places_[n.c.index].shape != Shape::uniform) return fault(i, "its offset is not uniform");
    return {};
  }

  static bool reads_table(const Node& n, std::uint32_t operand) {
    return operand == 0 && info(n.op).signature == Signature::Read;
  }
  [[nodiscard]] bool is_table(NodeId id) const {
    const Node& n = expr_.at(id);
    return n.op == Op::Variable && expr_.variables[n.imm].is_table();
  }

  [[nodiscard]] Type type(NodeId id) const { return expr_.nodes[id.index].type; }

  Result<void> types(std::uint32_t i, const Node& n) const {
    const OpInfo& row = info(n.op);
    Type of = n.type;
    switch (row.signature) {
      case Signature::Leaf:
        if (n.op == Op::Index && n.type != Type::i64) return fault(i, "its type must be i64");
        break;
      case Signature::Read: TRY_VOID(read(i, n)); break;
      case Signature::Same:
      case Signature::Reduce:
      case Signature::Reduce2:
        for (const NodeId operand : {n.a, n.b, n.c}) {
          if (operand.valid() && type(operand) != n.type) return fault(i, "its operands have different types");
        }
        break;
      case Signature::Locate:
        of = type(n.a);
        if (n.type != Type::i64) return fault(i, "its result type must be i64");
        break;
      case Signature::Compare:
        of = type(n.a);
        if (!ir::is_mask(n.type)) return fault(i, "its result type must be bool");
        if (type(n.b) != of) return fault(i, "its operands have different types");
        break;
      case Signature::Select:
        if (!ir::is_mask(type(n.a))) return fault(i, "its first operand is not a comparison");
        if (type(n.b) != n.type || type(n.c) != n.type) return fault(i, "its two values have different types");
        break;
      case Signature::Convert:
        if (type(n.a) == n.type) return fault(i, "it does not change the type");
        break;
      case Signature::Diff:
        if (expr_.at(n.b).op != Op::Variable) return fault(i, "its second operand is not a variable");
        if (type(n.a) != n.type) return fault(i, "its operand's type differs from its own");
        if (!ir::is_float(type(n.b))) return fault(i, "its variable is not a float");
        break;
    }
    if (allowed(row.types, of)) return {};
    return make_error(ErrorCode::kTypeError, "node %u (%s): it takes %s, here %s", i, row.text.data(),
                      words_of(row.types), ir::name_of(of).data());
  }

  Result<void> read(std::uint32_t i, const Node& n) const {
    if (type(n.a) != n.type) return fault(i, "its table's type differs from its own");
    if (n.op == Op::Gather) {
      if (!ir::is_int(type(n.b))) return fault(i, "its index is not an integer");
      return {};
    }
    const Node& stride = expr_.at(n.b);
    if (stride.op != Op::Constant || stride.type != Type::i64) return fault(i, "its stride is not an i64 constant");
    const auto size = static_cast<std::int64_t>(stride.imm);
    if (size == 0 || size < -kir::kStrideMax || size > kir::kStrideMax) return fault(i, "its stride is 0 or too large");
    if (type(n.c) != Type::i64) return fault(i, "its offset is not an i64");
    return {};
  }

  Result<void> immediate(std::uint32_t i, const Node& n) const {
    if (n.op == Op::Constant) {
      if (ir::bytes_of(n.type) == 4 && (n.imm >> 32) != 0) return fault(i, "a constant wider than its type");
    } else if (n.op == Op::Variable) {
      if (n.imm >= expr_.variables.size()) return fault(i, "no such variable");
      if (expr_.variables[n.imm].type != n.type) return fault(i, "its type is not the variable's");
    } else if (n.op == Op::Powi) {
      const auto exponent = static_cast<std::int64_t>(n.imm);
      if (exponent > kPowiMax || exponent < -kPowiMax) return fault(i, "the exponent is larger than 2^31");
      if (exponent < 0 && ir::is_int(n.type)) return fault(i, "an integer has no negative powers");
    } else if (n.imm != 0) {
      return fault(i, "an immediate on an op that takes none");
    }
    return {};
  }

  Result<void> outputs() const {
    if (expr_.outputs.empty()) return make_error(ErrorCode::kInvalidArgument, "an expression needs an output");
    if (expr_.outputs.size() > limits::kOutputsMax) {
      return make_error(ErrorCode::kLimitExceeded, "more than %u outputs", limits::kOutputsMax);
    }
    for (const Output& o : expr_.outputs) {
      if (o.name.size() > limits::kNameBytesMax) {
        return make_error(ErrorCode::kLimitExceeded, "a name is longer than %zu bytes", limits::kNameBytesMax);
      }
      if (o.node.index >= expr_.nodes.size()) {
        return make_error(ErrorCode::kInvalidArgument, "output '%s' names no node", o.name.c_str());
      }
      if (is_table(o.node)) {
        return make_error(ErrorCode::kTypeError, "output '%s' is a table: read its elements with gather",
                          o.name.c_str());
      }
      if (ir::is_mask(type(o.node))) {
        return make_error(ErrorCode::kTypeError, "output '%s' is a comparison: cast it to a number", o.name.c_str());
      }
      const bool total = follows_shapes_ && places_[o.node.index].shape == Shape::total;
      if (o.storage != Storage::own && (total || !ir::fits(type(o.node), o.storage))) {
        return make_error(ErrorCode::kTypeError, "output '%s' is no array of %s", o.name.c_str(),
                          ir::facts_of(o.storage).name.data());
      }
    }
    return {};
  }

  const Expr& expr_;
  bool follows_shapes_ = false;
  std::vector<Place> places_;
};

}  // namespace

Result<void> check(const Expr& expr) {
  return Checker(expr).run();
}

}  // namespace trident::expr
