#include "jit/regionopt/lanes.h"

#include <algorithm>

namespace trident::regionopt {
namespace {

using region::Op;
using region::Type;

constexpr std::size_t kTermsMax = 3;
/// Deeper sums are not followed: each level doubles what there is to look at.
constexpr int kDepthMax = 6;

void add_terms(Linear& to, const Linear& from, std::int64_t factor) {
  for (const Linear::Term& term : from.terms) {
    const auto found = std::find_if(to.terms.begin(), to.terms.end(),
                                    [&](const Linear::Term& t) { return t.variable == term.variable; });
    if (found == to.terms.end())
      to.terms.push_back({term.variable, factor * term.factor});
    else if ((found->factor += factor * term.factor) == 0)
      to.terms.erase(found);
  }
  to.constant += static_cast<std::uint64_t>(factor) * from.constant;
}

class LaneCheck {
 public:
  explicit LaneCheck(BulkLoop& plan) : plan_(plan), truths_(plan.nodes.size()), values_(plan.nodes.size()) {}

  bool run() {
    if (plan_.lane_bytes != 1 && plan_.lane_bytes != 8) return false;
    const auto is_truth = [&](std::uint32_t n) { return truth(n); };
    if (!std::all_of(plan_.stops.begin(), plan_.stops.end(), is_truth)) return false;
    for (const Store& store : plan_.stores)
      if (!value(store.node)) return false;
    for (const Reduction& r : plan_.reductions) {
      using K = Reduction::Kind;
      if ((r.kind == K::count || r.kind == K::last) && !truth(r.node)) return false;
      if (r.kind != K::sum && r.kind != K::least && r.kind != K::greatest) continue;
      const auto range = value(r.node);
      // Lanes of one byte hold all of a value that is a byte.
      if (!range || (narrow() && (r.kind != K::sum || range->lo < 0 || range->hi > 255))) return false;
    }
    return true;
  }

 private:
  /// Bounds of a value. Lanes of eight bytes hold all of it.
  struct Range {
    std::int64_t lo = 0, hi = 0;
  };
  static constexpr std::int64_t kWide = std::int64_t{1} << 40;

  [[nodiscard]] bool narrow() const { return plan_.lane_bytes == 1; }
  [[nodiscard]] const Node& node(std::uint32_t n) const { return plan_.nodes[n]; }

  bool truth(std::uint32_t n) {
    if (!truths_[n]) truths_[n] = find_truth(n);
    return *truths_[n];
  }
  bool find_truth(std::uint32_t n) {
    const Node& of = node(n);
    if (of.kind != Node::Kind::op || of.type != Type::i32) return false;
    if (of.op == Op::And || of.op == Op::Or) return truth(of.a) && truth(of.b);
    if (of.op == Op::Xor) return node(of.b).kind == Node::Kind::constant && node(of.b).imm == 1 && truth(of.a);
    if (!region::gives_truth(of.op) || node(of.a).type == Type::i32) return false;
    const auto a = value(of.a), b = value(of.b);
    return a && b && (!narrow() || decides(of.op, *a, *b));
  }

  /// Returns whether the low bytes, compared without signs, tell what the values do.
  static bool decides(Op op, const Range& a, const Range& b) {
    const auto is_byte = [](const Range& r) { return r.lo >= 0 && r.hi <= 255; };
    if (op == Op::Eq || op == Op::Ne) return a.hi - b.lo < 256 && b.hi - a.lo < 256;
    if (is_byte(a) && is_byte(b)) return true;
    // A negative value is great without a sign, and so must its low byte be.
    const bool is_constant = b.lo == b.hi && is_byte(b);
    return (op == Op::ULe || op == Op::ULt) && is_constant && a.lo > b.hi - 256 && a.hi <= 255;
  }

  std::optional<Range> value(std::uint32_t n) {
    if (!values_[n]) values_[n] = find_value(n);
    return *values_[n];
  }
  std::optional<Range> find_value(std::uint32_t n) {
    const Node& of = node(n);
    if (of.type == Type::f64) return real(of) ? std::optional<Range>(Range{}) : std::nullopt;
    if (of.type != Type::i64) return {};
    if (const auto form = linear_form(plan_.nodes, n);
        !narrow() && of.kind != Node::Kind::constant && form && is_simple(*form))
      return has_steps(n) ? std::optional<Range>(Range{}) : std::nullopt;
    switch (of.kind) {
      case Node::Kind::constant: {
        const auto bits = static_cast<std::int64_t>(of.imm);
        if (narrow() && (bits > kWide || bits < -kWide)) return {};
        return Range{bits, bits};
      }
      case Node::Kind::variable: {
        const auto number = static_cast<std::uint32_t>(of.imm);
        if (steps(number) != 0 || is_reduced(number)) return {};
        if (narrow() && std::find(plan_.bytes.begin(), plan_.bytes.end(), number) == plan_.bytes.end())
          plan_.bytes.push_back(number);
        return Range{0, 255};
      }
      case Node::Kind::load: return Range{0, 255};
      case Node::Kind::op: return computed(of);
    }
    return {};
  }

