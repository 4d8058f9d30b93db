// From one round to a bulk loop.
//
// Every variable of a bulk loop changes by a step, is reduced, or is not wanted at the head. Every way out is a limit,
// or a stop that lanes can tell. Lanes load before they store: that is what rounds one after another do, if no round
// reads what an earlier one has stored.
#include "jit/regionopt/bulk.h"

#include <algorithm>
#include <optional>

#include "jit/region/liveness.h"
#include "jit/regionopt/lanes.h"
#include "jit/regionopt/reuse.h"
#include "jit/regionopt/round.h"

namespace trident::regionopt {
namespace {

using region::Op;
using region::Type;

/// Greater steps of variables, and greater distances of an element from a variable, are left to the loop itself: the
/// host's instructions hold them times what a group has.
constexpr std::int64_t kStepMax = std::int64_t{1} << 20, kOffsetMax = std::int64_t{1} << 20;
/// Greater steps of variables are no part of forms.
constexpr std::int64_t kFormStepMax = 64;

bool is_within(std::int64_t number, std::int64_t most) {
  return number <= most && number >= -most;
}

class Planner {
 public:
  Planner(const region::Region& region, const region::Liveness& liveness, const Loop& loop, Round round)
      : region_(region), liveness_(liveness), loop_(loop), round_(std::move(round)) {}

