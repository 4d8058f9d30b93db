// The rules about tables: both sides of each as expressions, lowered without simplification and run by the kir
// interpreter over calls of several hundred elements, with tables of none to some hundred. Not one bit may differ, with
// i32 and i64 indices where a rule leaves that open.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "jit/expr/builder.h"
#include "jit/expr/rewrite/rules.h"
#include "jit/kir/interpreter.h"

namespace trident::expr::rewrite {
namespace {

using egraph::Condition;
using egraph::ConditionKind;
using egraph::Pattern;
using egraph::PatternTerm;
using egraph::Rule;

enum class Role { number, truth, integer, table };

/// The kind of operand that the left side's ops take in the place of each variable.
std::vector<Role> roles_of(const Rule& rule) {
  std::vector<Role> roles(rule.variables.size(), Role::number);
  std::vector<Role> wanted(rule.left.terms.size(), Role::number);
  for (std::size_t i = rule.left.terms.size(); i-- > 0;) {
    const PatternTerm& t = rule.left.terms[i];
    if (t.kind == PatternTerm::Kind::variable) roles[t.variable] = wanted[i];
    if (t.kind != PatternTerm::Kind::node) continue;
    const Op op = static_cast<Op>(t.op);
    for (std::size_t k = 0; k < info(op).arity; ++k) {
      Role& role = wanted[t.child[k]];
      if (info(op).signature == Signature::Read)
        role = k == 0 ? Role::table : Role::integer;
      else
        role = op == Op::Select && k == 0 ? Role::truth : wanted[i];
    }
  }
  return roles;
}

bool has_op(const Rule& rule, Op op) {
  for (const PatternTerm& t : rule.left.terms)
    if (t.kind == PatternTerm::Kind::node && static_cast<Op>(t.op) == op) return true;
  return false;
}

class Trial {
 public:
  Trial(const Rule& rule, Type element, Type index, std::uint64_t seed)
      : rule_(rule), element_(element), index_(index), roles_(roles_of(rule)), random_(seed) {
    constants_.resize(roles_.size());
    for (const Condition& c : rule.conditions) {
      if (c.kind == ConditionKind::stride) constants_[c.variable[0]] = draw_stride();
      if (c.kind == ConditionKind::constant) constants_[c.variable[0]] = static_cast<std::int64_t>(random_() % 9) - 4;
      if (c.kind == ConditionKind::uniform) uniform_.push_back(c.variable[0]);
    }
    // A stride is a constant whether its rule says so or not.
    for (std::size_t v = 0; v < roles_.size(); ++v)
      if (has_op(rule, Op::Strided) && roles_[v] == Role::integer && !constants_[v] && rule.variables[v] == "s")
        constants_[v] = draw_stride();
    if (has_op(rule, Op::Strided))
      for (std::size_t v = 0; v < roles_.size(); ++v)
        if (roles_[v] == Role::integer && !constants_[v]) uniform_.push_back(static_cast<std::uint8_t>(v));
    draw_values();
  }

  void expect_equal() {
    const auto left = run(rule_.left), right = run(rule_.right);
    ASSERT_EQ(left.size(), right.size()) << rule_.name;
    for (std::size_t i = 0; i < left.size(); ++i)
      ASSERT_EQ(left[i], right[i]) << rule_.name << " at element " << i << " of " << kElements << ", table of "
                                   << length_;
  }

 private:
  static constexpr std::size_t kElements = 203;

