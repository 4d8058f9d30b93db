#include "tests/support/random_kernel.h"

#include <bit>
#include <limits>
#include <string>

#include "jit/kir/builder.h"

namespace trident::testing {

using kir::Op;
using kir::Section;
using kir::Type;
using kir::Value;

namespace {

constexpr Type kNumeric[] = {Type::f32, Type::f64, Type::i32, Type::i64};

template <class F>
std::vector<std::uint64_t> float_corners() {
  using Bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<F>;
  std::vector<std::uint64_t> corners;
  for (const F value : {F(0),
                        F(0.5),
                        F(1),
                        F(1.5),
                        F(2),
                        F(2.5),
                        F(3),
                        F(10),
                        F(0.1),
                        Limits::min(),
                        Limits::max(),
                        Limits::denorm_min(),
                        Limits::min() / 2,
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        F(2147483647.0),
                        F(2147483648.0),
                        F(2147483520.0),
                        F(4294967296.0),
                        F(9223372036854775808.0),
                        F(9223372036854774784.0),
                        F(4503599627370496.0),
                        F(4503599627370497.5),
                        F(8388608.5),
                        F(16777216.0),
                        F(0.49999997),
                        F(1) - Limits::epsilon() / 2,
                        F(1) + Limits::epsilon()})
    for (const F signed_value : {value, -value}) corners.push_back(std::bit_cast<Bits>(signed_value));
  return corners;
}

std::vector<std::uint64_t> int_corners(std::uint64_t mask) {
  std::vector<std::uint64_t> corners;
  for (const std::uint64_t value : {0ull,
                                    1ull,
                                    2ull,
                                    3ull,
                                    7ull,
                                    31ull,
                                    32ull,
                                    33ull,
                                    63ull,
                                    64ull,
                                    65ull,
                                    255ull,
                                    256ull,
                                    0x7FFF'FFFFull,
                                    0x8000'0000ull,
                                    0x7FFF'FFFF'FFFF'FFFFull,
                                    0x8000'0000'0000'0000ull,
                                    0x1F'FFFF'FFFF'FFFFull,
                                    0x20'0000'0000'0001ull,
                                    0x40'0000'0000'0401ull,
                                    0x7FFF'FF40'0000'0001ull,
                                    0x5555'5555'5555'5555ull})
    for (const std::uint64_t signed_value : {value, 0 - value, ~value}) corners.push_back(signed_value & mask);
  return corners;
}

/// Grows a kernel op by op from the values that exist so far.
class Maker {
 public:
  Maker(std::uint64_t seed, const RandomKernelOptions& options) : random_(seed), options_(options), builder_(kernel_) {}

  kir::Kernel make() {
    add_leaves();
    for (std::uint32_t i = 0; i < options_.ops; ++i) add_op();
    add_reductions();
    add_outputs();
    if (options_.exits) add_exit();
    return std::move(kernel_);
  }

 private:
  struct Known {
    Value value;
    bool odd_nan;  ///< may be a NaN of unspecified payload
  };

  Type random_type() {
    if (options_.floats_only) return options_.narrow_only || random_.one_in(2) ? Type::f32 : Type::f64;
    const Type type = kNumeric[random_.below(4)];
    if (!options_.narrow_only) return type;
    return is_float(type) ? Type::f32 : Type::i32;
  }

  bool in_body(Value v) const { return kernel_.at(v).section == Section::body; }

  void keep(Value v, bool odd_nan) {
    if (kernel_.at(v).op == Op::Constant) odd_nan = false;
    known_.push_back({v, odd_nan});
  }

  void add_leaves() {
    const std::uint32_t inputs = 1 + random_.below(options_.inputs_max);
    const std::uint32_t params = random_.below(options_.params_max + 1);
    for (std::uint32_t i = 0; i < inputs; ++i) {
      kernel_.inputs.push_back({"a" + std::to_string(i), random_type()});
      keep(builder_.input(i), false);
    }
    for (std::uint32_t i = 0; i < params; ++i) {
      kernel_.params.push_back({"p" + std::to_string(i), random_type()});
      keep(builder_.param(i), false);
    }
    if (random_.one_in(4)) keep(builder_.count(random_type()), false);
    if (!options_.tables) return;
    for (const Type type : {random_type(), random_type()}) {
      const auto length = static_cast<std::uint32_t>(kernel_.params.size());
      tables_.push_back(static_cast<std::uint32_t>(kernel_.inputs.size()));
      kernel_.inputs.push_back({"t" + std::to_string(tables_.size()), type, length});
      kernel_.params.push_back({kernel_.inputs.back().name + ".length", Type::i64});
    }
    keep(builder_.index(options_.narrow_only || random_.one_in(2) ? Type::i32 : Type::i64), false);
  }

  /// A value of `type` that exists, a constant, or a conversion of something.
  Known pick(Type type) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Known& known = known_[random_.below(static_cast<std::uint32_t>(known_.size()))];
      if (kernel_.type_of(known.value) == type) return known;
    }
    if (is_mask(type)) {
      if (random_.one_in(12)) return {builder_.constant_bits(type, random_.one_in(2) ? ~std::uint64_t{0} : 0), false};
      const Type of = ir::bytes_of(type) == 4 ? (random_.one_in(2) ? Type::f32 : Type::i32)
                                              : (random_.one_in(2) ? Type::f64 : Type::i64);
      const Known a = pick(of), b = pick(of);
      return {builder_.op(random_.one_in(2) ? Op::Lt : Op::Eq, a.value, b.value), false};
    }
    if (random_.one_in(3)) return {builder_.constant_bits(type, random_lane(random_, type)), false};
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Known& known = known_[random_.below(static_cast<std::uint32_t>(known_.size()))];
      const Type from = kernel_.type_of(known.value);
      if (is_mask(from) || from == type) continue;
      return {builder_.convert(Op::Convert, type, known.value), is_float(from) && is_float(type)};
    }
    return {builder_.constant_bits(type, random_lane(random_, type)), false};
  }

