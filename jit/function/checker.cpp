#include <algorithm>
#include <map>
#include <numbers>

#include "jit/expr/expr.h"
#include "jit/function/flow.h"
#include "jit/function/library.h"
#include "jit/function/names.h"
#include "jit/ir/text.h"

namespace trident::function {
namespace {

using EK = Expression::Kind;
using SK = Statement::Kind;

/// A name stands for a value or an array.
struct Meaning {
  Type type = Type::i64;  ///< of the value, or of an array's elements
  bool is_array = false;
  bool is_writable = true;
};

class Checker {
 public:
  Checker(Function& function, const Library& library)
      : function_(function), library_(library), source_(function.text, function.file) {}

  Result<void> run();

 private:
  Result<void> statements(std::vector<Statement>& list);
  Result<void> statement(Statement& s);
  Result<void> local_array(Statement& s);
  Result<void> store(Statement& s);
  Result<void> counted(Statement& s);
  Result<void> give(Statement& s);

  Result<Type> type_of(Expression& e);
  Result<Type> name(Expression& e);
  /// Makes an integer literal an f64 where the expression beside it is one.
  Result<void> adapt(Expression& e, Expression& beside);
  Result<void> adapt_first(Expression& call, const IntrinsicRow& row, bool is_only);
  Result<void> exponent(const Expression& e, Type base);
  Result<Type> unary(Expression& e);
  Result<Type> binary(Expression& e);
  /// Refuses a dividend of f64.
  Result<void> whole(Expression& dividend);
  /// Refuses an f64 beside an i64, which is the one to convert.
  Result<void> widened(const Expression& left, Expression& right);
  Result<Type> choice(Expression& e);
  Result<Type> call(Expression& e);
  [[nodiscard]] bool is_array_name(const Expression& e) const;
  Result<Type> intrinsic_call(Expression& e, const IntrinsicRow& row);
  /// Returns the type of an operand of the kind that the letter of a row says.
  Result<Type> operand_type(Expression& e, char letter, const char* what);
  Result<Type> call_of(Expression& e, const Function& callee);
  Result<void> argument(Expression& e, const Parameter& parameter);
  /// Refuses an array that is passed twice and written.
  Result<void> arrays_apart(const Expression& call, const Function& callee) const;
  Result<void> expect(Expression& e, Type wanted, const char* what);

  Result<Meaning*> meaning(const std::string& name, std::uint32_t offset, bool is_array);
  Result<void> declare(const std::string& name, std::uint32_t offset, const Meaning& meaning);
  Result<void> test(const Case& test) const;
  Result<void> check_value(const Argument& value, Type type, bool is_array, std::uint32_t offset) const;

  [[nodiscard]] Error fault(std::uint32_t offset, const std::string& what,
                            ErrorCode code = ErrorCode::kTypeError) const {
    return source_.error(offset, what, code);
  }