  std::int64_t draw_stride() {
    constexpr std::int64_t kStrides[] = {1, -1, 2, -2, 3, 4, 7, -9, 65'536};
    return kStrides[random_() % std::size(kStrides)];
  }

  std::uint64_t draw_integer() {
    const std::uint64_t kind = random_() % 12;
    const std::uint64_t extreme = std::uint64_t{1} << (index_ == Type::i32 ? 31 : 63);
    const std::uint64_t bits = kind == 0   ? random_()
                               : kind == 1 ? extreme + random_() % 100 - 50
                                           : random_() % (length_ + 20) - 10;
    return index_ == Type::i32 ? static_cast<std::uint32_t>(bits) : bits;
  }

  void draw_values() {
    constexpr std::size_t kLengths[] = {0, 1, 16, 77, 300, 300};
    length_ = kLengths[random_() % std::size(kLengths)];
    for (std::size_t v = 0; v < roles_.size(); ++v) {
      auto& lanes = values_.emplace_back();
      const std::size_t count = roles_[v] == Role::table ? length_ : kElements;
      for (std::size_t i = 0; i < count; ++i) {
        if (roles_[v] == Role::integer)
          lanes.push_back(draw_integer());
        else if (roles_[v] == Role::truth)
          lanes.push_back(random_() % 2);
        else
          lanes.push_back(bits_of(element_, static_cast<double>(i + 1) + static_cast<double>(v) / 16));
      }
    }
  }

  [[nodiscard]] bool is_uniform(std::size_t v) const {
    return std::find(uniform_.begin(), uniform_.end(), v) != uniform_.end();
  }
  [[nodiscard]] Type type_of(std::size_t v) const {
    return roles_[v] == Role::integer ? index_ : roles_[v] == Role::truth ? Type::i32 : element_;
  }

  /// Bits of each element of `side`.
  std::vector<std::uint64_t> run(const Pattern& side) {
    Expr e;
    for (std::size_t v = 0; v < roles_.size(); ++v)
      e.variables.push_back({.name = rule_.variables[v],
                             .type = type_of(v),
                             .kind = roles_[v] == Role::table ? VariableKind::table
                                     : is_uniform(v)          ? VariableKind::scalar
                                                              : VariableKind::array});
    Builder b(e);
    e.outputs.push_back({"y", build(b, side, side.terms.size() - 1, element_)});
    const auto kernel = lower(e, {.policy = {PolicyKind::exact}, .simplify = false});
    EXPECT_TRUE(kernel.ok()) << rule_.name << ": " << kernel.error().message;
    if (!kernel.ok()) return {};
    std::vector<std::vector<std::byte>> columns;
    std::vector<const void*> in;
    std::vector<std::uint64_t> params;
    for (std::size_t v = 0; v < roles_.size(); ++v) {
      if (is_uniform(v) && roles_[v] != Role::table) {
        params.push_back(values_[v][0]);
        continue;
      }
      const std::size_t bytes = ir::bytes_of(type_of(v));
      auto& column = columns.emplace_back(values_[v].size() * bytes);
      for (std::size_t i = 0; i < values_[v].size(); ++i) std::memcpy(&column[i * bytes], &values_[v][i], bytes);
    }
    for (const auto& column : columns) in.push_back(column.data());
    for (const Role role : roles_)
      if (role == Role::table) params.push_back(length_);
    const std::size_t bytes = ir::bytes_of(element_);
    std::vector<std::byte> out(kElements * bytes);
    void* outputs[] = {out.data()};
    kir::interpret(*kernel, kElements, in.data(), outputs, params.data());
    std::vector<std::uint64_t> lanes(kElements);
    for (std::size_t i = 0; i < kElements; ++i) std::memcpy(&lanes[i], &out[i * bytes], bytes);
    return lanes;
  }

  NodeId build(Builder& b, const Pattern& side, std::size_t term, Type type) {
    const PatternTerm& t = side.terms[term];
    if (t.kind == PatternTerm::Kind::number) return b.constant(type, t.number);
    if (t.kind == PatternTerm::Kind::variable) {
      if (constants_[t.variable]) return b.constant_int(index_, *constants_[t.variable]);
      const NodeId v = b.variable(t.variable);
      return roles_[t.variable] == Role::truth ? b.op(Op::Ne, v, b.constant_int(Type::i32, 0)) : v;
    }
    const Op op = static_cast<Op>(t.op);
    if (op == Op::Index) return b.index();
    const bool read = info(op).signature == Signature::Read;
    NodeId operands[3];
    for (std::size_t k = 0; k < info(op).arity; ++k)
      operands[k] = build(b, side, t.child[k], read && k > 0 ? index_ : type);
    if (op == Op::Strided) {  // the constant that a product of constants is
      const Node& stride = b.at(operands[1]);
      EXPECT_EQ(stride.op, Op::Constant) << rule_.name;
    }
    return b.op(op, operands[0], operands[1], operands[2]);
  }

  const Rule& rule_;
  const Type element_, index_;
  const std::vector<Role> roles_;
  std::mt19937_64 random_;
  std::vector<std::optional<std::int64_t>> constants_;
  std::vector<std::uint8_t> uniform_;
  std::size_t length_ = 0;
  std::vector<std::vector<std::uint64_t>> values_;
};

std::vector<std::size_t> memory_rules() {
  std::vector<std::size_t> list;
  const RuleSet& set = builtin_rules();
  for (std::size_t i = 0; i < set.rules.size(); ++i)
    if (set.rules[i].mixed) list.push_back(i);
  return list;
}

class MemoryRule : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, MemoryRule, ::testing::ValuesIn(memory_rules()), [](const auto& p) {
  std::string name = builtin_rules().rules[p.param].name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

TEST_P(MemoryRule, GivesTheSameBits) {
  const Rule& rule = builtin_rules().rules[GetParam()];
  if (has_op(rule, Op::Diff)) {  // the element's number has steps only, and a table is constant
    EXPECT_EQ(rule.right.terms.size(), 1u);
    EXPECT_EQ(rule.right.root().number, 0);
    return;
  }
  const bool counts = has_op(rule, Op::Index) || has_op(rule, Op::Strided);
  for (const Type element : {Type::f32, Type::f64, Type::i32, Type::i64})
    for (const Type index : {Type::i64, Type::i32}) {
      if (counts && index == Type::i32) continue;
      for (std::uint64_t seed = 0; seed < 60; ++seed)
        ASSERT_NO_FATAL_FAILURE(Trial(rule, element, index, seed).expect_equal());
    }
}

TEST(MemoryRules, AreTheWholeTheme) {
  const RuleSet& set = builtin_rules();
  std::size_t in_theme = 0;
  for (const auto& tags : set.tags) in_theme += tags.theme == "memory" ? 1 : 0;
  EXPECT_EQ(memory_rules().size(), in_theme);
  EXPECT_GE(in_theme, 20u);
}

}  // namespace
}  // namespace trident::expr::rewrite
