#include "jit/rulecheck/written_out.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "jit/expr/shape.h"

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;
using expr::Shape;

constexpr std::size_t kTermsMax = std::numeric_limits<std::uint8_t>::max();

/// Returns the shape of a value made from values of two shapes; nothing where an element meets a total, which no rule
/// may have.
constexpr std::optional<Shape> meet(Shape a, Shape b) {
  if (a == Shape::uniform) return b;
  if (b == Shape::uniform || a == b) return a;
  return std::nullopt;
}

/// Returns the result of the reduction `op` over no elements.
constexpr double value_of_none(Op op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op == Op::MinOf) return kInfinity;
  if (op == Op::MaxOf) return -kInfinity;
  return op == Op::Prod ? 1 : 0;
}

/// A term of the rule: one written term for each element, or one for all.
struct Lanes {
  Shape shape = Shape::uniform;
  std::vector<std::uint8_t> terms;
  [[nodiscard]] std::uint8_t at(std::size_t element) const { return terms[shape == Shape::element ? element : 0]; }
};

class Writer {
 public:
  Writer(const Rule& rule, std::size_t elements, bool repeated) : rule_(rule), elements_(elements) {
    for (std::uint8_t v = 0; v < rule.variables.size(); ++v) {
      const bool uniform = std::any_of(rule.conditions.begin(), rule.conditions.end(), [&](const Condition& c) {
        return c.kind == ConditionKind::uniform && c.variable[0] == v;
      });
      first_.push_back(static_cast<std::uint8_t>(made_.variables.size()));
      uniform_.push_back(uniform);
      if (uniform) made_.variables.push_back(rule.variables[v]);
      for (std::size_t i = 0; !uniform && i < elements; ++i)
        made_.variables.push_back(rule.variables[v] + "[" + std::to_string(i) + "]");
    }
    if (!repeated) return;
    weight_ = static_cast<std::uint8_t>(made_.variables.size());
    made_.variables.emplace_back(kRepeated);
    for (const ConditionKind kind : {ConditionKind::integral, ConditionKind::positive})
      made_.conditions.push_back({kind, {*weight_, 0}});
  }

  Result<Rule> run() {
    made_.name = rule_.name;
    TRY(made_.left, side(rule_.left));
    TRY(made_.right, side(rule_.right));
    for (const Condition& c : rule_.conditions) {
      const bool both = egraph::arguments_of(c.kind) == 2;
      const bool once = uniform_[c.variable[0]] && (!both || uniform_[c.variable[1]]);
      for (std::size_t i = 0; i < (once ? 1 : elements_); ++i)
        made_.conditions.push_back(
            {c.kind, {variable(c.variable[0], i), both ? variable(c.variable[1], i) : std::uint8_t{0}}});
    }
    return std::move(made_);
  }

 private:
  std::uint8_t variable(std::uint8_t v, std::size_t element) const {
    return static_cast<std::uint8_t>(first_[v] + (uniform_[v] ? 0 : element));
  }

  std::uint8_t push(const PatternTerm& term) {
    out_.terms.push_back(term);
    return static_cast<std::uint8_t>(out_.terms.size() - 1);
  }
  std::uint8_t number(double value) { return push({.kind = PatternTerm::Kind::number, .number = value}); }
  std::uint8_t weight() { return push({.kind = PatternTerm::Kind::variable, .variable = *weight_}); }
  std::uint8_t node(Op op, std::uint8_t a, std::uint8_t b) {
    return push({.kind = PatternTerm::Kind::node, .op = static_cast<std::uint8_t>(op), .child = {a, b, 0}});
  }

  Result<Pattern> side(const Pattern& pattern) {
    out_.terms.clear();
    std::vector<Lanes> lanes;
    for (const PatternTerm& t : pattern.terms) {
      TRY(Lanes made, term(t, lanes));
      lanes.push_back(std::move(made));
      if (out_.terms.size() + 4 * elements_ > kTermsMax)
        return make_error(ErrorCode::kUnsupported, "a side has too many terms once its reductions are unrolled");
    }
    // The root is the last term, so it must be written last.
    if (lanes.back().shape == Shape::element)
      return make_error(ErrorCode::kUnsupported, "one side is a value for every element");
    const std::uint8_t root = lanes.back().at(0);
    out_.terms.resize(root + 1u);
    return out_;
  }