  Function& function_;
  const Library& library_;
  ir::SourceText source_;
  std::map<std::string, Meaning, std::less<>> names_;
  std::vector<std::string> scope_;  ///< names in the order of their declarations
  int loops_ = 0;                   ///< around the statement
};

/// Returns the type that the letter of a row says; `same` is that of operands of any type.
Type of_letter(char letter, Type same) {
  if (letter == 'n' || letter == 's') return same;
  if (letter == 'd') return Type::f64;
  return letter == 'b' ? Type::boolean : Type::i64;
}

/// Returns whether `e` is an integer, perhaps with signs, that is an f64 where one is wanted.
bool is_literal(const Expression& e) {
  if (e.kind == EK::unary) return (e.op == Operator::Negate || e.op == Operator::Plus) && is_literal(e.operands[0]);
  return e.kind == EK::number && !e.is_character;
}

void make_real(Expression& literal) {
  literal.type = Type::f64;
  for (Expression& operand : literal.operands) make_real(operand);
}

/// Returns what to write for `e` where the other type is wanted, with a colon in front; empty where nothing is plain.
std::string conversion(const Expression& e, Type wanted) {
  const bool is_number = wanted == Type::f64 ? e.type == Type::i64 : e.type == Type::f64 || e.type == Type::boolean;
  if (wanted == Type::boolean && e.type == Type::i64) return ": compare it, as in n != 0";
  if (!is_number || wanted == Type::boolean) return {};
  return ": write " + std::string(name_of(wanted)) + "(" + (e.kind == EK::name ? e.name : "..") + ")";
}

bool always_leaves(const std::vector<Statement>& list);

/// Returns whether control never comes to what follows.
bool always_leaves(const Statement& s) {
  if (s.kind == SK::give || s.kind == SK::leave || s.kind == SK::next) return true;
  return s.kind == SK::branch && always_leaves(s.body) && always_leaves(s.otherwise);
}

bool always_leaves(const std::vector<Statement>& list) {
  return !list.empty() && always_leaves(list.back());
}

Result<void> Checker::run() {
  for (const Parameter& p : function_.parameters)
    TRY_VOID(declare(p.name, 0, {p.is_array() ? p.type : value_type(p.type), p.is_array(), p.passing != Passing::in}));
  TRY_VOID(statements(function_.body));
  if (function_.result != Type::none && !always_leaves(function_.body))
    return fault(static_cast<std::uint32_t>(function_.text.rfind('}')), "the end is reached without a return");
  for (const Case& one : function_.tests) TRY_VOID(test(one));
  mark_flow(function_.body);
  return {};
}

Result<void> Checker::declare(const std::string& name, std::uint32_t offset, const Meaning& meaning) {
  if (intrinsic(name) != nullptr) return fault(offset, "'" + name + "' is a function of the language");
  if (!names_.emplace(name, meaning).second) return fault(offset, "'" + name + "' has a meaning here already");
  scope_.push_back(name);
  return {};
}

Result<Meaning*> Checker::meaning(const std::string& name, std::uint32_t offset, bool is_array) {
  const auto found = names_.find(name);
  if (found == names_.end()) return fault(offset, "nothing is called '" + name + "' here");
  if (found->second.is_array && !is_array)
    return fault(offset, "'" + name + "' is an array: read an element or its len");
  if (!found->second.is_array && is_array) return fault(offset, "'" + name + "' is no array");
  return &found->second;
}

Result<void> Checker::statements(std::vector<Statement>& list) {
  const std::size_t names = scope_.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    TRY_VOID(statement(list[i]));
    if (i + 1 < list.size() && always_leaves(list[i])) return fault(list[i + 1].offset, "this is never reached");
  }
  for (; scope_.size() > names; scope_.pop_back()) names_.erase(scope_.back());
  return {};
}

Result<void> Checker::statement(Statement& s) {
  switch (s.kind) {
    case SK::let: {
      TRY(const Type type, type_of(s.values[0]));
      if (type == Type::none) return fault(s.values[0].offset, "this has no value");
      return declare(s.name, s.offset, {.type = type});
    }
    case SK::array: return local_array(s);
    case SK::assign: {
      TRY(Meaning* const target, meaning(s.name, s.offset, false));
      if (!target->is_writable) return fault(s.offset, "'" + s.name + "' counts a loop and is not assigned to");
      return expect(s.values[0], target->type, "the value");
    }
    case SK::store: return store(s);
    case SK::call: {
      TRY_VOID(type_of(s.values[0]));
      return {};
    }
    case SK::branch:
      TRY_VOID(expect(s.values[0], Type::boolean, "a condition"));
      TRY_VOID(statements(s.body));
      return statements(s.otherwise);
    case SK::loop: {
      TRY_VOID(expect(s.values[0], Type::boolean, "a condition"));
      ++loops_;
      TRY_VOID(statements(s.body));
      --loops_;
      return {};
    }
    case SK::count: return counted(s);
    case SK::leave:
    case SK::next: return loops_ > 0 ? Result<void>() : fault(s.offset, "there is no loop around this");
    case SK::give: return give(s);
  }
  return {};
}

Result<void> Checker::local_array(Statement& s) {
  Expression& size = s.values[0];
  TRY_VOID(expect(size, Type::i64, "a size"));
  if (size.kind != EK::number || size.number < 1 || size.number > kLocalElementsMax)
    return fault(size.offset, "the size of an array is a number from 1 to " + std::to_string(kLocalElementsMax));
  return declare(s.name, s.offset, {.type = s.element, .is_array = true});
}

Result<void> Checker::store(Statement& s) {
  TRY(Meaning* const array, meaning(s.name, s.offset, true));
  if (!array->is_writable) return fault(s.offset, "'" + s.name + "' is only read: declare it inout to write it");
  TRY_VOID(expect(s.values[0], Type::i64, "an index"));
  return expect(s.values[1], value_type(array->type), "an element");
}

Result<void> Checker::counted(Statement& s) {
  TRY_VOID(expect(s.values[0], Type::i64, "the first number"));
  TRY_VOID(expect(s.values[1], Type::i64, "the end"));
  TRY_VOID(declare(s.name, s.offset, {.is_writable = false}));
  ++loops_;
  TRY_VOID(statements(s.body));
  --loops_;
  names_.erase(s.name);
  scope_.pop_back();
  return {};
}

Result<void> Checker::give(Statement& s) {
  if (function_.result == Type::none)
    return s.values.empty() ? Result<void>() : fault(s.values[0].offset, "the function has no result: add -> i64");
  if (s.values.empty()) return fault(s.offset, "the function has a result, which is missing here");
  return expect(s.values[0], function_.result, "the result");
}

Result<void> Checker::expect(Expression& e, Type wanted, const char* what) {
  TRY(const Type type, type_of(e));
  if (type == wanted) return {};
  if (wanted == Type::f64 && is_literal(e)) return make_real(e), Result<void>();
  return fault(e.offset, std::string(what) + " is " + std::string(name_of(wanted)) + ", and this is " +
                             std::string(type == Type::none ? "no value" : name_of(type)) + conversion(e, wanted));
}

Result<Type> Checker::type_of(Expression& e) {
  const auto find = [&]() -> Result<Type> {
    switch (e.kind) {
      case EK::number: return Type::i64;
      case EK::real: return Type::f64;
      case EK::truth: return Type::boolean;
      case EK::name: return name(e);
      case EK::length: TRY_VOID(meaning(e.name, e.offset, true)); return Type::i64;
      case EK::element: {
        TRY(Meaning* const array, meaning(e.name, e.offset, true));
        TRY_VOID(expect(e.operands[0], Type::i64, "an index"));
        return value_type(array->type);
      }
      case EK::unary: return unary(e);
      case EK::binary: return binary(e);
      case EK::choice: return choice(e);
      case EK::call: return call(e);
    }
    return Type::none;
  };
  if (e.type != Type::none) return e.type;  // a call of a shared name looks at its first operand before the others
  TRY(e.type, find());
  return e.type;
}

/// "pi" is a constant unless the function gives the name a meaning.
Result<Type> Checker::name(Expression& e) {
  if (e.name == "pi" && names_.count(e.name) == 0) {
    e.kind = EK::real;
    e.number = bits_of(std::numbers::pi);
    return Type::f64;
  }
  TRY(Meaning* const found, meaning(e.name, e.offset, false));
  return found->type;
}

Result<void> Checker::adapt(Expression& e, Expression& beside) {
  if (!is_literal(e)) return {};
  TRY(const Type type, type_of(beside));
  if (type == Type::f64) make_real(e);
  return {};
}

/// Literal exponents are those of Powi.
Result<void> Checker::exponent(const Expression& e, Type base) {
  if (e.kind != EK::number) return {};
  if (base == Type::i64 && e.number < 0)
    return fault(e.offset, "an integer has no negative powers: write f64(..) around the base");
  if (e.number > expr::kPowiMax || e.number < -expr::kPowiMax)
    return fault(e.offset, "an integer exponent is at most 2^31: write it as a number of f64");
  return {};
}

Result<Type> Checker::unary(Expression& e) {
  const OperatorRow& row = row_of(e.op);
  TRY(const Type type, operand_type(e.operands[0], row.operands, "the operand"));
  return of_letter(row.result, type);
}

Result<Type> Checker::operand_type(Expression& e, char letter, const char* what) {
  const bool is_any = letter == 'n' || letter == 's';
  if (!is_any) {
    TRY_VOID(expect(e, of_letter(letter, Type::none), what));
    return e.type;
  }
  TRY(const Type type, type_of(e));
  if (type == Type::none) return fault(e.offset, "this has no value");
  if (letter == 'n' && type == Type::boolean)
    return fault(e.offset, std::string(what) + " is i64 or f64, and this is bool");
  return type;
}

Result<Type> Checker::binary(Expression& e) {
  const OperatorRow& row = row_of(e.op);
  const bool is_any = row.operands == 'n' || row.operands == 's';
  if (is_any) TRY_VOID(adapt(e.operands[0], e.operands[1]));
  if (e.op == Operator::Remainder) TRY_VOID(whole(e.operands[0]));
  TRY(const Type type, operand_type(e.operands[0], row.operands, "the left operand"));
  if (is_any && type == Type::i64) TRY_VOID(widened(e.operands[0], e.operands[1]));
  TRY_VOID(expect(e.operands[1], type, "the right operand"));
  if (e.op == Operator::Power) TRY_VOID(exponent(e.operands[1], type));
  return of_letter(row.result, type);
}

Result<void> Checker::whole(Expression& dividend) {
  TRY(const Type type, type_of(dividend));
  if (type != Type::f64) return {};
  return fault(dividend.offset, "% divides numbers of i64: fmod(a, b) and remainder(a, b) are for those of f64");
}

Result<void> Checker::widened(const Expression& left, Expression& right) {
  TRY(const Type type, type_of(right));
  if (type != Type::f64) return {};
  return fault(left.offset, "the right operand is f64, and this is i64" + conversion(left, Type::f64));
}

Result<Type> Checker::choice(Expression& e) {
  TRY_VOID(expect(e.operands[0], Type::boolean, "a condition"));
  TRY_VOID(adapt(e.operands[1], e.operands[2]));
  TRY(const Type type, type_of(e.operands[1]));
  if (type == Type::none) return fault(e.operands[1].offset, "this has no value");
  TRY_VOID(expect(e.operands[2], type, "the other value"));
  return type;
}

Result<Type> Checker::call(Expression& e) {
  const IntrinsicRow* const shared = shared_intrinsic(e.name);
  const Function* const callee = library_.find(e.name);
  const bool is_array = !e.operands.empty() && is_array_name(e.operands[0]);
  const bool looks = !is_array && (e.name == name_of(Type::i64) || shared != nullptr);
  if (looks && !e.operands.empty()) TRY_VOID(type_of(e.operands[0]));
  if (looks && shared != nullptr) TRY_VOID(adapt_first(e, *shared, callee == nullptr));
  if (const IntrinsicRow* row = intrinsic_of(e)) return intrinsic_call(e, *row);
  if (callee != nullptr) return call_of(e, *callee);
  if (shared != nullptr) return intrinsic_call(e, *shared);  // says what is wrong
  return fault(e.offset, std::string(kAbsentFunction) + e.name + "'");
}

/// An integer literal is the first operand of a function of f64 where another operand is f64, or no other function has
/// the name.
Result<void> Checker::adapt_first(Expression& call, const IntrinsicRow& row, bool is_only) {
  if (call.operands.empty() || row.operands[0] != 'd' || !is_literal(call.operands[0])) return {};
  if (is_only) make_real(call.operands[0]);
  for (std::size_t i = 1; i < call.operands.size(); ++i)
    if (!is_array_name(call.operands[i])) TRY_VOID(adapt(call.operands[0], call.operands[i]));
  return {};
}

bool Checker::is_array_name(const Expression& e) const {
  const auto found = e.kind == EK::name ? names_.find(e.name) : names_.end();
  return found != names_.end() && found->second.is_array;
}

Result<Type> Checker::intrinsic_call(Expression& e, const IntrinsicRow& row) {
  if (e.operands.size() != row.operands.size())
    return fault(e.offset, "'" + e.name + "' takes " + std::to_string(row.operands.size()) + " operands");
  const bool is_truth = row.id == Intrinsic::Integer && e.operands[0].type == Type::boolean;
  if (is_truth) return Type::i64;
  if (row.id == Intrinsic::Integer && is_literal(e.operands[0])) return fault(e.operands[0].offset, "this is an i64");
  if (row.id == Intrinsic::Choose) TRY_VOID(adapt(e.operands[1], e.operands[2]));
  Type same = Type::none;
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    const bool is_any = row.operands[i] == 'n' || row.operands[i] == 's';
    if (is_any && same != Type::none) TRY_VOID(expect(e.operands[i], same, "the other value"));
    TRY(const Type type, operand_type(e.operands[i], row.operands[i], "an operand"));
    if (is_any) same = type;
  }
  return of_letter(row.result, same);
}

