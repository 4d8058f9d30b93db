// Function names and their meanings: one hash table built at compile time from ops.def and
// functions.def.
#pragma once

#include <string>
#include <string_view>

#include "jit/expr/expr.h"

namespace trident::expr {

/// A function name stands for an op, or for a form that the composer builds from ops.
enum class Form : std::uint8_t {
  Op,
  Square,
  Clamp,
  Fdim,
  Remainder,
  IsNan,
  IsInf,
  IsFinite,
  IsNormal,
  SignBit,
  Any,
  All,
  First,
  Var,
  Std,
  Missing,  ///< known, but there is no kernel code for it
};

struct Function {
  std::string_view name;
  Form form = Form::Op;
  Op op = Op::Constant;
};

/// Returns the hash that find_function takes; parsers compute it while they scan.
constexpr std::uint32_t hash_name(std::string_view name) {
  std::uint32_t h = 0x811C'9DC5u;
  for (char c : name) h = (h ^ static_cast<std::uint8_t>(c)) * 0x0100'0193u;
  return h ^ (h >> 15);
}

/// nullptr when there is no such function.
const Function* find_function(std::string_view name, std::uint32_t hash);
/// Returns the error of a call of a function that there is not: with a name that is near, or those of types.
std::string unknown_function(std::string_view name);
/// Returns the number of operands that `form` or `op` takes; min, max and the like fold more.
std::uint32_t arity_of(const Function& function);

}  // namespace trident::expr