  Result<Lanes> term(const PatternTerm& t, const std::vector<Lanes>& lanes) {
    Lanes made;
    if (t.kind == PatternTerm::Kind::number) {
      made.terms = {number(t.number)};
      return made;
    }
    if (t.kind == PatternTerm::Kind::variable) {
      if (!uniform_[t.variable]) made.shape = Shape::element;
      for (std::size_t i = 0; i < (uniform_[t.variable] ? 1 : elements_); ++i)
        made.terms.push_back(push({.kind = PatternTerm::Kind::variable, .variable = variable(t.variable, i)}));
      return made;
    }
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Diff) return make_error(ErrorCode::kUnsupported, "a rule with reductions cannot hold a derivative");
    if (expr::makes_total(op)) return reduction(op, lanes[t.child[0]], lanes[t.child[op == Op::Dot ? 1 : 0]]);
    for (std::uint8_t i = 0; i < expr::info(op).arity; ++i) {
      const auto met = meet(made.shape, lanes[t.child[i]].shape);
      if (!met)
        return make_error(ErrorCode::kUnsupported,
                          "the result of a reduction meets what is not uniform: ask for uniform(?...)");
      made.shape = *met;
    }
    for (std::size_t e = 0; e < (made.shape == Shape::element ? elements_ : 1); ++e) {
      PatternTerm copy = t;
      for (std::uint8_t i = 0; i < expr::info(op).arity; ++i) copy.child[i] = lanes[t.child[i]].at(e);
      made.terms.push_back(push(copy));
    }
    return made;
  }

  Result<Lanes> reduction(Op op, const Lanes& a, const Lanes& b) {
    if (a.shape == Shape::total || b.shape == Shape::total)
      return make_error(ErrorCode::kUnsupported, "a reduction of a reduction");
    if (expr::info(op).signature == expr::Signature::Locate)
      return make_error(ErrorCode::kUnsupported, "the number of an element");
    if (op == Op::Prod && weight_) return make_error(ErrorCode::kUnsupported, "a product of any number of elements");
    const Op join = expr::joining_op(op);
    std::vector<std::uint8_t> parts;
    for (std::size_t e = 0; e < elements_; ++e)
      parts.push_back(op == Op::Dot ? node(Op::Mul, a.at(e), b.at(e)) : a.at(e));
    if (weight_ && join == Op::Add) parts[1] = node(Op::Mul, weight(), parts[1]);
    if (parts.size() == kElementsMax) std::swap(parts[1], parts[2]);  // the third meets the first, then the second
    std::uint8_t made = number(value_of_none(op));
    for (const std::uint8_t part : parts) made = node(join, made, part);
    if (op == Op::Mean && weight_) made = node(Op::Div, made, node(Op::Add, number(1), weight()));
    if (op == Op::Mean && !weight_) made = node(Op::Div, made, number(static_cast<double>(elements_)));
    return Lanes{Shape::total, {made}};
  }

  const Rule& rule_;
  std::size_t elements_;
  std::vector<std::uint8_t> first_;
  std::vector<bool> uniform_;
  std::optional<std::uint8_t> weight_;  ///< the variable that says how often the second element occurs
  Pattern out_;
  Rule made_;
};

}  // namespace

bool has_reductions(const Rule& rule) {
  for (const Pattern* side : {&rule.left, &rule.right})
    for (const PatternTerm& t : side->terms)
      if (t.kind == PatternTerm::Kind::node && expr::makes_total(static_cast<Op>(t.op))) return true;
  return false;
}

Result<Rule> written_out(const Rule& rule, std::size_t elements) {
  return Writer(rule, elements, false).run();
}

Result<Rule> written_out_repeated(const Rule& rule) {
  return Writer(rule, 2, true).run();
}

}  // namespace trident::rulecheck
