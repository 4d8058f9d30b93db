#include "jit/rulecheck/roots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "jit/expr/rewrite/language.h"
#include "jit/rulecheck/places.h"
#include "jit/rulecheck/real_value.h"
#include "jit/rulecheck/strict_value.h"

namespace trident::rulecheck {
namespace {

using egraph::Pattern;
using egraph::PatternTerm;
using expr::Op;

/// The place at which an operation jumps or ends: the zero, or a multiple of 1/parts, of an operand. Copysign is not
/// included: over the reals zero has no sign.
struct Jump {
  Op op;
  std::size_t operand;
  int parts;
};
constexpr Jump kJumps[] = {{Op::Div, 1, 0},   {Op::Fmod, 1, 0}, {Op::Recip, 0, 0}, {Op::Rsqrt, 0, 0},
                           {Op::Sign, 0, 0},  {Op::Log, 0, 0},  {Op::Log2, 0, 0},  {Op::Log10, 0, 0},
                           {Op::Pow, 0, 0},   {Op::Powi, 0, 0}, {Op::Floor, 0, 1}, {Op::Ceil, 0, 1},
                           {Op::Trunc, 0, 1}, {Op::Rint, 0, 2}, {Op::Round, 0, 2}};

std::vector<bool> dependence(const Pattern& term, std::size_t variables) {
  std::vector<bool> depends(variables);
  for (const PatternTerm& t : term.terms)
    if (t.kind == PatternTerm::Kind::variable) depends[t.variable] = true;
  return depends;
}

class Edges {
 public:
  Edges(const egraph::Rule& rule, const Sorts& sorts) : rule_(rule), sorts_(sorts) {}

  void visit(const Pattern& side) {
    for (const PatternTerm& t : side.terms) {
      if (t.kind != PatternTerm::Kind::node) continue;
      const Op op = static_cast<Op>(t.op);
      const auto alone = [&](std::size_t operand) { return term_alone(side, t.child[operand]); };
      if (expr::info(op).signature == expr::Signature::Compare) add_with_sums({alone(0), alone(1)});
      for (const Jump& jump : kJumps)
        if (jump.op == op) add_with_sums({alone(jump.operand), std::nullopt, jump.parts});
      if (op == Op::Fmod) {
        Pattern quotient = term_alone(side, static_cast<std::uint8_t>(&t - side.terms.data()));
        quotient.terms.back().op = static_cast<std::uint8_t>(Op::Div);
        add({std::move(quotient), std::nullopt, 1});
      }
      // Sums of several variables are greatest where each of their terms is.
      if (op == Op::Sin || op == Op::Cos)
        add({term_alone(side, static_cast<std::uint8_t>(&t - side.terms.data())), std::nullopt, 1, true});
      if (op == Op::Abs) add({alone(0), std::nullopt, 0, true});
      if (op == Op::Min || op == Op::Max) add({alone(0), alone(1), 0, true});
    }
  }

  std::vector<Edge> found;

 private:
  void add_with_sums(const Edge& edge) {
    add(edge);
    add_sums(edge.term);
    if (edge.less) add_sums(*edge.less);
  }

  // Adds sums. A square's root shows in its operand.
  void add_sums(const Pattern& within) {
    for (std::size_t i = 0; i + 1 < within.terms.size(); ++i) {
      const PatternTerm& t = within.terms[i];
      const bool sum =
          t.kind == PatternTerm::Kind::node && (static_cast<Op>(t.op) == Op::Add || static_cast<Op>(t.op) == Op::Sub);
      if (sum) add({term_alone(within, static_cast<std::uint8_t>(i)), std::nullopt});
    }
  }

  void add(Edge edge) {
    edge.depends = dependence(edge.term, rule_.variables.size());
    if (edge.less) {
      const std::vector<bool> more = dependence(*edge.less, rule_.variables.size());
      for (std::size_t v = 0; v < more.size(); ++v) edge.depends[v] = edge.depends[v] || more[v];
    }
    bool numbers = false;
    for (std::size_t v = 0; v < edge.depends.size(); ++v) numbers = numbers || (edge.depends[v] && !sorts_.truth[v]);
    // Skips variables: they are zero at zero.
    if (!numbers || (!edge.less && edge.term.terms.size() == 1)) return;
    const auto is_variable = [](const Pattern& p) { return p.root().kind == PatternTerm::Kind::variable; };
    if (edge.less && is_variable(edge.term) && is_variable(*edge.less)) return;
    const auto rows = expr::rewrite::op_rows();
    const std::string name = print(edge.term, rows, rule_.variables) + " - " +
                             (edge.less ? print(*edge.less, rows, rule_.variables) : "") + " " +
                             std::to_string(edge.parts);
    if (const auto known = std::find(names_.begin(), names_.end(), name); known != names_.end()) {
      Edge& same = found[static_cast<std::size_t>(known - names_.begin())];
      same.kink = same.kink && edge.kink;
      return;
    }
    names_.push_back(name);
    found.push_back(std::move(edge));
  }