  /// Maps any operand into [1, 2) or (-2, -1], as scalef and the kNormal flag require.
  Value near_one(Value v) {
    const bool narrow = ir::bytes_of(kernel_.type_of(v)) == 4;
    const Type type = narrow ? Type::i32 : Type::i64;
    const Value keep_bits = builder_.constant_bits(type, narrow ? 0x807F'FFFFu : 0x800F'FFFF'FFFF'FFFFu);
    const Value exponent = builder_.constant_bits(type, narrow ? 0x3F80'0000u : 0x3FF0'0000'0000'0000u);
    const Value bits = builder_.op(Op::And, builder_.as_int(v), keep_bits);
    return builder_.as_float(builder_.op(Op::Or, bits, exponent));
  }

  /// Finite and at most 2^30 in magnitude, zero and tiny included.
  Value moderate(Value v) {
    const Type type = kernel_.type_of(v);
    return builder_.min(builder_.max(v, builder_.constant(type, -0x1p30)), builder_.constant(type, 0x1p30));
  }

  Value whole_finite(Value v) {
    const Value limit = builder_.constant(kernel_.type_of(v), 4000);
    const Value low = builder_.constant(kernel_.type_of(v), -4000);
    return builder_.rint(builder_.min(limit, builder_.max(low, v)));
  }

  void add_op() {
    const bool estimates = options_.estimate_bits != 0;
    const auto op = static_cast<Op>(random_.below(estimates ? kir::kOpCount : kir::kFirstEstimate));
    if (kir::is_estimate(op) && kir::estimate_bits(op) != options_.estimate_bits) return;
    const kir::OpInfo& row = kir::info(op);
    switch (row.signature) {
      case kir::Signature::Leaf:
      case kir::Signature::Reduce: return;
      case kir::Signature::Same: return add_same(op, row);
      case kir::Signature::Compare: {
        const Type type = random_type();
        const Known a = pick(type), b = pick(type);
        return keep(builder_.op(op, a.value, b.value), false);
      }
      case kir::Signature::Select: {
        const Type type = random_type();
        const Known mask = pick(ir::mask_of(type)), a = pick(type), b = pick(type);
        return keep(builder_.op(op, mask.value, a.value, b.value), a.odd_nan || b.odd_nan);
      }
      case kir::Signature::Convert: return add_convert(op);
      case kir::Signature::Read: return add_read(op);
    }
  }

  Type type_for(const kir::OpInfo& row) {
    for (;;) {
      Type type = random_type();
      if (row.types == kir::Types::B && random_.one_in(2)) type = ir::mask_of(type);
      const bool fits = row.types == kir::Types::N || (row.types == kir::Types::S && type == Type::f32) ||
                        (row.types == kir::Types::F && is_float(type)) ||
                        (row.types == kir::Types::I && is_int(type)) || (row.types == kir::Types::B && !is_float(type));
      if (fits) return type;
      if (options_.floats_only && row.types != kir::Types::F && row.types != kir::Types::S) return ir::mask_of(type);
    }
  }

