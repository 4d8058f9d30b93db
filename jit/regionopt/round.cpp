#include "jit/regionopt/round.h"

#include <algorithm>

#include "jit/region/interpreter.h"

namespace trident::regionopt {
namespace {

using region::Flow;
using region::Inst;
using region::Op;
using region::Type;
using region::Value;

constexpr std::size_t kNodesMax = 96, kBlocksMax = 24;
constexpr std::uint32_t kNone = ~0u;

class Evaluator {
 public:
  Evaluator(const region::Region& region, const Loop& loop) : region_(region), loop_(loop) {}

  std::optional<Round> run() {
    if (loop_.blocks.size() > kBlocksMax) return {};
    ways_.resize(loop_.blocks.size() + 1);
    Way start{.condition = constant(1, Type::i32), .held = {}};
    for (std::uint32_t v = 0; v < region_.variables.size(); ++v)
      start.held.push_back(add({.kind = Node::Kind::variable, .type = region_.variables[v].type, .imm = v}));
    ways_[0].push_back(std::move(start));
    for (std::size_t b = 0; b < loop_.blocks.size(); ++b)
      if (ways_[b].empty() || !walk(b)) return {};
    if (ways_.back().empty() || round_.nodes.size() > kNodesMax) return {};
    round_.results = merged(ways_.back()).held;
    return std::move(round_);
  }

 private:
  /// A way into a block: taken where `condition` is not 0.
  struct Way {
    std::uint32_t condition = 0;
    std::vector<std::uint32_t> held;  ///< per variable
  };

  std::uint32_t add(const Node& node) {
    const auto found = std::find(round_.nodes.begin(), round_.nodes.end(), node);
    if (found != round_.nodes.end()) return static_cast<std::uint32_t>(found - round_.nodes.begin());
    round_.nodes.push_back(node);
    return static_cast<std::uint32_t>(round_.nodes.size() - 1);
  }
  std::uint32_t constant(std::uint64_t bits, Type type) {
    return add({.kind = Node::Kind::constant, .type = type, .imm = bits});
  }
  [[nodiscard]] bool is_constant(std::uint32_t n) const { return round_.nodes[n].kind == Node::Kind::constant; }
  [[nodiscard]] bool is_constant(std::uint32_t n, std::uint64_t bits) const {
    return is_constant(n) && round_.nodes[n].imm == bits;
  }

  std::uint32_t op(Op op, Type type, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
    const int arity = region::info(op).arity;
    if (op == Op::Select && (is_constant(a) || b == c)) return b == c || !is_constant(a, 0) ? b : c;
    const Type of = round_.nodes[op == Op::Select ? b : a].type;
    if (op != Op::Select && !region::is_float(op) && is_constant(a) && (arity < 2 || is_constant(b)))
      return constant(region::evaluate(op, of, round_.nodes[a].imm, round_.nodes[b].imm, 0), type);
    return add({.kind = Node::Kind::op, .op = op, .type = type, .a = a, .b = b, .c = c});
  }

  // Conditions are 0 or 1.
  std::uint32_t negation(std::uint32_t condition) {
    const Node& node = round_.nodes[condition];
    if (node.kind == Node::Kind::op && node.op == Op::Xor && is_constant(node.b, 1)) return node.a;
    return op(Op::Xor, Type::i32, condition, constant(1, Type::i32));
  }
  std::uint32_t both(std::uint32_t a, std::uint32_t b) {
    if (is_constant(a, 1) || a == b) return b;
    return is_constant(b, 1) ? a : op(Op::And, Type::i32, a, b);
  }
  std::uint32_t either(std::uint32_t a, std::uint32_t b) {
    if (is_constant(a, 1) || is_constant(b, 1) || a == negation(b)) return constant(1, Type::i32);
    const Node x = round_.nodes[a], y = round_.nodes[b];
    if (x.op == Op::And && y.op == Op::And && x.a == y.a && x.b == negation(y.b)) return x.a;
    return op(Op::Or, Type::i32, a, b);
  }

  Way merged(const std::vector<Way>& ways) {
    Way all = ways.front();
    for (std::size_t w = 1; w < ways.size(); ++w) {
      for (std::size_t v = 0; v < all.held.size(); ++v)
        if (all.held[v] != ways[w].held[v])
          all.held[v] = op(Op::Select, region_.variables[v].type, all.condition, all.held[v], ways[w].held[v]);
      all.condition = either(all.condition, ways[w].condition);
    }
    return all;
  }

  /// Returns the place of a block in the loop, that behind the last for the head; kNone outside.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t block) const {
    if (block == loop_.head()) return static_cast<std::uint32_t>(loop_.blocks.size());
    const auto found = std::lower_bound(loop_.blocks.begin(), loop_.blocks.end(), block);
    if (found == loop_.blocks.end() || *found != block) return kNone;
    return static_cast<std::uint32_t>(found - loop_.blocks.begin());
  }

  bool walk(std::size_t number) {
    const region::Block& block = region_.blocks[loop_.blocks[number]];
    now_ = merged(ways_[number]);
    values_.clear();
    first_ = block.first;
    for (std::uint32_t i = block.first; i < block.last; ++i)
      if (!instruction(region_.insts[i]) || round_.nodes.size() > kNodesMax) return false;
    return end(block.end);
  }

