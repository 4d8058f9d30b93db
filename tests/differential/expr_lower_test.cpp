// Lowering against the strict evaluator, op by op: a kernel gives out the value of every number in a random expression,
// and each must be libm's result for the values that the kernel itself gave for the operands. So errors do not add up,
// and one ulp per function and none elsewhere can be asked of expressions of any depth.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "jit/expr/builder.h"
#include "jit/expr/shape.h"
#include "jit/kir/interpreter.h"
#include "tests/support/draws.h"
#include "tests/support/random_expr.h"
#include "tests/support/reduction_order.h"
#include "tests/support/strict_evaluator.h"

namespace trident {
namespace {

using expr::NodeId;
using expr::Op;
using expr::Shape;
using ir::Type;

constexpr std::size_t kElements = 37;
constexpr std::size_t kOutputsPerKernel = 48;

// How many values of `type` lie between two floats; NaN equals NaN, zeros are equal.
double ulps_between(Type type, std::uint64_t a, std::uint64_t b) {
  const double x = expr::value_of(type, a);
  const double y = expr::value_of(type, b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? 0 : INFINITY;
  if (x == y) return 0;
  const auto ordinal = [&](std::uint64_t bits) {
    const std::int64_t v = type == Type::f32 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
    const std::int64_t least =
        type == Type::f32 ? std::int64_t{-0x8000'0000LL} : std::numeric_limits<std::int64_t>::min();
    return v < 0 ? least - v : v;
  };
  const auto distance = static_cast<std::uint64_t>(ordinal(a)) - static_cast<std::uint64_t>(ordinal(b));
  return static_cast<double>(ordinal(a) > ordinal(b) ? distance : -distance);
}

// Tolerance of an op against libm's answer: zero where kir has the op; else the stated errors of both; for powers the
// errors of the products.
double tolerance_ulp(const expr::Node& n) {
  if (!ir::is_float(n.type)) return 0;
  if (n.op == Op::Powi) return 2 + std::fabs(static_cast<double>(static_cast<std::int64_t>(n.imm)));
  const bool function = (n.op >= Op::Rsqrt && n.op <= Op::Pow) || (n.op >= Op::Sin && n.op <= Op::Erfc);
  return function ? 2 : 0;
}

// Values of every node: the kernel's for numbers, strict ones (of the kernel's operands) for truth values.
class Comparison {
 public:
  Comparison(const expr::Expr& e, std::uint64_t seed) : expr_(e), shapes_(expr::shapes_of(e)) {
    testing::Random random(seed);
    for (const expr::Variable& v : e.variables) inputs_.push_back(testing::random_values(v, kElements, random));
    values_.resize(e.nodes.size());
    joins_by_fma_.resize(e.nodes.size());
  }

  // Runs the kernels for `nodes` and stores their results.
  void run(const std::vector<std::uint32_t>& nodes, const expr::LowerOptions& options) {
    expr::Expr all = expr_;
    all.outputs.clear();
    for (const std::uint32_t i : nodes) all.outputs.push_back({"n" + std::to_string(i), NodeId(i)});
    const Result<kir::Kernel> kernel = expr::lower(all, options);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const Result<void> sound = kir::check(*kernel);
    ASSERT_TRUE(sound.ok()) << sound.error().message;
    std::vector<std::vector<std::byte>> arrays;
    std::vector<const void*> in;
    std::vector<std::uint64_t> params;
    for (std::size_t v = 0; v < inputs_.size(); ++v) {
      if (expr_.variables[v].is_scalar())
        params.push_back(inputs_[v][0]);
      else
        arrays.push_back(packed(expr_.variables[v].type, inputs_[v]));
    }
    for (const auto& a : arrays) in.push_back(a.data());
    std::vector<std::vector<std::byte>> results(nodes.size(), std::vector<std::byte>(8 * kElements));
    std::vector<void*> out;
    for (auto& r : results) out.push_back(r.data());
    kir::interpret(*kernel, kElements, in.data(), out.data(), params.data());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const bool scalar = kernel->outputs[k].kind == kir::OutputKind::scalar;
      if (kernel->at(kernel->outputs[k].value).op == kir::Op::Dot) joins_by_fma_[nodes[k]] = true;
      values_[nodes[k]] = unpacked(expr_.nodes[nodes[k]].type, results[k], scalar ? 1 : kElements);
    }
  }

  void compare(const std::string& what) {
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i) {
      const expr::Node& n = expr_.nodes[i];
      if (n.op == Op::Constant) values_[i] = {n.imm};
      if (n.op == Op::Variable) values_[i] = inputs_[n.imm];
      if (n.op == Op::Constant || n.op == Op::Variable) continue;
      if (expr::makes_total(n.op)) {
        const auto want = reduction(i);
        ASSERT_EQ(0, ulps_or_equal(n, values_[i][0], want)) << what << " node " << i << " " << expr::info(n.op).text;
        continue;
      }
      const std::size_t count =
          n.type == Type::b32 ? (shapes_[i] == Shape::element ? kElements : 1) : values_[i].size();
      values_[i].resize(count);
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t want = testing::evaluate_op(expr_, n, get(n.a, k), get(n.b, k), get(n.c, k));
        if (n.type == Type::b32) {
          values_[i][k] = want;
          continue;
        }
        const double distance = ulps_or_equal(n, values_[i][k], want);
        ASSERT_LE(distance, tolerance_ulp(n))
            << what << " node " << i << " " << expr::info(n.op).text << " " << ir::name_of(n.type) << " of "
            << print(n.a, k) << ", " << print(n.b, k) << ", " << print(n.c, k) << " exponent "
            << static_cast<std::int64_t>(n.imm) << ": got " << print(NodeId(i), k) << ", want "
            << expr::value_of(n.type, want);
      }
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i) {
      const expr::Node& n = expr_.nodes[i];
      if (n.op != Op::Constant && n.op != Op::Variable && n.type != Type::b32) out.push_back(i);
    }
    return out;
  }

