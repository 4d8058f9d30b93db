#include "jit/equiv/edges.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <span>

#include "jit/kir/interpreter.h"

namespace trident::equiv {
namespace {

using expr::Type;

/// Operations evaluated for one kernel, and places of lines.
constexpr std::size_t kLanesMax = 3'000'000;
constexpr std::size_t kEdgePointsMax = 6144, kEdgePointsMin = 1536;
/// Lines on which one variable moves, and on which all do.
constexpr std::size_t kSingleLinesMax = 48, kJointLines = 8;
/// Changes followed on one line, from the least magnitude on: results are finite mostly behind the first ones alone.
constexpr std::size_t kChangesMin = 3, kChangesMax = 12, kChangesOfAllLines = 160;

/// Magnitudes between which classes are compared, as binary exponents: dense near the thresholds of functions.
constexpr int kPlaces32[] = {-149, -126, -100, -64, -42, -32, -16, -8, -4, -2, 0,  1,   2,   3,  4,
                             5,    6,    7,    8,   10,  16,  21,  32, 42, 64, 90, 110, 120, 127};
constexpr int kPlaces64[] = {-1074, -1022, -900, -680, -512, -340, -256, -128, -64, -32,  -16, -8, -4,
                             -2,    0,     1,    2,    3,    4,    5,    6,    7,   8,    9,   10, 11,
                             16,    32,    64,   128,  256,  340,  512,  680,  900, 1000, 1023};

/// Classes of one value, as bits: its kind if it is not finite, and whether it is too small to be normal.
enum Class : std::uint8_t { kFinite = 0, kNan = 1, kPlusInfinity = 2, kMinusInfinity = 4, kSmall = 8 };
constexpr std::uint8_t kOverflowClasses = kNan | kPlusInfinity | kMinusInfinity;

std::uint8_t class_of(Type type, Bits bits) {
  const double x = value_of(type, bits);
  if (std::isnan(x)) return kNan;
  if (std::isinf(x)) return x > 0 ? kPlusInfinity : kMinusInfinity;
  return std::fabs(x) < (type == Type::f32 ? FLT_MIN : DBL_MIN) ? kSmall : kFinite;
}

/// Evaluates a kernel lane by lane, in calls of one element.
class Lane {
 public:
  Lane(const expr::Expr& expr, const kir::Kernel& kernel) : kernel_(kernel), bits_(kernel.insts.size()) {
    for (std::size_t v = 0; v < expr.variables.size(); ++v)
      (expr.variables[v].is_scalar() ? params_ : inputs_).push_back(v);
    std::vector<bool> is_output(kernel.insts.size(), false);
    for (const kir::Output& output : kernel.outputs) is_output[output.value.index] = true;
    for (std::uint32_t i = 0; i < kernel.insts.size(); ++i)
      if (ir::is_float(kernel.insts[i].type) && (is_output[i] || may_overflow(kernel.insts[i].op)))
        watched_.push_back(i);
  }

  /// Returns the classes of the watched values at a point.
  std::vector<std::uint8_t> classes(const Point& point) {
    std::vector<std::uint8_t> list;
    for (std::uint32_t i = 0; i < kernel_.insts.size(); ++i) bits_[i] = value(kernel_.insts[i], point);
    for (const std::uint32_t i : watched_) list.push_back(class_of(kernel_.insts[i].type, bits_[i]));
    return list;
  }

 private:
  static bool may_overflow(kir::Op op) {
    using kir::Op;
    constexpr Op kOps[] = {Op::Add, Op::Sub,  Op::Mul,  Op::Div,    Op::Sqrt,    Op::Fma,
                           Op::Fms, Op::Fnma, Op::Fnms, Op::Scalef, Op::Convert, Op::Dot};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
  }

  [[nodiscard]] Bits at(kir::Value v) const { return v.valid() ? bits_[v.index] : 0; }

  [[nodiscard]] Bits value(const kir::Inst& inst, const Point& point) const {
    using kir::Op;
    const kir::Signature signature = kir::info(inst.op).signature;
    if (inst.op == Op::Constant) return inst.imm;
    if (inst.op == Op::Input) return point[inputs_[inst.imm]];
    if (inst.op == Op::Param) return point[params_[inst.imm]];
    if (inst.op == Op::Count) return kir::eval_lane(Op::Convert, inst.type, Type::i64, 1, 0, 0);
    if (inst.op == Op::Index) return 0;
    if (inst.op == Op::Dot) return kir::eval_lane(Op::Mul, inst.type, inst.type, at(inst.a), at(inst.b), 0);
    if (signature == kir::Signature::Reduce) return at(inst.a);
    if (inst.op == Op::Lookup) {
      const auto& entries = kernel_.tables[inst.imm].entries;
      return entries[at(inst.a) % entries.size()];
    }
    const Type operand = kernel_.type_of(inst.op == kir::Op::Select ? inst.b : inst.a);
    return kir::eval_lane(inst.op, inst.type, operand, at(inst.a), at(inst.b), at(inst.c));
  }

