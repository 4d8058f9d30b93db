#include "jit/egraph/egraph.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/check.h"

namespace trident::egraph {
namespace {

// Steps of a watch for one repaired node, and for one user that learns.
constexpr std::uint64_t kRepairSteps = 8, kLessonSteps = 5;

// Initial allocation: enough for most searches.
constexpr std::uint32_t kReserveNodes = 16384;

constexpr std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 32;
  h *= 0x9E37'79B9'7F4A'7C15u;
  return h ^ (h >> 29);
}

// Two ways to compute one constant may differ in the last bits; a larger difference is a contradiction.
bool nearly_equal(double a, double b) {
  return a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)) + 1e-12;
}

// Returns whether users should learn of a change: when it answers a question that was open before. A mere narrowing is
// kept but not passed on: on a cycle it would go round for a long time.
bool newsworthy(const Facts& before, const Facts& after) {
  const auto side = [](double x) { return (x > 0) - (x < 0) + 2 * ((x > 1) - (x < -1)) + 8 * (std::fabs(x) > 1e300); };
  return side(before.lo) != side(after.lo) || side(before.hi) != side(after.hi) ||
         before.variables != after.variables || before.may_be_nan != after.may_be_nan ||
         before.integral != after.integral || before.nonzero != after.nonzero || before.constant != after.constant ||
         before.stage != after.stage;
}

}  // namespace

EGraph::EGraph(std::span<const OpRow> ops, const Semantics& semantics, const Limits& limits)
    : ops_(ops), semantics_(semantics), limits_(limits) {
  CHECK(ops.size() <= 256);
  CHECK(limits.nodes_max <= kIsThird / 2);
  if (limits.explain) log_ = std::make_unique<ProofLog>();
  const std::size_t room = std::min(limits.nodes_max, kReserveNodes);
  table_.assign(std::bit_ceil(std::max<std::size_t>(64, room + room / 2)), kNone);
  for (auto* v : {&up_, &next_, &first_edge_}) v->reserve(room);
  nodes_.reserve(room), op_bits_.reserve(room), facts_.reserve(room);
  next_edge_.reserve(2 * room), third_edges_.reserve(room / 8);
}

[[gnu::always_inline]] inline void EGraph::canonicalise(Key& key) const {
  const OpRow& row = ops_[key.op];
  if (row.children > 0) key.a = find(key.a);
  if (row.children > 1) key.b = find(key.b);
  if (row.children > 2) key.c = find(key.c);
  if (row.commutes && key.a > key.b) std::swap(key.a, key.b);
}

[[gnu::always_inline]] inline std::uint64_t EGraph::hash(const Key& key) {
  const std::uint64_t head = (std::uint64_t{key.a} << 32) | (std::uint64_t{key.op} << 8) | key.sort;
  const std::uint64_t tail = (std::uint64_t{key.b} << 32) | key.c;
  return mix(mix(head) + tail);
}

[[gnu::always_inline]] inline bool EGraph::same(const ENode& node, const Key& key) {
  return node.child[0] == key.a && node.child[1] == key.b && node.child[2] == key.c && node.op == key.op &&
         node.sort == key.sort;
}

[[gnu::always_inline]] inline std::uint32_t EGraph::slot_of(const Key& key) const {
  const std::uint32_t* const table = table_.data();
  const ENode* const nodes = nodes_.data();
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  auto slot = static_cast<std::uint32_t>(hash(key)) & mask;
  while (table[slot] != kNone && !same(nodes[table[slot]], key)) slot = (slot + 1) & mask;
  return slot;
}

void EGraph::grow_table() {
  std::vector<std::uint32_t> old(table_.size() * 2, kNone);
  old.swap(table_);
  for (const std::uint32_t n : old) {
    if (n != kNone) table_[slot_of(key_of(nodes_[n]))] = n;
  }
}

// `slot`: the place where slot_of() found the node missing.
void EGraph::insert(NodeIndex n, std::uint32_t slot) {
  table_[slot] = n;
  nodes_[n].flags |= kInTable;
  if (++table_used_ * 4 > table_.size() * 3) grow_table();
}