 private:
  static std::vector<std::byte> packed(Type type, const std::vector<std::uint64_t>& bits) {
    const std::size_t width = ir::bytes_of(type);
    std::vector<std::byte> out(width * bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&out[i * width], &bits[i], width);
    return out;
  }
  static std::vector<std::uint64_t> unpacked(Type type, const std::vector<std::byte>& bytes, std::size_t n) {
    const std::size_t width = ir::bytes_of(type);
    std::vector<std::uint64_t> out(n, 0);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(&out[i], &bytes[i * width], width);
    return out;
  }
  [[nodiscard]] std::uint64_t get(NodeId id, std::size_t k) const {
    if (!id.valid()) return 0;
    const auto& v = values_[id.index];
    return v[v.size() == 1 ? 0 : k];
  }
  [[nodiscard]] double print(NodeId id, std::size_t k) const {
    if (!id.valid() || expr_.at(id).type == Type::b32) return 0;
    return expr::value_of(expr_.at(id).type, get(id, k));
  }
  static double ulps_or_equal(const expr::Node& n, std::uint64_t got, std::uint64_t want) {
    if (ir::is_float(n.type)) return ulps_between(n.type, got, want);
    return got == want ? 0 : INFINITY;
  }
  // A dot product whose products are not rounded.
  template <class T>
  static std::uint64_t fused_dot(const std::vector<std::vector<std::uint64_t>>& columns) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto at = [&](std::size_t c, std::size_t i) { return std::bit_cast<T>(static_cast<Bits>(columns[c][i])); };
    const auto take = [&](T partial, std::size_t i) { return std::fma(at(0, i), at(1, i), partial); };
    return std::bit_cast<Bits>(
        testing::reduced_by(take, kElements, sizeof(T), T{0}, [](T a, T b) { return static_cast<T>(a + b); }));
  }
  [[nodiscard]] std::uint64_t reduction(std::uint32_t i) const {
    const expr::Node& n = expr_.nodes[i];
    expr::Expr one;
    expr::Builder b(one);
    std::vector<std::vector<std::uint64_t>> columns;
    for (const NodeId id : {n.a, n.b}) {
      if (!id.valid()) continue;
      one.variables.push_back({.name = "v", .type = expr_.at(id).type});
      b.variable(static_cast<std::uint32_t>(one.variables.size() - 1));
      std::vector<std::uint64_t> column;
      for (std::size_t k = 0; k < kElements; ++k) column.push_back(get(id, k));
      columns.push_back(column);
    }
    if (n.op == Op::Dot && joins_by_fma_[i])
      return n.type == Type::f32 ? fused_dot<float>(columns) : fused_dot<double>(columns);
    b.op(n.op, NodeId(0), n.b.valid() ? NodeId(1) : NodeId());
    return testing::evaluate_strict(one, columns, kElements).back()[0];
  }

  const expr::Expr& expr_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<std::uint64_t>> inputs_;
  std::vector<std::vector<std::uint64_t>> values_;
  std::vector<bool> joins_by_fma_;  ///< of a dot, as its kernel says: Lower.SumsTakeFactors... says when it may
};

// Every value is given out, in as many kernels as that takes.
void check(std::uint64_t seed, const testing::RandomExprOptions& shape, const expr::LowerOptions& options) {
  const expr::Expr e = testing::random_expr(seed, shape);
  Comparison comparison(e, seed + 1);
  const std::vector<std::uint32_t> numbers = comparison.numbers();
  for (std::size_t at = 0; at < numbers.size(); at += kOutputsPerKernel) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(std::min(numbers.size(), at + kOutputsPerKernel));
    ASSERT_NO_FATAL_FAILURE(comparison.run({begin, end}, options)) << "seed " << seed;
  }
  ASSERT_NO_FATAL_FAILURE(comparison.compare("seed " + std::to_string(seed))) << "seed " << seed << "\n"
                                                                              << expr::print_infix(e);
}

