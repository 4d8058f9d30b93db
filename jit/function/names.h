// Words that the language has itself: functions, and the facts of operators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/function/function.h"

namespace trident::function {

enum class Intrinsic : std::uint8_t {
#define X(name, text, operands, result, of, meaning) name,
#include "jit/function/intrinsics.def"
#undef X
  Formula,  ///< one of formulas.def
};
struct IntrinsicRow {
  Intrinsic id;
  std::string_view text;
  std::string_view operands;  ///< i: i64; d: f64; b: bool; n: i64 or f64; s: any; those of n and s of one type
  char result;                ///< likewise
  bool is_shared;             ///< a function of the library may have the name too
};
/// Returns the row of a function that only the language has; null when it has none of that name.
const IntrinsicRow* intrinsic(std::string_view name);
/// Returns the row of a function that the language has for one type of first operand and perhaps the library for
/// another.
const IntrinsicRow* shared_intrinsic(std::string_view name);
/// Returns whether the first operand of a shared function is of `type`.
bool begins_with(const IntrinsicRow& row, Type type);
/// Returns what a call whose operands have types is a call of; null where that is a function of a library.
const IntrinsicRow* intrinsic_of(const Expression& call);
/// Returns the names of functions that the language has itself.
std::vector<std::string> intrinsic_names();
/// Begins the error of a call whose function is absent; the name and a quote follow.
inline constexpr std::string_view kAbsentFunction = "there is no function '";

struct OperatorRow {
  Operator op;
  std::string_view text;
  int level;      ///< binary: the greater, the tighter it binds; 0: unary
  char operands;  ///< i: i64; b: bool; n: i64 or f64, both of one type; s: two of any one type
  char result;    ///< i, b, or n: the operands'
};
const OperatorRow& row_of(Operator op);
/// Null when there is none of that text.
const OperatorRow* operator_of(std::string_view text, bool is_binary);

}  // namespace trident::function