  bool end(const region::Terminator& end) {
    if (end.flow == Flow::exit) return false;
    const std::uint32_t then = place_of(end.then);
    const std::uint32_t otherwise = end.flow == Flow::branch ? place_of(end.otherwise) : then;
    if (then == kNone && otherwise == kNone) return false;  // only a miss stays inside
    if (end.flow == Flow::jump) return ways_[then].push_back(std::move(now_)), true;
    const std::uint32_t holds = truth(values_[end.condition.index - first_]), not_holds = negation(holds);
    // A round that is done in bulk does not leave, so the other way is no condition.
    if (then == kNone || otherwise == kNone) {
      round_.leaves.push_back(both(now_.condition, then == kNone ? holds : not_holds));
      ways_[then == kNone ? otherwise : then].push_back(std::move(now_));
      return true;
    }
    ways_[then].push_back({both(now_.condition, holds), now_.held});
    ways_[otherwise].push_back({both(now_.condition, not_holds), std::move(now_.held)});
    return true;
  }

  [[nodiscard]] bool is_truth(std::uint32_t n) const {
    const Node& node = round_.nodes[n];
    if (node.kind != Node::Kind::op) return false;
    if (node.op == Op::Xor) return is_constant(node.b, 1) && is_truth(node.a);
    return region::gives_truth(node.op);
  }
  /// Returns an i32 as 0 or 1.
  std::uint32_t truth(std::uint32_t n) { return is_truth(n) ? n : op(Op::Ne, Type::i32, n, constant(0, Type::i32)); }

  bool instruction(const Inst& inst) {
    const auto value = [&](Value v) { return v.valid() ? values_[v.index - first_] : 0; };
    std::uint32_t made = 0;
    if (inst.op == Op::Constant) {
      made = constant(inst.imm, inst.type);
    } else if (inst.op == Op::Get) {
      made = now_.held[inst.imm];
    } else if (inst.op == Op::Set) {
      now_.held[inst.imm] = value(inst.a);
    } else if (inst.op == Op::Access) {
      if (inst.bytes == 0) return false;
      made = access({inst.window, inst.bytes, value(inst.a)});
    } else if (inst.op == Op::Load) {
      if (!may_load(inst, value(inst.a))) return false;
      made = add({.kind = Node::Kind::load, .type = inst.type, .imm = value(inst.a)});
    } else if (inst.op == Op::Store) {
      if (!may_store(inst, value(inst.a))) return false;
      round_.stores.push_back({value(inst.a), value(inst.b)});
    } else {
      made = op(inst.op, inst.type, value(inst.a), value(inst.b), value(inst.c));
    }
    values_.push_back(made);
    return true;
  }

  std::uint32_t access(const Round::Access& access) {
    auto& all = round_.accesses;
    const auto found = std::find(all.begin(), all.end(), access);
    if (found != all.end()) return static_cast<std::uint32_t>(found - all.begin());
    all.push_back(access);
    return static_cast<std::uint32_t>(all.size() - 1);
  }

  bool may_store(const Inst& inst, std::uint32_t access) const {
    return inst.imm == 0 && round_.accesses[access].bytes == inst.bytes && is_constant(now_.condition, 1);
  }

  /// Allows elements of 8 bytes, and bytes without a sign; nothing of the window has been stored in this round.
  bool may_load(const Inst& inst, std::uint32_t access) const {
    const Round::Access& from = round_.accesses[access];
    const bool is_whole = inst.imm == 0 && inst.bytes == from.bytes && inst.type != Type::i32 && !inst.is_signed;
    return is_whole && (inst.bytes == 8 || inst.bytes == 1) &&
           std::none_of(round_.stores.begin(), round_.stores.end(),
                        [&](const Round::Store& s) { return round_.accesses[s.access].window == from.window; });
  }

  const region::Region& region_;
  const Loop& loop_;
  Round round_;
  std::vector<std::vector<Way>> ways_;  ///< into the blocks of the loop, and back to the head
  Way now_;
  std::vector<std::uint32_t> values_;  ///< nodes and, for places, accesses; of the block's instructions
  std::uint32_t first_ = 0;
};

/// Calls `visit` with each block that control may go to after `block`.
template <class Visit>
void for_successors(const region::Region& region, std::uint32_t block, const Visit& visit) {
  const region::Block& b = region.blocks[block];
  for (std::uint32_t i = b.first; i < b.last; ++i)
    if (region.insts[i].op == Op::Access) visit(region.insts[i].otherwise);
  if (b.end.flow != Flow::exit) visit(b.end.then);
  if (b.end.flow == Flow::branch) visit(b.end.otherwise);
}

}  // namespace

std::vector<Loop> innermost_loops(const region::Region& region) {
  const auto count = static_cast<std::uint32_t>(region.blocks.size());
  std::vector<std::vector<std::uint32_t>> before(count);
  std::vector<std::vector<std::uint32_t>> latches(count);
  for (std::uint32_t b = 0; b < count; ++b)
    for_successors(region, b, [&](std::uint32_t next) { (next <= b ? latches : before)[next].push_back(b); });
  std::vector<Loop> loops;
  for (std::uint32_t head = 0; head < count; ++head) {
    if (latches[head].empty()) continue;
    // Blocks from which control comes back to the head.
    std::vector<bool> inside(count, false);
    inside[head] = true;
    std::vector<std::uint32_t> open = latches[head];
    bool is_innermost = true;
    while (!open.empty() && is_innermost) {
      const std::uint32_t b = open.back();
      open.pop_back();
      if (inside[b]) continue;
      is_innermost = b > head && latches[b].empty();
      inside[b] = true;
      open.insert(open.end(), before[b].begin(), before[b].end());
    }
    if (!is_innermost) continue;
    Loop loop;
    for (std::uint32_t b = head; b < count; ++b)
      if (inside[b]) loop.blocks.push_back(b);
    loops.push_back(std::move(loop));
  }
  return loops;
}

std::optional<Round> evaluate_round(const region::Region& region, const Loop& loop) {
  return Evaluator(region, loop).run();
}

}  // namespace trident::regionopt