  void add_same(Op op, const kir::OpInfo& row) {
    if (options_.floats_only && row.types == kir::Types::I) return;
    const Type type = type_for(row);
    const Known a = pick(type);
    const Known b = row.arity > 1 ? pick(type) : Known{};
    const Known c = row.arity > 2 ? pick(type) : Known{};
    if (op == Op::Scalef) {
      if (a.odd_nan) return;
      const Value whole = whole_finite(b.value);
      return keep(builder_.op(op, near_one(a.value), whole), true);
    }
    if ((op == Op::Shl || op == Op::Shr || op == Op::Sar) && random_.one_in(2)) {
      const Value by = builder_.constant_int(type, static_cast<std::int64_t>(random_.below(70)) - 3);
      return keep(builder_.op(op, a.value, by), false);
    }
    if ((op == Op::Div || op == Op::Sqrt) && random_.one_in(3) && !b.odd_nan) {
      const Value x = moderate(a.value);
      return keep(op == Op::Sqrt ? builder_.sqrt(builder_.abs(x), kir::kBounded)
                                 : builder_.div(x, near_one(b.value), kir::kBounded),
                  false);
    }
    if ((op == Op::Div || op == Op::Sqrt) && random_.one_in(2) && !a.odd_nan && !b.odd_nan) {
      const Value x = op == Op::Sqrt ? builder_.abs(near_one(a.value)) : near_one(a.value);
      return keep(op == Op::Sqrt ? builder_.sqrt(x, kir::kNormal) : builder_.div(x, near_one(b.value), kir::kNormal),
                  false);
    }
    if (kir::has_doubtful_operands(op) && random_.one_in(2) && !a.odd_nan && !b.odd_nan) {
      const Value x = row.arity == 1 ? builder_.abs(near_one(a.value)) : near_one(a.value);
      return keep(builder_.op(op, x, row.arity == 1 ? Value{} : near_one(b.value), {}, kir::kNormal), false);
    }
    const bool moves_bits = op == Op::Neg || op == Op::Abs || op == Op::Min || op == Op::Max;
    const bool odd = moves_bits ? a.odd_nan || b.odd_nan : is_float(type);
    keep(builder_.op(op, a.value, b.value, c.value), odd);
  }

  void add_convert(Op op) {
    const Type to = random_type();
    if (op == Op::Lookup) return add_lookup(to);
    if (op == Op::Convert && random_.one_in(4)) {
      const Known mask = pick(random_.one_in(2) ? Type::b32 : Type::b64);
      const Type other = options_.narrow_only || kernel_.type_of(mask.value) == Type::b64 ? Type::b32 : Type::b64;
      return keep(builder_.convert(op, other, mask.value), false);
    }
    if (op == Op::Convert) {
      const Known a = pick(random_type());
      return keep(builder_.convert(op, to, a.value), is_float(kernel_.type_of(a.value)) && is_float(to));
    }
    if (op == Op::ToIntRint) {
      const Type from = ir::bytes_of(to) == 4 ? Type::f32 : Type::f64;
      return keep(builder_.convert(op, ir::int_of(from), pick(from).value), false);
    }
    const bool narrow = ir::bytes_of(to) == 4;
    const Type from = is_float(to) ? (narrow ? Type::i32 : Type::i64) : (narrow ? Type::f32 : Type::f64);
    const Known a = pick(from);
    if (!a.odd_nan) keep(builder_.convert(Op::Bitcast, to, a.value), false);
  }

  void add_lookup(Type type) {
    kir::Table table{type, {}};
    const std::uint32_t size = 2u << random_.below(5);
    for (std::uint32_t i = 0; i < size; ++i) table.entries.push_back(random_lane(random_, type));
    const std::uint32_t number = builder_.add_table(std::move(table));
    const Type index_type = ir::int_of(type);
    const Value mask = builder_.constant_int(index_type, size - 1);
    keep(builder_.lookup(number, builder_.op(Op::And, pick(index_type).value, mask)), false);
  }

  /// Indices in and around the tables of compare_with_interpreter, or anything.
  Value table_index(Type type) {
    const Value any = pick(type).value;
    if (random_.one_in(3)) return any;
    const Value some = builder_.op(Op::And, any, builder_.constant_int(type, 63));
    return builder_.sub(some, builder_.constant_int(type, 5));
  }

  void add_read(Op op) {
    if (tables_.empty()) return;
    const std::uint32_t table = tables_[random_.below(static_cast<std::uint32_t>(tables_.size()))];
    if (op == Op::Gather)
      return keep(
          builder_.gather(table, table_index(options_.narrow_only || random_.one_in(2) ? Type::i32 : Type::i64)),
          false);
    constexpr std::int64_t kStrides[] = {1, 1, -1, 2, 2, 3, -2, 4, -7, 8, 1000, -kir::kStrideMax, kir::kStrideMax};
    const std::int64_t stride = kStrides[random_.below(std::size(kStrides))];
    Value offset = builder_.constant_int(Type::i64, static_cast<std::int64_t>(random_.below(80)) - 20);
    const Known other = pick(Type::i64);
    if (random_.one_in(3) && kernel_.at(other.value).section == Section::invariant) offset = other.value;
    if (random_.one_in(4) && kernel_.at(other.value).section == Section::invariant)
      offset = builder_.op(Op::And, other.value, builder_.constant_int(Type::i64, 31));
    keep(builder_.strided(table, stride, offset), false);
  }

