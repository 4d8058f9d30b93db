#include "jit/equiv/proof.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <set>

#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Fact;
using expr::Node;
using expr::NodeId;
using expr::Op;
using ir::Type;
using kir::math::Function;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Most products that a power is multiplied out by, each of one rounding.
constexpr std::int64_t kPowerMax = 64;
/// Factor for the rounding of the proof's own thousands of operations in double.
constexpr double kOwnRounding = 1 + 0x1p-30;
/// Values far below the greatest are measured on this share of it: near its zeros a value has few digits right.
constexpr double kFloorShare = 1e-6;

constexpr std::pair<Op, Function> kFunctions[] = {
#define X(Name, text, arity, special) {Op::Name, Function::Name},
#include "jit/kir/math/functions.def"
#undef X
};

std::optional<Function> function_of(Op op) {
  for (const auto& [of, function] : kFunctions)
    if (of == op) return function;
  return std::nullopt;
}

/// True for numbers of so few bits that sums and products of some are exact in double.
bool is_short(double value) {
  constexpr double kGreatest = 1024, kUnit = 1.0 / 1024;
  return std::fabs(value) <= kGreatest && std::floor(value / kUnit) == value / kUnit;
}

/// Returns whether an op keeps short constants exact: exp(-1e6) may become 0, tanh(50) may become 1.
bool is_of_ring(Op op) {
  return op == Op::Variable || (expr::has(op, expr::kRational) && op != Op::Recip);
}

std::vector<bool> below(const Expr& expr, NodeId root) {
  std::vector<bool> needed(expr.nodes.size(), false);
  needed[root.index] = true;
  for (std::size_t i = expr.nodes.size(); i-- > 0;)
    for (const NodeId operand : {expr.nodes[i].a, expr.nodes[i].b, expr.nodes[i].c})
      if (needed[i] && operand.valid()) needed[operand.index] = true;
  return needed;
}

bool narrows(const Expr& expr, const Node& n) {
  return n.op == Op::Cast && n.type == Type::f32 && expr.at(n.a).type == Type::f64;
}

/// Casts to f32 mean the same in both where each of the form's is one of the source's, or where each of the two has but
/// one below an output, and as that output: then the form rounds the same real value.
class Narrowings {
 public:
  Narrowings(const Expr& source, const Expr& form, std::size_t output) {
    Expr both;
    both.variables = source.variables;
    expr::Builder builder(both);
    const std::set<std::uint32_t> theirs = casts_of(source, output, builder), ours = casts_of(form, output, builder);
    const auto alone = [&](const Expr& e, const std::set<std::uint32_t>& casts) {
      return casts.size() == 1 && narrows(e, e.at(e.outputs[output].node));
    };
    same_ = theirs == ours || (alone(source, theirs) && alone(form, ours));
  }
  [[nodiscard]] bool same() const { return same_; }

 private:
  // Returns the narrowing casts below an output, by their numbers in the expression that both are built into.
  static std::set<std::uint32_t> casts_of(const Expr& expr, std::size_t output, expr::Builder& builder) {
    std::set<std::uint32_t> casts;
    std::vector<NodeId> place;
    const std::vector<bool> needed = below(expr, expr.outputs[output].node);
    for (std::uint32_t i = 0; i < expr.nodes.size(); ++i) {
      Node n = expr.nodes[i];
      for (NodeId* operand : {&n.a, &n.b, &n.c})
        if (operand->valid()) *operand = place[operand->index];
      place.push_back(builder.add(n));
      if (needed[i] && narrows(expr, expr.nodes[i])) casts.insert(place.back().index);
    }
    return casts;
  }

  bool same_ = false;
};

/// Returns whether the value jumps, so that no derivative bounds the change. atan2 jumps by 2 pi where its first
/// operand changes sign and its second is negative.
bool jumps(Op op) {
  return expr::is_step(op) || op == Op::Atan2;
}

double ulp_of(Type type, double magnitude) {
  const int digits = type == Type::f32 ? 24 : 53, least = type == Type::f32 ? -149 : -1074;
  const double greatest = type == Type::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  if (!(magnitude <= greatest)) return kInfinity;  // it may overflow
  return std::ldexp(1.0, std::max(magnitude == 0 ? least : std::ilogb(magnitude) - digits + 1, least));
}

double magnitude(const Fact& f) {
  return f.may_be_nan ? kInfinity : std::max(std::fabs(f.lo), std::fabs(f.hi));
}
double least_magnitude(const Fact& f) {
  return f.lo > 0 ? f.lo : f.hi < 0 ? -f.hi : 0;
}

/// One rounding: the perturbation that stands for it, and its bound in ulp of the value.
struct Rounding {
  std::uint32_t variable = 0;  ///< of the perturbed expression
  NodeId value;                ///< in the expression before derivatives are eliminated
  Type type = Type::f64;
  double ulps = 0.5;
};