Result<Type> Checker::call_of(Expression& e, const Function& callee) {
  if (e.operands.size() != callee.parameters.size())
    return fault(e.offset, "'" + e.name + "' takes " + std::to_string(callee.parameters.size()) + " arguments");
  for (std::size_t i = 0; i < e.operands.size(); ++i) TRY_VOID(argument(e.operands[i], callee.parameters[i]));
  TRY_VOID(arrays_apart(e, callee));
  return callee.result;
}

Result<void> Checker::argument(Expression& e, const Parameter& parameter) {
  if (!parameter.is_array()) return expect(e, value_type(parameter.type), "the argument");
  if (e.kind != EK::name) return fault(e.offset, "an array is passed by its name");
  TRY(Meaning* const array, meaning(e.name, e.offset, true));
  if (array->type != parameter.type)
    return fault(e.offset, "'" + parameter.name + "' has elements of type " + std::string(name_of(parameter.type)));
  if (parameter.passing != Passing::in && !array->is_writable)
    return fault(e.offset, "'" + e.name + "' is only read, and this call writes it");
  return {};
}

Result<void> Checker::arrays_apart(const Expression& call, const Function& callee) const {
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Passing passing = callee.parameters[i].passing;
    if (passing != Passing::out && passing != Passing::inout) continue;
    for (std::size_t j = 0; j < call.operands.size(); ++j)
      if (j != i && callee.parameters[j].is_array() && call.operands[j].name == call.operands[i].name)
        return fault(call.operands[j].offset, "an array that is written is passed twice");
  }
  return {};
}

