// A forward analysis of the usual kind. A fact about a variable says that it holds the same as another variable, or a
// constant. Facts at the start of a block are those on which all ways into it agree. A way in leads from a block's end
// or from an access that misses.
#include "jit/region/forward.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <utility>
#include <vector>

namespace trident::region {
namespace {

constexpr std::size_t kArenaBytes = 16 * 1024;  // on the stack: ordinary regions need no more

struct Fact {
  enum class Kind : std::uint8_t { none, variable, constant };
  Kind kind = Kind::none;
  std::uint64_t value = 0;  ///< number of the variable, or bits
  friend bool operator==(const Fact&, const Fact&) = default;
};
using Facts = std::pmr::vector<Fact>;

/// Stands for the value that a variable or an instruction holds inside a block. Equal keys are equal values.
using Key = std::uint64_t;
constexpr Key kUnknown = ~Key{0};

class Forwarder {
 public:
  Forwarder(Region region, std::pmr::memory_resource* arena)
      : region_(std::move(region)),
        at_start_(region_.blocks.size() * region_.variables.size(), arena),
        is_known_(region_.blocks.size(), 0, arena),
        is_due_(region_.blocks.size(), 0, arena),
        facts_(arena),
        held_(arena),
        keys_(arena),
        merged_(arena) {}

  Region run() {
    is_known_[0] = is_due_[0] = 1;
    // Facts only get fewer, so this ends.
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
        if (std::exchange(is_due_[b], std::uint8_t{0}) != 0) walk(b, false);
    }
    for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
      if (is_known_[b] != 0) walk(b, true);
    return std::move(region_);
  }

 private:
  void walk(std::uint32_t number, bool rewrite) {
    const Block& block = region_.blocks[number];
    const Fact* const start = at_start(number);
    facts_.assign(start, start + region_.variables.size());
    held_.assign(region_.variables.size(), kUnknown);
    keys_.assign(block.last - block.first, kUnknown);
    merged_.clear();
    first_ = block.first;
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      Inst& inst = region_.insts[i];
      key_of(Value(i)) = 2 * Key{i};
      if (rewrite && inst.op == Op::Get) replace(inst);
      if (inst.op == Op::Get) get(inst, i);
      if (rewrite && !merged_.empty()) rename(inst);
      if (inst.op == Op::SDiv || inst.op == Op::UDiv) divide(i, rewrite);
      if (inst.op == Op::Zext32) key_of(Value(i)) = key_of(inst.a) | 1;
      if (inst.op == Op::Set) set(inst);
      if (inst.op == Op::Access && !rewrite) arrive(inst.otherwise);
    }
    if (rewrite) return rename(region_.blocks[number].end.condition);
    if (block.end.flow == Flow::exit) return;
    arrive(block.end.then);
    if (block.end.flow == Flow::branch) arrive(block.end.otherwise);
  }

  /// A quotient that the block has already is not computed again.
  void divide(std::uint32_t index, bool rewrite) {
    const Inst& inst = region_.insts[index];
    for (std::uint32_t i = first_; i < index; ++i) {
      const Inst& earlier = region_.insts[i];
      const bool is_same =
          earlier.op == inst.op && earlier.type == inst.type && is_one(earlier.a, inst.a) && is_one(earlier.b, inst.b);
      if (!is_same) continue;
      key_of(Value(index)) = key_of(Value(i));
      if (rewrite) merged_.emplace_back(Value(index), Value(i));
      return;
    }
  }

  bool is_one(Value a, Value b) {
    const Inst &x = region_.insts[a.index], &y = region_.insts[b.index];
    return key_of(a) == key_of(b) || (x.op == Op::Constant && y.op == Op::Constant && x.imm == y.imm);
  }

  void rename(Inst& inst) const {
    for (Value* const operand : {&inst.a, &inst.b, &inst.c}) rename(*operand);
  }
  void rename(Value& operand) const {
    for (const auto& [from, to] : merged_)
      if (operand == from) operand = to;
  }

  Key& key_of(Value v) { return keys_[v.index - first_]; }

  /// Reads what the variable, or the one whose copy it is, has held since it was set.
  void get(const Inst& inst, std::uint32_t index) {
    const Fact& fact = facts_[inst.imm];
    const std::uint64_t variable = fact.kind == Fact::Kind::variable ? fact.value : inst.imm;
    if (held_[variable] == kUnknown) held_[variable] = 2 * Key{index};
    key_of(Value(index)) = held_[variable];
  }

  void replace(Inst& inst) const {
    const Fact& fact = facts_[inst.imm];
    if (fact.kind == Fact::Kind::none) return;
    if (fact.kind == Fact::Kind::constant) inst.op = Op::Constant;
    inst.imm = fact.value;
  }

  void set(const Inst& inst) {
    const std::uint64_t variable = inst.imm;
    for (Fact& fact : facts_)
      if (fact == Fact{Fact::Kind::variable, variable}) fact = {};
    const Inst& from = region_.insts[inst.a.index];
    const Key key = key_of(inst.a);
    held_[variable] = key;
    facts_[variable] = {};
    if (from.op == Op::Constant)
      facts_[variable] = {Fact::Kind::constant, from.imm};
    else
      note_copies(variable, key);
  }

  /// A variable whose home is nobody's to read becomes the copy of another, where both hold the same.
  void note_copies(std::uint64_t variable, Key key) {
    for (std::uint64_t other = 0; other < held_.size(); ++other) {
      if (other == variable || held_[other] != key || is_copy(other)) continue;
      if (region_.variables[other].type != region_.variables[variable].type) continue;
      const bool other_follows = region_.variables[other].scratch && !region_.variables[variable].scratch;
      const std::uint64_t copy = other_follows ? other : variable, source = other_follows ? variable : other;
      facts_[copy] = {Fact::Kind::variable, source};
      if (copy == variable) return;
      for (Fact& fact : facts_)
        if (fact == Fact{Fact::Kind::variable, copy}) fact.value = source;
    }
  }

  [[nodiscard]] bool is_copy(std::uint64_t variable) const { return facts_[variable].kind != Fact::Kind::none; }

  void arrive(std::uint32_t block) {
    Fact* const there = at_start(block);
    if (is_known_[block] == 0) {
      std::copy(facts_.begin(), facts_.end(), there);
      is_known_[block] = is_due_[block] = 1;
      changed_ = true;
      return;
    }
    for (std::size_t v = 0; v < facts_.size(); ++v) {
      if (there[v].kind == Fact::Kind::none || there[v] == facts_[v]) continue;
      there[v] = {};
      is_due_[block] = 1;
      changed_ = true;
    }
  }

  Fact* at_start(std::uint32_t block) { return at_start_.data() + block * region_.variables.size(); }

  Region region_;
  Facts at_start_;                           ///< of one block after the other
  std::pmr::vector<std::uint8_t> is_known_;  ///< by block: control comes to it
  std::pmr::vector<std::uint8_t> is_due_;    ///< by block: its facts have changed since it was walked
  bool changed_ = false;
  // While a block is walked:
  Facts facts_;
  std::pmr::vector<Key> held_;                        ///< by variable
  std::pmr::vector<Key> keys_;                        ///< by instruction, from the block's first on
  std::pmr::vector<std::pair<Value, Value>> merged_;  ///< quotients, and the same ones before them
  std::uint32_t first_ = 0;
};

}  // namespace

Region forward_copies(Region region) {
  std::array<std::byte, kArenaBytes> bytes;
  std::pmr::monotonic_buffer_resource arena(bytes.data(), bytes.size());
  return Forwarder(std::move(region), &arena).run();
}

}  // namespace trident::region