/// The form in doubles with a variable added to every rounded result. Outputs: the form's, its derivatives by the
/// source's variables, by the perturbations, and the rounded values.
class Perturbed {
 public:
  Perturbed(const Expr& source, const Expr& form, const expr::LowerOptions& how, std::size_t output)
      : form_(form), how_(how), builder_(expr_) {
    for (const Node& n : source.nodes) {
      if (n.op != Op::Constant) {
        folds_exactly_ = folds_exactly_ && is_of_ring(n.op);
        continue;
      }
      known_.insert({n.type, n.imm});
      folds_exactly_ = folds_exactly_ && ir::is_float(n.type) && is_short(expr::value_of(n.type, n.imm));
    }
    for (expr::Variable v : form.variables) {
      v.type = Type::f64;
      expr_.variables.push_back(std::move(v));
    }
    inputs_ = expr_.variables.size();
    if (!Narrowings(source, form, output).same()) {
      refuse("the form and the source do not round to f32 at the same places");
      return;
    }
    needed_ = below(form, form.outputs[output].node);
    for (std::uint32_t i = 0; i < form.nodes.size() && why_.empty(); ++i) {
      place_.emplace_back();
      exact_.push_back(false);
      if (needed_[i]) put(i);
    }
    if (why_.empty()) finish(place_[form.outputs[output].node.index]);
  }

