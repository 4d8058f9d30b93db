#include "jit/learn/programs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/compact.h"

namespace trident::learn {
namespace {

using expr::NodeId;
using expr::Op;
using expr::Type;

/// Bound of values: larger ones are made small again.
constexpr double kTame = 1e4;
/// Least divisor, and least operand of a logarithm.
constexpr double kClearOfZero = 0.01;

/// A value and its range, roughly, which keeps products of long chains tame.
struct Value {
  NodeId id;
  double lo = 0, hi = 0;
  [[nodiscard]] double size() const { return std::max(std::fabs(lo), std::fabs(hi)); }
};

// Makes values out of others, with bounds of the results, and picks those to go on with.
class Values {
 protected:
  explicit Values(std::uint64_t seed) : random_(seed), builder_(expr_) {}
  Values(const Values&) = delete;  // builder_ points to expr_

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double share) { return unit() < share; }

  // --- values to go on with ---

  void take(const Value& v) { all_.push_back(v), unused_.push_back(v); }
  /// Picks a value to use: one without users, the last or any, or one that has users.
  Value pick() {
    if (unused_.empty() || chance(0.25)) return all_[below(all_.size())];
    const std::size_t at = chance(deep_) ? unused_.size() - 1 : below(unused_.size());
    const Value v = unused_[at];
    unused_.erase(unused_.begin() + static_cast<std::ptrdiff_t>(at));
    return v;
  }

  // --- operations, with bounds of their results ---

  Value constant(double value) {
    if (type_ == Type::i32) value = std::trunc(value);
    return {builder_.constant(type_, value), value, value};
  }
  Value number() {
    constexpr std::array<double, 12> kUsual = {1, 2, 0.5, 3, 4, -1, 0.25, 10, 1.5, 3.141592653589793, 0.1, 6};
    if (chance(0.6)) return constant(kUsual[below(kUsual.size())]);
    return constant(static_cast<double>(static_cast<std::int64_t>(below(4000)) - 2000) / 256);
  }
  Value operand() { return chance(0.12) ? number() : pick(); }

  Value make(Op op, const Value& a, double lo, double hi) { return {builder_.op(op, a.id), lo, hi}; }
  Value make(Op op, const Value& a, const Value& b, double lo, double hi) {
    return {builder_.op(op, a.id, b.id), lo, hi};
  }
  Value add(const Value& a, const Value& b) { return make(Op::Add, a, b, a.lo + b.lo, a.hi + b.hi); }
  Value sub(const Value& a, const Value& b) { return make(Op::Sub, a, b, a.lo - b.hi, a.hi - b.lo); }
  Value mul(const Value& a, const Value& b) {
    const std::array<double, 4> ends = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    const auto [lo, hi] = std::minmax_element(ends.begin(), ends.end());
    return make(Op::Mul, a, b, a.id == b.id && *lo < 0 ? 0 : *lo, *hi);
  }
  Value fma(const Value& a, const Value& b, const Value& c) {
    const double size = a.size() * b.size();
    return {builder_.op(Op::Fma, a.id, b.id, c.id), c.lo - size, c.hi + size};
  }
  Value div(const Value& a, const Value& b) {
    const Value d = clear_of_zero(b);
    const double size = a.size() / d.lo;
    return make(Op::Div, a, d, a.lo >= 0 ? 0 : -size, size);
  }
  Value abs(const Value& a) { return make(Op::Abs, a, a.lo > 0 ? a.lo : 0, a.size()); }
  Value min(const Value& a, const Value& b) { return make(Op::Min, a, b, std::min(a.lo, b.lo), std::min(a.hi, b.hi)); }
  Value max(const Value& a, const Value& b) { return make(Op::Max, a, b, std::max(a.lo, b.lo), std::max(a.hi, b.hi)); }
  Value clamp(const Value& a, double lo, double hi) {
    Value v = min(max(a, constant(lo)), constant(hi));
    v.lo = std::max(v.lo, lo), v.hi = std::min(v.hi, hi);
    return v;
  }
  Value not_negative(const Value& a) {
    if (a.lo >= 0) return a;
    const std::uint64_t way = below(3);
    return way == 0 ? abs(a) : way == 1 ? mul(a, a) : max(a, constant(0));
  }
  Value clear_of_zero(const Value& a) {
    if (a.lo >= kClearOfZero) return a;
    const std::uint64_t way = below(3);
    return way == 0 ? add(abs(a), constant(0.5)) : way == 1 ? add(mul(a, a), constant(1)) : max(a, constant(0.125));
  }
  Value within(const Value& a, double size) { return a.size() <= size ? a : clamp(a, -size, size); }

