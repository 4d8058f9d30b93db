// Front end 1: pure expressions over arrays. A DAG of scalar ops applied element by element, with several outputs,
// reductions to scalars, scalar parameters, and declared ranges of the variables.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/expr/ops.h"
#include "jit/ir/storage.h"
#include "jit/ir/type.h"
#include "jit/kir/kir.h"
#include "jit/kir/math/math.h"
#include "runtime/base/id.h"
#include "runtime/base/result.h"

namespace trident::expr {

using ir::Storage;
using ir::Type;

struct NodeTag;
/// Node number `index`; operands always have a smaller index than their user, so the graph is a DAG by construction.
using NodeId = Id<NodeTag>;

/// The greatest magnitude of an exponent of Powi.
inline constexpr std::int64_t kPowiMax = std::int64_t{1} << 31;

struct Node {
  Op op = Op::Constant;
  Type type = Type::f64;
  NodeId a, b, c;
  std::uint64_t imm = 0;  ///< Constant: bits of one lane; Variable: index; Powi: exponent (two's complement)
};

/// The numbers are those of the wire and of trident.h.
enum class VariableKind : std::uint8_t {
  array,   ///< one value per element
  scalar,  ///< a parameter: one value per call
  table,   ///< an array of a length of its own, which Gather and Strided read and nothing else
};

struct Variable {
  std::string name;
  Type type = Type::f64;
  VariableKind kind = VariableKind::array;
  [[nodiscard]] bool is_scalar() const { return kind == VariableKind::scalar; }
  [[nodiscard]] bool is_table() const { return kind == VariableKind::table; }
  /// The client's promise: every value lies in [lo, hi] and is not NaN (but for or_nan), unless both ends are infinite,
  /// which means anything, NaN included. Results for values outside are unspecified (but never a crash).
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  Storage storage = Storage::own;   ///< how an array keeps its elements; scalars and tables keep values
  Storage declared = Storage::own;  ///< the type that callers give a scalar in; nodes that read it wrap its value to it
  bool or_nan = false;  ///< floats with a range: values may be NaN too. No promise says so, only assumptions
  [[nodiscard]] bool has_range() const {
    return lo != -std::numeric_limits<double>::infinity() || hi != std::numeric_limits<double>::infinity();
  }
};

struct Output {
  std::string name;
  NodeId node;
  Storage storage = Storage::own;  ///< how an array keeps its elements; the value is one that the storage holds, or f32
                                   ///< for f16; results of reductions are values
};

/// Outputs travel as the number of their node, and their storage in the upper byte.
inline constexpr std::uint32_t kStorageShift = 24;
inline std::uint32_t output_word(const Output& output) {
  return output.node.index | static_cast<std::uint32_t>(output.storage) << kStorageShift;
}
/// Nothing for a word that names no storage.
inline std::optional<Output> output_of_word(std::string name, std::uint32_t word) {
  if (word >> kStorageShift >= ir::kStorageCount) return std::nullopt;
  const NodeId node(word & ((1u << kStorageShift) - 1));
  return Output{std::move(name), node, static_cast<Storage>(word >> kStorageShift)};
}

struct Expr {
  std::vector<Node> nodes;
  std::vector<Variable> variables;  ///< in the order of declaration
  std::vector<Output> outputs;
  [[nodiscard]] const Node& at(NodeId id) const { return nodes[id.index]; }
};

/// The parameters of a call, in order: the scalars as declared, then for each table "t" its length "t.length", an i64.
std::vector<Variable> parameters_of(const std::vector<Variable>& variables);
inline constexpr std::string_view kLengthSuffix = ".length";

// --- text ---

struct ParseOptions {
  Type type = Type::f64;             ///< of variables and literals that do not say (f32 or f64)
  std::vector<Variable> variables;   ///< declared beforehand, in order; an undeclared name becomes an array of `type`
  std::string_view file = "<text>";  ///< named in errors
};
/// True if a text can name a variable so: in the infix form, or (`brackets`) in a bracket form, which takes more.
bool is_name(std::string_view text, bool brackets);
/// Infix: "t = a + b; sin(t) * 2", "let t = a + b in ...", several outputs "y = ...; dy = diff(y, x); (y, dy)".
Result<Expr> parse_infix(std::string_view text, const ParseOptions& options = {});
/// S-expressions as in bench/corpus: "(let* ((t (+ a b))) (* 2 (sin t)))".
Result<Expr> parse_sexpr(std::string_view text, const ParseOptions& options = {});
/// FPCore 2.0, preconditions as ranges: "(FPCore (x) :pre (<= 0 x 1) (sqrt x))".
Result<Expr> parse_fpcore(std::string_view text, const ParseOptions& options = {});
/// Picks the syntax by the first characters.
Result<Expr> parse(std::string_view text, const ParseOptions& options = {});

std::string print_infix(const Expr& expr);
std::string print_sexpr(const Expr& expr);
std::string print_dot(const Expr& expr);

// --- meaning ---

/// Errors say why `expr` is not well-formed (types, operand order, limits), or nothing.
Result<void> check(const Expr& expr);

/// Returns a form that equal expressions share whatever their names, node order and syntax: nodes numbered by a fixed
/// traversal from the outputs, variables in declaration order. The cache key hashes it.
std::vector<std::byte> canonical_bytes(const Expr& expr);

/// Replaces every Diff by derivatives (reverse mode where several variables of one output are asked for).
Result<Expr> eliminate_derivatives(const Expr& expr);
bool has_derivatives(const Expr& expr);

enum class PolicyKind : std::uint8_t { exact, bounded, fast };
struct Policy {
  PolicyKind kind = PolicyKind::bounded;
  double k = 2;  ///< bounded(k)
};

/// Roots and quotients of f32 that become an estimate and one step (kir/estimates.h). The operand of a root may be
/// about to turn negative, where a last bit decides whether there is a result: the last ones are below no root.
struct Estimates {
  enum class Which : std::uint8_t { last, all };
  static constexpr std::uint8_t kAllQuotients = 8;
  std::uint8_t bits = 0;  ///< of the processor's estimates (codegen::estimate_bits); 0: there are none
  Which which = Which::all;
  std::uint8_t quotients = kAllQuotients;  ///< eighths of the quotients, spread evenly; the divider does the others

  [[nodiscard]] bool any() const { return bits != 0; }
};

struct LowerOptions {
  Policy policy;
  bool simplify = true;  ///< identities that the policy allows; the baseline tier and the interpreter switch it off
  kir::math::Accuracy accuracy = kir::math::Accuracy::ulp1;
  bool checked = false;  ///< the expression has passed check(), or comes from a parser: lower() does not ask again
  bool join_divisions = false;  ///< simplify() makes one division of two (joined_divisions.h)
  Estimates estimates{};
  bool narrow = false;          ///< leave out operations that the ranges make idle; every bit stays (kir/narrow.h)
  bool share_divisors = false;  ///< f64 quotients by one divisor through its reciprocal (shared_divisors.h)
  bool converts_longs = true;   ///< the processor has conversions between i64 and floats; `narrow` avoids them else

  /// True if each op is as accurate as in the baseline tier.
  [[nodiscard]] bool is_as_accurate() const {
    return accuracy == kir::math::Accuracy::ulp1 && !estimates.any() && !share_divisors;
  }
};
/// Lowers to kir. Inputs are the arrays and tables in order, params as parameters_of() says, outputs as in `expr`.
Result<kir::Kernel> lower(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
