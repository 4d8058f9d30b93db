#include "jit/equiv/samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "jit/equiv/branches.h"
#include "jit/equiv/critical.h"
#include "jit/equiv/draw.h"
#include "jit/equiv/probe.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Op;

/// Points of the set of corners.
constexpr std::size_t kCornersMax = 4096;
/// Elements per call where scalar parameters or reductions make several calls worth while.
constexpr std::uint64_t kCallElements = 1024;
/// Pairs of points between which steps are sought.
constexpr std::size_t kStepPairsMax = 48;
constexpr std::size_t kStepPairsPerNode = 4;
/// Pairs for jumps: more, so that rare exact hits, as in floor(x / 49), are among them.
constexpr std::size_t kJumpPairsMax = 128;
constexpr std::size_t kJumpPairsPerNode = 48;
/// A run of neighbouring values of one variable, the others held.
constexpr std::uint64_t kRunLength = 64;

constexpr Way kWays[] = {Way::uniform, Way::spread, Way::small, Way::vast, Way::tiny};

class Sampler {
 public:
  Sampler(const Expr& expr, const SampleOptions& options) : expr_(expr), options_(options), random_(options.seed) {
    for (const auto& variable : expr.variables) {
      has_scalars_ = has_scalars_ || variable.is_scalar();
      has_tables_ = has_tables_ || variable.is_table();
    }
    for (const auto& node : expr.nodes) {
      has_reductions_ = has_reductions_ || is_reduction(node.op);
      has_numbers_ = has_numbers_ || node.op == Op::Index || node.op == Op::Strided;
      if (node.op == Op::Constant) constants_.push_back(value_of(node.type, node.imm));
    }
    std::sort(constants_.begin(), constants_.end());
    constants_.erase(std::unique(constants_.begin(), constants_.end()), constants_.end());
    if (constants_.size() > 16) constants_.resize(16);
  }

  std::vector<Samples> run() {
    std::vector<Samples> sets;
    if (exhaustible()) {
      sets.push_back(everything());
      return sets;
    }
    sets.push_back(drawn("uniform", Way::uniform, options_.points));
    sets.push_back(drawn("spread", Way::spread, options_.points));
    const auto any = [&](auto has) { return std::any_of(expr_.variables.begin(), expr_.variables.end(), has); };
    if (any(has_small)) sets.push_back(drawn("small", Way::small, options_.points / 2));
    if (variables() > 1) sets.push_back(drawn("alike", Way::spread, options_.points / 4));
    if (variables() > 1 && any(has_small)) sets.push_back(drawn("alike", Way::small, options_.points / 4));
    add_near_zeros(sets);
    add_signs(sets);
    if (any(has_vast) && !options_.ordinary) sets.push_back(drawn("vast", Way::vast, options_.points / 2));
    if (any(has_tiny) && !options_.ordinary) sets.push_back(drawn("tiny", Way::tiny, options_.points / 2));
    add_corners(sets);
    return sets;
  }

 private:
  [[nodiscard]] std::size_t variables() const { return expr_.variables.size(); }

  Samples empty(const char* name, std::uint64_t n) const {
    Samples s;
    s.name = name;
    s.n = n;
    for (const auto& variable : expr_.variables)
      s.columns.emplace_back(static_cast<std::size_t>(n) * ir::bytes_of(variable.type));
    return s;
  }

  void put(Samples& s, std::uint64_t index, std::size_t variable, Bits bits) const {
    const std::size_t bytes = ir::bytes_of(expr_.variables[variable].type);
    std::memcpy(s.columns[variable].data() + static_cast<std::size_t>(index) * bytes, &bits, bytes);
  }
  [[nodiscard]] Bits get(const Samples& s, std::uint64_t index, std::size_t variable) const {
    const std::size_t bytes = ir::bytes_of(expr_.variables[variable].type);
    Bits bits = 0;
    std::memcpy(&bits, s.columns[variable].data() + static_cast<std::size_t>(index) * bytes, bytes);
    return bits;
  }
  [[nodiscard]] Point point(const Samples& s, std::uint64_t index) const {
    Point p;
    for (std::size_t v = 0; v < variables(); ++v) p.push_back(get(s, index, v));
    return p;
  }