  /// Makes a value that grew small again.
  Value tame(const Value& v) {
    if (v.size() <= kTame) return v;
    switch (below(4)) {
      case 0: return {mul(v, constant(1 / v.size())).id, -1, 1};
      case 1: return {div(v, add(abs(v), constant(1))).id, -1, 1};
      case 2: return clamp(v, -10, 10);
      default: return {mul(v, constant(0x1p-20)).id, v.lo * 0x1p-20, v.hi * 0x1p-20};
    }
  }
  void keep(const Value& v) {
    Value tamed = v;
    for (int tries = 0; tamed.size() > kTame && tries < 4; ++tries) tamed = tame(tamed);
    take(tamed.size() > kTame ? clamp(v, -1, 1) : tamed);
  }

  std::mt19937_64 random_;
  expr::Expr expr_;
  expr::Builder builder_;
  Type type_ = Type::f64;
  double deep_ = 0.5;
  std::vector<Value> all_, unused_;
};

// Writes programs of the idioms that numerical code is made of.
class Writer : private Values {
 public:
  Writer(std::uint64_t seed, const ProgramOptions& options) : Values(seed * 0x9E37'79B9'7F4A'7C15u + 0x7072'6F67) {
    const double span = std::log(static_cast<double>(options.nodes_max) / options.nodes_min);
    nodes_ = static_cast<std::uint32_t>(options.nodes_min * std::exp(unit() * span));
  }

  expr::Expr write();

 private:
  void variables();

  // --- idioms ---

  enum Group : std::uint8_t { kSums, kQuotients, kRoots, kFunctions, kChoices, kRoundings, kGroups };

  void idiom();
  void sums();

  /// Makes a polynomial by Horner's rule with fma or without, or as a sum of powers.
  void polynomial();

  /// Makes a sum of products: a chain, a tree, or a chain of fma.
  void products();

  Value sum_of(std::vector<Value> parts, bool tree) {
    while (parts.size() > 1) {
      const std::size_t with = tree ? parts.size() / 2 : 1;
      const Value sum = add(parts.front(), parts[with]);
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(with));
      parts.erase(parts.begin());
      tree ? parts.push_back(sum) : void(parts.insert(parts.begin(), sum));
    }
    return parts.front();
  }

  void power() {
    const Value x = within(pick(), 3);
    if (chance(0.5)) {
      const auto n = static_cast<std::int64_t>(2 + below(6));
      const double size = std::pow(x.size(), static_cast<double>(n));
      return keep({builder_.powi(x.id, n), n % 2 == 0 ? 0 : -size, size});
    }
    Value product = x;
    for (std::uint64_t n = 1 + below(5); n > 0; --n) product = mul(product, x);
    keep(product);
  }

  void quotients();
  void roots();
  Value root(const Value& a) { return make(Op::Sqrt, a, std::sqrt(std::max(0.0, a.lo)), std::sqrt(a.hi)); }

  Value exponential(const Value& a) {
    const Value x = within(a, 8);
    return make(Op::Exp, x, std::exp(x.lo), std::exp(x.hi));
  }
  void functions();

  NodeId compared(const Value& a, const Value& b) {
    constexpr std::array kOps = {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Ne};
    return builder_.op(kOps[below(kOps.size())], a.id, b.id);
  }
  void choices();
  void roundings();
  void integer_idiom();

  /// Makes one to three outputs out of all unused values; now and then a total over all elements.
  void outputs();
  std::uint32_t nodes_ = 0;
  bool with_integers_ = false;
  std::array<double, kGroups> share_{};
};