Result<void> Checker::check_value(const Argument& value, Type type, bool is_array, std::uint32_t offset) const {
  if (value.is_array != is_array) return fault(offset, is_array ? "a list is wanted here" : "a single value is wanted");
  if (value.is_truth != (type == Type::boolean && !is_array)) return fault(offset, "truths are written true and false");
  const bool is_real = type == Type::f64, is_empty = value.is_array && value.elements.empty();
  if (value.is_real != is_real && !is_empty)
    return fault(offset, is_real ? "numbers of f64 are written with a point, as 1.0" : "an integer is wanted here");
  const auto is_byte = [](std::int64_t v) { return v >= 0 && v <= 255; };
  if (is_array && type == Type::u8 && !std::all_of(value.elements.begin(), value.elements.end(), is_byte))
    return fault(offset, "elements of type u8 are from 0 to 255");
  if (value.is_text && type != Type::u8) return fault(offset, "a text in quotes is an array of u8");
  return {};
}

Result<void> Checker::test(const Case& test) const {
  if (test.arguments.size() != function_.parameters.size())
    return fault(test.offset, "the function takes " + std::to_string(function_.parameters.size()) + " arguments");
  for (std::size_t i = 0; i < test.arguments.size(); ++i) {
    const Parameter& p = function_.parameters[i];
    TRY_VOID(check_value(test.arguments[i], p.type, p.is_array(), test.offset));
  }
  if (test.result.has_value() != (function_.result != Type::none) && !test.failure)
    return fault(test.offset, test.result ? "the function has no result" : "the result is missing");
  if (test.result) TRY_VOID(check_value(*test.result, function_.result, false, test.offset));
  for (const Case::After& after : test.after) {
    const auto found = function_.parameter(after.name);
    if (!found || !function_.parameters[*found].is_array() || function_.parameters[*found].passing == Passing::in)
      return fault(test.offset, "'" + after.name + "' is no array that the function writes");
    TRY_VOID(check_value(after.value, function_.parameters[*found].type, true, test.offset));
  }
  if (!test.result && !test.failure && test.after.empty()) return fault(test.offset, "the test expects nothing");
  return {};
}

}  // namespace

Result<void> check(Function& function, const Library& library) {
  return Checker(function, library).run();
}

}  // namespace trident::function
