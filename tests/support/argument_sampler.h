// Arguments for the tests of this folder and the accuracy campaign, and the kernel that applies one function to them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "jit/kir/math/math.h"

namespace trident::kir::math {

inline std::string_view name_of(Accuracy a) {
  return a == Accuracy::ulp1 ? "ulp1" : a == Accuracy::ulp4 ? "ulp4" : "rel3";
}

/// The kernel "out = f(x[, y])" with the ranges as promises.
inline Kernel kernel_of(Function f, Type type, Accuracy accuracy, std::span<const Range> ranges) {
  Kernel kernel;
  Builder builder(kernel);
  std::vector<Value> args;
  for (std::uint32_t i = 0; i < arity_of(f); ++i) {
    kernel.inputs.push_back({i == 0 ? "x" : "y", type});
    args.push_back(builder.input(i));
  }
  const Value result = emit(builder, f, args, ranges, accuracy);
  kernel.outputs.push_back({"out", result, OutputKind::array});
  return kernel;
}

/// Maps the integers to the floats of the type in ascending order, so that neighbours are neighbours.
inline double from_order(std::int64_t order, Type type) {
  if (type == Type::f32) {
    const auto magnitude = static_cast<std::uint32_t>(order < 0 ? -order : order);
    return std::copysign(std::bit_cast<float>(magnitude), order < 0 ? -1.0 : 1.0);
  }
  const auto magnitude = static_cast<std::uint64_t>(order < 0 ? -order : order);
  return std::copysign(std::bit_cast<double>(magnitude), order < 0 ? -1.0 : 1.0);
}
inline std::int64_t order_of(double x, Type type) {
  const double a = std::fabs(x);
  const auto magnitude = type == Type::f32 ? std::int64_t{std::bit_cast<std::int32_t>(static_cast<float>(a))}
                                           : std::bit_cast<std::int64_t>(a);
  return std::signbit(x) ? -magnitude : magnitude;
}

/// Points of a range: its ends and their neighbours, halves uniform by value and uniform by representation.
class Sampler {
 public:
  explicit Sampler(Type type) : type_(type) {}

  double pick(const Range& range) {
    const double greatest = type_ == Type::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const double lo = round_into(std::max(range.lo, -greatest), range),
                 hi = round_into(std::min(range.hi, greatest), range);
    const std::int64_t first = order_of(lo, type_), last = order_of(hi, type_);
    switch (random_() % 16) {
      case 0: return from_order(std::min(last, first + static_cast<std::int64_t>(random_() % 4)), type_);
      case 1: return from_order(std::max(first, last - static_cast<std::int64_t>(random_() % 4)), type_);
      case 2: return first <= 0 && last >= 0 ? (random_() % 2 != 0 && first < 0 ? -0.0 : 0.0) : lo;
      case 3: return near_one(range);
      default: break;
    }
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    if (random_() % 2 != 0 && hi - lo < std::numeric_limits<double>::infinity())
      return round_into(lo + (hi - lo) * u, range);
    const auto start = static_cast<std::uint64_t>(first);
    const auto span = static_cast<unsigned __int128>(static_cast<std::uint64_t>(last) - start) + 1;
    return from_order(static_cast<std::int64_t>(start + static_cast<std::uint64_t>((span * random_()) >> 64)), type_);
  }

 private:
  double round_into(double x, const Range& range) const {
    const double rounded = type_ == Type::f32 ? static_cast<float>(x) : x;
    if (rounded < range.lo) return from_order(order_of(rounded, type_) + 1, type_);
    if (rounded > range.hi) return from_order(order_of(rounded, type_) - 1, type_);
    return rounded;
  }
  /// Near a multiple of 1/4 pi, of 1/2, or near a power of two: where reductions change their minds.
  double near_one(const Range& range) {
    const double k = static_cast<double>(random_() % 16) - 7;
    const double centres[] = {k * 0.7853981633974483, k * 0.5, std::ldexp(1.0, static_cast<int>(k)),
                              k * 0.34657359027997264};
    const double x = centres[random_() % 4];
    if (!(x >= range.lo && x <= range.hi)) return pick({range.lo, range.hi, false});
    const double nearby = from_order(order_of(x, type_) + static_cast<std::int64_t>(random_() % 9) - 4, type_);
    return std::clamp(nearby, range.lo, range.hi) == nearby ? nearby : round_into(x, range);
  }

  Type type_;
  std::mt19937_64 random_{20240607};
};

}  // namespace trident::kir::math
