#include "tests/library/mutants.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "jit/function/library.h"

namespace trident::test {
namespace {

using function::Expression;
using function::Function;
using function::Operator;
using function::Statement;
using Kind = Expression::Kind;

struct OperatorRow {
  Operator op;
  int level;
  char operands;
  /// Operators of one group take the place of each other; those of group 0, which are unary, of none.
  [[nodiscard]] int group() const {
    constexpr int kLogic = 1, kEqual = 2, kOrder = 3, kBits = 4;
    if (level == 1 || level == 2) return kLogic;
    if (level == 3) return operands == 's' ? kEqual : kOrder;
    return level >= kBits && level <= 6 ? kBits : level;
  }
};
constexpr OperatorRow kOperators[] = {
#define X(name, text, level, operands, result) {Operator::name, level, #operands[0]},
#include "jit/function/operators.def"
#undef X
};

struct IntrinsicRow {
  std::string_view name, operands, result;
};
constexpr IntrinsicRow kIntrinsics[] = {
#define X(name, text, operands, result, of, meaning) {text, #operands, #result},
#include "jit/function/intrinsics.def"
#undef X
};

int group_of(Operator op) {
  return kOperators[static_cast<std::size_t>(op)].group();
}

using Expressions = std::vector<Expression>;

void add_numbers(const Expression& e, Expressions& out) {
  for (const int step : {1, -1}) {
    Expression moved = e;
    moved.is_character = false;
    moved.number =
        e.kind == Kind::real
            ? function::bits_of(function::real_of(e.number) + step)
            : static_cast<std::int64_t>(static_cast<std::uint64_t>(e.number) + static_cast<std::uint64_t>(step));
    out.push_back(std::move(moved));
  }
}

void add_operators(const Expression& e, Expressions& out) {
  for (const OperatorRow& row : kOperators) {
    if (row.op == e.op || row.group() != group_of(e.op)) continue;
    out.push_back(e);
    out.back().op = row.op;
  }
}

void add_calls(const Expression& e, Expressions& out) {
  for (const IntrinsicRow& is : kIntrinsics) {
    if (is.name != e.name) continue;
    for (const IntrinsicRow& other : kIntrinsics) {
      if (other.name == is.name || other.operands != is.operands || other.result != is.result) continue;
      out.push_back(e);
      out.back().name = other.name;
    }
  }
}

Expression negated(const Expression& e) {
  Expression result{.kind = Kind::unary, .op = Operator::Not, .offset = e.offset, .depth = e.depth + 1};
  result.operands.push_back(e);
  return result;
}

Expressions alternatives(const Expression& e, bool is_condition) {
  Expressions out;
  switch (e.kind) {
    case Kind::number:
    case Kind::real: add_numbers(e, out); break;
    case Kind::truth:
      out.push_back(e);
      out.back().number = 1 - e.number;
      break;
    case Kind::unary: out.push_back(e.operands[0]); break;
    case Kind::binary: add_operators(e, out); break;
    case Kind::call: add_calls(e, out); break;
    case Kind::choice:
      out.push_back(e);
      std::swap(out.back().operands[1], out.back().operands[2]);
      break;
    case Kind::name:
    case Kind::element:
    case Kind::length: break;
  }
  if (is_condition && e.kind != Kind::unary && e.kind != Kind::truth) out.push_back(negated(e));
  return out;
}

struct Site {
  Expression* expression;
  bool is_condition;
};

void find_sites(Expression& e, bool is_condition, std::vector<Site>& out) {
  out.push_back({&e, is_condition});
  for (Expression& operand : e.operands) find_sites(operand, false, out);
}

void find_sites(std::vector<Statement>& body, std::vector<Site>& out) {
  for (Statement& s : body) {
    const bool is_condition = s.kind == Statement::Kind::branch || s.kind == Statement::Kind::loop;
    for (Expression& e : s.values) find_sites(e, is_condition, out);
    find_sites(s.body, out);
    find_sites(s.otherwise, out);
  }
}

/// Checks a mutant anew: the types of the function that it comes from are forgotten.
bool is_valid(Function& mutant) {
  std::vector<Site> sites;
  find_sites(mutant.body, sites);
  for (const Site& site : sites) site.expression->type = function::Type::none;
  return function::check(mutant, function::Library::shipped()).ok();
}

/// Sets line and text of a mutant from the first line that differs; false when there is none.
bool set_line(Mutant& mutant, std::string_view original) {
  const std::string text = function::print(mutant.function);
  const std::size_t differs = static_cast<std::size_t>(
      std::mismatch(text.begin(), text.end(), original.begin(), original.end()).first - text.begin());
  if (differs == text.size()) return false;
  const std::size_t begin = text.rfind('\n', differs) + 1;
  const std::string line = text.substr(begin, text.find('\n', differs) - begin);
  mutant.line =
      1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  mutant.text = line.substr(line.find_first_not_of(' '));
  return true;
}

}  // namespace

void each_mutant(const Function& function, const std::function<void(const Mutant&)>& visit) {
  Function base = function;
  std::vector<Site> sites;
  find_sites(base.body, sites);
  std::set<std::pair<std::size_t, std::string>> seen;
  for (const Site& site : sites) {
    Expression original = std::move(*site.expression);  // its operands, which are sites too, stay where they are
    for (const Expression& other : alternatives(original, site.is_condition)) {
      *site.expression = other;
      Mutant mutant{.function = base};
      if (!is_valid(mutant.function)) continue;
      if (!set_line(mutant, function.text) || !seen.emplace(mutant.line, mutant.text).second) continue;
      visit(mutant);
    }
    *site.expression = std::move(original);
  }
}

}  // namespace trident::test
