#include "jit/function/names.h"

#include <cmath>

namespace trident::function {
namespace {

constexpr bool own = false, shared = true;

constexpr IntrinsicRow kIntrinsics[] = {
#define X(name, text, operands, result, of, meaning) {Intrinsic::name, text, #operands, #result[0], of},
#include "jit/function/intrinsics.def"
#undef X
#define X(text, operands, meaning) {Intrinsic::Formula, text, #operands, 'd', shared},
#include "jit/function/formulas.def"
#undef X
};

constexpr OperatorRow kOperators[] = {
#define X(name, text, level, operands, result) {Operator::name, text, level, #operands[0], #result[0]},
#include "jit/function/operators.def"
#undef X
};

const IntrinsicRow* row_of(std::string_view name, bool is_shared) {
  for (const IntrinsicRow& row : kIntrinsics)
    if (row.text == name && row.is_shared == is_shared) return &row;
  return nullptr;
}

}  // namespace

const IntrinsicRow* intrinsic(std::string_view name) {
  return row_of(name, own);
}

const IntrinsicRow* shared_intrinsic(std::string_view name) {
  return row_of(name, shared);
}

const IntrinsicRow* intrinsic_of(const Expression& call) {
  const IntrinsicRow* const row = shared_intrinsic(call.name);
  const bool is_of_type = row != nullptr && !call.operands.empty() && begins_with(*row, call.operands[0].type);
  return is_of_type ? row : intrinsic(call.name);
}

std::vector<std::string> intrinsic_names() {
  std::vector<std::string> names;
  for (const IntrinsicRow& row : kIntrinsics) names.emplace_back(row.text);
  return names;
}

bool begins_with(const IntrinsicRow& row, Type type) {
  return type == (row.operands[0] == 'b' ? Type::boolean : Type::f64);
}

bool is_same(Type type, std::int64_t a, std::int64_t b) {
  return a == b || (type == Type::f64 && std::isnan(real_of(a)) && std::isnan(real_of(b)));
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
  constexpr std::string_view kNames[] = {"none", "i64", "u8", "bool", "f64"};
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