expr::Expr Writer::write() {
  const std::uint64_t kind = below(20);
  type_ = kind < 9 ? Type::f32 : kind < 17 ? Type::f64 : kind < 18 ? Type::f32 : Type::i32;
  with_integers_ = kind == 17;
  // Some programs hardly divide, others do little else.
  for (double& share : share_) share = 0.05 + std::pow(unit(), 2);
  deep_ = unit();
  variables();
  for (std::uint32_t tries = 0; builder_.size() + unused_.size() < nodes_ && tries < 4 * nodes_; ++tries)
    type_ == Type::i32 ? integer_idiom() : idiom();
  outputs();
  expr::drop_unused(expr_);
  return std::move(expr_);
}

void Writer::variables() {
  constexpr std::array<std::array<double, 2>, 8> kRanges = {
      {{-1, 1}, {0, 1}, {0.1, 4}, {-8, 8}, {0.5, 2}, {-100, 100}, {1, 10}, {0.01, 100}}};
  const std::uint64_t count = 1 + below(nodes_ < 20 ? 3 : 6);
  for (std::uint32_t i = 0; i < count; ++i) {
    expr::Variable v;
    v.name = std::string(1, static_cast<char>('a' + i));
    v.type = type_;
    if (i > 0 && chance(0.15)) v.kind = expr::VariableKind::scalar;
    const auto& range = kRanges[below(kRanges.size())];
    v.lo = range[0], v.hi = range[1];
    if (type_ == Type::i32) v.lo = -1000, v.hi = 1000;
    expr_.variables.push_back(v);
    take({builder_.variable(i), v.lo, v.hi});
  }
}

void Writer::idiom() {
  double all = share_[kSums] * 2;  // most code is sums
  for (const double share : share_) all += share;
  double at = unit() * all - share_[kSums] * 2;
  std::uint32_t group = 0;
  while (group + 1 < kGroups && at > share_[group]) at -= share_[group++];
  switch (group) {
    case kSums: return sums();
    case kQuotients: return quotients();
    case kRoots: return roots();
    case kFunctions: return functions();
    case kChoices: return choices();
    default: return roundings();
  }
}

void Writer::sums() {
  switch (below(9)) {
    case 0: return keep(add(operand(), pick()));
    case 1: return keep(sub(operand(), pick()));
    case 2: return keep(mul(operand(), pick()));
    case 3: return keep(fma(pick(), operand(), operand()));
    case 4: return polynomial();
    case 5: return products();
    case 6: {  // (a + b) (a - b)
      const Value a = pick(), b = operand();
      return keep(mul(add(a, b), sub(a, b)));
    }
    case 7: {  // a + (b - a) t
      const Value a = pick(), b = pick();
      return keep(add(a, mul(sub(b, a), pick())));
    }
    default: return power();
  }
}

void Writer::polynomial() {
  const Value x = within(pick(), 2);
  const std::uint64_t degree = 2 + below(7), way = below(3);
  Value sum = number(), powers = x;
  for (std::uint64_t k = 0; k < degree; ++k) {
    if (way == 0) sum = fma(sum, x, number());
    if (way == 1) sum = add(mul(sum, x), number());
    if (way == 2) sum = add(sum, mul(number(), powers));
    if (way == 2 && k + 1 < degree) powers = mul(powers, x);
  }
  keep(sum);
}

void Writer::products() {
  const std::uint64_t count = 2 + below(7), way = below(3);
  std::vector<Value> parts;
  for (std::uint64_t k = 0; k < count; ++k) {
    const Value a = pick(), b = operand();
    if (way == 0 && !parts.empty())
      parts[0] = fma(a, b, parts[0]);
    else
      parts.push_back(mul(a, b));
  }
  keep(sum_of(std::move(parts), way == 1));
}

void Writer::quotients() {
  switch (below(6)) {
    case 0: return keep(div(constant(1), pick()));
    case 1: {
      const Value d = clear_of_zero(pick());
      return keep(make(Op::Recip, d, 0, 1 / d.lo));
    }
    case 2: {  // two quotients by one divisor
      const Value d = clear_of_zero(pick());
      return keep(add(div(pick(), d), div(pick(), d)));
    }
    case 3: {  // a Newton step of a root
      const Value a = clear_of_zero(pick()), x = clear_of_zero(pick());
      return keep(mul(constant(0.5), add(x, div(a, x))));
    }
    case 4: return keep(sub(div(pick(), pick()), div(pick(), pick())));
    default: return keep(div(operand(), pick()));
  }
}

