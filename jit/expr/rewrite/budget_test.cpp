// Inputs that strain budgets as much as possible. Oracle: memory allocations, which the search knows nothing of and
// which all its heavy parts make. Those after the cancellation say how much work was still done. Times are measured by
// `make bench NAME=search`.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/rewrite.h"

namespace {

std::atomic<bool> cancelled{false};
thread_local std::uint64_t allocations = 0, cancelled_at = UINT64_MAX;

void* counted(std::size_t bytes) {
  if (++allocations == cancelled_at) cancelled = true;
  void* const p = std::malloc(bytes == 0 ? 1 : bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}

namespace trident::expr::rewrite {
namespace {

struct Hard {
  const char* name;
  std::string text;
};

std::string joined(int count, const char* between, const std::function<std::string(int)>& part) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : between) + part(i);
  return text;
}
std::string name(const char* stem, int i) {
  return stem + std::to_string(i);
}

std::string determinant(int size, std::uint32_t columns, int row = 0) {
  if (row == size) return "1";
  std::string text;
  int place = 0;
  for (int c = 0; c < size; ++c) {
    if (((columns >> c) & 1) == 0) continue;
    text += (place++ % 2 == 0 ? " + " : " - ") + ("m" + std::to_string(row) + std::to_string(c)) + "*(" +
            determinant(size, columns & ~(1u << c), row + 1) + ")";
  }
  return "0" + text;
}

std::vector<Hard> hard_inputs() {
  std::string deep = "x", towers = "x";
  for (int i = 0; i < 200; ++i) deep = (i % 3 == 0 ? "sin(" : i % 3 == 1 ? "(y - " : "x*(1 + ") + deep + ")";
  for (int i = 0; i < 10; ++i) towers = "((" + towers + ")*(" + towers + ") + y)";
  return {
      {"sum", joined(1000, " + ", [](int i) { return "x*" + std::to_string(i % 61) + ".5"; })},
      {"sum of many", joined(40, " + ", [](int i) { return name("v", i) + "*" + name("v", (i * 7) % 40); })},
      {"product", joined(400, "*", [](int i) { return "(x - " + name("y", i % 5) + ")"; })},
      {"product of sums", joined(12, "*", [](int i) { return "(x + y + z + " + name("w", i) + ")"; })},
      {"quadratics", joined(30, "*", [](int i) { return "(x*x + y*" + std::to_string(i + 1) + " + z)"; })},
      {"equal terms", joined(60, " + ", [](int) { return std::string("sin(x*y)*cos(x*y)"); })},
      {"square of a sum", "(" + joined(30, " + ", [](int i) { return name("v", i); }) + ")*(" +
                              joined(30, " + ", [](int i) { return name("v", i); }) + ")"},
      {"quotients", joined(60, " + ", [](int i) { return "x/(y + " + std::to_string(i) + ")"; })},
      {"trigonometry",
       joined(60, " + ", [](int i) { return "sin(" + name("v", i % 9) + ")^2*cos(" + name("v", i % 7) + ")^2"; })},
      {"determinant 5", determinant(5, 31)},
      {"determinant 6", determinant(6, 63)},
      {"deep", deep},
      {"towers", towers},
      {"2,000 nodes", joined(500, " - ",
                             [](int i) {
                               return name("v", i % 31) + "*" + name("v", (i * 5) % 29) + "/(1 + " +
                                      name("v", (i * 3) % 23) + ")";
                             })},
  };
}

// Allocations in all, and those after the cancellation.
struct Work {
  std::uint64_t all = 0, behind = 0;
};
Work work_of_search(const Expr& source, const RewriteOptions& options, std::uint64_t cancel_at) {
  cancelled = false;
  allocations = 0;
  cancelled_at = cancel_at;
  const auto found = rewrite(source, options);
  EXPECT_TRUE(found.ok());
  const Work work{allocations, allocations - std::min(allocations, cancel_at)};
  cancelled_at = UINT64_MAX;
  return work;
}

TEST(Budget, NoPartOfTheSearchGoesOnWhenItIsLate) {
  // Allows for the term that is written out at the end, and 2,000 steps at an allocation for every few.
  constexpr std::uint64_t kBehindMax = 4'000;
  RewriteOptions options;
  options.policy.kind = PolicyKind::fast;
  options.keep = 1;
  options.budget = {.nodes = 2'000, .nanoseconds = 0, .graph_nodes = 4'000, .cancelled = &cancelled};
  int long_ones = 0;
  for (const Hard& hard : hard_inputs()) {
    const auto source = parse_infix(hard.text);
    ASSERT_TRUE(source.ok()) << hard.name << source.error().message;
    work_of_search(*source, options, UINT64_MAX);  // rules are compiled once
    const Work whole = work_of_search(*source, options, UINT64_MAX);
    long_ones += whole.all > 10 * kBehindMax ? 1 : 0;
    std::uint64_t worst = 0;
    for (std::uint64_t at = 1; at < whole.all; at += 1 + whole.all / 40)
      worst = std::max(worst, work_of_search(*source, options, at).behind);
    EXPECT_LE(worst, kBehindMax) << hard.name << " of " << whole.all;
  }
  EXPECT_GE(long_ones, 5);
}

TEST(Budget, NodesAndApplicationsAreNeverExceeded) {
  for (const Hard& hard : hard_inputs()) {
    const auto source = parse_infix(hard.text);
    ASSERT_TRUE(source.ok());
    RewriteOptions options;
    options.policy.kind = PolicyKind::fast;
    options.strategy = egraph::Strategy::saturate;
    options.budget = {.nodes = 3'000, .nanoseconds = 0, .applications = 500};
    const auto found = rewrite(*source, options);
    ASSERT_TRUE(found.ok());
    EXPECT_LE(found->stats.applications, 500u) << hard.name;
    EXPECT_LE(found->stats.nodes, 3'000u) << hard.name;
    options.strategy = egraph::Strategy::best_first;
    options.budget = {.nodes = 3'000, .nanoseconds = 0, .graph_nodes = 3'700};
    const auto in_all = rewrite(*source, options);
    ASSERT_TRUE(in_all.ok());
    EXPECT_LE(in_all->stats.nodes, 3'700u) << hard.name;
  }
}

TEST(Budget, BytesAreABound) {
  std::size_t least = SIZE_MAX;
  for (const Hard& hard : hard_inputs()) {
    const auto source = parse_infix(hard.text);
    ASSERT_TRUE(source.ok());
    RewriteOptions options;
    options.policy.kind = PolicyKind::fast;
    options.strategy = egraph::Strategy::saturate;
    options.budget = {.nodes = 200'000, .nanoseconds = 0, .applications = 300'000, .bytes = std::size_t{6} << 20};
    const auto found = rewrite(*source, options);
    ASSERT_TRUE(found.ok());
    EXPECT_LE(found->stats.bytes_max, options.budget.bytes) << hard.name;
    if (found->stats.stop == egraph::Stop::bytes) least = std::min(least, found->stats.bytes_max);
  }
  // Some runs stopped at the limit, and not long before it.
  EXPECT_LT(least, std::size_t{6} << 20);
  EXPECT_GT(least, std::size_t{1} << 20);
}

// No work is counted, so none was done.
TEST(Budget, WhatCannotEndInTimeIsNotBegun) {
  RewriteOptions options;
  options.policy.kind = PolicyKind::fast;
  options.budget.nanoseconds = 50'000;
  const auto sum = parse_infix(joined(500, " + ", [](int i) { return "(x - " + std::to_string(i) + ")^2"; }));
  ASSERT_TRUE(sum.ok());
  const auto found = rewrite(*sum, options);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->stats.nanoseconds, 0u);
  EXPECT_EQ(found->stats.stop, egraph::Stop::time);
  EXPECT_TRUE(found->forms.empty());
  // Derivatives must be eliminated, however long that takes.
  const auto slopes =
      parse_infix(joined(100, " + ", [](int i) { return "diff(sin(x*" + std::to_string(i + 1) + ")*y, x)"; }));
  ASSERT_TRUE(slopes.ok());
  const auto without = rewrite(*slopes, options);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->stats.graphs, 0u);
  EXPECT_EQ(without->stats.stop, egraph::Stop::time);
  ASSERT_EQ(without->forms.size(), 1u);
  EXPECT_FALSE(has_derivatives(without->forms.front()));
}

}  // namespace
}  // namespace trident::expr::rewrite
