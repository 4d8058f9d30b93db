// A float passes if it compares "at least" and "at most", so that NaN fails; where NaN may pass, a float fails if it
// compares "below" or "above", which costs the same. So does an integer, which AVX2 has instructions for. The exit is
// the negation of all that must hold, or any of what must not.
//
// A range of 2^k integers needs no comparison of its own: its numbers, less the least one, have no bits from bit k on.
// The bits of all such inputs are joined, and any that is set fails.
#include "jit/kir/guard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "jit/kir/builder.h"
#include "runtime/base/check.h"

namespace trident::kir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The least value of `type` that is not below `lo`, or the greatest that is not above `hi`.
double rounded_up(Type type, double lo) {
  if (type != Type::f32) return lo;
  const auto near = static_cast<float>(lo);
  return near < lo ? std::nextafter(near, static_cast<float>(kInfinity)) : near;
}
double rounded_down(Type type, double hi) {
  return -rounded_up(type, -hi);
}

class Guard {
 public:
  explicit Guard(Kernel& kernel) : kernel_(kernel), b_(kernel) {}

  void add_input(std::uint32_t i, const Assumed& assumed) {
    if (!assumed.is_anything() && !kernel_.inputs[i].is_table()) add(b_.input(i), assumed);
  }
  void add_param(std::uint32_t i, const Assumed& assumed) {
    if (!assumed.is_anything()) add(b_.param(i), assumed);
  }

  void finish() {
    for (const Type type : {Type::i32, Type::i64}) {
      Value bits;
      for (const Bits& group : bits_)
        if (group.type == type)
          bits = join(Op::Or, bits, b_.op(Op::And, group.joined, b_.constant_bits(type, ~group.inside)));
      if (bits.valid()) refuse(b_.op(Op::Ne, bits, b_.constant_bits(type, 0)));
    }
    // One negation in all, which codegen tests instead of its operand.
    if (holds_.valid() && strays_.valid()) require(b_.op(Op::Not, std::exchange(strays_, {})));
    fails_ = either(strays_, fails_);
    if (holds_.valid()) fails_ = either(b_.op(Op::Not, holds_), fails_);
    kernel_.exit = fails_;
  }

 private:
  void add(Value x, const Assumed& assumed) {
    if (ir::is_float(b_.type_of(x)))
      add_float(x, assumed);
    else
      add_int(x, assumed);
  }

  void add_float(Value x, const Assumed& assumed) {
    const Type type = b_.type_of(x);
    const double lo = rounded_up(type, assumed.lo), hi = rounded_down(type, assumed.hi);
    if (assumed.or_nan) return add_or_nan(x, assumed, lo, hi);
    if (lo == -hi) return require(b_.le(b_.abs(x), b_.constant(type, hi)));
    if (assumed.lo != -kInfinity) require(b_.le(b_.constant(type, lo), x));
    if (assumed.hi != kInfinity) require(b_.le(x, b_.constant(type, hi)));
  }

  void add_or_nan(Value x, const Assumed& assumed, double lo, double hi) {
    const Type type = b_.type_of(x);
    Value strays;
    if (lo == -hi) {
      strays = b_.lt(b_.constant(type, hi), b_.abs(x));
    } else {
      if (assumed.lo != -kInfinity) strays = b_.lt(x, b_.constant(type, lo));
      if (assumed.hi != kInfinity) strays = either(strays, b_.lt(b_.constant(type, hi), x));
    }
    // The masks of parameters are made once a call, apart from those of elements.
    if (kernel_.at(strays).section == Section::body)
      strays_ = either(strays_, strays);
    else
      require(b_.op(Op::Not, strays));
  }

  void add_int(Value x, const Assumed& assumed) {
    const Type type = b_.type_of(x);
    const double least = type == Type::i32 ? -0x1p31 : -0x1p63, beyond = -least;
    const double lo = std::ceil(assumed.lo), hi = std::floor(assumed.hi);
    if (lo >= beyond || hi < least) return refuse(b_.constant_bits(ir::mask_of(type), ~std::uint64_t{0}));
    if (lo >= least && lo <= hi && hi < beyond) {
      const auto first = static_cast<std::int64_t>(lo);
      const std::uint64_t inside =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(hi)) - static_cast<std::uint64_t>(first);
      if (std::has_single_bit(inside + 1)) return add_bits(x, first, inside);
    }
    if (lo > least) refuse(b_.lt(x, b_.constant_int(type, static_cast<std::int64_t>(lo))));
    if (hi < beyond) refuse(b_.lt(b_.constant_int(type, static_cast<std::int64_t>(hi)), x));
  }

  /// `inside`: the bits of the range's numbers, less the least one.
  void add_bits(Value x, std::int64_t least, std::uint64_t inside) {
    const Type type = b_.type_of(x);
    if (least != 0) x = b_.sub(x, b_.constant_int(type, least));
    const auto is_like = [&](const Bits& group) { return group.type == type && group.inside == inside; };
    const auto group = std::find_if(bits_.begin(), bits_.end(), is_like);
    if (group == bits_.end())
      bits_.push_back({type, inside, x});
    else
      group->joined = b_.op(Op::Or, group->joined, x);
  }

  void require(Value mask) { holds_ = join(Op::And, holds_, mask); }
  void refuse(Value mask) { fails_ = either(fails_, mask); }
  Value either(Value a, Value b) { return join(Op::Or, a, b); }

  Value join(Op op, Value a, Value b) {
    if (!a.valid() || !b.valid()) return a.valid() ? a : b;
    return b_.op(op, wide(a, b), wide(b, a));
  }
  /// Returns `mask` in the wider type of both.
  Value wide(Value mask, Value other) {
    const Type type = b_.type_of(other);
    return ir::bytes_of(type) > ir::bytes_of(b_.type_of(mask)) ? b_.convert(Op::Convert, type, mask) : mask;
  }

  /// Inputs whose ranges have the same bits inside.
  struct Bits {
    Type type;
    std::uint64_t inside;
    Value joined;
  };

  Kernel& kernel_;
  Builder b_;
  std::vector<Bits> bits_;
  Value holds_{}, fails_{};  ///< masks; invalid: always, never
  Value strays_{};           ///< likewise, of floats that may be NaN; invalid: never
};

}  // namespace

bool Assumed::is_anything() const {
  return lo == -kInfinity && hi == kInfinity;
}

bool guard(Kernel& kernel, std::span<const Assumed> inputs, std::span<const Assumed> params) {
  CHECK(!kernel.exit.valid() && inputs.size() == kernel.inputs.size() && params.size() == kernel.params.size());
  Guard guard(kernel);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) guard.add_input(i, inputs[i]);
  for (std::uint32_t i = 0; i < params.size(); ++i) guard.add_param(i, params[i]);
  guard.finish();
  return kernel.exit.valid();
}

}  // namespace trident::kir