  // --- everything ---

  [[nodiscard]] std::uint64_t combinations() const {
    std::uint64_t total = 1;
    for (const auto& variable : expr_.variables) {
      const std::uint64_t count = count_values(variable);
      if (count == 0 || count > options_.points / total) return UINT64_MAX;
      total *= count;
    }
    return total;
  }
  [[nodiscard]] bool exhaustible() const {
    return !has_scalars_ && !has_reductions_ && !has_tables_ && !has_numbers_ && variables() > 0 &&
           combinations() <= options_.points;
  }

  Samples everything() const {
    Samples s = empty("all", combinations());
    for (std::uint64_t i = 0; i < s.n; ++i) {
      std::uint64_t rest = i;
      for (std::size_t v = 0; v < variables(); ++v) {
        const std::uint64_t count = count_values(expr_.variables[v]);
        put(s, i, v, nth_value(expr_.variables[v], rest % count));
        rest /= count;
      }
    }
    s.calls = {{0, s.n, false}};
    s.exhaustive = true;
    return s;
  }

  // --- drawn sets ---

  // Splits a set into calls: of many lengths where reductions make it matter; equal where only parameters vary.
  [[nodiscard]] std::vector<Call> split(std::uint64_t n) const {
    if (!has_reductions_ && !has_scalars_ && !has_tables_) return {{0, n, false}};
    constexpr std::uint64_t kLengths[] = {1, 2, 3, 15, 16, 17, 31, 64, 100, 255, 1000};
    std::vector<Call> calls;
    std::uint64_t at = 0;
    for (std::size_t i = 0; at < n; ++i) {
      // The first and last calls are long: tails are cut from them (checker.cpp).
      const bool varied = has_reductions_ && i >= 1 && n - at > kCallElements;
      const std::uint64_t length = std::min(varied ? kLengths[i % std::size(kLengths)] : kCallElements, n - at);
      calls.push_back({at, length, false, table_length(i, n)});
      at += length;
    }
    return calls;
  }

  // Returns the table length of call number `call`, in a set of `n` elements; the first has the whole column.
  static std::uint64_t table_length(std::size_t call, std::uint64_t n) {
    const std::uint64_t lengths[] = {n, 1000, 17, 1, n, 64, 0, n / 2};
    return lengths[call % std::size(lengths)];
  }

  void hold_scalars(Samples& s, const Call& call) const {
    for (std::size_t v = 0; v < variables(); ++v)
      if (expr_.variables[v].is_scalar())
        for (std::uint64_t i = 1; i < call.n; ++i) put(s, call.first + i, v, get(s, call.first, v));
  }

  Samples drawn(const char* name, Way way, std::uint64_t points) {
    // A multiple of 64 elements: arrays that end at a page's end then also start aligned.
    const std::uint64_t n = std::max<std::uint64_t>(points / 64, 1) * 64;
    Samples s = empty(name, n);
    s.way = way;
    const bool far_out = way == Way::vast || way == Way::tiny;
    for (std::uint64_t i = 0; i < n; ++i) {
      const bool alike = s.name == "alike" || (far_out && i % 2 == 1), mixed = far_out && i % 4 == 2;
      std::size_t v = 0;
      for (const Bits bits : alike ? alike_point(way) : mixed ? mixed_point() : independent_point(way))
        put(s, i, v++, bits);
    }
    if (has_tables_) number_elements(s);
    if (way == Way::uniform && variables() > 0)
      for (; s.runs + kRunLength <= n / 8; s.runs += kRunLength) make_run(s, s.runs);
    s.calls = split(n);
    for (const Call& call : s.calls) hold_scalars(s, call);
    return s;
  }

