// Every f32: rules of one variable whose tags promise bits, at all 2^32 values, both sides in strict arithmetic
// (tests/support/strict_evaluator.h). Without arguments those that say f32(?a), some minutes a rule; with arguments the
// rules of these names. Exit status 1 if a value tells the sides of one apart.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/rules.h"
#include "tests/rules/rule_points.h"
#include "tests/support/strict_evaluator.h"

namespace trident::testing {
namespace {

using expr::Expr;
using expr::Type;
using expr::rewrite::builtin_rules;
using expr::rewrite::Ieee;

constexpr std::uint64_t kValues = std::uint64_t{1} << 32, kBlock = std::uint64_t{1} << 16;

bool is_swept(std::size_t i, const std::vector<std::string>& names) {
  const egraph::Rule& rule = builtin_rules().rules[i];
  if (!names.empty()) return std::find(names.begin(), names.end(), rule.name) != names.end();
  return builtin_rules().tags[i].ieee <= Ieee::zero && rule.typed && rule.variables.size() == 1 &&
         type_of(rule, 0, Type::f64) == Type::f32;
}

// The first value of a block that tells the sides apart, if there is one.
bool holds_in_block(const egraph::Rule& rule, const Expr& left, const Expr& right, std::uint64_t first, Ieee tag,
                    float& fault) {
  std::vector<std::vector<std::uint64_t>> inputs(1);
  for (std::uint64_t bits = first; bits < first + kBlock; ++bits) {
    const double value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const auto meets = [&](const egraph::Condition& c) { return true_at(c, {value, value}); };
    if (std::all_of(rule.conditions.begin(), rule.conditions.end(), meets)) inputs[0].push_back(bits);
  }
  const std::size_t n = inputs[0].size();
  if (n == 0) return true;
  const Type type = left.at(left.outputs[0].node).type;
  const auto l = evaluate_strict(left, inputs, n), r = evaluate_strict(right, inputs, n);
  const auto &a = l[left.outputs[0].node.index], &b = r[right.outputs[0].node.index];
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i] == b[i]) continue;
    const double x = expr::value_of(type, a[i]), y = expr::value_of(type, b[i]);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (tag != Ieee::exact && x == 0 && y == 0) continue;
    fault = std::bit_cast<float>(static_cast<std::uint32_t>(inputs[0][i]));
    return false;
  }
  return true;
}

bool holds_everywhere(std::size_t index) {
  const egraph::Rule& rule = builtin_rules().rules[index];
  const Expr left = side(rule.left, rule, Type::f32), right = side(rule.right, rule, Type::f32);
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> holds = true;
  std::mutex print;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&] {
      float fault = 0;
      for (std::uint64_t first = next.fetch_add(kBlock); first < kValues && holds; first = next.fetch_add(kBlock)) {
        if (holds_in_block(rule, left, right, first, builtin_rules().tags[index].ieee, fault)) continue;
        holds = false;
        const std::lock_guard lock(print);
        std::printf("%s: wrong at %.9g\n", rule.name.c_str(), static_cast<double>(fault));
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (holds) std::printf("%s: holds at all values\n", rule.name.c_str());
  std::fflush(stdout);
  return holds;
}

int run(const std::vector<std::string>& names) {
  bool all = true;
  std::size_t count = 0;
  for (std::size_t i = 0; i < builtin_rules().rules.size(); ++i) {
    if (!is_swept(i, names)) continue;
    ++count;
    all = holds_everywhere(i) && all;
  }
  std::printf("%zu rules at all f32\n", count);
  return all && count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace trident::testing

int main(int argc, char** argv) {
  return trident::testing::run({argv + 1, argv + argc});
}