  [[nodiscard]] const std::string& why() const { return why_; }
  Expr& expr() { return expr_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Rounding>& roundings() const { return roundings_; }

 private:
  void refuse(const std::string& why) { why_ = why; }

  void put(std::uint32_t i) {
    const Node& n = form_.nodes[i];
    const auto at = [&](NodeId id) { return place_[id.index]; };
    if (n.op == Op::Variable) {
      if (!form_.variables[n.imm].has_range() || !ir::is_float(n.type))
        return refuse("'" + form_.variables[n.imm].name + "' has no declared range of floats");
      place_[i] = builder_.variable(static_cast<std::uint32_t>(n.imm));
      exact_[i] = true;
      return;
    }
    if (n.op == Op::Constant) {
      if (!ir::is_float(n.type)) return refuse("it computes with integers");
      const double value = expr::value_of(n.type, n.imm);
      if (!known_.contains({n.type, n.imm}) && !(folds_exactly_ && is_short(value)))
        return refuse("the form has a constant that the source does not have, folded of others (say --disable search)");
      exact_[i] = true;
      place_[i] = builder_.constant(Type::f64, value);
      return;
    }
    const expr::OpInfo& row = expr::info(n.op);
    if (row.signature == expr::Signature::Compare) {
      if (!exact_[n.a.index] || !exact_[n.b.index])
        return refuse("its result depends on a comparison of computed values");
      place_[i] = builder_.op(n.op, at(n.a), at(n.b));
      exact_[i] = true;
      return;
    }
    if (n.op == Op::Select) {
      place_[i] = builder_.op(n.op, at(n.a), at(n.b), at(n.c));
      return;
    }
    if (n.op == Op::Cast && ir::is_float(n.type) && ir::is_float(form_.at(n.a).type)) {
      place_[i] = at(n.a);
      if (!narrows(form_, n)) {
        exact_[i] = exact_[n.a.index];
      } else if (exact_[n.a.index]) {
        place_[i] = builder_.cast(Type::f64, builder_.cast(Type::f32, at(n.a)));
        exact_[i] = true;
      } else {
        round(i, n.type, 1);  // half an ulp of the correct value's own, and half one of the computed value's
      }
      return;
    }
    if (row.signature != expr::Signature::Same || !ir::is_float(n.type) || jumps(n.op))
      return refuse("'" + std::string(row.text) + "' has no bounded derivative");
    if (n.op == Op::Powi) {
      const auto exponent = static_cast<std::int64_t>(n.imm);
      if (std::abs(exponent) > kPowerMax) return refuse("the exponent of an integer power is too large");
      place_[i] = builder_.powi(at(n.a), exponent);
      const std::int64_t products = std::abs(exponent) - 1 + (exponent < 0 ? 1 : 0);
      // Each product's relative error is at most 2^-p, which is below an ulp; cross terms of these errors are less than
      // a hundred-thousandth of that.
      const double estimated = exponent < 0 && how_.estimates.any() ? kQuotientUlps : 0;
      if (products > 0) round(i, n.type, 1.00001 * (static_cast<double>(products) + estimated));
      return;
    }
    place_[i] = builder_.op(n.op, at(n.a), n.b.valid() ? at(n.b) : NodeId(), n.c.valid() ? at(n.c) : NodeId());
    if (row.rounding == expr::Rounding::exact) return;
    if (const double ulps = estimate_error_ulp(n); ulps > 0) return round(i, n.type, ulps);
    const auto function = function_of(n.op);
    round(i, n.type, function ? kir::math::stated_error_ulp(*function, n.type, how_.accuracy) : 0.5);
  }

  // Errors that kir/estimates.h states, of estimates of any number of bits.
  static constexpr double kRootUlps = 1.1, kInverseRootUlps = 1.5, kQuotientUlps = 1.51;
  // Returns the error of what an estimate gives, 0 of another op. A root or its inverse errs by 1.1 ulp, the inverse of
  // one that is subnormal by 1.5; products with it by as many ulps, of twice the size, and half an ulp more. The root
  // counts beside them.
  [[nodiscard]] double estimate_error_ulp(const Node& n) const {
    // A quotient by a shared divisor has the reciprocal's half ulp at up to twice the size, and its own.
    if (how_.share_divisors && n.type == Type::f64 && n.op == Op::Div) return kQuotientUlps;
    if (!how_.estimates.any() || n.type != Type::f32) return 0;
    const auto is_root = [&](NodeId id) { return id.valid() && form_.at(id).op == Op::Sqrt; };
    if (n.op == Op::Sqrt) return n.a.valid() && form_.at(n.a).op == Op::Div ? 3.6 : kRootUlps;  // perhaps a product
    if (n.op == Op::Rsqrt) return kInverseRootUlps;
    const bool divides = n.op == Op::Div;
    const NodeId divisor = divides ? n.b : n.a;
    if (!divides && n.op != Op::Recip) return 0;
    if (!is_root(divisor)) return kQuotientUlps;
    return divides ? 3.1 : kInverseRootUlps;
  }

  void round(std::uint32_t i, Type type, double ulps) {
    const auto variable = static_cast<std::uint32_t>(expr_.variables.size());
    expr_.variables.push_back({"", Type::f64, expr::VariableKind::array, 0, 0});
    place_[i] = builder_.op(Op::Add, place_[i], builder_.variable(variable));
    roundings_.push_back({variable, place_[i], type, ulps});
  }

  void finish(NodeId result) {
    const auto slope = [&](std::uint32_t variable) {
      return builder_.op(Op::Diff, result, builder_.variable(variable));
    };
    expr_.outputs.push_back({"", result});
    for (std::uint32_t v = 0; v < expr_.variables.size(); ++v) expr_.outputs.push_back({"", slope(v)});
    for (const Rounding& r : roundings_) expr_.outputs.push_back({"", r.value});
  }

  const Expr& form_;
  expr::LowerOptions how_;
  Expr expr_;
  expr::Builder builder_;
  std::set<std::pair<Type, std::uint64_t>> known_;
  bool folds_exactly_ = true;  ///< the source's constants are so short that no sum or product of some is rounded
  std::vector<bool> needed_;
  std::vector<NodeId> place_;
  std::vector<bool> exact_;  ///< the value has no error
  std::vector<Rounding> roundings_;
  std::size_t inputs_ = 0;
  std::string why_;
};

struct Interval {
  double lo = 0, hi = 0;
};

struct Box {
  std::vector<Interval> sides;
  double absolute = kInfinity;
  double least = 0;  ///< a lower bound of |correct|
  double ulp = kInfinity;
  std::size_t widest = 0;  ///< the side that matters most
};

class Proof {
 public:
  Proof(Perturbed& form, Type type, Expr plain) : form_(form), type_(type), plain_(std::move(plain)) {}

  Result<ErrorBound> run(const ErrorProofOptions& options) {
    Box whole;
    for (std::size_t v = 0; v < form_.inputs(); ++v)
      whole.sides.push_back({plain_.variables[v].lo, plain_.variables[v].hi});
    judge(whole);
    const auto less = [](const Box& a, const Box& b) { return a.ulp < b.ulp; };
    std::priority_queue<Box, std::vector<Box>, decltype(less)> boxes(less);
    boxes.push(whole);
    double greatest = 0;  // a lower bound of the greatest |correct|
    std::size_t count = 1;
    for (; count < options.boxes_max; ++count) {
      if (options.cancelled && options.cancelled()) return make_error(ErrorCode::kCancelled, "cancelled");
      Box left = boxes.top();
      const Interval side = left.sides.empty() ? Interval() : left.sides[left.widest];
      const double middle = side.lo + (side.hi - side.lo) / 2;
      if (!(side.lo < middle && middle < side.hi)) break;
      boxes.pop();
      Box right = left;
      left.sides[left.widest].hi = right.sides[right.widest].lo = middle;
      for (Box* half : {&left, &right}) {
        judge(*half);
        greatest = std::max(greatest, half->least);
        half->ulp = ulps(*half, greatest);
        boxes.push(std::move(*half));
      }
    }
    ErrorBound bound;
    bound.boxes = count;
    for (; !boxes.empty(); boxes.pop()) {
      bound.absolute = std::max(bound.absolute, boxes.top().absolute);
      bound.ulp = std::max(bound.ulp, ulps(boxes.top(), greatest));
    }
    bound.proven = std::isfinite(bound.absolute) && std::isfinite(bound.ulp) && greatest > 0;
    if (!bound.proven) bound.why = "no bound was found near a pole or a root of zero; narrower ranges may help";
    if (!bound.proven && std::isfinite(bound.absolute) && greatest == 0 && bound.absolute > 0)
      bound.why = "how great the values are is not known; narrower ranges may help";
    if (bound.absolute == 0 && std::isfinite(bound.ulp)) bound.proven = true, bound.why.clear();
    return bound;
  }