  /// Returns whether lanes of eight bytes can hold an f64.
  bool real(const Node& of) {
    if (narrow()) return false;
    if (of.kind == Node::Kind::variable) return !is_reduced(static_cast<std::uint32_t>(of.imm));
    if (of.kind != Node::Kind::op) return true;
    if (of.op == Op::Select) return truth(of.a) && value(of.b) && value(of.c);
    constexpr Op kInLanes[] = {Op::FAdd, Op::FSub, Op::FMul, Op::FDiv, Op::FSqrt, Op::FNeg, Op::FAbs};
    if (std::find(std::begin(kInLanes), std::end(kInLanes), of.op) == std::end(kInLanes)) return false;
    return value(of.a) && (region::info(of.op).arity == 1 || value(of.b));
  }

  std::optional<Range> computed(const Node& of) {
    if (of.op == Op::Select) {
      const auto b = value(of.b), c = value(of.c);
      if (!b || !c || !truth(of.a)) return {};
      return Range{std::min(b->lo, c->lo), std::max(b->hi, c->hi)};
    }
    const bool adds = of.op == Op::Add || of.op == Op::Sub;
    const bool is_product = of.op == Op::Mul && !narrow();
    if (!adds && !is_product && of.op != Op::And && of.op != Op::Or && of.op != Op::Xor) return {};
    const auto a = value(of.a), b = value(of.b);
    if (!a || !b) return {};
    const Range all{-kWide, kWide};
    if (!narrow()) return Range{};
    if (!adds) return a->lo >= 0 && b->lo >= 0 && a->hi <= 255 && b->hi <= 255 ? Range{0, 255} : all;
    const Range sum = of.op == Op::Add ? Range{a->lo + b->lo, a->hi + b->hi} : Range{a->lo - b->hi, a->hi - b->lo};
    return sum.lo < -kWide || sum.hi > kWide ? std::nullopt : std::optional<Range>(sum);
  }

  /// A linear form in lanes: its variables step, or stay.
  bool has_steps(std::uint32_t n) const {
    const auto form = linear_form(plan_.nodes, n);
    return std::none_of(form->terms.begin(), form->terms.end(),
                        [&](const Linear::Term& t) { return is_reduced(t.variable); });
  }
  [[nodiscard]] std::int64_t steps(std::uint32_t variable) const {
    for (const Step& s : plan_.steps)
      if (s.variable == variable) return s.step;
    return 0;
  }
  [[nodiscard]] bool is_reduced(std::uint32_t variable) const {
    return std::find(plan_.unknown.begin(), plan_.unknown.end(), variable) != plan_.unknown.end();
  }

  BulkLoop& plan_;
  // By node, once they are found.
  std::vector<std::optional<bool>> truths_;
  std::vector<std::optional<std::optional<Range>>> values_;
};

std::optional<Linear> form_of(std::span<const Node> nodes, std::uint32_t n, int depth) {
  const Node& of = nodes[n];
  if (of.type != Type::i64) return {};
  if (of.kind == Node::Kind::constant) return Linear{{}, of.imm};
  if (of.kind == Node::Kind::variable) return Linear{{{static_cast<std::uint32_t>(of.imm), 1}}, 0};
  if (of.kind != Node::Kind::op || (of.op != Op::Add && of.op != Op::Sub) || depth == 0) return {};
  auto a = form_of(nodes, of.a, depth - 1);
  const auto b = form_of(nodes, of.b, depth - 1);
  if (!a || !b) return {};
  add_terms(*a, *b, of.op == Op::Add ? 1 : -1);
  if (a->terms.size() > kTermsMax) return {};
  return a;
}

}  // namespace

std::optional<Linear> linear_form(std::span<const Node> nodes, std::uint32_t n) {
  return form_of(nodes, n, kDepthMax);
}

bool is_simple(const Linear& form) {
  return form.constant == static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(form.constant)}) &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [](const Linear::Term& t) { return t.factor == 1 || t.factor == -1; });
}

bool check_lanes(BulkLoop& plan) {
  return LaneCheck(plan).run();
}

}  // namespace trident::regionopt
