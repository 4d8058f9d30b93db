#include "jit/expr/narrow_casts.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "jit/expr/composer.h"

namespace trident::expr {
namespace {

constexpr std::string_view kSaturatingSuffix = "_sat";

/// Narrow casts as ordinary operations, so that all that is known of those holds of these.
class Narrowing {
 public:
  Narrowing(Composer& c, const NarrowCast& cast, std::size_t offset)
      : c_(c), cast_(cast), row_(ir::facts_of(cast.storage)), offset_(offset) {}

  expr::Value run(expr::Value x) {
    if (c_.failed()) return {};
    x = chooses_integers(x) ? c_.cast(row_.type, x, offset_) : c_.settle(x);
    if (c_.failed()) return {};
    if (ir::is_mask(c_.type_of(x)) || holds(x.id)) return c_.cast(row_.type, x, offset_);
    if (cast_.storage == Storage::boolean) return c_.cast(Type::i32, c_.as_bool(x), offset_);
    if (cast_.storage == Storage::f16) return c_.cast(Type::f32, x, offset_);
    return cast_.saturates ? saturated(x) : wrapped(x);
  }

 private:
  [[nodiscard]] const Node& at(NodeId id) const { return c_.builder().at(id); }
  [[nodiscard]] bool is_constant(NodeId id, std::int64_t value) const {
    if (!id.valid()) return false;
    const Node& n = at(id);
    return n.op == Op::Constant && ir::is_int(n.type) && int_of_bits(n.type, n.imm) == value;
  }

  /// Returns whether a value is one of some literals, whole numbers of the type: select(x > y, 255, 0).
  [[nodiscard]] bool chooses_integers(const expr::Value& x) const {
    if (!x.id.valid() || x.literal_depth == 0 || !x.integral || !ir::is_integer(cast_.storage)) return false;
    if (at(x.id).op != Op::Select) return false;
    NodeId id = x.id;
    for (; at(id).op == Op::Select; id = at(id).c)
      if (!is_whole(at(id).b)) return false;
    return is_whole(id);
  }
  [[nodiscard]] bool is_whole(NodeId id) const {
    return at(id).op == Op::Constant && std::fabs(number(at(id))) <= INT32_MAX;
  }

  /// Returns whether all values of an integer are known to be elements, so that texts which are printed and read again
  /// stay as they are.
  [[nodiscard]] bool holds(NodeId id) const {
    const Node& n = at(id);
    if (cast_.storage == Storage::u64) return n.type == Type::i64;
    if (n.type != row_.type || !ir::is_int(n.type)) return false;
    if (n.op == Op::Variable) {
      const Variable& v = c_.expr().variables[n.imm];
      return v.lo >= row_.lo && v.hi <= row_.hi;
    }
    if (n.op == Op::Cast && ir::is_mask(at(n.a).type)) return true;
    const bool is_signed = row_.lo < 0;
    const auto most = static_cast<std::int64_t>(row_.hi);
    if (n.op == Op::And) return !is_signed && (is_constant(n.a, most) || is_constant(n.b, most));
    if (n.op == Op::Sar) return is_signed && at(n.a).op == Op::Shl && is_constant(n.b, unused_bits());
    return clamped(n.op == Op::Cast ? at(n.a) : n);
  }

  /// Returns whether a node is min(max(x, lo), hi), perhaps rounded.
  [[nodiscard]] bool clamped(const Node& rounded) const {
    const Node& least = rounded.op == Op::Rint ? at(rounded.a) : rounded;
    if (least.op != Op::Min || at(least.a).op != Op::Max) return false;
    const Node &hi = at(least.b), &lo = at(at(least.a).b);
    return hi.op == Op::Constant && lo.op == Op::Constant && number(hi) == row_.hi && number(lo) == row_.lo;
  }
  static double number(const Node& n) {
    return ir::is_int(n.type) ? static_cast<double>(int_of_bits(n.type, n.imm)) : value_of(n.type, n.imm);
  }