  const egraph::Rule& rule_;
  const Sorts& sorts_;
  std::vector<std::string> names_;
};

// --- roots -----------------------------------------------------------------------------------------------------------

/// Magnitudes between which changes of sign are sought.
constexpr std::array<double, 20> kMagnitudes = {0,   1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.6, 1,   1.4,
                                                1.9, 2.5,   3.3,  5,    8,    14,  40,  150, 1e4, 1e9};

class Solver {
 public:
  Solver(const Edge& edge, const Sorts& sorts, Point& point, std::size_t v)
      : edge_(edge), sorts_(sorts), point_(point), v_(v) {
    for (const double value : point.values) set_exact(near_.emplace_back(), value);
  }

  std::vector<Near> solve(std::size_t most, bool far);

 private:
  double rough(double x) {
    point_.values[v_] = x;
    const double a = strict_value(edge_.term, point_.values, expr::Type::f64, sorts_);
    return edge_.less ? a - strict_value(*edge_.less, point_.values, expr::Type::f64, sorts_) : a;
  }

  void add(std::optional<Near> root) {
    if (root) found_.push_back(*std::move(root));
  }

  void add_zero() {
    const double there = rough(0);
    const double target = edge_.parts == 0 ? 0 : std::round(there * edge_.parts) / edge_.parts;
    Near zero;
    set_exact(zero, 0);
    if (there != target || !(std::fabs(there) < 1e15)) return;
    if (const auto off = exact_at(zero, target); off && mpfr_zero_p(off->raw()) != 0) found_.push_back(std::move(zero));
  }

  [[nodiscard]] std::optional<double> crossed_before(std::size_t i) const {
    return between(heights_[i - 1], heights_[i]);
  }

  /// Returns a value of the target that lies between two others.
  std::optional<double> between(double a, double b) const {
    if (!std::isfinite(a) || !std::isfinite(b) || a == b) return std::nullopt;
    if (edge_.parts == 0) return (a <= 0) != (b <= 0) || (a < 0) != (b < 0) ? std::optional(0.0) : std::nullopt;
    const double most = std::max(a, b), least = std::min(a, b);
    const double target = std::floor(std::clamp(std::midpoint(a, b), -1e15, 1e15) * edge_.parts) / edge_.parts;
    if (target >= least && target <= most) return target;
    const double other = std::floor(most * edge_.parts) / edge_.parts;
    return other >= least && std::fabs(other) < 1e15 ? std::optional(other) : std::nullopt;
  }

  /// Returns the term's distance from its target, over the reals; nothing where it is unknown.
  std::optional<Near> exact_at(const Near& x, double target);
  std::optional<Near> refined(double low, double high, double at_low, double target);

  /// Refines by secants: each step has 1.6 times the digits of the one before, from eight.
  std::optional<Near> secants(Near a, Near b, Near at_a, Near at_b, double target);

  /// Returns `x` with its bound, if the sign changes within that and the difference is negligible against its `size`
  /// further away. Neither a pole nor a jump passes this test.
  std::optional<Near> holding(const Near& x, double target, long double size);

  // --- values that are met without being passed, or that lie close together ---

  /// Returns whether a term has an extremum near a place: towards zero, or for a step either way.
  [[nodiscard]] bool turns_at(std::size_t i) const {
    if (i + 1 >= places_.size()) return false;
    const double a = heights_[i - 1], b = heights_[i], c = heights_[i + 1];
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return false;
    if (edge_.parts != 0) return (a != b || b != c) && ((b >= a && b >= c) || (b <= a && b <= c));
    const bool one_sign = (a > 0 && b > 0 && c > 0) || (a < 0 && b < 0 && c < 0);
    return one_sign && std::fabs(b) <= std::fabs(a) && std::fabs(b) <= std::fabs(c);
  }

  void add_turn(std::size_t i);

  /// Finds the point where a term touches its target: where the difference quotient over a step is zero.
  std::optional<Near> lowest_near(double lowest, double target);

  std::optional<Near> rise_over(const Near& x, const Near& step) {
    Near low, high, rise;
    mpfr_sub(low.raw(), x.raw(), step.raw(), MPFR_RNDN);
    mpfr_add(high.raw(), x.raw(), step.raw(), MPFR_RNDN);
    const std::optional<Near> at_low = exact_at(low, 0), at_high = exact_at(high, 0);
    if (!at_low || !at_high) return std::nullopt;
    mpfr_sub(rise.raw(), at_high->raw(), at_low->raw(), MPFR_RNDN);
    return rise;
  }

