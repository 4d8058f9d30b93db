// Oracles: central difference quotients in MPFR at 1,500 bits in place of every derivative, nested ones too; costs of
// the plain pass's result.
#include "jit/expr/rewrite/differentiate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/expr/simplify.h"
#include "tests/support/mpfr_evaluator.h"

namespace trident::expr::rewrite {
namespace {

constexpr int kBits = 1500;
constexpr double kStep = 0x1p-160;

// `source` with (e(v + h) - e(v - h)) / 2h for each derivative of e by v.
class Quotients {
 public:
  explicit Quotients(const Expr& source) : source_(source), b_(expr) {
    expr.variables = source.variables;
    for (const Output& o : source.outputs)
      expr.outputs.push_back({o.name, copy(o.node, Moved(source.variables.size()))});
  }
  Expr expr;

 private:
  using Moved = std::vector<int>;  ///< how many steps each variable is moved

  NodeId copy(NodeId id, const Moved& moved) {
    const auto known = copies_.find({id.index, moved});
    if (known != copies_.end()) return known->second;
    return copies_[{id.index, moved}] = make(id, moved);
  }

  NodeId make(NodeId id, const Moved& moved) {
    Node n = source_.at(id);
    if (n.op == Op::Variable) {
      const NodeId v = b_.add(n);
      return moved[n.imm] == 0 ? v : b_.op(Op::Add, v, b_.constant(n.type, moved[n.imm] * kStep));
    }
    if (n.op == Op::Diff) {
      const std::uint64_t by = source_.at(n.b).imm;
      Moved left = moved, right = moved;
      --left[by], ++right[by];
      const NodeId above = copy(n.a, right), below = copy(n.a, left);
      return b_.op(Op::Div, b_.op(Op::Sub, above, below), b_.constant(n.type, 2 * kStep));
    }
    for (NodeId* operand : {&n.a, &n.b, &n.c})
      if (operand->valid()) *operand = copy(*operand, moved);
    return b_.add(n);
  }

  const Expr& source_;
  Builder b_;
  std::map<std::pair<std::uint32_t, Moved>, NodeId> copies_;
};

// An expression of x, y and z with derivatives, nested ones and sums of them.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Expr make() {
    Expr made;
    for (const char* name : {"x", "y", "z"}) made.variables.push_back({.name = name});
    Builder b(made);
    const NodeId x = b.variable(0), y = b.variable(1);
    const auto d = [&](NodeId e, NodeId by) { return b.op(Op::Diff, e, by); };
    const NodeId e = term(b, 3);
    switch (pick(6)) {
      case 0:
      case 1: made.outputs.push_back({"out", d(e, x)}); break;
      case 2: made.outputs.push_back({"out", d(d(e, x), x)}); break;
      case 3: made.outputs.push_back({"out", d(d(e, x), y)}); break;
      case 4: made.outputs.push_back({"out", b.op(Op::Add, b.op(Op::Mul, x, d(e, x)), d(term(b, 2), y))}); break;
      default:
        made.outputs.push_back({"value", e});
        made.outputs.push_back({"by_x", d(e, x)});
        made.outputs.push_back({"by_y", d(e, y)});
    }
    drop_unused(made);
    return made;
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }

  NodeId term(Builder& b, int depth) {
    static constexpr Op kUnary[] = {Op::Sin,   Op::Cos,   Op::Tan,   Op::Exp,   Op::Log,   Op::Sqrt,  Op::Neg,
                                    Op::Abs,   Op::Tanh,  Op::Sinh,  Op::Cosh,  Op::Atan,  Op::Asin,  Op::Acos,
                                    Op::Asinh, Op::Acosh, Op::Cbrt,  Op::Recip, Op::Erf,   Op::Rsqrt, Op::Exp2,
                                    Op::Expm1, Op::Log2,  Op::Log1p, Op::Sign,  Op::Floor, Op::Ceil,  Op::Round,
                                    Op::Trunc, Op::Rint,  Op::Erfc,  Op::Atanh};
    static constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul,   Op::Mul, Op::Add,      Op::Div,  Op::Div,
                                     Op::Min, Op::Max, Op::Hypot, Op::Pow, Op::Copysign, Op::Fmod, Op::Atan2};
    if (depth == 0 || pick(9) == 0) {
      if (pick(5) == 0) return b.constant(Type::f64, static_cast<double>(pick(13)) / 2 - 2.5);
      return b.variable(pick(3) == 0 ? static_cast<std::uint32_t>(1 + pick(2)) : 0);
    }
    const NodeId a = term(b, depth - 1);
    if (pick(12) == 0) return b.powi(a, static_cast<std::int64_t>(pick(24)) - 4);
    // Half of the time, one of the ops that most expressions have.
    if (pick(5) < 2) return b.op(kUnary[pick(pick(2) == 0 ? 8 : std::size(kUnary))], a);
    const NodeId c = term(b, depth - 1);
    if (pick(12) == 0) return b.op(Op::Select, b.op(Op::Lt, a, c), a, b.op(Op::Mul, a, c));
    if (pick(12) == 0) return b.op(Op::Fma, a, c, a);
    return b.op(kBinary[pick(pick(2) == 0 ? 5 : std::size(kBinary))], a, c);
  }

  std::mt19937_64 random_;
};