  // Replaces half of the integers by numbers of elements that tables may have, or of some just outside.
  void number_elements(Samples& s) {
    constexpr std::uint64_t kOutside = 8;
    for (std::size_t v = 0; v < variables(); ++v) {
      const auto& variable = expr_.variables[v];
      if (!ir::is_int(variable.type) || variable.is_table()) continue;
      for (std::uint64_t i = 0; i < s.n; ++i) {
        const std::uint64_t elements = random_.next() % 2 == 0 ? s.n : 64;
        const auto number = static_cast<double>(random_.below(elements + 2 * kOutside)) - double{kOutside};
        const Bits bits = bits_of(variable.type, number);
        if (random_.next() % 2 == 0 && allowed(variable, bits)) put(s, i, v, bits);
      }
    }
  }

  Point independent_point(Way way) {
    Point p;
    for (const auto& variable : expr_.variables) p.push_back(draw(variable, way, random_));
    return p;
  }

  // Mixes tiny and vast values.
  Point mixed_point() {
    constexpr Way kFarOut[] = {Way::vast, Way::tiny, Way::spread};
    Point p;
    for (const auto& variable : expr_.variables)
      p.push_back(draw(variable, kFarOut[random_.below(std::size(kFarOut))], random_));
    return p;
  }

  // Draws one place for all variables, or two that are often near to each other. Then a product of many overflows where
  // all are large, and variables of one range are equal or opposite.
  Point alike_point(Way way) {
    const double one = random_.unit();
    double two = random_.unit();
    const std::uint64_t kind = random_.below(4);
    if (kind < 2) two = one;
    if (kind == 2) two = std::clamp(one + (two - 0.5) / 16, 0.0, 1.0);
    Point p;
    for (const auto& variable : expr_.variables)
      p.push_back(draw_at(variable, way, random_.next() % 2 == 0 ? one : two, random_));
    return p;
  }

  void make_run(Samples& s, std::uint64_t start) {
    const std::size_t moving = random_.below(variables());
    for (std::uint64_t i = 1; i < kRunLength; ++i) {
      for (std::size_t v = 0; v < variables(); ++v) {
        const Bits before = get(s, start + i - 1, v);
        put(s, start + i, v, v == moving ? next_up(expr_.variables[v], before) : before);
      }
    }
  }

  // --- corners ---

  // Appends the results of explore_branches(), and the corners, to the drawn sets.
  void add_corners(std::vector<Samples>& sets) {
    const Samples uniform = sets[0];
    std::vector<std::vector<Bits>> values;
    std::size_t grid = 1;
    for (const auto& variable : expr_.variables) {
      values.push_back(corner_values(variable, constants_));
      grid = grid > kCornersMax ? grid : grid * values.back().size();
    }
    add_jumps(sets, uniform);
    std::vector<Point> points = step_points(uniform);
    add_extremes(points);
    add_company(points);
    const bool unexplored = !explore_branches(sets, values, points);
    if (options_.ordinary) return;
    if (grid <= kCornersMax) {
      for (std::size_t i = 0; i < grid; ++i) points.push_back(combination(values, i));
    } else {
      mix_corners(values, uniform, points);
    }
    sets.push_back(packed("corners", points));
    sets.back().unexplored = unexplored;
  }

