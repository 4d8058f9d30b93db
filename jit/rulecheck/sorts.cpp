#include "jit/rulecheck/sorts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;
using expr::Signature;

constexpr int kNestedSlopesMax = 2;

class SortFinder {
 public:
  explicit SortFinder(const egraph::Rule& rule) : rule_(rule), seen_(rule.variables.size()) {
    sorts_.truth.resize(rule.variables.size());
    sorts_.of_variable.resize(rule.variables.size());
  }

  Result<Sorts> run() {
    const PatternTerm& root = rule_.left.root();
    sorts_.truth_sides = root.kind == PatternTerm::Kind::node && gives_truth(static_cast<Op>(root.op));
    if (rule_.typed) sorts_.types.resize(rule_.variables.size());
    for (const egraph::Condition& c : rule_.conditions)
      if (const auto type = egraph::type_of(c.kind)) sorts_.types[c.variable[0]] = *type;
    const Sort wanted = sorts_.truth_sides ? Sort::truth : Sort::number;
    for (const Pattern* side : {&rule_.left, &rule_.right}) {
      terms_ = side == &rule_.left ? &sorts_.of_left : &sorts_.of_right;
      terms_->resize(side->terms.size());
      for (const PatternTerm& t : side->terms)
        if (t.kind == PatternTerm::Kind::number && !is_dyadic(t.number))
          if (const auto fraction = meant_by(t.number)) sorts_.meant[t.number] = *fraction;
      TRY_VOID(visit(*side, side->terms.size() - 1, wanted, 0));
    }
    if (!rule_.typed) return sorts_;
    TRY(const std::vector<expr::Type> left, types_of(rule_.left, sorts_));
    TRY(const std::vector<expr::Type> right, types_of(rule_.right, sorts_));
    if (left.back() != right.back()) return make_error(ErrorCode::kTypeError, "the sides are of two types");
    sorts_.casts_round = left.back() != expr::Type::f32;
    return sorts_;
  }

 private:
  static bool gives_truth(Op op) { return is_logic(op) || expr::info(op).signature == Signature::Compare; }

  static Error mismatch(const std::string& what, Sort wanted) {
    constexpr const char* kWords[] = {"number", "truth value", "integer", "table"};
    return make_error(ErrorCode::kTypeError, "%s stands where %s %s is wanted", what.c_str(),
                      wanted == Sort::integer ? "an" : "a", kWords[static_cast<std::size_t>(wanted)]);
  }

  Result<void> visit(const Pattern& side, std::size_t index, Sort wanted, int slopes) {
    const PatternTerm& t = side.terms[index];
    (*terms_)[index] = wanted;
    if (t.kind == PatternTerm::Kind::variable) return visit_variable(t.variable, wanted);
    if (t.kind == PatternTerm::Kind::number) {
      const bool fits = wanted == Sort::number || (wanted == Sort::integer && t.number == std::floor(t.number));
      return fits ? Result<void>() : mismatch("a constant", wanted);
    }
    return visit_node(side, t, wanted, slopes);
  }

  Result<void> visit_variable(std::uint8_t v, Sort wanted) {
    if (!seen_[v]) {
      seen_[v] = true;
      sorts_.of_variable[v] = wanted;
      sorts_.truth[v] = wanted == Sort::truth;
    }
    return sorts_.of_variable[v] == wanted ? Result<void>() : mismatch("?" + rule_.variables[v], wanted);
  }

  static bool makes_integers(Op op) {
    return op == Op::Index || op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Neg || op == Op::Shl ||
           op == Op::Select;
  }

  static Sort operand_sort(Op op, std::uint8_t operand, Sort result) {
    if (expr::info(op).signature == Signature::Read) return operand == 0 ? Sort::table : Sort::integer;
    if (is_logic(op) || (op == Op::Select && operand == 0)) return Sort::truth;
    return op == Op::Select || result == Sort::integer ? result : Sort::number;
  }