  void add_reductions() {
    if (!options_.reductions || options_.exits || random_.one_in(2)) return;
    std::vector<Known> reduced;
    for (std::uint32_t i = 0; i < 1 + random_.below(3); ++i) {
      const Known a = pick(random_type());
      constexpr Op kOps[] = {Op::Sum, Op::MinOf, Op::MaxOf, Op::Prod};
      const Type type = kernel_.type_of(a.value);
      const bool products = is_float(type) && random_.one_in(4);
      reduced.push_back({products ? builder_.reduce(Op::Dot, a.value, pick(type).value)
                                  : builder_.reduce(kOps[random_.below(4)], a.value),
                         true});
    }
    // A little epilogue arithmetic with an invariant.
    for (const Known& r : reduced) {
      const Type type = kernel_.type_of(r.value);
      Value v = r.value;
      if (random_.one_in(2)) v = builder_.add(v, builder_.count(type));
      if (random_.one_in(3)) v = builder_.convert(Op::Convert, Type::f64, v);
      kernel_.outputs.push_back({"r" + std::to_string(kernel_.outputs.size()), v, kir::OutputKind::scalar});
    }
  }

  void add_outputs() {
    const std::uint32_t arrays = 1 + random_.below(options_.outputs_max);
    std::uint32_t left = kernel_.outputs.empty() ? arrays : random_.below(arrays + 1);
    for (std::size_t i = known_.size(); i-- > 0 && left > 0;) {
      const Value v = known_[i].value;
      if (is_mask(kernel_.type_of(v)) || (!in_body(v) && !random_.one_in(4))) continue;
      const bool scalar = !in_body(v) && !options_.exits && random_.one_in(2);
      kernel_.outputs.push_back(
          {"o" + std::to_string(kernel_.outputs.size()), v, scalar ? kir::OutputKind::scalar : kir::OutputKind::array});
      --left;
    }
    if (kernel_.outputs.empty()) kernel_.outputs.push_back({"o", known_[0].value, kir::OutputKind::array});
  }

  /// Any mask from an element on, at one element in some, or everywhere; half of them as the negation of a mask.
  void add_exit() {
    const Type type = options_.narrow_only || random_.one_in(2) ? Type::i32 : Type::i64;
    const Value index = builder_.index(type);
    const Value from = builder_.constant_int(type, random_.below(200));
    Value mask = builder_.op(random_.one_in(3) ? Op::Eq : Op::Le, from, index);
    const Known any = pick(ir::mask_of(type));
    if (random_.one_in(2)) mask = builder_.op(Op::And, mask, any.value);
    if (random_.one_in(6)) mask = any.value;
    if (random_.one_in(2)) mask = builder_.op(Op::Not, builder_.op(Op::Not, mask));
    kernel_.exit = mask;
  }

  Random random_;
  RandomKernelOptions options_;
  kir::Kernel kernel_;
  kir::Builder builder_;
  std::vector<Known> known_;
  std::vector<std::uint32_t> tables_;  ///< of inputs
};

}  // namespace

const std::vector<std::uint64_t>& corner_lanes(Type type) {
  static const std::vector<std::uint64_t> f32 = float_corners<float>(), f64 = float_corners<double>(),
                                          i32 = int_corners(0xFFFF'FFFFu), i64 = int_corners(~std::uint64_t{0});
  return type == Type::f32 ? f32 : type == Type::f64 ? f64 : type == Type::i32 ? i32 : i64;
}

std::uint64_t random_lane(Random& random, Type type) {
  const std::uint64_t mask = ir::bytes_of(type) == 4 ? 0xFFFF'FFFFu : ~std::uint64_t{0};
  switch (random.below(4)) {
    case 0: {
      const auto& corners = corner_lanes(type);
      return corners[random.below(static_cast<std::uint32_t>(corners.size()))];
    }
    case 1: return random.next() & mask;
    default: break;
  }
  const auto small = static_cast<std::int64_t>(random.next() >> 44) - (1 << 19);
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(small) / 4096);
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(static_cast<double>(small) / 4096);
  return static_cast<std::uint64_t>(small) & mask;
}

kir::Kernel without_exit(const kir::Kernel& kernel) {
  kir::Kernel whole = kernel;
  whole.exit = {};
  kir::Builder b(whole);
  const Type type = ir::bytes_of(kernel.type_of(kernel.exit)) == 4 ? Type::i32 : Type::i64;
  const Value number = b.select(kernel.exit, b.constant_int(type, 1), b.constant_int(type, 0));
  whole.outputs.push_back({"exit", number, kir::OutputKind::array});
  return whole;
}

kir::Kernel random_kernel(std::uint64_t seed, const RandomKernelOptions& options) {
  return Maker(seed, options).make();
}

}  // namespace trident::testing