  const kir::Kernel& kernel_;
  std::vector<Bits> bits_;
  std::vector<std::size_t> inputs_, params_;  ///< variables, in the order of the kernel's
  std::vector<std::uint32_t> watched_;
};

/// A line of points, by one magnitude: each variable that moves is plus or minus it, or its reciprocal.
struct Line {
  enum class Move : std::uint8_t { none, with, against };
  Point base;
  std::vector<Move> moves;
  std::vector<bool> negative;

  [[nodiscard]] Point at(const expr::Expr& expr, double magnitude) const {
    Point point = base;
    for (std::size_t v = 0; v < point.size(); ++v) {
      if (moves[v] == Move::none) continue;
      const expr::Variable& variable = expr.variables[v];
      const double greatest = variable.type == Type::f32 ? FLT_MAX : DBL_MAX;
      const double size = std::min(moves[v] == Move::with ? magnitude : 1 / magnitude, greatest);
      const double x = std::clamp(negative[v] ? -size : size, variable.lo, variable.hi);
      const Bits bits = bits_of(variable.type, x);
      if (allowed(variable, bits)) point[v] = bits;
    }
    return point;
  }
};

class Search {
 public:
  Search(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed, const std::function<bool()>& cancelled)
      : expr_(expr),
        lane_(expr, kernel),
        random_(seed),
        cancelled_(cancelled),
        budget_(std::clamp(kLanesMax / std::max<std::size_t>(kernel.insts.size(), 1), kEdgePointsMin, kEdgePointsMax)) {
    for (const expr::Variable& variable : expr.variables) wide_ = wide_ || ir::bytes_of(variable.type) == 8;
  }

  Edges run() {
    Edges edges;
    const std::size_t for_scans = budget_ / 2;
    for (const Line& line : lines())
      if (budget_ > for_scans) scan(line);
    follow(kOverflowClasses, budget_ - budget_ / 4, edges.overflow);
    follow(kSmall, budget_, edges.underflow);
    return edges;
  }

 private:
  struct Place {
    double magnitude = 0;
    Point point;
    std::vector<std::uint8_t> classes;
  };
  struct Interval {
    std::size_t line = 0;
    Place low, high;
  };

  // Makes lines through points of every kind; as many single ones per variable as there is room for.
  std::vector<Line> lines() {
    // Variables of ordinary size, and below 1: what overflows first depends on the others.
    constexpr Way kWays[] = {Way::uniform, Way::small, Way::spread, Way::small, Way::vast, Way::tiny};
    std::vector<Line> list;
    std::vector<std::size_t> movable;
    for (std::size_t v = 0; v < expr_.variables.size(); ++v)
      if (!ir::is_mask(expr_.variables[v].type)) movable.push_back(v);
    if (movable.empty()) return list;
    const std::size_t bases = movable.size() == 1 ? 1 : std::clamp<std::size_t>(24 / movable.size(), 2, 6);
    for (std::size_t b = 0; b < bases; ++b)
      for (const std::size_t v : movable)
        for (const bool negative : {false, true}) {
          if (list.size() == kSingleLinesMax) break;
          list.push_back(line(kWays[b % std::size(kWays)]));
          list.back().moves[v] = Line::Move::with;
          list.back().negative[v] = negative;
        }
    for (std::size_t j = 0; j < kJointLines && movable.size() > 1; ++j) {
      list.push_back(line(Way::uniform));
      for (const std::size_t v : movable) {
        list.back().moves[v] = j > 1 && random_.below(2) == 0 ? Line::Move::against : Line::Move::with;
        list.back().negative[v] = j > 0 && random_.below(2) == 0;
      }
    }
    return list;
  }

  Line line(Way way) {
    const std::size_t variables = expr_.variables.size();
    Line made{{}, std::vector<Line::Move>(variables, Line::Move::none), std::vector<bool>(variables, false)};
    for (const expr::Variable& variable : expr_.variables) made.base.push_back(draw(variable, way, random_));
    return made;
  }

