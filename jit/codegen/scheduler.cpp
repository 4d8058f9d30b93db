#include "jit/codegen/scheduler.h"

#include <algorithm>
#include <limits>

#include "runtime/base/check.h"

namespace trident::codegen {

namespace {

constexpr std::uint32_t kNone = 0xFFFF'FFFFu;

class Scheduler {
 public:
  Scheduler(const Function& function, Block& block, const ScheduleOptions& options)
      : f_(function),
        block_(block),
        insts_(block.insts),
        options_(options),
        nodes_(insts_.size(), function.arena),
        effects_(insts_.size(), function.arena),
        edges_(function.arena),
        readers_left_(function.vregs.size(), 0, function.arena),
        definer_(function.vregs.size(), kNone, function.arena),
        ready_(function.arena),
        order_(function.arena),
        awaited_(function.arena) {}

  void run() {
    build();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].waits_for == 0 && !nodes_[i].lazy) ready_.push_back(i);
    order_.reserve(insts_.size());
    while (!ready_.empty()) take(choose());
    std::pmr::vector<MInst> ordered(f_.arena);
    ordered.reserve(insts_.size());
    for (const std::uint32_t i : order_) ordered.push_back(insts_[i]);
    block_.insts = std::move(ordered);
  }

 private:
  struct Edge {
    std::uint32_t to;
    std::uint32_t next;
    std::uint8_t latency;
  };
  struct Node {
    std::uint32_t first_edge = kNone;
    std::uint32_t waits_for = 0;  ///< predecessors not yet taken, lazy ones aside
    std::uint32_t first_reader = kNone;
    std::uint32_t height = 0;    ///< cycles from its start to the end of the block
    std::uint32_t earliest = 0;  ///< cycle
    bool lazy = false;           ///< reads no registers: taken with its first reader
    bool taken = false;
  };

  bool is_local(VReg v) const { return !f_[v].global && !f_[v].memory_only; }

  void add_edge(std::uint32_t from, std::uint32_t to, std::uint8_t latency) {
    edges_.push_back({to, nodes_[from].first_edge, latency});
    nodes_[from].first_edge = static_cast<std::uint32_t>(edges_.size() - 1);
    if (!nodes_[from].lazy) ++nodes_[to].waits_for;
  }

  /// Builds the dependencies: values; updates of globals in order; stores after the exit, and after the loads of their
  /// copy, since an output may be the same array as an input.
  void build() {
    std::pmr::vector<std::uint32_t> last_reader_of_global(f_.vregs.size(), kNone, f_.arena);
    std::pmr::vector<std::pmr::vector<std::uint32_t>> loads(f_.arena);
    std::uint32_t exit = kNone;
    for (std::uint32_t i = 0; i < insts_.size(); ++i) {
      const MInst& inst = insts_[i];
      CHECK(inst.mem.place != Place::based && !inst.target.valid());
      Node& node = nodes_[i];
      node.lazy = inst.uses == 0 && inst.def.valid() && is_local(inst.def);
      if (inst.copy >= loads.size()) loads.resize(inst.copy + 1u);
      bool loads_array = inst.mem.place == Place::input;
      for (std::size_t u = 0; u < inst.uses; ++u) {
        const VReg v = inst.use[u];
        loads_array |= f_[v].memory_only;
        if (is_local(v)) ++readers_left_[v.index];
        if (const std::uint32_t d = definer_[v.index]; d != kNone) {
          add_edge(d, i, insts_[d].latency);
          if (nodes_[d].first_reader == kNone) nodes_[d].first_reader = i;
        }
      }
      if (inst.def.valid()) {
        if (f_[inst.def].global && last_reader_of_global[inst.def.index] != kNone)
          add_edge(last_reader_of_global[inst.def.index], i, 0);
        definer_[inst.def.index] = i;
      }
      for (std::size_t u = 0; u < inst.uses; ++u)
        if (f_[inst.use[u]].global)
          last_reader_of_global[inst.use[u].index] = i == definer_[inst.use[u].index] ? kNone : i;
      if (loads_array) loads[inst.copy].push_back(i);
      if (inst.exits) exit = i;
      if (inst.mem.place == Place::output) {
        if (exit != kNone) add_edge(exit, i, 0);
        for (const std::uint32_t load : loads[inst.copy]) store_after(load, i);
      }
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;) {
      nodes_[i].height = insts_[i].latency;
      for (std::uint32_t e = nodes_[i].first_edge; e != kNone; e = edges_[e].next)
        nodes_[i].height = std::max(nodes_[i].height, edges_[e].latency + nodes_[edges_[e].to].height);
    }
  }