  Result<void> visit_node(const Pattern& side, const PatternTerm& t, Sort wanted, int slopes) {
    const Op op = static_cast<Op>(t.op);
    const expr::OpInfo& row = expr::info(op);
    const std::string name(row.text);
    if (op == Op::Cast && t.sort != egraph::kNoSort && rule_.typed) return visit_cast(side, t, wanted, slopes);
    if (wanted == Sort::integer && !makes_integers(op))
      return make_error(ErrorCode::kUnsupported, "\"%s\" has no place in the number of an element", name.c_str());
    if (wanted != Sort::integer && (row.signature == Signature::Leaf || row.signature == Signature::Convert))
      return make_error(ErrorCode::kUnsupported, "\"%s\" has no place in a rule", name.c_str());
    if (row.types == expr::Types::I && wanted != Sort::integer)
      return make_error(ErrorCode::kUnsupported, "\"%s\" is for integers: rules are about reals", name.c_str());
    if (op != Op::Select && gives_truth(op) != (wanted == Sort::truth)) return mismatch("(" + name + " ...)", wanted);
    if (wanted == Sort::table) return mismatch("(" + name + " ...)", wanted);
    TRY_VOID(check_payload(t, op, name));
    if (op == Op::Diff) return visit_slope(side, t, slopes);
    for (std::uint8_t i = 0; i < row.arity; ++i) TRY_VOID(visit(side, t.child[i], operand_sort(op, i, wanted), slopes));
    return {};
  }

  Result<void> visit_cast(const Pattern& side, const PatternTerm& t, Sort wanted, int slopes) {
    if (wanted != Sort::number) return mismatch("a cast", wanted);
    const PatternTerm& of = side.terms[t.child[0]];
    const bool of_truth = of.kind == PatternTerm::Kind::variable ? sorts_.types[of.variable] == expr::Type::b32
                                                                 : gives_truth(static_cast<Op>(of.op));
    return visit(side, t.child[0], of_truth ? Sort::truth : Sort::number, slopes);
  }

  static Result<void> check_payload(const PatternTerm& t, Op op, const std::string& name) {
    if (t.has_payload != (op == Op::Powi))
      return make_error(
          ErrorCode::kTypeError,
          t.has_payload ? "\"%s\" has no number after its operands" : "\"%s\" needs its exponent after the operand",
          name.c_str());
    const bool whole = t.number == std::round(t.number) && std::fabs(t.number) <= std::numeric_limits<int>::max();
    if (t.has_payload && !whole) return make_error(ErrorCode::kTypeError, "the exponent of powi is no integer");
    return {};
  }

  Result<void> visit_slope(const Pattern& side, const PatternTerm& t, int slopes) {
    const PatternTerm& by = side.terms[t.child[1]];
    if (by.kind != PatternTerm::Kind::variable)
      return make_error(ErrorCode::kUnsupported, "(diff e ?x) is by a variable ?x");
    if (sorts_.slopes.value_or(by.variable) != by.variable)
      return make_error(ErrorCode::kUnsupported, "derivatives by two variables, ?%s and ?%s",
                        rule_.variables[*sorts_.slopes].c_str(), rule_.variables[by.variable].c_str());
    if (slopes == kNestedSlopesMax)
      return make_error(ErrorCode::kUnsupported, "derivatives nested more than %d deep", kNestedSlopesMax);
    sorts_.slopes = by.variable;
    (*terms_)[t.child[1]] = Sort::number;
    TRY_VOID(visit_variable(by.variable, Sort::number));
    return visit(side, t.child[0], Sort::number, slopes + 1);
  }

  const egraph::Rule& rule_;
  std::vector<bool> seen_;
  std::vector<Sort>* terms_ = nullptr;  ///< of the side being visited
  Sorts sorts_;
};

}  // namespace

Result<std::vector<expr::Type>> types_of(const Pattern& side, const Sorts& sorts) {
  std::vector<expr::Type> types;
  for (const PatternTerm& t : side.terms) {
    if (t.kind == PatternTerm::Kind::number)
      return make_error(ErrorCode::kUnsupported, "a rule about types cannot hold a number, which has no type");
    if (t.kind == PatternTerm::Kind::variable) {
      types.push_back(sorts.types[t.variable]);
      continue;
    }
    const Op op = static_cast<Op>(t.op);
    const expr::OpInfo& row = expr::info(op);
    if (op == Op::Cast) {
      types.push_back(static_cast<expr::Type>(t.sort));
      continue;
    }
    const std::uint8_t first = op == Op::Select ? 1 : 0;
    const expr::Type type = types[t.child[first]];
    for (std::uint8_t i = first; i < row.arity; ++i)
      if (types[t.child[i]] != type)
        return make_error(ErrorCode::kTypeError, "operands of \"%s\" are of two types", std::string(row.text).c_str());
    if (ir::is_int(type) && op != Op::Select && row.signature != Signature::Compare)
      return make_error(ErrorCode::kUnsupported, "integer arithmetic: rules are about reals");
    types.push_back(row.signature == Signature::Compare ? expr::Type::b32 : type);
  }
  return types;
}

Result<Sorts> sorts_of(const egraph::Rule& rule) {
  return SortFinder(rule).run();
}

}  // namespace trident::rulecheck
