// A forward analysis of the usual kind. A fact about a variable says that it holds the same as another variable, or a
// constant. Facts at the start of a block are those on which all ways into it agree. A way in leads from a block's end
// or from an access that misses.
#include "jit/region/forward.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace trident::region {
namespace {

struct Fact {
  enum class Kind : std::uint8_t { none, variable, constant };
  Kind kind = Kind::none;
  std::uint64_t value = 0;  ///< number of the variable, or bits
  friend bool operator==(const Fact&, const Fact&) = default;
};
using Facts = std::vector<Fact>;

/// Stands for the value that a variable or an instruction holds inside a block. Equal keys are equal values.
using Key = std::uint64_t;
constexpr Key kUnknown = ~Key{0};

class Forwarder {
 public:
  explicit Forwarder(Region region) : region_(std::move(region)), at_start_(region_.blocks.size()) {}

  Region run() {
    at_start_[0] = Facts(region_.variables.size());
    // Facts only get fewer, so this ends.
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
        if (at_start_[b]) walk(b, false);
    }
    for (std::uint32_t b = 0; b < region_.blocks.size(); ++b)
      if (at_start_[b]) walk(b, true);
    return std::move(region_);
  }

 private:
  void walk(std::uint32_t number, bool rewrite) {
    const Block& block = region_.blocks[number];
    facts_ = *at_start_[number];
    held_.assign(region_.variables.size(), kUnknown);
    keys_.assign(block.last - block.first, kUnknown);
    first_ = block.first;
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      Inst& inst = region_.insts[i];
      key_of(Value(i)) = 2 * Key{i};
      if (rewrite && inst.op == Op::Get) replace(inst);
      if (inst.op == Op::Get) get(inst, i);
      if (inst.op == Op::Zext32) key_of(Value(i)) = key_of(inst.a) | 1;
      if (inst.op == Op::Set) set(inst);
      if (inst.op == Op::Access && !rewrite) arrive(inst.otherwise);
    }
    if (rewrite || block.end.flow == Flow::exit) return;
    arrive(block.end.then);
    if (block.end.flow == Flow::branch) arrive(block.end.otherwise);
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
    std::optional<Facts>& there = at_start_[block];
    if (!there) {
      there = facts_;
      changed_ = true;
      return;
    }
    for (std::size_t v = 0; v < facts_.size(); ++v) {
      Fact& fact = (*there)[v];
      if (fact.kind == Fact::Kind::none || fact == facts_[v]) continue;
      fact = {};
      changed_ = true;
    }
  }

  Region region_;
  std::vector<std::optional<Facts>> at_start_;
  bool changed_ = false;
  // While a block is walked:
  Facts facts_;
  std::vector<Key> held_;  ///< by variable
  std::vector<Key> keys_;  ///< by instruction, from the block's first on
  std::uint32_t first_ = 0;
};

}  // namespace

Region forward_copies(Region region) {
  return Forwarder(std::move(region)).run();
}

}  // namespace trident::region
