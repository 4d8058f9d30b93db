// Everything that the text forms share below their grammar: names and their scopes, operand types, and the nodes that
// operators and functions stand for. A parser reads its syntax and tells the composer what it saw. The composer builds
// the Expr or remembers the first error, which points into the text.
//
// Types. A literal has no type of its own: it takes the type of the value that it meets ("2 * x" is f32 when x is), and
// so does a tree made of literals only ("x * (1 / 2.2)" divides in the type of x). Among integers its value must fit
// that type: "i < 50000 * 50000" is refused where i is i32 (literal_values.h). Literals that meet nothing take
// ParseOptions::type. Otherwise the wider operand wins as in NumPy: f32 with f64 gives f64, i32 with i64 gives i64,
// integers with floats give f64 (an i64 beyond 2^53 is rounded there), and a comparison used as a number gives 0 or 1.
// Functions of reals take integers as f64, but functions from integers to integers stay exact: floor and the like
// change nothing; fma, fdim, copysign and powers are exact. Integers have no division and no remainder.
//
// The files: composer.cpp names, nodes, literals; composer_operators.cpp types of operands, operators;
// composer_functions.cpp functions.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/expr.h"
#include "jit/expr/functions.h"
#include "jit/expr/literal_values.h"
#include "jit/expr/narrow_casts.h"
#include "jit/expr/shape.h"
#include "jit/ir/text.h"

namespace trident::expr {

/// A node as a parser sees it, small enough to pass around by value.
struct Value {
  NodeId id;
  std::uint32_t offset = 0;         ///< of the text it came from
  std::uint16_t literal_depth = 0;  ///< > 0: a tree of literals only, this deep, whose type is not settled
  bool integral = false;            ///< with literal_depth: it may become an integer
  bool bare = false;                ///< with literal_depth: a single number, perhaps negated
  bool beyond_i32 = false;  ///< with literal_depth: has an integer that an i32 holds neither as value nor as bits
  Storage storage = Storage::own;  ///< an output of it keeps its elements so: a narrow cast was its last operation
};

/// A number as the lexers read it.
struct Number {
  double value = 0;
  std::int64_t integer = 0;  ///< when `integral`: the exact value
  bool integral = false;     ///< written without point or exponent, and fits i64
  bool wraps = false;        ///< hexadecimal from 2^63 on: `integer` has its bits, `value` its value as a float
  bool hexadecimal = false;  ///< with `integral`: bits, of which an i32 takes 32
};

/// A number that texts call by a name.
struct NamedConstant {
  std::string_view name;
  double value;
};
/// Returns null for a name that is not among them.
inline const NamedConstant* find_constant(std::span<const NamedConstant> constants, std::string_view name) {
  const auto found = std::ranges::find(constants, name, &NamedConstant::name);
  return found == constants.end() ? nullptr : &*found;
}

class Composer {
 public:
  /// `source` and the names in `options` must outlive the composer.
  Composer(Expr& expr, const ParseOptions& options, const ir::SourceText& source);

  // --- errors: the first one counts; everything returns an invalid Value after it ---
  [[gnu::format(printf, 4, 5)]] Value fail(std::size_t offset, ErrorCode code, const char* format, ...);
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] Error take_error() { return std::move(error_); }

  // --- names ---
  /// The value bound to `name`: a local, a variable, a constant such as pi, or a new array variable.
  Value use(std::string_view name, std::uint32_t hash, std::size_t offset);
  /// Does as use(), but a name without a meaning becomes a table.
  Value use_table(std::string_view name, std::uint32_t hash, std::size_t offset);
  /// Returns whether `name` is bound by now (constants such as pi do not count).
  [[nodiscard]] bool bound(std::string_view name, std::uint32_t hash);
  void bind(std::string_view name, std::uint32_t hash, Value value);
  [[nodiscard]] std::size_t scope() const { return shadowed_.size(); }
  /// Ends the bindings made since scope() returned `mark`.
  void leave_scope(std::size_t mark);
  /// Declares a variable; one that ParseOptions declared already may be repeated with the same type.
  Value declare(const Variable& variable, std::string_view name, std::size_t offset);
  /// "x:f32": gives the variable `value` its type, at the use that made it only.
  Value annotate(Value value, Type type, std::size_t offset);