TEST(ExprLower, EveryOpIsWhatLibmSays) {
  for (std::uint64_t seed = 0; seed < testing::draws(1000); ++seed) {
    testing::RandomExprOptions shape;
    shape.functions = false;
    shape.or_nan = seed % 3 == 0 ? 0.5 : 0;
    check(seed, shape, {.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp1});
    if (HasFatalFailure()) return;
  }
}

TEST(ExprLower, ExactPolicyToo) {
  for (std::uint64_t seed = 0; seed < testing::draws(500); ++seed) {
    testing::RandomExprOptions shape;
    shape.functions = false;
    shape.or_nan = seed % 3 == 0 ? 0.5 : 0;
    check(seed, shape, {.policy = {.kind = expr::PolicyKind::exact}, .simplify = false});
    if (HasFatalFailure()) return;
  }
}

TEST(ExprLower, SeveralPassesToo) {
  for (std::uint64_t seed = 0; seed < testing::draws(1500); ++seed) {
    testing::RandomExprOptions shape;
    shape.functions = false;
    shape.or_nan = seed % 3 == 0 ? 0.5 : 0;
    shape.passes_max = 2 + seed % 4;
    const expr::PolicyKind kind = seed % 2 == 0 ? expr::PolicyKind::exact : expr::PolicyKind::bounded;
    check(seed, shape, {.policy = {.kind = kind}, .simplify = false, .narrow = seed % 3 == 0});
    if (HasFatalFailure()) return;
  }
}

// The exact policy promises the bits of the unrewritten kernel: identities may not change one.
TEST(ExprLower, ExactSimplificationKeepsEveryBit) {
  for (std::uint64_t seed = 0; seed < testing::draws(1500); ++seed) {
    testing::RandomExprOptions shape;
    shape.functions = false;
    shape.or_nan = seed % 3 == 0 ? 0.5 : 0;
    if (seed % 5 == 4) shape.passes_max = 4;
    const expr::Expr e = testing::random_expr(seed, shape);
    expr::LowerOptions options{.policy = {.kind = expr::PolicyKind::exact}, .simplify = false};
    const Result<kir::Kernel> plain = expr::lower(e, options);
    options.simplify = true;
    const Result<kir::Kernel> simple = expr::lower(e, options);
    ASSERT_TRUE(plain.ok() && simple.ok());
    testing::Random random(seed);
    std::vector<std::vector<std::uint64_t>> inputs;
    std::vector<std::vector<std::byte>> arrays;
    std::vector<const void*> in;
    std::vector<std::uint64_t> params;
    for (const expr::Variable& v : e.variables) {
      const auto bits = testing::random_values(v, kElements, random);
      if (v.is_scalar()) {
        params.push_back(bits[0]);
        continue;
      }
      arrays.emplace_back(8 * kElements);
      for (std::size_t i = 0; i < bits.size(); ++i) {
        std::memcpy(&arrays.back()[i * ir::bytes_of(v.type)], &bits[i], ir::bytes_of(v.type));
      }
    }
    for (const auto& a : arrays) in.push_back(a.data());
    std::vector<std::vector<std::byte>> results[2];
    for (int k = 0; k < 2; ++k) {
      results[k].assign(e.outputs.size(), std::vector<std::byte>(8 * kElements));
      std::vector<void*> out;
      for (auto& r : results[k]) out.push_back(r.data());
      kir::interpret(k == 0 ? *plain : *simple, kElements, in.data(), out.data(), params.data());
    }
    for (std::size_t o = 0; o < e.outputs.size(); ++o) {
      const Type type = e.at(e.outputs[o].node).type;
      const std::size_t width = ir::bytes_of(type);
      for (std::size_t i = 0; i < kElements; ++i) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, &results[0][o][i * width], width);
        std::memcpy(&b, &results[1][o][i * width], width);
        const bool both_nan =
            ir::is_float(type) && std::isnan(expr::value_of(type, a)) && std::isnan(expr::value_of(type, b));
        ASSERT_TRUE(a == b || both_nan) << "seed " << seed << " output " << o << " element " << i << ": "
                                        << expr::value_of(type, a) << " became " << expr::value_of(type, b) << "\n"
                                        << expr::print_infix(e) << "\n"
                                        << kir::print(*plain) << "\n"
                                        << kir::print(*simple);
      }
    }
  }
}

}  // namespace
}  // namespace trident