  // Adds every combination of range ends, zeros, infinities and NaN; where these are too many, of the ends.
  void add_extremes(std::vector<Point>& points) const {
    constexpr std::size_t kCombinationsMax = 1024;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const bool ends_only : {false, true}) {
      std::vector<std::vector<Bits>> values;
      std::size_t combinations = 1;
      for (const auto& variable : expr_.variables) {
        std::vector<Bits>& list = values.emplace_back();
        const auto add = [&](Bits bits) {
          if (allowed(variable, bits) && std::find(list.begin(), list.end(), bits) == list.end()) list.push_back(bits);
        };
        for (const double end : {0.0, 1.0}) {
          const double x = end == 0 ? variable.lo : variable.hi;
          const bool inside = ir::is_float(variable.type) && std::isfinite(x);  // an end may lie between two values
          add(inside ? value_at(variable, Way::uniform, {end, false, 0}) : bits_of(variable.type, x));
        }
        if (list.empty() || !ends_only)
          for (const double x : {0.0, -0.0, -kInfinity, kInfinity, std::numeric_limits<double>::quiet_NaN()})
            add(bits_of(variable.type, x));
        combinations = combinations > kCombinationsMax ? combinations : combinations * list.size();
      }
      if (combinations > kCombinationsMax || combinations == 0) {
        // All at their first, second, ... value together.
        for (std::size_t i = 0; i < 8; ++i) {
          Point& p = points.emplace_back();
          for (const auto& list : values) p.push_back(list.empty() ? 0 : list[i % list.size()]);
        }
        continue;
      }
      for (std::size_t i = 0; i < combinations; ++i) points.push_back(combination(values, i));
      return;
    }
  }

  // Puts special values of one variable among values of every kind of the others: an infinity has other effects on a
  // difference of moderate values than on one of ends.
  void add_company(std::vector<Point>& points) {
    constexpr std::size_t kPointsMax = 1024;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (variables() < 2) return;
    std::vector<std::pair<std::size_t, Bits>> special;
    for (std::size_t v = 0; v < variables(); ++v) {
      const auto& variable = expr_.variables[v];
      if (!ir::is_float(variable.type)) continue;
      for (const double x : {-kInfinity, kInfinity, 0.0, -0.0, std::numeric_limits<double>::quiet_NaN()})
        if (const Bits bits = bits_of(variable.type, x); allowed(variable, bits)) special.emplace_back(v, bits);
    }
    const std::size_t rounds = special.empty() ? 0 : std::min<std::size_t>(32, kPointsMax / special.size());
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const auto& [which, bits] : special) {
        Point& p = points.emplace_back();
        for (std::size_t v = 0; v < variables(); ++v)
          p.push_back(v == which ? bits : draw(expr_.variables[v], kWays[round % std::size(kWays)], random_));
      }
    }
  }

  // Returns a zero, infinity or NaN that the range of a variable allows, or else `ordinary`.
  Bits special(std::size_t v, Bits ordinary) {
    constexpr double kValues[] = {-INFINITY, INFINITY, NAN, 0.0, -0.0};
    const auto& variable = expr_.variables[v];
    const Bits bits = bits_of(variable.type, kValues[random_.below(std::size(kValues))]);
    return ir::is_float(variable.type) && allowed(variable, bits) ? bits : ordinary;
  }

  static Point combination(const std::vector<std::vector<Bits>>& values, std::size_t index) {
    Point p;
    for (const auto& list : values) {
      p.push_back(list[index % list.size()]);
      index /= list.size();
    }
    return p;
  }

  // Adds every corner of every variable among ordinary values of the others, then corners of all variables at random.
  void mix_corners(const std::vector<std::vector<Bits>>& values, const Samples& uniform, std::vector<Point>& points) {
    for (std::size_t v = 0; v < variables() && points.size() < kCornersMax * 3 / 4; ++v) {
      for (const Bits corner : values[v]) {
        points.push_back(point(uniform, random_.below(uniform.n)));
        points.back()[v] = corner;
      }
    }
    while (points.size() < kCornersMax) {
      Point p;
      for (const auto& corner : values) p.push_back(corner[random_.below(corner.size())]);
      points.push_back(std::move(p));
    }
  }

 public:
  // Makes calls of `call_elements`, or of one and then 32, where parameters or reductions make length matter.
  Samples packed(const char* name, std::vector<Point>& points, std::uint64_t call_elements = 32) const {
    if (points.empty()) points.emplace_back();
    const std::uint64_t n = (points.size() + 63) / 64 * 64;
    Samples s = empty(name, n);
    for (std::uint64_t i = 0; i < n; ++i)
      for (std::size_t v = 0; v < variables(); ++v) put(s, i, v, points[i % points.size()][v]);
    // Short calls, so that there are many corners of parameters and of the arrays under a reduction; some of one
    // element, where no others hide an extreme's effect.
    if (has_scalars_ || has_reductions_ || has_tables_) {
      constexpr std::uint64_t kSingles = 512;
      if (has_reductions_) s.calls.push_back({0, 0, false});
      for (std::uint64_t at = 0; at < n;) {
        const std::uint64_t length = std::min(has_reductions_ && at < kSingles ? 1 : call_elements, n - at);
        s.calls.push_back({at, length, false, table_length(s.calls.size(), n)});
        at += length;
      }
      for (const Call& call : s.calls) hold_scalars(s, call);
    } else {
      s.calls = {{0, n, false}};
    }
    return s;
  }

 private:
  // --- steps ---

  [[nodiscard]] bool is_decision(const expr::Node& node) const {
    const expr::OpInfo& row = expr::info(node.op);
    const bool picks = row.continuity == expr::Continuity::kink || node.op == Op::Sign;
    return expr::rounds_to_integer(node.op) || picks || row.signature == expr::Signature::Compare;
  }

  // Returns whether a node is a jump: on floats, and not a choice between two values that are equal where it changes.
  [[nodiscard]] bool is_jump(const expr::Node& node) const {
    if (!is_decision(node) || expr::info(node.op).continuity == expr::Continuity::kink) return false;
    return ir::is_float(expr_.at(node.a).type);
  }
  template <class Which>
  [[nodiscard]] std::vector<std::uint32_t> decisions(Which which) const {
    std::vector<std::uint32_t> list;
    const std::vector<expr::Shape> shapes = expr::shapes_of(expr_);
    for (std::uint32_t i = 0; i < expr_.nodes.size(); ++i)
      if (which(expr_.nodes[i]) && shapes[i] == expr::Shape::element) list.push_back(i);
    return list;
  }

  // Makes pairs of points on two sides of a step by bisection: both sides of every step that a straight line between
  // the two points of draw(node) crosses. Calls found(node, low, high).
  template <class Draw, class Found>
  void step_pairs(const std::vector<std::uint32_t>& steps, std::size_t pairs, Draw draw, Found found) {
    if (steps.empty()) return;
    Probe probe(expr_);
    for (std::size_t pair = 0; pair < pairs && !(options_.cancelled && options_.cancelled()); ++pair) {
      const std::uint32_t node = steps[pair % steps.size()];
      auto [low, high] = draw(node);
      if (probe.close_in(node, low, high)) found(node, std::move(low), std::move(high));
    }
  }

  std::vector<Point> step_points(const Samples& uniform) {
    const auto steps = decisions([&](const expr::Node& n) { return is_decision(n); });
    std::vector<Point> points;
    step_pairs(
        steps, std::min(kStepPairsMax, steps.size() * kStepPairsPerNode),
        [&](std::uint32_t) {
          Point low = point(uniform, random_.below(uniform.n));
          return std::pair(std::move(low), point(uniform, random_.below(uniform.n)));
        },
        [&](std::uint32_t node, Point low, Point high) {
          const std::vector<bool> deciding = variables_of(expr_, expr::NodeId(node));
          for (Point* side : {&low, &high}) {
            vary_others(*side, deciding, points);
            points.push_back(std::move(*side));
          }
        });
    return points;
  }

  // Lets both ends differ in one deciding variable, while the others have few bits. On such a line a sum or a product
  // is met where it is exact, and the reference knows the side.
  void move_one(std::uint32_t node, std::array<Point, 2>& ends) {
    constexpr double kFewBits[] = {1, 2, 1, 0.5, 4, 3, 7, 1};
    const std::vector<bool> deciding = variables_of(expr_, expr::NodeId(node));
    std::vector<std::size_t> movable;
    for (std::size_t v = 0; v < variables(); ++v)
      if (deciding[v]) movable.push_back(v);
    if (movable.size() < 2) return;
    const std::size_t moved = movable[random_.below(movable.size())];
    for (std::size_t v = 0; v < variables(); ++v) {
      if (v == moved) continue;
      const auto& variable = expr_.variables[v];
      Bits few = ir::is_float(variable.type) && random_.below(2) == 0
                     ? bits_of(variable.type, std::rint(value_of(variable.type, ends[0][v])))
                     : bits_of(variable.type, kFewBits[random_.below(std::size(kFewBits))]);
      if (!allowed(variable, few)) few = ends[0][v];
      ends[0][v] = ends[1][v] = few;
    }
  }

  // Adds both sides of jumps among ordinary values: among corners a whole step counts as nothing.
  void add_jumps(std::vector<Samples>& sets, const Samples& uniform) {
    const auto jumps = decisions([&](const expr::Node& n) { return is_jump(n); });
    std::vector<Point> points;
    // Wide ranges mostly use values up to some ten thousands: among uniform ones a step of one is nothing.
    constexpr double kWide = 0x1p20;
    const auto draw = [&](std::uint32_t node) {
      std::array<Point, 2> ends{point(uniform, random_.below(uniform.n)), point(uniform, random_.below(uniform.n))};
      for (std::size_t v = 0; v < variables(); ++v) {
        const auto& variable = expr_.variables[v];
        if (!ir::is_float(variable.type) || variable.hi - variable.lo < kWide) continue;
        for (Point& p : ends) {
          const double size = std::exp2(4 + static_cast<double>(random_.below(13)));
          const Bits moderate = bits_of(variable.type, size * (2 * random_.unit() - 1));
          if (allowed(variable, moderate)) p[v] = moderate;
        }
      }
      if (random_.below(4) != 0) move_one(node, ends);
      return std::pair(std::move(ends[0]), std::move(ends[1]));
    };
    step_pairs(jumps, std::min(kJumpPairsMax, jumps.size() * kJumpPairsPerNode), draw,
               [&](std::uint32_t, Point low, Point high) {
                 points.push_back(std::move(low));
                 points.push_back(std::move(high));
               });
    if (!points.empty()) sets.push_back(packed("steps", points, 1));
  }

  // Varies `point`: values of every kind for the variables that decide nothing.
  void vary_others(const Point& point, const std::vector<bool>& deciding, std::vector<Point>& found) {
    for (const Way way : kWays) {
      Point& p = found.emplace_back(point);
      for (std::size_t v = 0; v < variables(); ++v)
        if (!deciding[v]) p[v] = draw(expr_.variables[v], way, random_);
    }
    for (int i = 0; i < 4; ++i) {
      Point& p = found.emplace_back(point);
      for (std::size_t v = 0; v < variables(); ++v)
        if (!deciding[v] && random_.next() % 2 == 0) p[v] = special(v, p[v]);
    }
  }

  // --- branches ---

  // Finds sets of points for each of branches_of(). Deciding variables take values that the source names, and their
  // neighbours. Sets are small and of one kind each, since errors count in ulp of a set's greatest value; values far
  // out join the corners. Returns false where it missed a branch that the ranges do not exclude.
  bool explore_branches(std::vector<Samples>& sets, const std::vector<std::vector<Bits>>& corners,
                        std::vector<Point>& points) {
    constexpr std::size_t kProbesMax = 3000, kProbesMin = 64, kProbedNodes = 600'000;  // for all ways together
    constexpr int kVariations = 4;
    constexpr std::size_t kFoundMax = 48;
    const std::vector<expr::Shape> shapes = expr::shapes_of(expr_);
    const Branches branches = branches_of(expr_);
    if (branches.ways.empty()) return branches.complete;
    const std::size_t probes =
        std::clamp(kProbedNodes / (branches.ways.size() * expr_.nodes.size()), kProbesMin, kProbesMax);
    bool explored = true;
    Probe probe(expr_);
    for (std::size_t w = 0; w < branches.ways.size(); ++w) {
      std::vector<bool> deciding(variables(), false);
      bool decided_by_elements = true;
      for (const Turn& turn : branches.ways[w]) {
        const expr::NodeId condition = expr_.nodes[turn.node].a;
        decided_by_elements = decided_by_elements && shapes[condition.index] != expr::Shape::total;
        const std::vector<bool> these = variables_of(expr_, condition);
        for (std::size_t v = 0; v < variables(); ++v) deciding[v] = deciding[v] || these[v];
      }
      std::vector<Point> found;
      for (std::size_t attempt = 0; decided_by_elements && attempt < probes && found.size() < kFoundMax; ++attempt) {
        if (options_.cancelled && options_.cancelled()) return false;
        Point p = attempt % 2 == 0 ? guess(deciding, corners) : independent_point(kWays[attempt / 2 % 3]);
        if (probe.takes(branches.ways[w], p)) found.push_back(std::move(p));
      }
      explored = explored && (!found.empty() || w >= branches.alone);
      if (found.empty()) continue;
      for (const Point& p : found) vary_others(p, deciding, points);
      points.insert(points.end(), found.begin(), found.end());
      for (const Way way : {Way::uniform, Way::spread, Way::small}) {
        std::vector<Point> varied;
        for (std::size_t i = 0; i < found.size() * kVariations; ++i) {
          Point& p = varied.emplace_back(found[i % found.size()]);
          for (std::size_t v = 0; v < variables(); ++v)
            if (!deciding[v]) p[v] = draw(expr_.variables[v], way, random_);
        }
        sets.push_back(packed("branch", varied, 1));
      }
    }
    return explored;
  }

  // Draws the deciding variables: half get values that the source names or neighbours of these, most others corners;
  // the rest any.
  Point guess(const std::vector<bool>& deciding, const std::vector<std::vector<Bits>>& corners) {
    const Way way = kWays[random_.below(std::size(kWays))];
    Point p;
    for (std::size_t v = 0; v < variables(); ++v) {
      const auto& variable = expr_.variables[v];
      p.push_back(draw(variable, way, random_));
      if (!deciding[v] || random_.below(8) == 0) continue;
      if (!corners[v].empty()) p[v] = corners[v][random_.below(corners[v].size())];
      if (constants_.empty() || random_.next() % 2 == 0) continue;
      double value = constants_[random_.below(constants_.size())];
      if (random_.next() % 2 == 0) value += (random_.unit() - 0.5) * 4 * std::max(std::fabs(value), 16.0);
      const Bits named = bits_of(variable.type, value);
      if (allowed(variable, named)) p[v] = named;
    }
    return p;
  }

  // --- near zeros ---

  // Adds points at all distances from where a critical value is least, in bands of distances, since each has its own
  // scale. Draws the other variables in two ways.
  void add_near_zeros(std::vector<Samples>& sets) {
    constexpr std::uint64_t kPointsOfSet = 64;
    constexpr int kStarts = 4, kBands = 3, kBandBits = 14;
    Probe probe(expr_);
    for (const Probe::Target& target :
         critical_values(expr_, probe, [this] { return independent_point(Way::uniform); })) {
      std::vector<Point> zeros;
      for (int i = 0; i < kStarts; ++i) {
        if (options_.cancelled && options_.cancelled()) return;
        zeros.push_back(probe.descend(target, independent_point(Way::uniform)));
      }
      const std::vector<bool> moves = probe.variables_of(target);
      for (int band = 0; band < kBands; ++band) {
        for (const Way way : {Way::uniform, Way::small}) {
          std::vector<Point> points;
          for (std::uint64_t i = 0; i < kPointsOfSet; ++i) {
            const double distance = std::exp2(-(band + random_.unit()) * kBandBits);
            Point& p = points.emplace_back(zeros[i % kStarts]);
            for (std::size_t v = 0; v < variables(); ++v)
              p[v] = moves[v] ? beside(v, p[v], distance) : draw(expr_.variables[v], way, random_);
          }
          sets.push_back(packed("near", points, 1));
        }
      }
    }
  }

  // Adds points where a value whose sign decides is zero to the bit, from starts of few bits and others.
  void add_signs(std::vector<Samples>& sets) {
    constexpr std::size_t kTries = 192, kPointsOfSet = 64;
    constexpr double kFewBits[] = {1, 2, -1, 0.5, 3, -2};
    Probe probe(expr_);
    for (const Probe::Target& target : sign_values(expr_)) {
      std::vector<Point> zeros;
      for (std::size_t i = 0; i < kTries && zeros.size() < kPointsOfSet; ++i) {
        if (options_.cancelled && options_.cancelled()) return;
        Point p = independent_point(Way::uniform);
        for (std::size_t v = 0; v < variables(); ++v) {
          const Bits few = bits_of(expr_.variables[v].type, kFewBits[random_.below(std::size(kFewBits))]);
          if (random_.below(2) == 0 && allowed(expr_.variables[v], few)) p[v] = few;
        }
        if (probe.make_zero(target, p)) zeros.push_back(std::move(p));
      }
      if (!zeros.empty()) sets.push_back(packed("near", zeros, 1));
    }
  }

  // Returns a value at up to `distance`, a share of the variable's range; none if the range does not allow it.
  Bits beside(std::size_t v, Bits bits, double distance) {
    const auto& variable = expr_.variables[v];
    const double range = variable.hi - variable.lo, x = value_of(variable.type, bits);
    const double by =
        distance * (std::isfinite(range) ? range : std::max(std::fabs(x), 1.0)) * (2 * random_.unit() - 1);
    const Bits moved = bits_of(variable.type, x + by);
    return allowed(variable, moved) ? moved : bits;
  }

  const Expr& expr_;
  const SampleOptions& options_;
  Random random_;
  std::vector<double> constants_;
  bool has_scalars_ = false;
  bool has_reductions_ = false;
  bool has_tables_ = false;
  bool has_numbers_ = false;  ///< elements' own numbers count
};

}  // namespace

