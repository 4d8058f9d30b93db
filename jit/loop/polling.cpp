#include "jit/loop/polling.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "jit/loop/aarch64/lifter.h"

namespace trident::loop {
namespace {

using region::Block;
using region::Flow;
using region::Inst;
using region::Op;
using region::Region;
using region::Value;

constexpr std::uint32_t kSpSlot = aarch64::kXSlot + 8 * aarch64::kRegister31;

/// Holds for a value in every round.
struct Fact {
  bool is_invariant = false;                    ///< the same in every round
  bool is_polled = false;                       ///< hangs on a word that somebody else may change
  std::optional<std::uint64_t> stack_offset{};  ///< an address, from the stack pointer on
};

class Polling {
 public:
  explicit Polling(const Region& region) : region_(region), facts_(region.insts.size()) {}

  bool run() {
    note_effects();
    // The mark spreads through variables and the stack until nothing is added.
    do {
      changed_ = false;
      for (const Block& block : region_.blocks)
        if (is_of_loop(block)) look_at(block);
    } while (changed_);
    return ends_by_what_is_polled();
  }

 private:
  /// Blocks that leave belong to no round.
  static bool is_of_loop(const Block& block) { return block.end.flow != Flow::exit; }

  /// Calls `take` with each instruction of the loop that has this op.
  template <class Take>
  void for_each(Op op, const Take& take) const {
    for (const Block& block : region_.blocks)
      for (std::uint32_t i = block.first; is_of_loop(block) && i < block.last; ++i)
        if (region_.insts[i].op == op) take(region_.insts[i]);
  }

  void note_effects() {
    for_each(Op::Set, [&](const Inst& set) { set_.insert(set.imm); });
    for (const Block& block : region_.blocks)
      if (is_of_loop(block)) look_at(block);
    for_each(Op::Store, [&](const Inst& store) {
      const auto offset = facts_[store.a.index].stack_offset;
      if (offset) stored_.insert(*offset + store.imm);
      if (!offset) stores_elsewhere_ = true;
    });
    // Loads looked polled before the stores were known.
    polled_variables_.clear();
    polled_words_.clear();
  }

  void look_at(const Block& block) {
    current_.clear();
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const Inst& inst = region_.insts[i];
      if (inst.op == Op::Set) {
        current_[inst.imm] = inst.a;
        if (facts_[inst.a.index].is_polled) changed_ |= polled_variables_.insert(inst.imm).second;
      } else if (inst.op == Op::Store) {
        const auto offset = facts_[inst.a.index].stack_offset;
        if (offset && facts_[inst.b.index].is_polled) changed_ |= polled_words_.insert(*offset + inst.imm).second;
      } else {
        facts_[i] = fact_of(inst);
      }
    }
  }

  [[nodiscard]] Fact fact_of(const Inst& inst) const {
    if (inst.op == Op::Constant) return {.is_invariant = true};
    if (inst.op == Op::Get) return of_variable(inst);
    if (inst.op == Op::Load) return of_load(inst);
    Fact fact{.is_invariant = true};
    for (const Value v : {inst.a, inst.b, inst.c}) {
      if (!v.valid()) continue;
      fact.is_invariant &= facts_[v.index].is_invariant;
      fact.is_polled |= facts_[v.index].is_polled;
    }
    const auto& base = facts_[inst.a.index].stack_offset;
    if (base && inst.op == Op::Access) fact.stack_offset = base;
    if (base && inst.op == Op::Add && region_.insts[inst.b.index].op == Op::Constant)
      fact.stack_offset = *base + region_.insts[inst.b.index].imm;
    return fact;
  }

  [[nodiscard]] Fact of_variable(const Inst& inst) const {
    if (const auto now = current_.find(inst.imm); now != current_.end()) return facts_[now->second.index];
    Fact fact{.is_invariant = set_.count(inst.imm) == 0, .is_polled = polled_variables_.count(inst.imm) != 0};
    if (fact.is_invariant && region_.variables[inst.imm].slot == kSpSlot) fact.stack_offset = 0;
    return fact;
  }

  [[nodiscard]] Fact of_load(const Inst& inst) const {
    const Fact& place = facts_[inst.a.index];
    if (place.stack_offset) {
      const std::uint64_t word = *place.stack_offset + inst.imm;
      return {.is_invariant = stored_.count(word) == 0, .is_polled = polled_words_.count(word) != 0};
    }
    return {.is_polled = place.is_invariant && !stores_elsewhere_};
  }

  [[nodiscard]] bool ends_by_what_is_polled() const {
    for (const Block& block : region_.blocks) {
      if (block.end.flow != Flow::branch || !facts_[block.end.condition.index].is_polled) continue;
      for (const std::uint32_t to : {block.end.then, block.end.otherwise})
        if (!is_of_loop(region_.blocks[to])) return true;
    }
    return false;
  }

  const Region& region_;
  std::vector<Fact> facts_;
  std::map<std::uint64_t, Value> current_;  ///< variables that this block has set so far
  std::set<std::uint64_t> set_;             ///< variables that change in the loop
  std::set<std::uint64_t> stored_;          ///< words of the stack that the loop writes, from the stack pointer on
  std::set<std::uint64_t> polled_variables_, polled_words_;
  bool stores_elsewhere_ = false;
  bool changed_ = false;
};

}  // namespace

bool polls(const region::Region& region) {
  return Polling(region).run();
}

}  // namespace trident::loop
