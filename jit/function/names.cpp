#include "jit/function/names.h"

namespace trident::function {
namespace {

constexpr Type type_of(char letter) {
  return letter == 'b' ? Type::boolean : Type::i64;
}

constexpr IntrinsicRow kIntrinsics[] = {
#define X(name, text, operands, result, meaning) {Intrinsic::name, text, operands, type_of(#result[0])},
#include "jit/function/intrinsics.def"
#undef X
};

constexpr OperatorRow kOperators[] = {
#define X(name, text, level, operands, result) {Operator::name, text, level, #operands[0], type_of(#result[0])},
#include "jit/function/operators.def"
#undef X
};

}  // namespace

const IntrinsicRow* intrinsic(std::string_view name) {
  for (const IntrinsicRow& row : kIntrinsics)
    if (row.text == name) return &row;
  return nullptr;
}

const OperatorRow& row_of(Operator op) {
  return kOperators[static_cast<std::size_t>(op)];
}

const OperatorRow* operator_of(std::string_view text, bool is_binary) {
  for (const OperatorRow& row : kOperators)
    if (row.text == text && (row.level > 0) == is_binary) return &row;
  return nullptr;
}

std::string_view name_of(Type type) {
  constexpr std::string_view kNames[] = {"none", "i64", "u8", "bool"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view name_of(Failure failure) {
  constexpr std::string_view kNames[] = {
#define X(name, text, meaning) text,
#include "jit/function/failures.def"
#undef X
  };
  return kNames[static_cast<std::size_t>(failure)];
}

}  // namespace trident::function
