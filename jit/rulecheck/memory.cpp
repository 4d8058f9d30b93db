#include "jit/rulecheck/memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

namespace trident::rulecheck {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;
using expr::Op;
using Kind = RuleVerdict::Kind;

/// A rule whose sides are zero at more than nineteen of twenty points has not been checked.
constexpr std::uint64_t kReadShare = 20;

/// The value of each variable, and the element at which a rule is tried.
struct MemoryPoint {
  std::int64_t element = 0;
  std::uint64_t table_length = 0;
  int width = 64;                      ///< bits of an integer
  std::vector<std::int64_t> integers;  ///< by variable; truth values are 0 or 1
  std::vector<double> numbers;         ///< by variable
};

std::int64_t wrapped(std::uint64_t value, int width) {
  return width == 32 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(value)) : static_cast<std::int64_t>(value);
}

struct Value {
  std::int64_t integer = 0;  ///< of integers and truth values; of a table its number
  double number = 0;
};

/// Returns an element of table number `table`: they are 1, 2, ... plus a fraction of the table's own.
double element_of(std::int64_t table, std::int64_t number) {
  return static_cast<double>(number + 1) + static_cast<double>(table + 1) / 64;
}

class MemoryEvaluator {
 public:
  MemoryEvaluator(const Pattern& side, const std::vector<Sort>& sorts, const MemoryPoint& point)
      : side_(side), sorts_(sorts), point_(point) {}

  Value at(std::size_t term) const {
    const PatternTerm& t = side_.terms[term];
    if (t.kind == PatternTerm::Kind::variable) {
      if (sorts_[term] == Sort::table) return {t.variable, 0};
      return {point_.integers[t.variable], point_.numbers[t.variable]};
    }
    if (t.kind == PatternTerm::Kind::number) return {static_cast<std::int64_t>(t.number), t.number};
    return node(t);
  }

 private:
  Value node(const PatternTerm& t) const {
    const auto integer = [&](std::size_t child) { return static_cast<std::uint64_t>(at(t.child[child]).integer); };
    const auto whole = [&](std::uint64_t value) { return Value{wrapped(value, point_.width), 0}; };
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Gather) return read(at(t.child[0]).integer, integer(1));
    if (op == Op::Strided)
      return read(at(t.child[0]).integer, integer(1) * static_cast<std::uint64_t>(point_.element) + integer(2));
    if (op == Op::Select) return at(t.child[at(t.child[0]).integer != 0 ? 1 : 2]);
    if (op == Op::Not) return {at(t.child[0]).integer == 0 ? 1 : 0, 0};
    if (op == Op::Diff) return {};
    if (op == Op::Index) return whole(static_cast<std::uint64_t>(point_.element));
    if (op == Op::Add) return whole(integer(0) + integer(1));
    if (op == Op::Sub) return whole(integer(0) - integer(1));
    if (op == Op::Mul) return whole(integer(0) * integer(1));
    if (op == Op::Neg) return whole(0 - integer(0));
    CHECK(op == Op::Shl);
    return whole(integer(0) << (integer(1) % static_cast<std::uint64_t>(point_.width)));
  }

  Value read(std::int64_t table, std::uint64_t number) const {
    const auto index = static_cast<std::int64_t>(number);
    const bool inside = index >= 0 && index < static_cast<std::int64_t>(point_.table_length);
    return {0, inside ? element_of(table, index) : 0.0};
  }

  const Pattern& side_;
  const std::vector<Sort>& sorts_;
  const MemoryPoint& point_;
};

class MemorySampler {
 public:
  MemorySampler(const Rule& rule, const Sorts& sorts, std::uint64_t seed)
      : rule_(rule), sorts_(sorts), random_(seed), wide_only_(counts_elements(rule)) {
    for (const Pattern* side : {&rule.left, &rule.right}) {
      const std::vector<Sort>& sorts_of_terms = side == &rule.left ? sorts.of_left : sorts.of_right;
      for (std::size_t i = 0; i < side->terms.size(); ++i) {
        const double value = std::fabs(side->terms[i].number);
        if (side->terms[i].kind == PatternTerm::Kind::number && sorts_of_terms[i] == Sort::integer && value < 0x1p40)
          constants_.push_back(static_cast<std::uint64_t>(value));
      }
    }
  }

  MemoryPoint draw() {
    constexpr std::uint64_t kLengths[] = {0, 1, 2, 7, 33, 100, 100, 100};
    MemoryPoint p;
    p.width = wide_only_ || random_() % 2 == 0 ? 64 : 32;
    p.table_length = kLengths[random_() % std::size(kLengths)];
    if (random_() % 4 == 0) p.table_length = long_table(p.width);
    p.element = static_cast<std::int64_t>(random_() % 60);
    for (std::size_t v = 0; v < rule_.variables.size(); ++v) {
      const bool truth = sorts_.truth[v];
      p.integers.push_back(truth ? static_cast<std::int64_t>(random_() % 2) : integer(p));
      p.numbers.push_back(static_cast<double>(static_cast<int>(random_() % 2001) - 1000) / 8);
    }
    for (const Condition& c : rule_.conditions)
      if (c.kind == ConditionKind::stride) p.integers[c.variable[0]] = stride();
    return p;
  }

