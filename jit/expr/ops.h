// The table of ops as data: enum Op, the facts of a row, and the smaller enums that switches are written over.
//
// A fact about ops stands here once, as a column of ops.def, and is read by info(op). What is no fact but an algorithm
// is a switch with an arm for each op: over Op, or over RealOp or IntegerOp where only these have a meaning. The
// compiler names the arms that a new op lacks; tests/tidy refuses lists of ops anywhere else.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "runtime/base/check.h"

namespace trident::expr {

enum class Op : std::uint8_t {
#define X(id, Name, ...) Name = id,
#include "jit/expr/ops.def"
#undef X
};

/// The ops that are functions of floats: rows with a Value. The numbers are those of Op.
enum class RealOp : std::uint8_t {
#define REAL_ROW(Name, id) Name = id,
#define REAL_C1(f) REAL_ROW
#define REAL_C2(f) REAL_ROW
#define REAL_C3(f) REAL_ROW
#define REAL_Formula(...) REAL_ROW
#define REAL_None(Name, id)
#define X(id, Name, text, arity, signature, types, kind, value, ...) REAL_##value(Name, id)
#include "jit/expr/ops.def"
#undef X
#undef REAL_ROW
#undef REAL_C1
#undef REAL_C2
#undef REAL_C3
#undef REAL_Formula
#undef REAL_None
};

/// The ops that are functions of integers: rows of signature Same and of types N, I or B. The numbers are those of Op.
enum class IntegerOp : std::uint8_t {
#define INTEGER_Same_N(Name, id) Name = id,
#define INTEGER_Same_I(Name, id) Name = id,
#define INTEGER_Same_B(Name, id) Name = id,
#define INTEGER_Same_F(Name, id)
#define INTEGER_Leaf_N(Name, id)
#define INTEGER_Leaf_I(Name, id)
#define INTEGER_Compare_N(Name, id)
#define INTEGER_Select_N(Name, id)
#define INTEGER_Convert_A(Name, id)
#define INTEGER_Reduce_N(Name, id)
#define INTEGER_Reduce_F(Name, id)
#define INTEGER_Reduce2_N(Name, id)
#define INTEGER_Locate_N(Name, id)
#define INTEGER_Diff_F(Name, id)
#define INTEGER_Read_N(Name, id)
#define X(id, Name, text, arity, signature, types, ...) INTEGER_##signature##_##types(Name, id)
#include "jit/expr/ops.def"
#undef X
#undef INTEGER_Same_N
#undef INTEGER_Same_I
#undef INTEGER_Same_B
#undef INTEGER_Same_F
#undef INTEGER_Leaf_N
#undef INTEGER_Leaf_I
#undef INTEGER_Compare_N
#undef INTEGER_Select_N
#undef INTEGER_Convert_A
#undef INTEGER_Reduce_N
#undef INTEGER_Reduce_F
#undef INTEGER_Reduce2_N
#undef INTEGER_Locate_N
#undef INTEGER_Diff_F
#undef INTEGER_Read_N
};

enum class Signature : std::uint8_t { Leaf, Same, Compare, Select, Convert, Reduce, Reduce2, Diff, Read, Locate };
enum class Types : std::uint8_t { N, F, I, B, A };
enum class Course : std::uint8_t { Ends, Corners, Other };
/// One row of kinds.def.
enum class NodeKind : std::uint8_t {
#define X(Name, meaning) Name,
#include "jit/expr/kinds.def"
#undef X
};

/// How tightly an operator of the infix form binds, from loose to tight (infix.cpp). A function call is `primary`.
enum class Level : std::uint8_t {
  any,
  or_or,
  and_and,
  comparison,
  bit_or,
  bit_xor,
  bit_and,
  shift,
  sum,
  product,
  unary,
  power,
  primary
};
/// The strict value of the op on floats is the real value, that value correctly rounded, or an approximation.
enum class Rounding : std::uint8_t { exact, correct, approximate };
/// f(-a) is -f(a) or f(a); with two operands, for each of them.
enum class Parity : std::uint8_t { neither, odd, even };
/// The first two operands may change places: over the reals only, or to the last bit.
enum class Commutes : std::uint8_t { no, over_reals, in_bits };
/// A kink is continuous and has no derivative there; a step jumps, where some operand meets an integer or zero.
enum class Continuity : std::uint8_t { smooth, kink, step };
/// Where the op is a number: for all a, for a >= 0 (or > 0), for a >= -1, for |a| <= 1, for a >= 1.
enum class Domain : std::uint8_t { all, from_zero, from_minus_one, within_one, from_one };
/// At a = 0: the derivative is infinite (of a power, for some exponents), or the value is.
enum class AtZero : std::uint8_t { regular, steep, pole };
/// Which operands make the value zero over the reals: others than these, none, a = 0 alone, a = 1 alone.
enum class Zeros : std::uint8_t { elsewhere, never, with_operand, at_one };
/// Which operand's sign the value depends on where that operand is zero, and is not small itself.
enum class ZeroSignRead : std::uint8_t { none, first, second, both };
/// Which identities the op has: the constructor of jit/expr/simplifier.h that knows them.
enum class Identities : std::uint8_t {
  unchanged,
  constant,
  add,
  sub,
  mul,
  div,
  recip,
  neg,
  abs,
  extremum,
  sqrt,
  hypot,
  pow,
  powi,
  integral,
  copysign,
  select,
  logic
};
/// How a bound e of an operand's error becomes a bound of the result's, with the row's factor k: jit/equiv/tracked.h,
/// big_error.cpp.
enum class Propagation : std::uint8_t {
  unbounded,            ///< no bound is stated
  flat,                 ///< 0, on one side of a step
  proportional,         ///< k e
  relative,             ///< k e |f(a)| / |a|
  logarithmic,          ///< k e / the distance of a to the end of the domain
  exponential,          ///< e |f(a)|
  shifted_exponential,  ///< e (|f(a)| + 1)
  root_at_one,          ///< k e / sqrt(|1 - a^2|)
  pole_at_one,          ///< k e / (1 - a^2)
  tangent,
  tail,  ///< k e; where the function falls like exp(-a^2), that much less
  additive,
  bilinear,  ///< a product of the first two operands, and the third is added
  quotient,
  extreme,  ///< that of the operand which is the result
  base_and_exponent,
  angle,
  remainder
};

/// Traits, as bits.
inline constexpr std::uint16_t kAssociative = 1;     ///< over the reals; texts take more than two operands
inline constexpr std::uint16_t kLinear = 2;          ///< the derivative needs no operand's value
inline constexpr std::uint16_t kRational = 4;        ///< a rational function on each side of its kinks
inline constexpr std::uint16_t kCancels = 8;         ///< a sum: it loses digits where its terms nearly cancel
inline constexpr std::uint16_t kSignOnly = 16;       ///< the value is the first operand or its negative
inline constexpr std::uint16_t kPeriodic = 32;       ///< in a
inline constexpr std::uint16_t kNeverNegative = 64;  ///< whatever the operands are
inline constexpr std::uint16_t kLikeOperand = 128;   ///< f(a) / a tends to 1 at zero: doubles do not tell f(a) from a
inline constexpr std::uint16_t kKeepsSmall = 256;  ///< does not underflow: exp(-1e4) is no zero, though doubles say so
inline constexpr std::uint16_t kSaturates = 512;   ///< beyond |a| = 80 it is constant, zero or infinite in f32

/// Outcomes of a comparison, as bits.
inline constexpr std::uint8_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

/// One row of ops.def.
struct OpInfo {
  std::string_view text;
  std::uint8_t arity = 0;
  Signature signature = Signature::Leaf;
  Types types = Types::A;
  NodeKind kind = NodeKind::Number;
  Course course = Course::Other;
  bool is_real = false;           ///< it is one of RealOp
  std::string_view c_function{};  ///< of <cmath>, for doubles; empty when none computes it alone
  std::string_view meaning{};
  std::string_view symbol{};  ///< of the infix form, for numbers; empty: it is written as a function call
  Level level = Level::primary;
  /// How C writes the op where it is neither a call of `c_function` nor the symbol between its operands. $a, $b and $c
  /// are operands, $t is the node's type, $u the cast to that integer's unsigned type, $w its width less one, $1 the
  /// number one, $f the suffix of functions.
  std::string_view c{};
  std::string_view c_of_integers{};           ///< where that differs
  Rounding rounding = Rounding::approximate;  ///< a row that forgets it is trusted less, not more
  Parity parity = Parity::neither;
  Commutes commutes = Commutes::no;
  Continuity continuity = Continuity::smooth;
  Domain domain = Domain::all;
  AtZero at_zero = AtZero::regular;
  Zeros zeros = Zeros::elsewhere;
  ZeroSignRead zero_sign_read = ZeroSignRead::none;
  /// The greatest |a| up to which the condition number |a f'(a) / f(a)| is at most about 2; 0: nothing is said.
  double well_conditioned_to = 0;
  Identities identities = Identities::unchanged;
  Propagation propagation = Propagation::unbounded;
  double factor = 1;  ///< of the propagation
  std::uint16_t traits = 0;
  std::uint8_t holds = 0;       ///< of a comparison: for which outcomes it is true
  Op joined_by = Op::Constant;  ///< of a reduction: the op that joins its elements
};

inline constexpr std::uint32_t kOpCount = 0
#define X(...) +1
#include "jit/expr/ops.def"
#undef X
    ;

inline constexpr std::array<OpInfo, kOpCount> kOpInfos = [] {
  using enum Level;
  using enum Rounding;
  using enum Parity;
  using enum Commutes;
  using enum Continuity;
  using enum Domain;
  using enum AtZero;
  using enum Zeros;
  using enum ZeroSignRead;
  using enum Identities;
  using enum Propagation;
  constexpr double kEverywhere = std::numeric_limits<double>::infinity();
#define C1(f) true, .c_function = #f
#define C2(f) true, .c_function = #f
#define C3(f) true, .c_function = #f
#define Formula(...) true
#define None false
#define X(id, Name, text_, arity_, signature_, types_, kind_, value, course_, meaning_, ...) \
  OpInfo{.text = text_,                                                                      \
         .arity = arity_,                                                                    \
         .signature = Signature::signature_,                                                 \
         .types = Types::types_,                                                             \
         .kind = NodeKind::kind_,                                                            \
         .course = Course::course_,                                                          \
         .is_real = value,                                                                   \
         .meaning = meaning_,                                                                \
         __VA_ARGS__},
  return std::array<OpInfo, kOpCount>{
#include "jit/expr/ops.def"
  };
#undef X
#undef C1
#undef C2
#undef C3
#undef Formula
#undef None
}();

constexpr const OpInfo& info(Op op) {
  return kOpInfos[static_cast<std::size_t>(op)];
}

constexpr RealOp real_op(Op op) {
  CHECK(info(op).is_real);
  return static_cast<RealOp>(op);
}

constexpr bool is_integer_op(Op op) {
  const OpInfo& row = info(op);
  return row.signature == Signature::Same && row.types != Types::F && row.types != Types::A;
}
constexpr IntegerOp integer_op(Op op) {
  CHECK(is_integer_op(op));
  return static_cast<IntegerOp>(op);
}

// --- facts by op, for those that are asked often ---

constexpr bool has(Op op, std::uint16_t trait) {
  return (info(op).traits & trait) != 0;
}
/// Its value jumps: floor and its kin, fmod, copysign, sign.
constexpr bool is_step(Op op) {
  return info(op).continuity == Continuity::step;
}
/// Floor, ceil, round, rint, trunc.
constexpr bool rounds_to_integer(Op op) {
  return info(op).kind == NodeKind::Rounding;
}
/// Add, sub, mul: also of integers, which they do not leave.
constexpr bool is_ring_op(Op op) {
  return info(op).rounding == Rounding::correct && info(op).types == Types::N;
}
/// And, or, xor, not: on truth values or on bits.
constexpr bool is_logic(Op op) {
  return info(op).types == Types::B;
}
/// Its value rises or falls throughout its domain in each of its operands.
constexpr bool is_monotone(Op op) {
  return info(op).course != Course::Other && info(op).parity != Parity::even;
}
constexpr bool reads_zero_sign_of_first(Op op) {
  const ZeroSignRead read = info(op).zero_sign_read;
  return read == ZeroSignRead::first || read == ZeroSignRead::both;
}
constexpr bool reads_zero_sign_of_second(Op op) {
  const ZeroSignRead read = info(op).zero_sign_read;
  return read == ZeroSignRead::second || read == ZeroSignRead::both;
}

/// The least and the greatest a that the op is defined for.
struct DomainEnds {
  double least, greatest;
};
constexpr DomainEnds domain_of(Op op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (info(op).domain) {
    case Domain::all: return {-kInfinity, kInfinity};
    case Domain::from_zero: return {0, kInfinity};
    case Domain::from_minus_one: return {-1, kInfinity};
    case Domain::within_one: return {-1, 1};
    case Domain::from_one: return {1, kInfinity};
  }
  CHECK(false);
}

/// How two values compare, as a bit of OpInfo::holds.
constexpr std::uint8_t outcome_of(bool less, bool equal, bool ordered) {
  return less ? kLess : equal ? kEqual : ordered ? kGreater : kUnordered;
}
/// Whether a comparison is true of that outcome.
constexpr bool holds(Op comparison, std::uint8_t outcome) {
  return (info(comparison).holds & outcome) != 0;
}

}  // namespace trident::expr
