// Words that the language has itself: functions, and the facts of operators.
#pragma once

#include <cstdint>
#include <string_view>

#include "jit/function/function.h"

namespace trident::function {

enum class Intrinsic : std::uint8_t {
#define X(name, text, operands, result, meaning) name,
#include "jit/function/intrinsics.def"
#undef X
};
struct IntrinsicRow {
  Intrinsic id;
  std::string_view text;
  std::uint8_t operands;
  Type result;
};
/// Null when the language has no such function.
const IntrinsicRow* intrinsic(std::string_view name);

struct OperatorRow {
  Operator op;
  std::string_view text;
  int level;      ///< binary: the greater, the tighter it binds; 0: unary
  char operands;  ///< i: i64; b: bool; s: two of one type
  Type result;
};
const OperatorRow& row_of(Operator op);
/// Null when there is none of that text.
const OperatorRow* operator_of(std::string_view text, bool is_binary);

}  // namespace trident::function
