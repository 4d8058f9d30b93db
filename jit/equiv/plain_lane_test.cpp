// The oracle is the general way of evaluating an op, function by function: a lane that is set must have its very bits.
#include "jit/equiv/plain_lane.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "jit/equiv/intervals.h"
#include "jit/equiv/steps.h"

namespace trident::equiv {
namespace {

using expr::Op;
using expr::Type;

template <class T>
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  /// Draws a lane: ordinary numbers mostly, with zeros, infinities, NaN, and values near both ends of the type.
  void draw(Type type, Lanes<Tracked<T>>& r) {
    const double value = number(type);
    r.s[0] = type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : value;
    r.c[0].v = static_cast<T>(value) * (1 + static_cast<T>(of({0, 0, 0x1p-30})));
    const double size = std::isfinite(value) ? std::fabs(value) : 0;
    r.c[0].e = static_cast<T>(size * of({0, 0x1p-60, 0x1p-50, 1}) + of({0, 0, 0, 0x1p-1070}));
    r.d[0] = static_cast<long double>(size) * of({0, 0x1p-50, 0x1p-22, 3}) +
             static_cast<long double>(of({0, 0, 0, 1, std::numeric_limits<double>::infinity()}));
    if (random_() % 8 == 0) r.d[0] *= 0x1p16000L;
    if (random_() % 16 == 0) r.c[0].e = std::numeric_limits<T>::infinity();
    if (random_() % 16 == 0) r.s[0] = of({0.0, 1.0, std::numeric_limits<double>::infinity(), std::nan("")});
    r.unsure[0] = random_() % 4 == 0 ? static_cast<std::uint8_t>(random_()) : 0;
  }

 private:
  double of(std::initializer_list<double> list) { return *(list.begin() + random_() % list.size()); }

  double number(Type type) {
    const int most = type == Type::f32 ? 127 : 1023;
    const double unit = std::uniform_real_distribution<double>(-1, 1)(random_);
    const int exponent = static_cast<int>(random_() % 8) == 0 ? most : static_cast<int>(random_() % 30) - 15;
    if (random_() % 8 != 0) return std::ldexp(unit, exponent);
    return of({0.0, -0.0, std::ldexp(unit, -most - 10), std::numeric_limits<double>::infinity(),
               -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()});
  }

  std::mt19937_64 random_;
};

template <class T>
Lanes<Tracked<T>> one_lane(Type type) {
  Lanes<Tracked<T>> lanes;
  lanes.resize(type, 1);
  return lanes;
}

template <class T>
void set_in_general(const expr::Node& node, const Lanes<Tracked<T>>& a, const Lanes<Tracked<T>>& b,
                    Lanes<Tracked<T>>& r, long double k) {
  r.unsure[0] = 0;
  apply_to(node.op, 0, a.c[0], b.c[0], a.c[0], r.c[0]);
  const bool exact = known_exactly(a, 0) && known_exactly(b, 0);
  r.s[0] = strict_value(node.op, node.type, 0, r.c[0], exact, a.s[0], b.s[0], a.s[0]);
  const bool near = near_edge(node, a, b, 0) || picks_a_zero(node.op, a.s[0], b.s[0]);
  if (near) r.unsure[0] |= kOpen;
  float_error(node, a, b, a, r, 0, near, k);
  r.unsure[0] = static_cast<std::uint8_t>(r.unsure[0] | a.unsure[0] | b.unsure[0]);
}

template <class X>
bool same(X a, X b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
void compare(Type type, Op op) {
  constexpr int kLanes = 20'000;
  Drawn<T> drawn(static_cast<std::uint64_t>(op) + 1);
  Lanes<Tracked<T>> a = one_lane<T>(type), b = a, plain = a, general = a;
  const expr::Node node{op, type, expr::NodeId(0), expr::NodeId(1), {}, 0};
  int set = 0, beyond = 0, nan = 0;
  for (int i = 0; i < kLanes; ++i) {
    drawn.draw(type, a), drawn.draw(type, b);
    if (expr::info(op).arity == 1) b = a;  // as in evaluator.h
    const long double k = i % 3;
    if (!set_plain_lane(node, a, b, plain, 0, k)) continue;
    ++set, beyond += (plain.unsure[0] & ~(a.unsure[0] | b.unsure[0]) & kOverflows) != 0,
        nan += std::isnan(plain.c[0].v);
    set_in_general(node, a, b, general, k);
    const bool equal = same(plain.s[0], general.s[0]) && same(plain.c[0].v, general.c[0].v) &&
                       same(plain.c[0].e, general.c[0].e) && same(plain.d[0], general.d[0]) &&
                       plain.unsure[0] == general.unsure[0];
    ASSERT_TRUE(equal) << expr::info(op).text << " of " << a.s[0] << " and " << b.s[0] << ", errors "
                       << static_cast<double>(a.c[0].e) << ", " << static_cast<double>(a.d[0]) << ": d "
                       << static_cast<double>(plain.d[0]) << " and " << static_cast<double>(general.d[0]) << ", unsure "
                       << int(plain.unsure[0]) << " and " << int(general.unsure[0]);
  }
  const bool linear = plain_rule(op) == PlainRule::sum || plain_rule(op) == PlainRule::product;
  EXPECT_GT(set, linear ? kLanes / 5 : kLanes / 10);
  EXPECT_GT(beyond, linear ? kLanes / 400 : -1);
  EXPECT_GT(nan, linear ? kLanes / 100 : -1);
  EXPECT_LT(set, kLanes);
}

TEST(PlainLane, HasTheBitsOfTheGeneralWay) {
  int compared = 0;
  for (std::size_t i = 0; i < expr::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (!can_be_plain(op)) continue;
    for (const Type type : {Type::f32, Type::f64}) compare<double>(type, op), compare<long double>(type, op);
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

}  // namespace
}  // namespace trident::equiv
