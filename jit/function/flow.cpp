#include "jit/function/flow.h"

#include <algorithm>

#include "jit/function/names.h"

namespace trident::function {
namespace {

using EK = Expression::Kind;
using SK = Statement::Kind;

bool has_loop(const std::vector<Statement>& list) {
  return std::any_of(list.begin(), list.end(), [](const Statement& s) {
    return s.kind == SK::loop || s.kind == SK::count || has_loop(s.body) || has_loop(s.otherwise);
  });
}

/// A comparison of a name with a number, as the greatest or the least value for which it holds.
struct Limit {
  std::string_view name;
  bool is_least = false;
  std::int64_t value = 0;
};

std::optional<Limit> limit(const Expression& e) {
  if (e.kind != EK::binary) return {};
  const bool less = e.op == Operator::Less || e.op == Operator::LessEqual;
  if (!less && e.op != Operator::Greater && e.op != Operator::GreaterEqual) return {};
  const bool name_first = e.operands[0].kind == EK::name;
  const Expression &name = e.operands[name_first ? 0 : 1], &number = e.operands[name_first ? 1 : 0];
  if (name.kind != EK::name || name.type != Type::i64 || number.kind != EK::number) return {};
  const bool is_strict = e.op == Operator::Less || e.op == Operator::Greater, is_least = less != name_first;
  std::int64_t value = number.number;
  if (is_strict && __builtin_add_overflow(value, is_least ? 1 : -1, &value)) return {};
  return Limit{name.name, is_least, value};
}

bool calls_functions(const Expression& e) {
  return (e.kind == EK::call && intrinsic_of(e) == nullptr) ||
         std::any_of(e.operands.begin(), e.operands.end(), calls_functions);
}

std::size_t parts_of(const Expression& e) {
  std::size_t parts = 1;
  for (const Expression& o : e.operands) parts += parts_of(o);
  return parts;
}

/// Returns whether `e` itself needs several blocks, whatever its operands need.
bool begins_flow(const Expression& e) {
  const auto is_plain = [&](std::size_t i) { return e.operands[i].is_plain; };
  if (divides(e) && !(e.operands[1].kind == EK::number && e.operands[1].number != 0)) return true;
  if (e.kind == EK::call) return intrinsic_of(e) == nullptr;
  if (e.kind == EK::choice) return !is_plain(1) || !is_plain(2);
  return e.kind == EK::binary && (e.op == Operator::And || e.op == Operator::Or) && !is_plain(1);
}

void mark(Expression& e) {
  for (Expression& o : e.operands) mark(o);
  e.has_flow = begins_flow(e) || std::ranges::any_of(e.operands, &Expression::has_flow);
  e.is_plain = e.kind != EK::element && !e.has_flow && std::ranges::all_of(e.operands, &Expression::is_plain);
}

}  // namespace

bool divides(const Expression& e) {
  if (e.kind == EK::binary) return e.type == Type::i64 && (e.op == Operator::Divide || e.op == Operator::Remainder);
  const IntrinsicRow* const row = e.kind == EK::call ? intrinsic_of(e) : nullptr;
  return row != nullptr && (row->id == Intrinsic::UnsignedDivide || row->id == Intrinsic::UnsignedRemainder);
}

void mark_flow(std::vector<Statement>& list) {
  for (Statement& s : list) {
    for (Expression& e : s.values) mark(e);
    mark_flow(s.body);
    mark_flow(s.otherwise);
  }
}

bool assigns(const std::vector<Statement>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const Statement& s) {
    return (s.kind == SK::assign && s.name == name) || assigns(s.body, name) || assigns(s.otherwise, name);
  });
}

bool is_short(const Expression& e, const Library& library) {
  constexpr std::size_t kStatementsMax = 3;
  const Function* const callee = e.kind == EK::call ? library.find(e.name) : nullptr;
  if (callee != nullptr && (callee->body.size() > kStatementsMax || has_loop(callee->body))) return false;
  return std::all_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return is_short(o, library); });
}

bool has_few_rounds(const Statement& s) {
  constexpr std::int64_t kRoundsMax = 8;
  constexpr std::size_t kPartsMax = 128;
  if (s.values[0].kind != EK::number || s.values[1].kind != EK::number) return false;
  std::int64_t rounds = 0;
  if (__builtin_sub_overflow(s.values[1].number, s.values[0].number, &rounds) || rounds < 1 || rounds > kRoundsMax)
    return false;
  std::size_t parts = 0;
  for (const Statement& inner : s.body) {
    if (inner.kind != SK::let && inner.kind != SK::assign && inner.kind != SK::store) return false;
    for (const Expression& e : inner.values) {
      if (calls_functions(e)) return false;
      parts += parts_of(e);
    }
  }
  return parts * static_cast<std::size_t>(rounds) <= kPartsMax;
}

std::optional<Between> between(const Expression& e) {
  if (e.kind != EK::binary || e.op != Operator::And) return {};
  const auto a = limit(e.operands[0]), b = limit(e.operands[1]);
  if (!a || !b || a->name != b->name || a->is_least == b->is_least) return {};
  const std::int64_t lo = a->is_least ? a->value : b->value, hi = a->is_least ? b->value : a->value;
  if (lo > hi) return {};
  const Expression& first = e.operands[0];
  return Between{&first.operands[first.operands[0].kind == EK::name ? 0 : 1], lo, hi};
}

}  // namespace trident::function
