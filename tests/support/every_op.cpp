#include <cmath>
#include <string>

#include "jit/kir/builder.h"
#include "tests/support/random_kernel.h"

namespace trident::testing {

using kir::Op;
using kir::Signature;
using kir::Type;
using kir::Value;

namespace {

class EveryOp {
 public:
  explicit EveryOp(Type type) : type_(type), builder_(kernel_) {
    kernel_.inputs = {{"x", type}, {"y", type}, {"z", type}};
    x_ = builder_.input(0);
    y_ = builder_.input(1);
    z_ = builder_.input(2);
  }

  kir::Kernel make() {
    for (std::uint32_t i = 0; i < kir::kFirstEstimate; ++i) add(static_cast<Op>(i));
    for (const Type to : {Type::f32, Type::f64, Type::i32, Type::i64}) output(builder_.convert(Op::Convert, to, x_));
    const Type other = same_width_other();
    output(builder_.convert(Op::Bitcast, other, x_));
    if (is_float(type_)) output(builder_.convert(Op::ToIntRint, ir::int_of(type_), x_));
    if (is_int(type_)) add_lookup();
    add_masks();
    return std::move(kernel_);
  }

 private:
  void output(Value v) { kernel_.outputs.push_back({"o" + std::to_string(kernel_.outputs.size()), v}); }

  [[nodiscard]] Type same_width_other() const {
    if (is_float(type_)) return ir::int_of(type_);
    return type_ == Type::i32 ? Type::f32 : Type::f64;
  }

  [[nodiscard]] bool takes(kir::Types types) const {
    if (types == kir::Types::F) return is_float(type_);
    if (types == kir::Types::I || types == kir::Types::B) return is_int(type_);
    return true;
  }

  void add(Op op) {
    const kir::OpInfo& row = kir::info(op);
    if (!takes(row.types)) return;
    if (op == Op::Scalef) {
      for (const double a : {1.0, -1.75, 15.5, 0.0625})
        output(builder_.op(op, builder_.constant(type_, a), builder_.rint(builder_.min(y_, most()))));
    } else if (row.signature == Signature::Same) {
      output(builder_.op(op, x_, row.arity > 1 ? y_ : Value(), row.arity > 2 ? z_ : Value()));
    } else if (row.signature == Signature::Compare) {
      output(builder_.select(builder_.op(op, x_, y_), z_, x_));
      // Converts the mask to lanes of the other width.
      const bool narrow = ir::bytes_of(type_) == 4;
      const Type integer = narrow ? Type::i64 : Type::i32;
      const Value mask = builder_.convert(Op::Convert, mask_of(integer), builder_.op(op, x_, y_));
      output(builder_.select(mask, builder_.convert(Op::Convert, integer, z_), builder_.constant_int(integer, 1)));
    }
  }

  Value most() { return builder_.constant(type_, 1e30); }

  void add_lookup() {
    kir::Table table{type_, {}};
    for (std::uint64_t e = 0; e < 32; ++e) table.entries.push_back(e * e * 0x0101'0101u & 0xFFFF'FFFFu);
    output(builder_.lookup(builder_.add_table(table), builder_.op(Op::And, x_, builder_.constant_int(type_, 31))));
  }

  void add_masks() {
    const Value m = builder_.lt(x_, y_), w = builder_.le(y_, z_);
    for (const Op op : {Op::And, Op::Or, Op::Xor, Op::AndNot}) output(builder_.select(builder_.op(op, m, w), x_, z_));
    output(builder_.select(builder_.op(Op::Not, m), x_, z_));
  }

  Type type_;
  kir::Kernel kernel_;
  kir::Builder builder_;
  Value x_, y_, z_;
};

}  // namespace

kir::Kernel every_op_kernel(Type type) {
  return EveryOp(type).make();
}

bool same_lane(Type type, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  if (type == Type::f32)
    return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(a))) &&
           std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  return type == Type::f64 && std::isnan(std::bit_cast<double>(a)) && std::isnan(std::bit_cast<double>(b));
}

}  // namespace trident::testing
