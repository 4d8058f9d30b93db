#include "jit/equiv/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "jit/equiv/branch_points.h"
#include "jit/equiv/corners.h"
#include "jit/equiv/hidden.h"
#include "jit/equiv/near_zeros.h"
#include "jit/equiv/reductions.h"
#include "jit/equiv/sides.h"

namespace trident::equiv {
namespace {

using expr::Expr;

/// Rounds the values of each array to those that its elements can be.
void keep(const Expr& expr, Samples& s) {
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    const expr::Storage storage = expr.variables[v].storage;
    if (storage != expr::Storage::f16) continue;  // ranges have the others' values only
    std::vector<std::uint16_t> elements(s.n);
    ir::narrow(storage, s.columns[v].data(), elements.data(), s.n);
    ir::widen(storage, elements.data(), s.columns[v].data(), s.n);
  }
}

/// Returns whether NaN may come beside a range. Where there is no range, corners and hidden specials have NaN.
bool may_be_missing(const expr::Variable& v) {
  return v.or_nan && v.has_range() && ir::is_float(v.type);
}

/// Puts NaN in place of one variable that may be missing, or of some. One missing element is all that a sum shows, so
/// calls that reduce have few.
void leave_gaps(const Expr& expr, const SetLayout& layout, Random& random, Samples& s) {
  std::vector<std::size_t> which;
  for (std::size_t v = 0; v < expr.variables.size(); ++v)
    if (may_be_missing(expr.variables[v])) which.push_back(v);
  const std::uint64_t of_64 = layout.elementwise() ? 56 : 1;
  for (std::uint64_t i = 0; i < s.n; ++i) {
    if (random.below(64) >= of_64) continue;
    const std::size_t one = which[random.below(which.size())];
    const bool others = random.below(2) == 0;
    for (const std::size_t v : which)
      if (v == one || (others && random.below(2) == 0)) layout.put(s, i, v, bits_of(expr.variables[v].type, NAN));
  }
}

/// A run of neighbouring values of one variable, the others held.
constexpr std::uint64_t kRunLength = 64;

class Sampler {
 public:
  Sampler(const Expr& expr, const SampleOptions& options)
      : expr_(expr), options_(options), layout_(expr), drawer_(expr, options), random_(drawer_.random()) {}

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
    if (any(may_be_missing) && !options_.ordinary) sets.push_back(drawn("missing", Way::spread, options_.points / 2));
    add_near_zeros(drawer_, layout_, sets);
    add_signs(drawer_, layout_, sets);
    if (any(has_vast) && !options_.ordinary) sets.push_back(drawn("vast", Way::vast, options_.points / 2));
    if (any(has_vast) && !options_.ordinary && sums_floats()) sets.push_back(cancelling());
    if (any(has_tiny) && !options_.ordinary) sets.push_back(drawn("tiny", Way::tiny, options_.points / 2));
    add_corners(sets);
    return sets;
  }

