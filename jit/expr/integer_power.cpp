#include "jit/expr/integer_power.h"

namespace trident::expr {

Value integer_power(Composer& composer, Value a, Value b, std::size_t offset) {
  for (Value* operand : {&a, &b}) operand->literal_depth = 0, operand->bare = false;  // their type is settled
  const auto number = [&](std::int64_t n) {
    return composer.number({.value = static_cast<double>(n), .integer = n, .integral = true}, offset);
  };
  const auto choose = [&](Value condition, Value yes, Value no) {
    return composer.ternary(Op::Select, condition, yes, no, offset);
  };
  const auto has_bit = [&](int bit) {
    const Value masked = composer.binary(Op::And, b, number(std::int64_t{1} << bit), offset);
    return composer.binary(Op::Ne, masked, number(0), offset);
  };
  const int bits = 8 * static_cast<int>(ir::bytes_of(composer.type_of(a))) - 1;
  const Value lowest = choose(has_bit(0), a, number(1));
  Value product = lowest, square = a;
  for (int bit = 1; bit < bits; ++bit) {
    square = composer.binary(Op::Mul, square, square, offset);
    const Value factor = choose(has_bit(bit), square, number(1));
    product = composer.binary(Op::Mul, product, factor, offset);
  }
  const Value unit = composer.binary(Op::Eq, composer.unary(Op::Abs, a, offset), number(1), offset);
  const Value part = choose(unit, lowest, number(0));
  return choose(composer.binary(Op::Lt, b, number(0), offset), part, product);
}

}  // namespace trident::expr