 private:
  static bool counts_elements(const Rule& rule) {
    return std::any_of(rule.left.terms.begin(), rule.left.terms.end(), [](const PatternTerm& t) {
      const Op op = static_cast<Op>(t.op);
      return t.kind == PatternTerm::Kind::node && (op == Op::Index || op == Op::Strided);
    });
  }

  // Returns a length beyond the sum of the rule's constants, or beyond the reach of strides.
  std::uint64_t long_table(int width) {
    std::uint64_t length = random_() % 2 == 0 ? 0 : random_() % 3 * 70 * 65'536;
    for (const std::uint64_t c : constants_)
      if (random_() % 4 != 0) length += c * (1 + random_() % 3);
    length += random_() % 60;
    return std::min(length, std::uint64_t{1} << (width == 32 ? 30 : 44));
  }

  std::int64_t integer(const MemoryPoint& p) {
    const auto kind = random_() % 16;
    if (kind == 0) return wrapped(random_(), p.width);
    if (kind == 1) return wrapped((std::uint64_t{1} << (p.width - 1)) + random_() % 200 - 100, p.width);
    const std::uint64_t around = kind < 9 ? 12 : p.table_length + 16;
    return static_cast<std::int64_t>(random_() % around) - 8;
  }

  std::int64_t stride() {
    constexpr std::int64_t kStrides[] = {1, -1, 2, -2, 3, 4, 8, -5, 65'536, -65'536};
    return kStrides[random_() % std::size(kStrides)];
  }

  const Rule& rule_;
  const Sorts& sorts_;
  std::mt19937_64 random_;
  const bool wide_only_;
  std::vector<std::uint64_t> constants_;  ///< integers of the rule, without signs
};

std::vector<Binding> bindings_of(const Rule& rule, const Sorts& sorts, const MemoryPoint& point) {
  std::vector<Binding> found = {{"index", std::to_string(point.element)}};
  for (std::size_t v = 0; v < rule.variables.size(); ++v) {
    std::string text;
    switch (sorts.of_variable[v]) {
      case Sort::table: text = fmt::format("a table of {}", point.table_length); break;
      case Sort::truth: text = point.integers[v] != 0 ? "true" : "false"; break;
      case Sort::integer: text = std::to_string(point.integers[v]); break;
      case Sort::number: text = fmt::format("{}", point.numbers[v]); break;
    }
    found.push_back({"?" + rule.variables[v], text});
  }
  return found;
}

struct BothSides {
  double left = 0, right = 0;
};

BothSides values_of(const Rule& rule, const Sorts& sorts, const MemoryPoint& point) {
  return {MemoryEvaluator(rule.left, sorts.of_left, point).at(rule.left.terms.size() - 1).number,
          MemoryEvaluator(rule.right, sorts.of_right, point).at(rule.right.terms.size() - 1).number};
}

bool same_bits(const BothSides& both) {
  return both.left == both.right && std::signbit(both.left) == std::signbit(both.right);
}

/// Returns whether these points can test a condition; others would count as met.
bool knows(const Condition& c) {
  return c.kind == ConditionKind::stride || c.kind == ConditionKind::uniform || c.kind == ConditionKind::constant;
}

}  // namespace

RuleVerdict check_memory_rule(const Rule& rule, const Sorts& sorts, const RuleCheckOptions& options) {
  RuleVerdict verdict;
  if (!std::all_of(rule.conditions.begin(), rule.conditions.end(), knows))
    return verdict.kind = Kind::unchecked,
           verdict.fault = "rules about tables have the conditions const, stride and uniform only", verdict;
  if (sorts.truth_sides) return verdict.kind = Kind::unchecked, verdict.fault = "its sides are truth values", verdict;
  MemorySampler sampler(rule, sorts, options.seed);
  std::uint64_t read = 0;
  for (std::uint64_t i = 0; i < options.points; ++i) {
    const MemoryPoint point = sampler.draw();
    const BothSides both = values_of(rule, sorts, point);
    ++verdict.compared;
    read += both.left != 0 ? 1 : 0;
    if (same_bits(both)) continue;
    verdict.kind = Kind::wrong;
    verdict.fault = fmt::format("the sides differ{}", point.width == 32 ? " with integers of 32 bits" : "");
    verdict.point = bindings_of(rule, sorts, point);
    verdict.left = fmt::format("{}", both.left), verdict.right = fmt::format("{}", both.right);
    return verdict;
  }
  if (sorts.slopes || read * kReadShare >= options.points) return verdict;
  verdict.kind = Kind::unchecked;
  verdict.fault = fmt::format("an element of a table is read at {} of {} points only", read, options.points);
  return verdict;
}

std::optional<Example> example_of_memory_rule(const Rule& rule, const Sorts& sorts) {
  constexpr int kTries = 1000;
  MemorySampler sampler(rule, sorts, 1);
  for (int i = 0; i < kTries; ++i) {
    const MemoryPoint point = sampler.draw();
    const BothSides both = values_of(rule, sorts, point);
    if (both.left == 0 && !sorts.slopes) continue;
    return Example{bindings_of(rule, sorts, point), fmt::format("{}", both.left), fmt::format("{}", both.right)};
  }
  return std::nullopt;
}

}  // namespace trident::rulecheck