  std::optional<BulkLoop> run() {
    find_steps();
    const bool is_bulk = take_accesses() && take_stores() && take_ways_out() && take_variables() && has_a_bound();
    if (!is_bulk) return {};
    plan_.nodes = round_.nodes;
    for (Node& node : plan_.nodes)
      if (node.kind == Node::Kind::load) node.imm = reference_of_[node.imm];
    const bool has_lanes = !plan_.references.empty();
    if (!has_lanes && !is_closed()) return {};
    if (has_lanes && !check_lanes(plan_)) return {};
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Node& node(std::uint32_t n) const { return round_.nodes[n]; }
  [[nodiscard]] bool is_variable(std::uint32_t n, std::uint32_t variable) const {
    return node(n).kind == Node::Kind::variable && node(n).imm == variable;
  }

  void find_steps();

  std::optional<std::int64_t> step_of(const Linear& linear) const {
    std::int64_t step = 0;
    for (const Linear::Term& term : linear.terms) {
      const auto& own = steps_[term.variable];
      if (!own || !is_within(*own, kFormStepMax)) return {};
      step += term.factor * *own;
    }
    return step;
  }

  /// Returns the form of a node that changes by a step each round.
  std::optional<Linear> stepping(std::uint32_t n) const {
    auto linear = linear_form(round_.nodes, n);
    if (linear && (!is_simple(*linear) || !step_of(*linear))) linear.reset();
    return linear;
  }

  bool take_accesses();

  bool take_stores() {
    for (const Round::Store& store : round_.stores) {
      plan_.stores.push_back({store.access, store.node});
      for (std::uint32_t r = 0; r < plan_.references.size(); ++r)
        if (r != store.access && !keep_apart(plan_.references[store.access], plan_.references[r], is_stored(r)))
          return false;
    }
    return true;
  }

  [[nodiscard]] bool is_stored(std::uint32_t reference) const {
    return std::any_of(round_.stores.begin(), round_.stores.end(),
                       [&](const Round::Store& s) { return s.access == reference; });
  }

  /// Sees to it that no round needs what another one stores to `stored`.
  bool keep_apart(const Reference& stored, const Reference& other, bool is_stored_too);

  bool take_ways_out() {
    for (const std::uint32_t leave : round_.leaves) {
      if (take_limit(leave)) continue;
      plan_.stops.push_back(leave);
    }
    return true;
  }

  /// A limit may be asked of more rounds than ask for it.
  bool take_limit(std::uint32_t leave);

  bool take_variables() {
    for (std::uint32_t v = 0; v < region_.variables.size(); ++v)
      if (!steps_[v] && liveness_.wanted_at(loop_.head())[v] && !take_reduction(v)) return false;
    return true;
  }

  std::uint32_t add_node(const Node& node) {
    round_.nodes.push_back(node);
    return static_cast<std::uint32_t>(round_.nodes.size() - 1);
  }
  std::uint32_t negation(std::uint32_t condition) {
    const std::uint32_t one = add_node({.kind = Node::Kind::constant, .type = Type::i32, .imm = 1});
    return add_node({.kind = Node::Kind::op, .op = Op::Xor, .type = Type::i32, .a = condition, .b = one});
  }

  [[nodiscard]] bool is_negation(std::uint32_t n) const {
    const Node& of = node(n);
    return of.kind == Node::Kind::op && of.op == Op::Xor && of.type == Type::i32 &&
           node(of.b).kind == Node::Kind::constant && node(of.b).imm == 1;
  }

  /// Returns whether the variable's value at the head matters to the node.
  [[nodiscard]] bool depends(std::uint32_t n, std::uint32_t variable) const {
    std::vector<bool> found(n + 1);
    for (std::uint32_t i = 0; i <= n; ++i) {
      const Node& of = node(i);
      const int arity = of.kind == Node::Kind::op ? region::info(of.op).arity : 0;
      found[i] = is_variable(i, variable) || (arity > 0 && found[of.a]) || (arity > 1 && found[of.b]) ||
                 (arity > 2 && found[of.c]);
    }
    return found[n];
  }

  [[nodiscard]] std::optional<std::uint32_t> added_to(std::uint32_t n, std::uint32_t variable) const {
    const Node& of = node(n);
    if (of.kind != Node::Kind::op || of.op != Op::Add) return {};
    if (is_variable(of.a, variable) && !depends(of.b, variable)) return of.b;
    if (is_variable(of.b, variable) && !depends(of.a, variable)) return of.a;
    return {};
  }

  bool take_reduction(std::uint32_t v);

  bool take_sum(std::uint32_t v, std::uint32_t added);

  /// v = condition ? taken : v, or the other way round.
  bool take_extreme(std::uint32_t v, std::uint32_t condition, std::uint32_t taken, bool takes);

  bool add(Reduction reduction) {
    reduction.step = step_of(reduction.value).value_or(0);
    plan_.reductions.push_back(std::move(reduction));
    return true;
  }

  /// Without lanes, all rounds are done by formulas.
  [[nodiscard]] bool is_closed() const {
    return plan_.stops.empty() && std::all_of(plan_.reductions.begin(), plan_.reductions.end(),
                                              [](const Reduction& r) { return r.kind == Reduction::Kind::series; });
  }

  [[nodiscard]] bool has_a_bound() const {
    return std::any_of(plan_.limits.begin(), plan_.limits.end(), [](const Limit& l) { return l.closing != 0; });
  }

  const region::Region& region_;
  const region::Liveness& liveness_;
  const Loop& loop_;
  Round round_;
  BulkLoop plan_;
  std::vector<std::optional<std::int64_t>> steps_;  ///< by variable
  std::vector<std::uint32_t> reference_of_;         ///< by access
};

void Planner::find_steps() {
  for (std::uint32_t v = 0; v < region_.variables.size(); ++v) {
    const auto result = linear_form(round_.nodes, round_.results[v]);
    const bool is_stepped = result && result->terms.size() == 1 && result->terms[0] == Linear::Term{v, 1};
    steps_.push_back({});
    if (is_variable(round_.results[v], v)) steps_.back() = 0;
    if (is_stepped && is_within(static_cast<std::int64_t>(result->constant), kStepMax))
      steps_.back() = static_cast<std::int64_t>(result->constant);
    if (!steps_.back()) plan_.unknown.push_back(v);
    const bool is_wanted = liveness_.wanted_at(loop_.head())[v];
    if (is_wanted && steps_.back().value_or(0) != 0) plan_.steps.push_back({v, *steps_.back()});
  }
}

bool Planner::take_accesses() {
  for (const Round::Access& access : round_.accesses) {
    const auto index = stepping(access.index);
    const std::int64_t step = index ? *step_of(*index) : 0;
    if ((step != 1 && step != -1) || !is_within(static_cast<std::int64_t>(index->constant), kOffsetMax)) return false;
    plan_.limits.push_back({.kind = Limit::Kind::element,
                            .first = *index,
                            .second = {},
                            .closing = step,
                            .window = access.window,
                            .bytes = access.bytes});
    reference_of_.push_back(static_cast<std::uint32_t>(plan_.references.size()));
    plan_.references.push_back({access.window, access.bytes, *index, step});
    if (plan_.lane_bytes != 0 && plan_.lane_bytes != access.bytes) return false;
    plan_.lane_bytes = access.bytes;
  }
  return true;
}

bool Planner::keep_apart(const Reference& stored, const Reference& other, bool is_stored_too) {
  if (stored.window != other.window) {
    plan_.apart.emplace_back(stored.window, other.window);
    return true;
  }
  if (stored.step != other.step) {  // they come from two sides: until they meet
    const Reference &low = stored.step > 0 ? stored : other, &high = stored.step > 0 ? other : stored;
    plan_.limits.push_back({.kind = Limit::Kind::below, .first = low.index, .second = high.index, .closing = 2});
    return true;
  }
  if (is_stored_too) return false;
  // Reads lie ahead of stores.
  const bool forwards = stored.step > 0;
  plan_.limits.push_back({.kind = Limit::Kind::at_most,
                          .first = forwards ? stored.index : other.index,
                          .second = forwards ? other.index : stored.index,
                          .closing = 0});
  return true;
}

bool Planner::take_limit(std::uint32_t leave) {
  bool leaves = true;
  const Node* asked = &node(leave);
  for (;;) {
    if (asked->kind != Node::Kind::op) return false;
    if (asked->op == Op::And) {
      asked = &node(asked->b);
    } else if (asked->op == Op::Xor && node(asked->b).kind == Node::Kind::constant && node(asked->b).imm == 1) {
      leaves = !leaves;
      asked = &node(asked->a);
    } else {
      break;
    }
    if (!leaves && asked->kind == Node::Kind::op && asked->op == Op::And) return false;
  }
  if (asked->type != Type::i32 || region::info(asked->op).signature != region::Signature::Compare) return false;
  auto a = stepping(asked->a), b = stepping(asked->b);
  if (!a || !b || node(asked->a).type != Type::i64) return false;
  std::optional<Limit::Kind> kind;
  if (asked->op == Op::Eq && leaves) kind = Limit::Kind::differ;
  if (asked->op == Op::Ne && !leaves) kind = Limit::Kind::differ;
  if (asked->op == Op::SLt || asked->op == Op::SLe) {
    // Control stays where the comparison of the operands in their order holds, or in the other order.
    const bool is_strict = (asked->op == Op::SLt) != leaves;
    kind = is_strict ? Limit::Kind::below : Limit::Kind::at_most;
    if (leaves) std::swap(a, b);
  }
  if ((asked->op == Op::ULt && !leaves) || (asked->op == Op::ULe && leaves)) {
    kind = Limit::Kind::below_unsigned;
    if (leaves) std::swap(a, b);
  }
  if (!kind) return false;
  const std::int64_t up = *step_of(*a), down = *step_of(*b), closing = up - down;
  const bool is_differ = *kind == Limit::Kind::differ;
  const bool is_known =
      is_differ ? closing == 1 || closing == -1 : closing == 1 || (closing == 2 && *kind == Limit::Kind::below);
  // Neither side may wrap before they meet.
  if (!is_known || (!is_differ && (up < 0 || down > 0))) return false;
  plan_.limits.push_back({.kind = *kind, .first = *a, .second = *b, .closing = closing});
  return true;
}

bool Planner::take_reduction(std::uint32_t v) {
  if (region_.variables[v].type != Type::i64) return false;
  const Node result = node(round_.results[v]);
  if (result.kind != Node::Kind::op) return false;
  if (const auto added = added_to(round_.results[v], v)) return take_sum(v, *added);
  if (result.op != Op::Select) return false;
  std::uint32_t condition = result.a;
  bool takes = is_variable(result.c, v), keeps = is_variable(result.b, v);
  if (takes == keeps) return false;
  const std::uint32_t taken = takes ? result.b : result.c;
  while (is_negation(condition)) {
    condition = node(condition).a;
    std::swap(takes, keeps);
  }
  if (take_extreme(v, condition, taken, takes)) return true;
  if (depends(condition, v)) return false;
  if (keeps) condition = negation(condition);
  if (const auto added = added_to(taken, v);
      added && node(*added).kind == Node::Kind::constant && node(*added).imm == 1)
    return add({.kind = Reduction::Kind::count, .variable = v, .node = condition, .value = {}});
  const auto value = stepping(taken);
  if (!value || depends(taken, v)) return false;
  return add({.kind = Reduction::Kind::last, .variable = v, .node = condition, .value = *value});
}

bool Planner::take_sum(std::uint32_t v, std::uint32_t added) {
  const Node& of = node(added);
  if (of.kind == Node::Kind::op && of.op == Op::Zext32)
    return add({.kind = Reduction::Kind::count, .variable = v, .node = of.a, .value = {}});
  if (const auto value = stepping(added))
    return add({.kind = Reduction::Kind::series, .variable = v, .node = 0, .value = *value});
  return add({.kind = Reduction::Kind::sum, .variable = v, .node = added, .value = {}});
}

bool Planner::take_extreme(std::uint32_t v, std::uint32_t condition, std::uint32_t taken, bool takes) {
  const Node& asked = node(condition);
  if (asked.kind != Node::Kind::op || (asked.op != Op::SLt && asked.op != Op::SLe) || depends(taken, v)) return false;
  const bool v_first = is_variable(asked.a, v) && asked.b == taken,
             v_last = is_variable(asked.b, v) && asked.a == taken;
  if ((!v_first && !v_last) || plan_.lane_bytes != 8) return false;
  const auto kind = v_first == takes ? Reduction::Kind::greatest : Reduction::Kind::least;
  return add({.kind = kind, .variable = v, .node = taken, .value = {}});
}

/// Puts an empty block before each head, where control comes from outside of the loop.
region::Region with_entries(const region::Region& from, std::span<const Loop> loops) {
  region::Region region = from;
  std::vector<std::uint32_t> shift(from.blocks.size() + 1, 0);
  for (const Loop& loop : loops) ++shift[loop.head()];
  for (std::size_t b = 1; b < shift.size(); ++b) shift[b] += shift[b - 1];
  region.blocks.clear();
  for (std::uint32_t b = 0; b < from.blocks.size(); ++b) {
    const auto own = std::find_if(loops.begin(), loops.end(), [&](const Loop& l) { return l.head() == b; });
    const std::uint32_t first = from.blocks[b].first;
    if (own != loops.end())
      region.blocks.push_back({first, first, {.flow = region::Flow::jump, .condition = {}, .then = b + shift[b]}});
    const auto moved = [&](std::uint32_t target) {
      const auto loop = std::find_if(loops.begin(), loops.end(), [&](const Loop& l) { return l.head() == target; });
      const bool enters = loop != loops.end() && !std::binary_search(loop->blocks.begin(), loop->blocks.end(), b);
      return target + shift[target] - (enters ? 1 : 0);
    };
    region::Block block = from.blocks[b];
    if (block.end.flow != region::Flow::exit) block.end.then = moved(block.end.then);
    if (block.end.flow == region::Flow::branch) block.end.otherwise = moved(block.end.otherwise);
    for (std::uint32_t i = block.first; i < block.last; ++i)
      if (region.insts[i].op == Op::Access) region.insts[i].otherwise = moved(from.insts[i].otherwise);
    region.blocks.push_back(block);
  }
  return region;
}

}  // namespace

Bulk find_bulk(region::Region region) {
  const region::Liveness liveness(region);
  std::vector<Loop> loops;
  Bulk bulk;
  for (Loop& loop : innermost_loops(region)) {
    auto round = evaluate_round(region, loop);
    if (!round) continue;
    auto plan = Planner(region, liveness, loop, std::move(*round)).run();
    if (!plan) continue;
    plan->entry = loop.head() + static_cast<std::uint32_t>(loops.size());
    bulk.loops.push_back(std::move(*plan));
    loops.push_back(std::move(loop));
  }
  bulk.region = loops.empty() ? std::move(region) : with_entries(region, loops);
  return bulk;
}

Bulk optimise(region::Region region) {
  Reused reused = reuse_memory(std::move(region));
  Bulk bulk = find_bulk(std::move(reused.region));
  bulk.held = std::move(reused.held);
  bulk.reuses = reused.changed;
  return bulk;
}

}  // namespace trident::regionopt