 private:
  [[nodiscard]] std::size_t variables() const { return expr_.variables.size(); }

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
    return layout_.elementwise() && variables() > 0 && combinations() <= options_.points;
  }

  Samples everything() const {
    Samples s = layout_.empty("all", combinations());
    for (std::uint64_t i = 0; i < s.n; ++i) {
      std::uint64_t rest = i;
      for (std::size_t v = 0; v < variables(); ++v) {
        const std::uint64_t count = count_values(expr_.variables[v]);
        layout_.put(s, i, v, nth_value(expr_.variables[v], rest % count));
        rest /= count;
      }
    }
    s.calls = {{0, s.n, false}};
    s.exhaustive = true;
    return s;
  }

  // --- drawn sets ---

  Samples drawn(const char* name, Way way, std::uint64_t points) {
    // A multiple of 64 elements: arrays that end at a page's end then also start aligned.
    const std::uint64_t n = std::max<std::uint64_t>(points / 64, 1) * 64;
    Samples s = layout_.empty(name, n);
    s.way = way;
    const bool far_out = way == Way::vast || way == Way::tiny;
    for (std::uint64_t i = 0; i < n; ++i) {
      const bool alike = s.name == "alike" || (far_out && i % 2 == 1), mixed = far_out && i % 4 == 2;
      std::size_t v = 0;
      for (const Bits bits : alike ? drawer_.alike(way) : mixed ? drawer_.mixed() : drawer_.independent(way))
        layout_.put(s, i, v++, bits);
    }
    if (s.name == "missing") leave_gaps(expr_, layout_, random_, s);
    if (layout_.has_tables()) number_elements(s);
    if (way == Way::uniform && variables() > 0)
      for (; s.runs + kRunLength <= n / 8; s.runs += kRunLength) make_run(s, s.runs);
    layout_.split(s);
    if (layout_.elementwise())
      s.more = [name, way](const Expr& expr, std::uint64_t more, std::uint64_t seed) {
        const SampleOptions options{.points = more, .seed = seed};
        Samples again = Sampler(expr, options).drawn(name, way, more);
        keep(expr, again);
        return again;
      };
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
        if (random_.next() % 2 == 0 && allowed(variable, bits)) layout_.put(s, i, v, bits);
      }
    }
  }

  void make_run(Samples& s, std::uint64_t start) {
    const std::size_t moving = random_.below(variables());
    for (std::uint64_t i = 1; i < kRunLength; ++i) {
      for (std::size_t v = 0; v < variables(); ++v) {
        const Bits before = layout_.get(s, start + i - 1, v);
        layout_.put(s, start + i, v, v == moving ? next_up(expr_.variables[v], before) : before);
      }
    }
  }

  // --- sums whose parts overflow ---

  [[nodiscard]] bool sums_floats() const {
    if (layout_.has_tables()) return false;
    return std::any_of(expr_.nodes.begin(), expr_.nodes.end(), [](const expr::Node& node) {
      return ir::is_float(node.type) && expr::info(node.op).joined_by == expr::Op::Add;
    });
  }

  // Draws short calls with values of both signs so near to the greatest of the type (or to its root, where elements are
  // products) that a sum of some terms overflows and the sum of all does not.
  Samples cancelling() {
    constexpr std::uint64_t kPoints = 1280, kLengths[] = {2, 3, 2, 4, 3, 6};
    Samples s = layout_.empty("sums", kPoints);
    s.way = Way::vast;
    std::uint64_t at = 0;
    for (std::uint64_t call = 0; at < s.n; ++call) {
      const std::uint64_t n = std::min(kLengths[call % std::size(kLengths)], s.n - at);
      const double share = random_.below(2) == 0 ? 1 : random_.below(2) == 0 ? 0x1p-2 : 0x1p-6;
      const bool root = random_.below(4) == 0;
      for (std::size_t v = 0; v < variables(); ++v) {
        const bool great = has_vast(expr_.variables[v]) && random_.below(4) != 0;
        const Bits held = great ? 0 : drawer_.independent(random_.below(2) == 0 ? Way::small : Way::uniform)[v];
        for (std::uint64_t i = 0; i < n; ++i) {
          const bool again = !expr_.variables[v].is_scalar() || i == 0;
          const Bits bits = again ? (great ? great_value(v, share, root) : held) : layout_.get(s, at, v);
          layout_.put(s, at + i, v, bits);
        }
      }
      s.calls.push_back({at, n, false});
      at += n;
    }
    return s;
  }

  Bits great_value(std::size_t v, double share, bool root) {
    const expr::Variable& variable = expr_.variables[v];
    const auto greatest = static_cast<double>(greatest_finite(variable.type));
    const double size = share * (root ? std::sqrt(greatest) : greatest) * (0.25 + 0.75 * random_.unit());
    const Bits bits = bits_of(variable.type, random_.below(2) == 0 ? size : -size);
    return allowed(variable, bits) ? bits : draw(variable, Way::vast, random_);
  }

  // --- corners ---

  // Appends the results of explore_branches(), and the corners, to the drawn sets.
  void add_corners(std::vector<Samples>& sets) {
    const Samples uniform = sets[0];
    const Corners corners = corners_of(drawer_);
    std::vector<Point> jumps = jump_points(drawer_, layout_, uniform);
    if (!jumps.empty()) sets.push_back(layout_.packed("steps", jumps, 1));
    std::vector<Point> points = step_points(drawer_, layout_, uniform);
    add_extremes(expr_, points);
    add_company(drawer_, points);
    const bool unexplored = !explore_branches(drawer_, layout_, sets, corners, points);
    if (options_.ordinary) return;
    add_combinations(drawer_, layout_, corners, uniform, points);
    std::vector<Point> hidden = hidden_specials(drawer_);
    if (!hidden.empty()) sets.push_back(layout_.packed("hidden", hidden, 1));
    sets.push_back(layout_.packed("corners", points));
    sets.back().unexplored = unexplored;
  }

  const Expr& expr_;
  const SampleOptions& options_;
  SetLayout layout_;
  PointDrawer drawer_;
  Random& random_;  ///< the drawer's
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
  keep(expr, s);
  return s;
}

Samples make_gathered(const Expr& expr, const char* name, std::vector<Point> points) {
  Samples s = SetLayout(expr).packed(name, points, 1);
  keep(expr, s);
  return s;
}

std::vector<Samples> make_samples(const Expr& expr, const SampleOptions& options) {
  std::vector<Samples> sets = Sampler(expr, options).run();
  for (Samples& s : sets) keep(expr, s);
  return sets;
}

}  // namespace trident::equiv