void EGraph::erase(NodeIndex n) {
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  std::uint32_t hole = slot_of(key_of(nodes_[n]));
  CHECK(table_[hole] == n);
  table_[hole] = kNone;
  nodes_[n].flags &= static_cast<std::uint16_t>(~kInTable);
  --table_used_;
  // Entries behind the hole that probed past it move up (backward shift deletion).
  for (std::uint32_t slot = (hole + 1) & mask; table_[slot] != kNone; slot = (slot + 1) & mask) {
    const auto home = static_cast<std::uint32_t>(hash(key_of(nodes_[table_[slot]]))) & mask;
    if (((slot - home) & mask) >= ((slot - hole) & mask)) {
      table_[hole] = table_[slot];
      table_[slot] = kNone;
      hole = slot;
    }
  }
}

void EGraph::touch(ClassId id) {
  if (nodes_[id].flags & kTouched) return;
  nodes_[id].flags |= kTouched;
  touched_.push_back(id);
}

// Schedules the users of a class to learn its present facts.
void EGraph::teach(ClassId id) {
  if (nodes_[id].flags & kTeaching) return;
  nodes_[id].flags |= kTeaching;
  stale_facts_.push_back(id);
}

std::vector<ClassId> EGraph::take_touched() {
  std::vector<ClassId> taken;
  for (const ClassId id : touched_) {
    nodes_[id].flags &= static_cast<std::uint16_t>(~kTouched);
    taken.push_back(find(id));
  }
  touched_.clear();
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  return taken;
}

Facts EGraph::facts_of(const ENode& node) const {
  static constexpr Facts kEmpty;
  std::array<const Facts*, 3> children{&kEmpty, &kEmpty, &kEmpty};
  for (std::uint8_t i = 0; i < ops_[node.op].children; ++i) children[i] = &facts_[find(node.child[i])];
  return semantics_.facts(semantics_.context, node, children);
}

ClassId EGraph::lookup(const ENode& node) const {
  Key key = key_of(node);
  canonicalise(key);
  const std::uint32_t n = table_[slot_of(key)];
  return n == kNone ? kNone : find(n);
}

ClassId EGraph::add(std::uint8_t op, std::uint8_t sort, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  Key key{op, sort, a, b, c};
  canonicalise(key);
  const std::uint32_t slot = slot_of(key);
  if (const std::uint32_t n = table_[slot]; n != kNone) return find(last_added_ = n);
  if (full()) return kNone;
  return last_added_ = found(key, slot);
}

// Makes a node and its class. `slot`: the place where slot_of() found the node missing.
ClassId EGraph::found(const Key& key, std::uint32_t slot) {
  const auto id = static_cast<NodeIndex>(nodes_.size());
  ENode& node = nodes_.emplace_back();
  node.op = key.op, node.sort = key.sort;
  node.child[0] = key.a, node.child[1] = key.b, node.child[2] = key.c;
  if (log_) log_->created(node);
  sorts_held_ |= std::uint64_t{1} << (key.sort % 64);
  up_.push_back(kIsClass | id);
  next_.push_back(id);
  first_edge_.push_back(kNone);
  op_bits_.push_back(std::uint64_t{1} << (key.op % 64));
  next_edge_.insert(next_edge_.end(), 2, kNone);
  const std::uint8_t children = ops_[key.op].children;
  for (std::uint8_t i = 0; i < children; ++i) {
    const std::uint32_t edge = i < 2 ? 2 * id + i : kIsThird | static_cast<std::uint32_t>(third_edges_.size());
    if (i == 2) third_edges_.push_back({id, kNone});
    std::uint32_t& first = first_edge_[node.child[i]];
    if (first == kNone) {
      first = edge_after(edge) = edge;
    } else {
      edge_after(edge) = edge_after(first);
      edge_after(first) = edge;
    }
  }
  facts_.push_back(facts_of(node));
  insert(id, slot);
  ++live_;
  touch(id);
  if (facts_[id].constant && children > 0) new_constants_.push_back(id);
  return id;
}

