// Searches within ranges beside which NaN may come. Each expression has a part that is another, simpler one for all
// numbers in the range, and not for NaN. Oracle: the interpreter on the kernel as written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "jit/kir/interpreter.h"
#include "jit/pipeline/assumed_ranges.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

constexpr std::uint64_t kBudgetNs = 250'000'000;

/// Expressions of x from 1 to 2, y from -3 to 3 and z from -4 to 0, each of which may be NaN.
constexpr const char* kExpressions[] = {
    "sin(y) + (x < 3 ? y : 0)",
    "exp(x >= 1 ? y : -y)",
    "(x == x ? y : 1) * cos(x)",
    "x != x ? y : x*x + x*y",
    "min(x, 5) + sqrt(x)",
    "max(0.5, min(x, 2))/x",
    "max(min(y, 3), -3) * max(x, y)",
    "(x - x) + (y > 0 ? x : 1)",
    "0*x + max(y, 0*x)",
    "max(x/x, y) + min(z, x - x)",
    "sign(x)*y + max(sign(z), y)",
    "floor(x/4) + max(floor(x/4), y)",
    "(i32(x) > 0 ? y : 0) + (i32(y) > 1 ? x : y)",
    "y > 2.5 ? (x < 3 ? x*y : y) : min(x, 3)",
    "abs(x)*sqrt(y*y) + max(abs(z), x)",
    "copysign(y, x)*1 + max(copysign(x, z), z)",
    "log(exp(x)) + max(log(x), z)",
    "atan2(y, x) + max(y, hypot(x, y))",
    "x^y + max(x^0, y)",
    "(x > y && z <= 0 ? 1 : 2) + (x < y || z > 0 ? 3 : 4)",
    "not(x > 0.5) ? 1 : x/(1 + x) + 1/(1 + x)",
    "max(exp(x)/(exp(x) + 1), z)",
    "tanh(y) + (tanh(y) <= 1 ? x : 9)",
};

template <class T>
std::vector<std::vector<T>> columns_of(std::size_t n) {
  std::vector<std::vector<T>> columns(3, std::vector<T>(n));
  std::uint64_t state = 1;
  const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  constexpr double kLo[] = {1, -3, -4}, kHi[] = {2, 3, 0};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t v = 0; v < 3; ++v) {
      const double place = static_cast<double>(random() % 65'537) / 65'536;
      const T quiet = std::numeric_limits<T>::quiet_NaN();
      columns[v][i] = static_cast<T>(kLo[v] + place * (kHi[v] - kLo[v]));
      if ((i >> v & 1) != 0) columns[v][i] = random() % 2 == 0 ? quiet : -quiet;  // each set of variables
    }
  return columns;
}

template <class T>
std::vector<T> results_of(const kir::Kernel& kernel, const std::vector<std::vector<T>>& columns) {
  std::vector<T> out(columns[0].size());
  const void* const in[] = {columns[0].data(), columns[1].data(), columns[2].data()};
  void* const to = out.data();
  kir::interpret(kernel, out.size(), in, &to, nullptr);
  return out;
}

/// Returns whether the results are alike: in all bits under `exact`, else within what these expressions may err.
template <class T>
bool alike(T ours, T written, expr::PolicyKind kind) {
  if (std::isnan(ours) || std::isnan(written)) return std::isnan(ours) && std::isnan(written);
  if (kind == expr::PolicyKind::exact) return ours == written && std::signbit(ours) == std::signbit(written);
  return std::fabs(ours - written) <= 64 * std::numeric_limits<T>::epsilon() * (1 + std::fabs(written));
}

expr::Expr parsed(const std::string& text, ir::Type type) {
  auto e = expr::parse_infix(text, {.type = type, .variables = {{"x", type}, {"y", type}, {"z", type}}});
  CHECK(e.ok() && e->at(e->outputs[0].node).type == type);
  return std::move(e).value();
}