  [[nodiscard]] std::int64_t unused_bits() const {
    return 8 * (static_cast<std::int64_t>(ir::bytes_of(row_.type)) - row_.bytes);
  }

  expr::Value integer(double value) { return c_.cast(row_.type, integral(value), offset_); }
  expr::Value integral(double value) {
    return c_.number({.value = value, .integer = static_cast<std::int64_t>(value), .integral = true}, offset_);
  }

  expr::Value wrapped(expr::Value x) {
    const expr::Value whole = c_.cast(row_.type, x, offset_);
    if (cast_.storage == Storage::u64) return whole;
    if (row_.lo == 0) return c_.binary(Op::And, whole, integer(row_.hi), offset_);
    const expr::Value unused = integer(static_cast<double>(unused_bits()));
    return c_.binary(Op::Sar, c_.binary(Op::Shl, whole, unused, offset_), unused, offset_);
  }

  /// Clamps in a type that has both ends.
  expr::Value saturated(expr::Value x) {
    if (row_.type == Type::i64) x = c_.cast(ir::is_int(c_.type_of(x)) ? Type::i64 : Type::f64, x, offset_);
    const expr::Value above = c_.binary(Op::Max, x, integral(row_.lo), offset_);
    const expr::Value inside = c_.binary(Op::Min, above, integral(row_.hi), offset_);
    return c_.cast(row_.type, c_.unary(Op::Rint, inside, offset_), offset_);
  }

  Composer& c_;
  NarrowCast cast_;
  const ir::StorageFacts& row_;
  std::size_t offset_;
};

}  // namespace

std::optional<NarrowCast> narrow_cast_named(std::string_view name) {
  const bool saturates = name.ends_with(kSaturatingSuffix);
  if (saturates) name.remove_suffix(kSaturatingSuffix.size());
  const std::optional<Storage> storage = ir::storage_named(name);
  const bool clamps = storage && ir::is_integer(*storage) && *storage != Storage::boolean && *storage != Storage::u64;
  if (!storage || (saturates && !clamps)) return std::nullopt;
  return NarrowCast{*storage, saturates};
}

/// Rounds what f16() would round by a store, for it is not stored: to eleven bits, or to whole multiples of the least
/// subnormal. An operand of 24 bits keeps its last bit above that of 2^42 times
/// itself, so the sum never reaches the next power of two, and ties go to even.
expr::Value Composer::rounded_to_f16(expr::Value a) {
  constexpr double kShift = 0x1p42, kLeastShift = 0x1p28, kFirstInfinite = 65520;
  const std::uint32_t offset = a.offset;
  a.storage = Storage::own;
  const expr::Value wide = cast(Type::f64, a, offset), size = unary(Op::Abs, wide, offset);
  const expr::Value scaled = binary(Op::Mul, size, literal(kShift, offset), offset);
  const expr::Value shift = binary(Op::Max, scaled, literal(kLeastShift, offset), offset);
  const expr::Value near = binary(Op::Sub, binary(Op::Add, size, shift, offset), shift, offset);
  const expr::Value overflows = binary(Op::Ge, size, literal(kFirstInfinite, offset), offset);
  const expr::Value infinity = literal(std::numeric_limits<double>::infinity(), offset);
  const expr::Value rounded = ternary(Op::Select, overflows, infinity, near, offset);
  return cast(Type::f32, binary(Op::Copysign, rounded, wide, offset), offset);
}

expr::Value Composer::narrow_cast(const NarrowCast& cast, std::span<const expr::Value> arguments, std::size_t offset) {
  if (failed_) return {};
  if (arguments.size() != 1) {
    return fail(offset, ErrorCode::kSyntaxError, "%s%s takes 1 argument, here %zu",
                ir::facts_of(cast.storage).name.data(), cast.saturates ? "_sat" : "", arguments.size());
  }
  expr::Value value = Narrowing(*this, cast, offset).run(arguments[0]);
  value.storage = cast.storage;
  return value;
}

}  // namespace trident::expr