bool EGraph::meet(ClassId id, const Facts& other) {
  Facts& mine = facts_[id];
  const auto flags = [](const Facts& f) {
    return (f.may_be_nan ? 0u : 1u) | (f.integral ? 2u : 0u) | (f.nonzero ? 4u : 0u) | (f.constant ? 8u : 0u);
  };
  // Usually there is nothing new.
  if (!other.constant && other.lo <= mine.lo && other.hi >= mine.hi && (mine.variables & ~other.variables) == 0 &&
      (flags(other) & ~flags(mine)) == 0 && mine.stage <= other.stage && mine.sort <= other.sort)
    return false;
  const Facts before = mine;
  if (mine.constant && other.constant) {
    if (!nearly_equal(mine.lo, other.lo)) contradiction_ = true;
  } else if (other.constant) {
    if (other.lo < mine.lo || other.lo > mine.hi) {
      if (!nearly_equal(other.lo, mine.lo) && !nearly_equal(other.lo, mine.hi)) contradiction_ = true;
    }
    mine.lo = mine.hi = other.lo;
    mine.constant = true;
  } else if (mine.constant) {
    if ((mine.lo < other.lo || mine.lo > other.hi) && !nearly_equal(mine.lo, other.lo) &&
        !nearly_equal(mine.lo, other.hi))
      contradiction_ = true;
  } else {
    mine.lo = std::max(mine.lo, other.lo);
    mine.hi = std::min(mine.hi, other.hi);
    if (mine.lo > mine.hi) {
      if (!nearly_equal(mine.lo, mine.hi)) contradiction_ = true;
      mine.lo = mine.hi = before.lo;
    }
  }
  mine.variables &= other.variables;
  mine.may_be_nan = mine.may_be_nan && other.may_be_nan;
  mine.integral = mine.integral || other.integral;
  mine.nonzero = mine.nonzero || other.nonzero;
  mine.stage = std::min(mine.stage, other.stage);
  mine.sort = std::min(mine.sort, other.sort);
  if (mine.constant && !before.constant) new_constants_.push_back(id);
  return newsworthy(before, mine);
}

bool EGraph::merge(NodeIndex a, NodeIndex b, const Reason& reason) {
  if (find(a) == find(b)) return false;
  if (log_) log_->merged(a, b, reason);
  a = find(a), b = find(b);
  CHECK(nodes_[a].sort == nodes_[b].sort);
  if (b < a) std::swap(a, b);
  ++merges_;
  if (limits_.unions) unions_.push_back({a, b});
  // Users of b leave the table under their old names; rebuild() adds them under the new one.
  if (first_edge_[b] != kNone) {
    std::uint32_t e = first_edge_[b];
    do {
      const NodeIndex n = user_of(e);
      if (nodes_[n].flags & kInTable) {
        erase(n);
        stale_nodes_.push_back(n);
      }
      e = edge_after(e);
    } while (e != first_edge_[b]);
  }
  std::swap(next_[first_of(a)], next_[first_of(b)]);
  up_[b] = a;
  if (first_edge_[a] == kNone)
    first_edge_[a] = first_edge_[b];
  else if (first_edge_[b] != kNone)
    std::swap(edge_after(first_edge_[a]), edge_after(first_edge_[b]));
  first_edge_[b] = kNone;
  op_bits_[a] |= op_bits_[b];
  // Facts that only b had are news to the users of a, and the other way round.
  const Facts news = facts_[b];
  const bool changed = meet(a, news);
  if (meet(b, facts_[a]) || changed) teach(a);
  touch(a);
  return true;
}

// Removes the dead members from a ring, all at once: a class may have many.
void EGraph::bury(ClassId id) {
  const NodeIndex first = first_of(id);
  NodeIndex begin = kNone, last = kNone;
  NodeIndex n = next_[first];
  for (bool more = true; more;) {
    more = n != first;
    const NodeIndex after = next_[n];
    if (nodes_[n].flags & kDead) {
      next_[n] = kNone;
    } else {
      (last == kNone ? begin : next_[last]) = n;
      last = n;
    }
    n = after;
  }
  CHECK(last != kNone);  // the class also has the node that a dead one duplicates
  next_[last] = begin;
  up_[id] = kIsClass | last;
}