void Writer::roots() {
  switch (below(6)) {
    case 0: {
      const Value d = clear_of_zero(pick());
      return keep(make(Op::Rsqrt, d, 0, 1 / std::sqrt(d.lo)));
    }
    case 1: {
      const Value a = pick();
      return keep(make(Op::Cbrt, a, std::cbrt(a.lo), std::cbrt(a.hi)));
    }
    case 2: {
      const Value a = pick(), b = pick();
      return keep(make(Op::Hypot, a, b, 0, a.size() + b.size()));
    }
    case 3: {  // a distance
      const Value a = sub(pick(), operand()), b = sub(pick(), operand());
      return keep(root(add(mul(a, a), mul(b, b))));
    }
    case 4: {  // a vector of length one
      const Value a = pick(), b = pick();
      return keep(div(a, root(add(constant(0.25), add(mul(a, a), mul(b, b))))));
    }
    default: return keep(root(not_negative(pick())));
  }
}

void Writer::functions() {
  const Value a = pick();
  switch (below(14)) {
    case 0: return keep(exponential(a));
    case 1: return keep(make(Op::Log, clear_of_zero(a), -5, 10));
    case 2: return keep(make(chance(0.5) ? Op::Sin : Op::Cos, a, -1, 1));
    case 3: return keep(exponential(make(Op::Neg, mul(a, a), -a.size() * a.size(), 0)));  // a bell
    case 4: return keep(div(constant(1), add(constant(1), exponential(make(Op::Neg, a, -a.hi, -a.lo)))));
    case 5: return keep(make(Op::Tanh, a, -1, 1));
    case 6: return keep(make(Op::Log, add(constant(1), exponential(a)), 0, 10));
    case 7: {
      const Value x = clear_of_zero(clamp(a, 0, 50)), y = within(pick(), 2);
      return keep(make(Op::Pow, x, y, 0, 1e4));
    }
    case 8: return keep(make(Op::Atan2, a, pick(), -3.2, 3.2));
    case 9: {
      constexpr std::array kOdd = {Op::Asin, Op::Acos, Op::Atanh};
      return keep(make(kOdd[below(kOdd.size())], clamp(a, -0.9, 0.9), -3.2, 3.2));
    }
    case 10: {
      constexpr std::array kTamed = {Op::Sinh, Op::Cosh, Op::Expm1, Op::Exp2};
      return keep(make(kTamed[below(kTamed.size())], within(a, 6), -500, 500));
    }
    case 11: {
      constexpr std::array kPositive = {Op::Log2, Op::Log10, Op::Log1p};
      return keep(make(kPositive[below(kPositive.size())], clear_of_zero(a), -8, 15));
    }
    case 12: {
      if (chance(0.2)) return keep(make(Op::Acosh, add(mul(a, a), constant(1)), 0, 20));
      constexpr std::array kAny = {Op::Atan, Op::Asinh, Op::Erf, Op::Erfc};
      return keep(make(kAny[below(kAny.size())], a, -12, 12));
    }
    default: {  // sin and cos of one angle
      const Value s = make(Op::Sin, a, -1, 1), c = make(Op::Cos, a, -1, 1);
      if (chance(0.2)) return keep(make(Op::Tan, within(a, 1.4), -6, 6));
      return keep(add(mul(s, pick()), mul(c, pick())));
    }
  }
}

void Writer::choices() {
  switch (below(6)) {
    case 0: return keep(min(pick(), operand()));
    case 1: return keep(max(pick(), operand()));
    case 2: return keep(clamp(pick(), below(2) == 0 ? 0 : -1, 1));
    case 3: return keep(abs(sub(pick(), operand())));
    default: {
      NodeId condition = compared(pick(), operand());
      if (chance(0.25)) condition = builder_.op(chance(0.5) ? Op::And : Op::Or, condition, compared(pick(), operand()));
      const Value a = operand(), b = pick();
      return keep({builder_.op(Op::Select, condition, a.id, b.id), std::min(a.lo, b.lo), std::max(a.hi, b.hi)});
    }
  }
}