std::uint64_t suggested_points(const Expr& expr) {
  constexpr std::uint64_t kEvaluations = 4'000'000;  // of nodes
  constexpr std::uint64_t kFunctionCost = 15;        // nodes that a math function counts for
  constexpr std::uint64_t kPointsMin = 2048;
  constexpr std::uint64_t kPointsMax = 16'384;
  std::uint64_t cost = 1;
  for (const auto& node : expr.nodes) {
    const bool is_function = expr::info(node.op).types == expr::Types::F && units_of(node.op) > 1;
    cost += is_function ? kFunctionCost : 1;
  }
  return std::clamp(kEvaluations / cost, kPointsMin, kPointsMax);
}

Samples make_long(const Expr& expr, const Samples& set, std::uint64_t elements) {
  Samples s;
  s.name = "long";
  s.n = (elements + 63) / 64 * 64;
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    const std::size_t bytes = ir::bytes_of(expr.variables[v].type);
    auto& column = s.columns.emplace_back(static_cast<std::size_t>(s.n) * bytes);
    const std::span<const std::byte> from(set.columns[v].data(),
                                          expr.variables[v].is_scalar() ? bytes : set.columns[v].size());
    for (std::size_t at = 0; at < column.size(); at += from.size())
      std::memcpy(column.data() + at, from.data(), std::min(from.size(), column.size() - at));
  }
  return s;
}

Samples draw_set(const Expr& expr, Way way, std::uint64_t points, std::uint64_t seed) {
  Random random(seed);
  Samples s;
  s.way = way;
  s.n = points;
  s.calls = {{0, points, false}};
  for (const auto& variable : expr.variables) {
    const std::size_t bytes = ir::bytes_of(variable.type);
    auto& column = s.columns.emplace_back(static_cast<std::size_t>(points) * bytes);
    for (std::uint64_t i = 0; i < points; ++i) {
      const Bits bits = draw(variable, way, random);
      std::memcpy(column.data() + i * bytes, &bits, bytes);
    }
  }
  return s;
}

Samples make_gathered(const Expr& expr, const char* name, std::vector<Point> points) {
  return Sampler(expr, {}).packed(name, points, 1);
}

std::vector<Samples> make_samples(const Expr& expr, const SampleOptions& options) {
  return Sampler(expr, options).run();
}

}  // namespace trident::equiv