  void store_after(std::uint32_t load, std::uint32_t store);

  std::uint32_t choose() {
    const Pressure now = live_;
    std::uint32_t best = kNone;
    Key best_key{};
    for (std::uint32_t r = 0; r < ready_.size(); ++r) {
      const Key key = key_of(ready_[r], now);
      if (best == kNone || key < best_key) best = r, best_key = key;
    }
    const std::uint32_t chosen = ready_[best];
    ready_[best] = ready_.back();
    ready_.pop_back();
    return chosen;
  }

  using Pressure = std::array<std::int32_t, kRegClasses>;
  struct Key {
    std::int32_t excess = 0;  ///< registers needed beyond the available ones, if placed now
    std::int32_t copy = 0;    ///< if there is excess: finish one copy before widening all
    std::int32_t wait = 0;    ///< cycles until its operands are there
    std::int32_t height = 0;
    std::uint32_t index = 0;
    bool operator<(const Key& o) const {
      if (excess != o.excess) return excess < o.excess;
      if (copy != o.copy) return copy < o.copy;
      if (wait != o.wait) return wait < o.wait;
      if (height != o.height) return height > o.height;
      return index < o.index;
    }
  };

  /// Returns what placing an instruction now does to the pressure. Most of a long block waits for most of the time, so
  /// the answer is kept until it may be another one.
  const Pressure& effect(std::uint32_t i) {
    Effect& kept = effects_[i];
    if (!kept.known) kept = {effect_now(i), true};
    return kept.change;
  }

  Pressure effect_now(std::uint32_t i) const;

  Key key_of(std::uint32_t i, const Pressure& now) {
    const Pressure& change = effect(i);
    Key key;
    for (std::size_t c = 0; c < kRegClasses; ++c) {
      const std::int32_t limit = static_cast<std::int32_t>(options_.registers[c]);
      if (change[c] > 0)
        key.excess += std::max(0, now[c] + change[c] - limit);
      else if (now[c] > limit)
        key.excess += std::max(change[c], limit - now[c]);  // welcome
    }
    const Node& node = nodes_[i];
    key.copy = key.excess > 0 ? insts_[i].copy : 0;
    key.wait = node.earliest > cycle_ ? static_cast<std::int32_t>(node.earliest - cycle_) : 0;
    key.height = static_cast<std::int32_t>(node.height);
    key.index = i;
    return key;
  }

  void take(std::uint32_t i) {
    const MInst& inst = insts_[i];
    for (std::size_t u = 0; u < inst.uses; ++u)
      if (const std::uint32_t d = definer_[inst.use[u].index]; d != kNone && nodes_[d].lazy && !nodes_[d].taken)
        place(d);
    if (inst.mem.place == Place::output)
      for (const auto& [load, store] : awaited_)
        if (store == i && !nodes_[load].taken) place(load);
    cycle_ = std::max(cycle_, nodes_[i].earliest);
    place(i);
    for (std::uint32_t e = nodes_[i].first_edge; e != kNone; e = edges_[e].next) {
      Node& to = nodes_[edges_[e].to];
      to.earliest = std::max(to.earliest, cycle_ + edges_[e].latency);
      if (--to.waits_for == 0) ready_.push_back(edges_[e].to);
    }
    if (inst.unit == Unit::vector) vector_used_ += inst.occupancy;
    if (++issued_ >= options_.issue_width || vector_used_ >= options_.vector_pipes) {
      ++cycle_;
      issued_ = 0;
      vector_used_ -= std::min<std::uint32_t>(vector_used_, options_.vector_pipes);
    }
  }