RewriteOptions small_search(PolicyKind kind, egraph::Objective objective) {
  RewriteOptions options;
  options.policy.kind = kind;
  options.objective = objective;
  options.budget = {.nodes = 1'000, .nanoseconds = 0, .applications = 10'000, .graph_nodes = 2'500};
  options.keep = 1;
  return options;
}

double cost_of_objective(const Expr& e, const RewriteOptions& options) {
  const TermCost cost = cost_of(e, options.costs).value();
  return options.objective == egraph::Objective::dag ? cost.dag : cost.tree;
}

// Counts the points at which both the quotients and the plain pass's result are numbers. (By its convention the latter
// is NaN at pow(0, x).)
int compare(const Expr& source, const Expr& plain, const Expr& form) {
  const Quotients quotients(source);
  int compared = 0;
  for (const std::vector<double>& at : {std::vector{0.73, 0.41, 1.37},
                                        {-0.62, 1.19, 0.53},
                                        {2.71, -3.3, 0.19},
                                        {0.11, 0.27, -0.83},
                                        {13.7, 5.1, -7.9},
                                        {0.0031, 0.17, 0.021}}) {
    const auto wanted = testing::evaluate_real(quotients.expr, at, kBits);
    const auto got = testing::evaluate_real(form, at, kBits), by_pass = testing::evaluate_real(plain, at, kBits);
    for (std::size_t o = 0; o < wanted.size(); ++o) {
      if (!std::isfinite(wanted[o]) || !std::isfinite(by_pass[o]) || std::fabs(wanted[o]) > 1e30L) continue;
      EXPECT_NEAR(static_cast<double>(wanted[o]), static_cast<double>(got[o]),
                  1e-9 * (1 + static_cast<double>(std::fabs(wanted[o]))))
          << print_infix(source) << "\n became " << print_infix(form) << " at x=" << at[0];
      ++compared;
    }
  }
  return compared;
}

TEST(Differentiate, RandomDerivativesAreSlopesAndNeverDearerThanThePlainPass) {
  int compared = 0, by_rules = 0, cheaper = 0;
  Generator generator(3);
  for (int i = 0; i < 200; ++i) {
    const Expr source = generator.make();
    SCOPED_TRACE(i);
    if (!has_derivatives(source)) continue;
    const auto plain = eliminate_derivatives(source);
    ASSERT_TRUE(plain.ok());
    const auto options = small_search(i % 2 == 0 ? PolicyKind::fast : PolicyKind::bounded,
                                      i % 3 == 0 ? egraph::Objective::tree : egraph::Objective::dag);
    const auto found = rewrite(source, options);
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_FALSE(found->forms.empty()) << print_infix(source);
    const Expr& form = found->forms.front();
    ASSERT_FALSE(has_derivatives(form)) << print_infix(source) << "\n became " << print_infix(form);
    const double cost = cost_of_objective(form, options);
    EXPECT_LE(cost, cost_of_objective(*plain, options)) << print_infix(source) << print_infix(form);
    EXPECT_LE(cost, cost_of_objective(simplify(*plain, {.policy = options.policy}), options))
        << print_infix(source) << print_infix(form);
    cheaper += cost < cost_of_objective(*plain, options) ? 1 : 0;
    by_rules += found->differentiated == Differentiated::by_rules ? 1 : 0;
    compared += compare(source, *plain, form);
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(by_rules, 150);
  EXPECT_GT(cheaper, 100);
}

}  // namespace
}  // namespace trident::expr::rewrite