  const Edge& edge_;
  const Sorts& sorts_;
  Point& point_;
  std::size_t v_;
  std::vector<Near> near_;
  std::vector<double> places_, heights_;
  std::vector<Near> found_;
};

std::vector<Near> Solver::solve(std::size_t most, bool far) {
  constexpr std::size_t kTriesOfRoot = 3;
  const double own = point_.values[v_];
  places_ = far ? even_places() : std::vector<double>{};
  for (const double m : kMagnitudes) places_.insert(places_.end(), {m, -m + 0.0});
  if (std::isfinite(own)) places_.push_back(own);
  put_in_order(places_);
  heights_.clear();
  for (const double x : places_) heights_.push_back(rough(x));
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < places_.size(); ++i)
    if (crossed_before(i) || turns_at(i)) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) {
    return std::fabs(places_[i - 1] + places_[i]) < std::fabs(places_[k - 1] + places_[k]);
  });
  if (far) spread_beyond(most / 2, order);
  if (order.size() > kTriesOfRoot * most) order.resize(kTriesOfRoot * most);
  if (far) add_zero();
  for (const std::size_t i : order) {
    if (found_.size() >= most) break;
    if (const auto target = crossed_before(i))
      add(refined(places_[i - 1], places_[i], heights_[i - 1] - *target, *target));
    if (turns_at(i)) add_turn(i);
  }
  return std::move(found_);
}

std::optional<Near> Solver::exact_at(const Near& x, double target) {
  near_[v_] = x;
  RealEvaluator<Near> evaluator(point_, sorts_, near_);
  const auto a = evaluator.evaluate(edge_.term);
  Near goal, r;
  set_exact(goal, target);
  if (edge_.less) {
    const auto b = evaluator.evaluate(*edge_.less);
    if (!b.sure) return std::nullopt;
    goal = b.number;
  }
  if (!a.sure || !std::isfinite(approximate(a.number)) || !std::isfinite(approximate(goal))) return std::nullopt;
  apply_to(Op::Sub, 0, a.number, goal, goal, r);
  return r;
}

std::optional<Near> Solver::refined(double low, double high, double at_low, double target) {
  // Goes as near as doubles are, then by secants within the bounds of the root.
  for (int i = 0; i < 60; ++i) {
    const double middle = low / 2 + high / 2;
    if (middle == low || middle == high || high - low <= 1e-9 * std::fabs(middle)) break;
    const double there = rough(middle) - target;
    if (std::isnan(there)) return std::nullopt;
    if ((there <= 0) == (at_low <= 0))
      low = middle;
    else
      high = middle;
  }
  const double width = std::max(high - low, 1e-12 * std::fabs(high));
  Near a, b;
  set_exact(a, low - width);
  set_exact(b, high + width);
  const std::optional<Near> at_a = exact_at(a, target), at_b = exact_at(b, target);
  if (!at_a || !at_b || mpfr_sgn(at_a->raw()) * mpfr_sgn(at_b->raw()) >= 0) return std::nullopt;
  return secants(a, b, *at_a, *at_b, target);
}

std::optional<Near> Solver::secants(Near a, Near b, Near at_a, Near at_b, double target) {
  constexpr int kSteps = 9;
  const long double size = std::max(std::fabs(approximate(at_a)), std::fabs(approximate(at_b)));
  Near rise, x;
  for (int i = 0; i < kSteps; ++i) {
    mpfr_sub(rise.raw(), at_b.raw(), at_a.raw(), MPFR_RNDN);
    if (mpfr_zero_p(at_b.raw()) != 0 || mpfr_zero_p(rise.raw()) != 0) break;
    mpfr_sub(x.raw(), b.raw(), a.raw(), MPFR_RNDN);
    mpfr_div(x.raw(), x.raw(), rise.raw(), MPFR_RNDN);
    mpfr_mul(x.raw(), x.raw(), at_b.raw(), MPFR_RNDN);
    mpfr_sub(x.raw(), b.raw(), x.raw(), MPFR_RNDN);
    const std::optional<Near> at_x = exact_at(x, target);
    if (!at_x) return std::nullopt;
    a = b, at_a = at_b;
    b = x, at_b = *at_x;
  }
  return holding(b, target, size);
}