  // --- values ---
  Value number(const Number& number, std::size_t offset);
  Value truth(bool value, std::size_t offset);
  Value call(const Function& function, std::span<const Value> arguments, std::size_t offset);
  Value unary(Op op, Value a, std::size_t offset);
  /// -a, where -2 is a number and not an operation on one.
  Value negate(Value a, std::size_t offset);
  Value binary(Op op, Value a, Value b, std::size_t offset);
  Value ternary(Op op, Value a, Value b, Value c, std::size_t offset);
  /// a ^ b as the infix operator means it: Powi for a literal integer, integer_power.h for two integers, else Pow.
  Value power(Value a, Value b, std::size_t offset);
  /// &&, ||: numbers count as true when they are not 0.
  Value logical(Op op, Value a, Value b, std::size_t offset);
  Value logical_not(Value a, std::size_t offset);
  Value cast(Type type, Value a, std::size_t offset);
  /// The casts of narrow_casts.h, such as u8(a).
  Value narrow_cast(const NarrowCast& cast, std::span<const Value> arguments, std::size_t offset);
  Value diff(Value e, Value x, std::size_t offset);
  /// Gather and Strided: a table, and numbers of its elements.
  Value read(Op op, std::span<const Value> arguments, std::size_t offset);
  /// Returns `a` with its type settled, as an output or a binding of a fixed type needs it.
  Value settle(Value a);
  /// Returns the number `value`, which takes the type of what it meets.
  Value literal(double value, std::size_t offset);
  Value as_bool(Value a);
  /// Returns whether a literal tree is a single number.
  [[nodiscard]] bool is_number(Value a) const { return a.bare; }
  [[nodiscard]] double number_of(Value a) const;

  void output(std::string_view name, Value value);

  [[nodiscard]] Type type_of(Value v) const { return builder_.type_of(v.id); }
  [[nodiscard]] Builder& builder() { return builder_; }
  [[nodiscard]] Expr& expr() { return builder_.expr(); }
  [[nodiscard]] const Expr& expr() const { return builder_.expr(); }
  [[nodiscard]] Type default_type() const { return default_type_; }
  void set_default_type(Type type) { default_type_ = type; }

 private:
  struct Name {
    std::string_view text;
    std::uint32_t hash;
    Value value;  // invalid id: not bound now
  };
  struct Shadowed {
    std::uint32_t name;
    Value value;
  };

  Name& name(std::string_view text, std::uint32_t hash);
  Value add(const Node& node, std::size_t offset);
  bool update_places();
  [[nodiscard]] bool is_table(NodeId id) const;
  bool reads_tables_only(const Node& node, std::size_t offset);
  Value build(Op op, Value a, Value b, Value c, std::size_t offset);
  bool unify(std::span<Value> operands, Op op, std::size_t offset);
  bool to_float(std::span<Value> operands, Op op, std::size_t offset);
  bool to_integer(std::span<Value> operands, Op op);
  bool bits_operands(std::span<Value> operands, Op op, std::size_t offset);
  Value convert(Value a, Type type);
  Value typed(Value a, Type type);
  NodeId retype(NodeId id, Type type);
  /// Returns `a` as an operand: what f16() has rounded for a store is rounded here.
  Value whole(Value a) { return a.storage == Storage::f16 && !failed_ ? rounded_to_f16(a) : a; }
  Value rounded_to_f16(Value a);
  Value declare_narrow_scalar(Variable variable, std::string_view text, std::size_t offset);
  Value declare_again(const Variable& variable, Name& n, std::size_t offset);
  [[nodiscard]] Variable* declared_by_caller(const Name& n);
  bool meet_values(Variable& variable, std::size_t offset);
  Value fold(Op op, std::span<const Value> arguments, std::size_t offset);
  Value form(Form form, std::span<const Value> arguments, std::size_t offset);
  Value variance(std::span<const Value> arguments, std::size_t offset);
  Value truth_of_all(Op extreme, Value a, std::size_t offset);
  Value first_of_all(Value a, std::size_t offset);
  Value count_of_all(std::size_t offset);
  Value copysign(Value x, Value y, std::size_t offset);
  Value remainder(Value x, Value y, std::size_t offset);
  /// Returns the number that the constant `id` was written as.
  [[nodiscard]] double literal_value(NodeId id) const;
  [[nodiscard]] bool wraps(NodeId id) const;

  Builder builder_;
  LiteralValues literal_values_{builder_};
  const ir::SourceText& source_;
  Type default_type_;
  std::uint32_t declared_count_ = 0;  // variables that ParseOptions declared
  std::vector<NodeId> first_values_;  // of those
  bool has_tables_ = false;
  bool follows_places_ = false;  // places matter only with reductions and strided reads, and are
  std::vector<Place> places_;    // followed from the first one on: of every node
  std::vector<Name> names_;
  std::vector<std::uint16_t> name_slots_;  // open addressing over names_: index + 1
  std::vector<Shadowed> shadowed_;
  std::vector<std::uint32_t> retyped_[4];          // per numeric type: node -> node + 1
  std::unordered_map<std::uint32_t, bool> wraps_;  // i64 constants below -2^53: whether written in hexadecimal
  static constexpr std::size_t kNoUse = static_cast<std::size_t>(-1);
  std::size_t first_use_ = kNoUse;  // where the newest undeclared variable was met
  bool failed_ = false;
  Error error_{};
};

}  // namespace trident::expr