void Writer::roundings() {
  const Value a = pick();
  switch (below(with_integers_ ? 7 : 6)) {
    case 0: return keep(sub(a, make(Op::Floor, a, a.lo - 1, a.hi)));
    case 1: {
      constexpr std::array kOps = {Op::Floor, Op::Ceil, Op::Round, Op::Rint, Op::Trunc};
      return keep(make(kOps[below(kOps.size())], a, a.lo - 1, a.hi + 1));
    }
    case 2: return keep(make(Op::Sign, a, -1, 1));
    case 3: return keep(make(Op::Copysign, a, pick(), -a.size(), a.size()));
    case 4: return keep(make(Op::Neg, a, -a.hi, -a.lo));
    case 5: return keep(make(Op::Fmod, a, clear_of_zero(pick()), -a.size(), a.size()));
    default: {  // there and back
      const NodeId whole = builder_.cast(Type::i32, a.id);
      const NodeId mask = builder_.constant_int(Type::i32, static_cast<std::int64_t>(1 + below(255)));
      return keep({builder_.cast(type_, builder_.op(Op::And, whole, mask)), 0, 255});
    }
  }
}

void Writer::integer_idiom() {
  const Value a = pick();
  const auto any = [&](NodeId id) { take({id, -kTame, kTame}); };
  const auto constant_of = [&](std::uint64_t n) {
    return builder_.constant_int(Type::i32, static_cast<std::int64_t>(1 + below(n)));
  };
  switch (below(9)) {
    case 0: return any(builder_.op(Op::Add, a.id, operand().id));
    case 1: return any(builder_.op(Op::Sub, a.id, operand().id));
    case 2: return any(builder_.op(Op::Mul, a.id, operand().id));
    case 3: {
      constexpr std::array kBits = {Op::And, Op::Or, Op::Xor};
      return any(builder_.op(kBits[below(kBits.size())], a.id, operand().id));
    }
    case 4: {
      constexpr std::array kShifts = {Op::Shl, Op::Shr, Op::Sar};
      return any(builder_.op(kShifts[below(kShifts.size())], a.id, constant_of(20)));
    }
    case 5: return any(builder_.op(chance(0.5) ? Op::Min : Op::Max, a.id, operand().id));
    case 6: {
      constexpr std::array kOne = {Op::Neg, Op::Abs, Op::Not, Op::Sign};
      return any(builder_.op(kOne[below(kOne.size())], a.id));
    }
    case 7: {  // a step of a hash
      const NodeId shifted = builder_.op(Op::Shr, a.id, constant_of(16));
      return any(builder_.op(Op::Mul, builder_.op(Op::Xor, a.id, shifted), constant_of(1 << 30)));
    }
    default: return any(builder_.op(Op::Select, compared(a, operand()), operand().id, pick().id));
  }
}

void Writer::outputs() {
  const std::uint64_t wanted = 1 + (chance(0.2) ? below(3) : 0);
  std::vector<Value> ends = unused_.empty() ? std::vector<Value>{all_.back()} : unused_;
  const std::uint64_t way = below(3);
  while (ends.size() > wanted) {
    const Value a = ends[ends.size() - 1], b = ends[ends.size() - 2];
    ends.resize(ends.size() - 2);
    const Value joined = type_ == Type::i32 ? Value{builder_.op(Op::Add, a.id, b.id), -kTame, kTame}
                         : way == 0         ? add(a, b)
                         : way == 1         ? fma(a, number(), b)
                                            : max(a, b);
    ends.insert(ends.begin(), joined);
  }
  const bool total = type_ != Type::i32 && chance(0.05);
  for (const Value& v : ends)
    expr_.outputs.push_back({"out" + std::to_string(expr_.outputs.size()), total ? builder_.op(Op::Sum, v.id) : v.id});
  if (expr_.outputs.size() == 1) expr_.outputs[0].name = "out";
}

}  // namespace

expr::Expr random_program(std::uint64_t seed, const ProgramOptions& options) {
  return Writer(seed, options).write();
}

}  // namespace trident::learn