std::optional<Near> Solver::holding(const Near& x, double target, long double size) {
  if (mpfr_regular_p(x.raw()) == 0) return std::nullopt;
  Near off, low, high;
  mpfr_set_ui_2exp(off.raw(), 1, mpfr_get_exp(x.raw()) + kRootShareLog2, MPFR_RNDN);
  mpfr_sub(low.raw(), x.raw(), off.raw(), MPFR_RNDN);
  mpfr_add(high.raw(), x.raw(), off.raw(), MPFR_RNDN);
  const std::optional<Near> at_low = exact_at(low, target), at_high = exact_at(high, target);
  if (!at_low || !at_high || mpfr_sgn(at_low->raw()) * mpfr_sgn(at_high->raw()) >= 0) return std::nullopt;
  for (const Near* there : {&*at_low, &*at_high})
    if (!equiv::sure_of_class(*there) || std::fabs(approximate(*there)) > 0x1p-150L * size) return std::nullopt;
  Near root = x;
  root.error_log2 = mpfr_get_exp(x.raw()) + kRootShareLog2 + 1;
  return root;
}

void Solver::add_turn(std::size_t i) {
  const double low = places_[i - 1], high = places_[i + 1], at_low = heights_[i - 1], at_high = heights_[i + 1];
  const bool rises = edge_.parts == 0 ? heights_[i] < 0 : heights_[i] >= at_low && heights_[i] >= at_high;
  const double x = lowest_between(low, high, [&](double at) { return rises ? -rough(at) : rough(at); });
  const double there = rough(x);
  const double target = edge_.parts == 0 ? 0 : std::round(there * edge_.parts) / edge_.parts;
  const double size = std::max({std::fabs(at_low - target), std::fabs(at_high - target), std::fabs(target)});
  if (std::fabs(there - target) <= 1e-12 * size && std::fabs(target) < 1e15) {
    if (x != 0) add(lowest_near(x, target));
  } else if (const auto passed = between(heights_[i], there)) {
    add(refined(low, x, at_low - *passed, *passed));
    add(refined(x, high, there - *passed, *passed));
  }
}

std::optional<Near> Solver::lowest_near(double lowest, double target) {
  // A step of 2^-170 of x: the error of the quotient's zero is its square, and as many bits remain for the rest.
  constexpr int kStepShareLog2 = -170, kRounds = 9, kKnownLog2 = -300;
  Near step, a, b, x;
  set_exact(a, lowest * (1 - 1e-6));
  set_exact(b, lowest * (1 + 1e-6));
  mpfr_set_ui_2exp(step.raw(), 1, mpfr_get_exp(b.raw()) + kStepShareLog2, MPFR_RNDN);
  const std::optional<Near> beside = exact_at(b, target);
  std::optional<Near> at_a = rise_over(a, step), at_b = rise_over(b, step);
  Near rise;
  for (int i = 0; i < kRounds && at_a && at_b; ++i) {
    mpfr_sub(rise.raw(), at_b->raw(), at_a->raw(), MPFR_RNDN);
    if (mpfr_zero_p(at_b->raw()) != 0 || mpfr_zero_p(rise.raw()) != 0) break;
    mpfr_sub(x.raw(), b.raw(), a.raw(), MPFR_RNDN);
    mpfr_div(x.raw(), x.raw(), rise.raw(), MPFR_RNDN);
    mpfr_mul(x.raw(), x.raw(), at_b->raw(), MPFR_RNDN);
    mpfr_sub(x.raw(), b.raw(), x.raw(), MPFR_RNDN);
    a = b, at_a = at_b;
    b = x, at_b = rise_over(b, step);
  }
  const std::optional<Near> there = at_a && at_b ? exact_at(b, target) : std::nullopt;
  if (!beside || !there || mpfr_regular_p(b.raw()) == 0) return std::nullopt;
  // A point far from the lowest float is on its way to zero, which has no relative precision.
  constexpr long double kShareAway = 1e-3L;
  if (!(std::fabs(approximate(b) - lowest) <= kShareAway * std::fabs(lowest))) return std::nullopt;
  if (!(std::fabs(approximate(*there)) <= std::ldexp(std::fabs(approximate(*beside)), kKnownLog2))) return std::nullopt;
  b.error_log2 = mpfr_get_exp(b.raw()) + kKnownLog2;
  return b;
}

}  // namespace

std::vector<Edge> edges_of(const egraph::Rule& rule, const Sorts& sorts) {
  Edges edges(rule, sorts);
  for (const Pattern* side : {&rule.left, &rule.right}) edges.visit(*side);
  return std::move(edges.found);
}

std::vector<Near> roots_of(const Edge& edge, const Sorts& sorts, Point point, std::size_t v, std::size_t most,
                           bool far) {
  return Solver(edge, sorts, point, v).solve(most, far);
}

}  // namespace trident::rulecheck