  [[nodiscard]] Place place(std::size_t line, double magnitude) {
    budget_ -= budget_ > 0 ? 1 : 0;
    Place p{magnitude, lines_[line].at(expr_, magnitude), {}};
    p.classes = lane_.classes(p.point);
    return p;
  }

  [[nodiscard]] bool stopped() const { return budget_ == 0 || (cancelled_ && cancelled_()); }

  void scan(const Line& line) {
    if (stopped()) return;
    lines_.push_back(line);
    const std::size_t number = lines_.size() - 1;
    Place before;
    for (const int exponent : wide_ ? std::span<const int>(kPlaces64) : std::span<const int>(kPlaces32)) {
      Place here = place(number, std::ldexp(1.0, exponent));
      if (!before.point.empty() && before.classes != here.classes) intervals_.push_back({number, before, here});
      before = std::move(here);
    }
  }

  static bool differ(const Place& a, const Place& b, std::uint8_t classes) {
    for (std::size_t i = 0; i < a.classes.size(); ++i)
      if (((a.classes[i] ^ b.classes[i]) & classes) != 0) return true;
    return false;
  }

  // Bisects the intervals in which some of `classes` change, line by line, until `points` more are used up.
  void follow(std::uint8_t classes, std::size_t points, std::vector<Point>& found) {
    const std::size_t end = budget_ - std::min(budget_, points);
    std::vector<std::size_t> changes(lines_.size(), 0);
    const std::size_t most =
        std::clamp(kChangesOfAllLines / std::max<std::size_t>(lines_.size(), 1), kChangesMin, kChangesMax);
    for (const Interval& interval : intervals_) {
      if (stopped()) break;
      std::vector<Interval> open = {interval};
      while (!open.empty() && changes[interval.line] < most && budget_ > end) {
        Interval here = std::move(open.back());
        open.pop_back();
        if (differ(here.low, here.high, classes) && !split(here, classes, open)) {
          ++changes[interval.line];
          add_around(here, found);
        }
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }

  // Opens both halves. Returns false where the ends are neighbours.
  bool split(const Interval& whole, std::uint8_t classes, std::vector<Interval>& open) {
    const auto low = std::bit_cast<std::uint64_t>(whole.low.magnitude);
    const auto high = std::bit_cast<std::uint64_t>(whole.high.magnitude);
    if (high - low < 2) return false;
    const double magnitude = std::bit_cast<double>(low + (high - low) / 2);
    Place middle = whole.low;
    middle.magnitude = magnitude;
    const Point point = lines_[whole.line].at(expr_, magnitude);
    if (point == whole.high.point) {
      middle = whole.high;
      middle.magnitude = magnitude;
    } else if (point != whole.low.point) {
      middle = place(whole.line, magnitude);
    }
    if (differ(middle, whole.high, classes)) open.push_back({whole.line, middle, whole.high});
    if (differ(whole.low, middle, classes)) open.push_back({whole.line, whole.low, middle});
    return true;
  }

  // Adds the neighbours and points further off: an ulp explains results at an edge, not those beside it. Behind it a
  // form may fail in less than half a binade, up to where the result of the source overflows too.
  void add_around(const Interval& change, std::vector<Point>& found) const {
    found.push_back(change.low.point);
    found.push_back(change.high.point);
    for (const double step : {0x1p-20, 0x1p-11, 0x1p-4}) {
      found.push_back(lines_[change.line].at(expr_, change.low.magnitude * (1 - step)));
      found.push_back(lines_[change.line].at(expr_, std::min(change.high.magnitude * (1 + step), DBL_MAX)));
    }
    for (const double factor : {1.15, 1.3})
      found.push_back(lines_[change.line].at(expr_, std::min(change.high.magnitude * factor, DBL_MAX)));
  }

  const expr::Expr& expr_;
  Lane lane_;
  Random random_;
  const std::function<bool()>& cancelled_;
  std::size_t budget_;  ///< points that may still be evaluated
  bool wide_ = false;
  std::vector<Line> lines_;
  std::vector<Interval> intervals_;
};

}  // namespace

Edges edges_of(const expr::Expr& expr, const kir::Kernel& kernel, std::uint64_t seed,
               const std::function<bool()>& cancelled) {
  const auto is_table = [](const expr::Variable& v) { return v.is_table(); };
  if (std::any_of(expr.variables.begin(), expr.variables.end(), is_table) || !kernel.before.empty()) return {};
  return Search(expr, kernel, seed, cancelled).run();
}

}  // namespace trident::equiv