  void place(std::uint32_t i);

  void forget_readers(std::uint32_t definer) {
    for (std::uint32_t e = nodes_[definer].first_edge; e != kNone; e = edges_[e].next)
      effects_[edges_[e].to].known = false;
  }

  const Function& f_;
  Block& block_;
  const std::pmr::vector<MInst>& insts_;
  ScheduleOptions options_;
  struct Effect {
    Pressure change{};
    bool known = false;
  };

  std::pmr::vector<Node> nodes_;
  std::pmr::vector<Effect> effects_;
  std::pmr::vector<Edge> edges_;
  std::pmr::vector<std::uint32_t> readers_left_;
  std::pmr::vector<std::uint32_t> definer_;
  std::pmr::vector<std::uint32_t> ready_;
  std::pmr::vector<std::uint32_t> order_;
  std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> awaited_;  ///< loads first read after a store
  Pressure live_{};
  std::uint32_t cycle_ = 0, issued_ = 0, vector_used_ = 0;
};

Scheduler::Pressure Scheduler::effect_now(std::uint32_t i) const {
  Pressure effect{};
  const MInst& inst = insts_[i];
  if (inst.def.valid() && is_local(inst.def)) ++effect[static_cast<std::size_t>(f_[inst.def].reg_class)];
  for (std::size_t u = 0; u < inst.uses; ++u) {
    const VReg v = inst.use[u];
    if (!is_local(v)) continue;
    std::uint32_t here = 0;
    bool first = true;
    for (std::size_t w = 0; w < inst.uses; ++w)
      if (inst.use[w] == v) {
        ++here;
        if (w < u) first = false;
      }
    if (!first) continue;
    const auto c = static_cast<std::size_t>(f_[v].reg_class);
    const std::uint32_t d = definer_[v.index];
    const bool appears = d != kNone && nodes_[d].lazy && !nodes_[d].taken;
    if (appears) ++effect[c];
    if (readers_left_[v.index] == here) --effect[c];
  }
  return effect;
}

/// Appends to the order and books the registers.
void Scheduler::place(std::uint32_t i) {
  const Pressure change = effect_now(i);
  for (std::size_t c = 0; c < kRegClasses; ++c) live_[c] += change[c];
  const MInst& inst = insts_[i];
  for (std::size_t u = 0; u < inst.uses; ++u) {
    const VReg v = inst.use[u];
    if (!is_local(v)) continue;
    const std::uint32_t left = --readers_left_[v.index];
    // An instruction that reads it as often as `left` says ends its life now.
    if (left <= std::size(inst.use) && definer_[v.index] != kNone) forget_readers(definer_[v.index]);
  }
  nodes_[i].taken = true;
  if (nodes_[i].lazy) forget_readers(i);
  order_.push_back(i);
}

void Scheduler::store_after(std::uint32_t load, std::uint32_t store) {
  const Node& node = nodes_[load];
  if (!node.lazy) return add_edge(load, store, 0);
  // A lazy load is placed with its first reader, whichever that will be; waiting for one of them is enough.
  if (node.first_reader == kNone)
    awaited_.push_back({load, store});
  else if (node.first_reader != store)
    add_edge(node.first_reader, store, 0);
}

}  // namespace

void schedule(const Function& function, Block& block, const ScheduleOptions& options) {
  if (block.insts.size() > 1 && block.insts.size() <= kScheduledMax) Scheduler(function, block, options).run();
}

}  // namespace trident::codegen