/// Returns the expression with its ranges, and NaN beside them if it may come.
expr::Expr in_ranges(const expr::Expr& source, bool or_nan) {
  const kir::Assumed seen[] = {{1, 2, or_nan}, {-3, 3, or_nan}, {-4, 0, or_nan}};
  return narrowed(source, seen);
}

kir::Kernel lowered(const expr::Expr& e, expr::PolicyKind kind, bool simplify) {
  auto kernel = expr::lower(e, {.policy = {.kind = kind}, .simplify = simplify});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

/// Returns the first difference of the kernel from the source as written; empty: none.
template <class T>
std::string difference(const expr::Expr& source, const kir::Kernel& kernel, expr::PolicyKind kind) {
  const auto columns = columns_of<T>(8192);
  const auto ours = results_of(kernel, columns);
  const auto wanted = results_of(lowered(source, expr::PolicyKind::exact, false), columns);
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (!alike(ours[i], wanted[i], kind))
      return "at " + std::to_string(columns[0][i]) + ", " + std::to_string(columns[1][i]) + ", " +
             std::to_string(columns[2][i]) + ": " + std::to_string(ours[i]) + " for " + std::to_string(wanted[i]) +
             "\n" + kir::print(kernel);
  return {};
}

std::string difference(const expr::Expr& source, const kir::Kernel& kernel, ir::Type type, expr::PolicyKind kind) {
  return type == ir::Type::f32 ? difference<float>(source, kernel, kind) : difference<double>(source, kernel, kind);
}

TEST(MissingData, SimplifiedFormsGiveTheSourcesResultsForNanWhereItMayCome) {
  std::size_t wrong_where_it_may_not = 0;
  for (const char* text : kExpressions)
    for (const expr::PolicyKind kind : {expr::PolicyKind::exact, expr::PolicyKind::bounded})
      for (const ir::Type type : {ir::Type::f32, ir::Type::f64}) {
        const expr::Expr source = parsed(text, type);
        EXPECT_EQ(difference(source, lowered(in_ranges(source, true), kind, true), type, kind), "") << text;
        const kir::Kernel of_numbers = lowered(in_ranges(source, false), kind, true);
        wrong_where_it_may_not += difference(source, of_numbers, type, kind).empty() ? 0 : 1;
      }
  EXPECT_GT(wrong_where_it_may_not, std::size(kExpressions)) << "of four kernels each";
}

/// A variable that is assumed to be one number is a constant, but not where it may be NaN too.
TEST(MissingData, OneNumberOrNanIsNoConstant) {
  for (const bool or_nan : {false, true}) {
    const kir::Assumed seen[] = {{2, 2, or_nan}};
    const expr::Expr e = narrowed(parsed("x*y + z", ir::Type::f32), seen);
    const auto reads_x = [](const expr::Node& n) { return n.op == expr::Op::Variable && n.imm == 0; };
    EXPECT_EQ(std::any_of(e.nodes.begin(), e.nodes.end(), reads_x), or_nan);
    EXPECT_EQ(e.variables[0].or_nan, or_nan);
  }
}

TEST(MissingData, WhatSearchesFindInRangesGivesTheSourcesResultsForNan) {
  bool turn = false;
  for (const char* text : kExpressions) {
    turn = !turn;
    for (const expr::PolicyKind kind : {expr::PolicyKind::exact, expr::PolicyKind::bounded}) {
      const ir::Type type = turn == (kind == expr::PolicyKind::exact) ? ir::Type::f32 : ir::Type::f64;
      const expr::Expr source = parsed(text, type);
      Options options;
      options.target.isa = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
      options.target.policy.kind = kind;
      options.budget.cpu_ns = kBudgetNs;
      const auto fast = optimise(in_ranges(source, true), options);
      ASSERT_TRUE(fast.ok()) << text << ": " << fast.error().message;
      if (fast->outcome != Outcome::published) continue;  // where times decide against all forms
      ASSERT_EQ(difference(source, fast->winner.kernel, type, kind), "") << text;
    }
  }
}

}  // namespace
}  // namespace trident::pipeline