 private:
  // How often the perturbations are widened until they hold the actual roundings.
  static constexpr int kWidenings = 6;

  [[nodiscard]] double ulps(const Box& box, double greatest) const {
    const double size = std::max(box.least, kFloorShare * greatest);
    return box.absolute == 0 ? 0 : box.absolute / ulp_of(type_, size);
  }

  void judge(Box& box) {
    for (std::size_t v = 0; v < box.sides.size(); ++v)
      plain_.variables[v].lo = box.sides[v].lo, plain_.variables[v].hi = box.sides[v].hi;
    const std::vector<Rounding>& roundings = form_.roundings();
    std::vector<double> room(roundings.size(), 0), needed(roundings.size(), 0);
    const std::size_t slopes = 1, values = slopes + plain_.variables.size();
    box.absolute = kInfinity;
    for (int widening = 0; widening < kWidenings; ++widening) {
      for (std::size_t r = 0; r < roundings.size(); ++r) {
        plain_.variables[roundings[r].variable].lo = -room[r];
        plain_.variables[roundings[r].variable].hi = room[r];
      }
      expr::Ranges ranges(plain_);
      const auto fact = [&](std::size_t output) { return ranges.at(plain_.outputs[output].node); };
      bool enough = widening > 0;
      for (std::size_t r = 0; r < roundings.size(); ++r) {
        needed[r] = roundings[r].ulps * ulp_of(roundings[r].type, magnitude(fact(values + r)));
        enough = enough && needed[r] <= room[r];
        room[r] = 2 * needed[r];
        if (!std::isfinite(needed[r])) return;
      }
      if (!enough) continue;
      double sum = 0;
      for (std::size_t r = 0; r < roundings.size(); ++r)
        if (needed[r] != 0) sum += magnitude(fact(slopes + roundings[r].variable)) * needed[r];
      const Fact result = fact(0);
      box.absolute = std::isnan(sum) ? kInfinity : sum * kOwnRounding;
      box.least = least_magnitude(result);
      box.ulp = ulps(box, 0);
      double matters = -1;
      for (std::size_t v = 0; v < box.sides.size(); ++v) {
        const double width = box.sides[v].hi - box.sides[v].lo;
        const double slope = magnitude(fact(slopes + v));
        const double weight = std::isfinite(slope) ? slope * width : kInfinity;
        if (weight > matters || (std::isinf(weight) && width > box.sides[box.widest].hi - box.sides[box.widest].lo))
          matters = weight, box.widest = v;
      }
      return;
    }
  }

  Perturbed& form_;
  Type type_;
  Expr plain_;  ///< without derivatives
};

}  // namespace

Result<std::vector<ErrorBound>> prove_error(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                                            const ErrorProofOptions& options) {
  std::vector<ErrorBound> bounds;
  for (std::size_t o = 0; o < form.outputs.size(); ++o) {
    Perturbed perturbed(source, form, how, o);
    const Type type = form.at(form.outputs[o].node).type;
    ErrorBound bound;
    if (!ir::is_float(type)) {
      bound.why = "its values are not floats";
    } else if (!perturbed.why().empty()) {
      bound.why = perturbed.why();
    } else {
      TRY(Expr plain, expr::eliminate_derivatives(perturbed.expr()));
      TRY(bound, Proof(perturbed, type, std::move(plain)).run(options));
    }
    bound.output = form.outputs[o].name;
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

std::string print(const ErrorBound& bound) {
  char text[160];
  if (!bound.proven) return bound.output + ": nothing proven: " + bound.why;
  std::snprintf(text, sizeof text, ": at most %.4g ulp, %.4g absolute (%zu boxes)", bound.ulp, bound.absolute,
                bound.boxes);
  return bound.output + text;
}

}  // namespace trident::equiv