void EGraph::repair_node(NodeIndex n) {
  ENode& node = nodes_[n];
  if (node.flags & (kInTable | kDead)) return;
  Key key = key_of(node);
  canonicalise(key);
  node.child = {key.a, key.b, key.c};
  const std::uint32_t slot = slot_of(key), twin = table_[slot];
  if (twin == kNone) {
    insert(n, slot);
    touch(find(n));
    return;
  }
  merge(twin, n, {.kind = Reason::Kind::congruence});
  node.flags |= kDead;
  --live_;
  if (!(node.flags & kPruned)) dead_.push_back(n);
}

void EGraph::note_constant(ClassId id) {
  const ENode leaf = semantics_.constant(semantics_.context, nodes_[id].sort, facts_[find(id)].lo);
  // The log wants the member whose operands determine the value.
  NodeIndex folds = id;
  if (log_) {
    each_node(find(id), [&](NodeIndex n) {
      if (!(nodes_[n].flags & kDead) && facts_of(nodes_[n]).constant) folds = n;
    });
  }
  if (add(leaf) != kNone) merge(folds, last_added_, {.kind = Reason::Kind::constant});
}

// Removes the other members of a constant's class from the ring: a constant needs no other form. They stay in the
// table, so that terms equal to them are known to be constant too.
void EGraph::prune(ClassId id) {
  NodeIndex leaf = kNone;
  each_node(id, [&](NodeIndex n) {
    if (ops_[nodes_[n].op].children == 0) leaf = n;
  });
  if (leaf == kNone) return;
  for (NodeIndex n = next_[leaf]; n != leaf;) {
    const NodeIndex after = next_[n];
    nodes_[n].flags |= kPruned;
    next_[n] = n;
    n = after;
  }
  next_[leaf] = leaf;
  up_[id] = kIsClass | leaf;
  op_bits_[id] = std::uint64_t{1} << (nodes_[leaf].op % 64);
}

bool EGraph::rebuild(Watch& watch) {
  // Intervals on a cycle may shrink for ever. Facts that are not passed on are still true.
  std::uint64_t lessons = 64 + 8ull * nodes_.size();
  while (!stale_nodes_.empty() || !stale_facts_.empty() || !new_constants_.empty()) {
    if (contradiction_) break;
    if (watch.spend(kRepairSteps)) return false;
    if (!stale_nodes_.empty()) {
      const NodeIndex n = stale_nodes_.back();
      stale_nodes_.pop_back();
      repair_node(n);
    } else if (!stale_facts_.empty()) {
      const ClassId id = find(stale_facts_.front());
      nodes_[stale_facts_.front()].flags &= static_cast<std::uint16_t>(~kTeaching);
      stale_facts_.pop_front();
      if (lessons == 0) continue;
      --lessons;
      touch(id);
      each_user(id, [&](NodeIndex n) {
        if (watch.spend(kLessonSteps)) return;
        const ClassId user = find(n);
        if (meet(user, facts_of(nodes_[n]))) teach(user);
      });
    } else {
      const ClassId id = new_constants_.back();
      new_constants_.pop_back();
      note_constant(id);
    }
  }
  for (const NodeIndex n : dead_) {
    if (watch.spend()) return false;
    if (nodes_[n].flags & kDead && next_[n] != kNone) bury(find(n));
  }
  dead_.clear();
  for (const ClassId touched : touched_) {
    if (watch.spend()) return false;
    const ClassId id = find(touched);
    if (facts_[id].constant && next_[first_of(id)] != first_of(id)) prune(id);
  }
  return true;
}

std::size_t EGraph::bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return of(nodes_) + of(up_) + of(next_) + of(first_edge_) + of(next_edge_) + of(third_edges_) + of(op_bits_) +
         of(facts_) + of(table_) + of(stale_nodes_) + of(new_constants_) + of(touched_) + of(dead_) + of(unions_) +
         stale_facts_.size() * sizeof(ClassId) + (log_ ? log_->bytes() : 0);
}

}  // namespace trident::egraph
