#include "jit/codegen/allocator.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::codegen {

namespace {

constexpr std::uint32_t kNever = 0xFFFF'FFFFu;
constexpr std::uint32_t kNobody = 0xFFFF'FFFFu;

/// When each register is read. Computed only once a register has to be given up: most blocks never need it.
class UseTimes {
 public:
  UseTimes(const Function& function, const std::pmr::vector<MInst>& insts)
      : begin_(function.vregs.size() + 1, 0, function.arena), times_(function.arena) {
    for (const MInst& inst : insts)
      for (std::size_t u = 0; u < inst.uses; ++u) ++begin_[inst.use[u].index + 1];
    for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
    times_.resize(begin_.back());
    std::pmr::vector<std::uint32_t> at(begin_.begin(), begin_.end() - 1, function.arena);
    first_store_.fill(kNever);
    for (std::uint32_t i = 0; i < insts.size(); ++i) {
      for (std::size_t u = 0; u < insts[i].uses; ++u) times_[at[insts[i].use[u].index]++] = i;
      if (insts[i].mem.place == Place::output && first_store_[insts[i].copy] == kNever) first_store_[insts[i].copy] = i;
    }
  }
  /// Returns the first instruction after `now` that reads `v`.
  [[nodiscard]] std::uint32_t next(VReg v, std::uint32_t now) const {
    const auto first = times_.begin() + begin_[v.index], last = times_.begin() + begin_[v.index + 1];
    const auto found = std::upper_bound(first, last, now);
    return found == last ? kNever : *found;
  }
  [[nodiscard]] std::uint32_t first_store(std::uint8_t copy) const { return first_store_[copy]; }

 private:
  std::pmr::vector<std::uint32_t> begin_, times_;
  std::array<std::uint32_t, 256> first_store_;
};

class Allocator {
 public:
  Allocator(Function& function, const Block& block, const RegSet& available, std::pmr::vector<Placed>& out)
      : f_(function), insts_(block.insts), out_(out), free_(available), state_(function.vregs.size(), function.arena) {
    for (auto& owners : owner_) owners.fill(kNobody);
    for (std::uint32_t i = 0; i < insts_.size(); ++i)
      for (std::size_t u = 0; u < insts_[i].uses; ++u) state_[insts_[i].use[u].index].last_use = i;
    for (std::uint32_t v = 0; v < state_.size(); ++v) {
      const VRegInfo& info = f_.vregs[v];
      CHECK(is_home(info));
      state_[v].reg_class = static_cast<std::uint8_t>(info.reg_class);
      state_[v].reg = info.fixed;
      state_[v].fixed = info.fixed != kNoReg;
    }
  }

  AllocationCounts run() {
    for (index_ = 0; index_ < insts_.size(); ++index_)
      if (!place_simply(insts_[index_])) place(insts_[index_]);
    return counts_;
  }

 private:
  struct State {
    std::uint32_t last_use = 0;
    std::uint8_t reg = kNoReg;
    std::uint8_t reg_class = 0;
    bool fixed = false;
  };

  static std::size_t class_of(const VRegInfo& info) { return static_cast<std::size_t>(info.reg_class); }
  bool is_fixed(VReg v) const { return state_[v.index].fixed; }
  bool dies(VReg v) const { return state_[v.index].last_use == index_ && !is_fixed(v); }

  /// Handles the usual case without lookahead: operands in registers but for one that folds, a free register for the
  /// result, nothing spilled. Returns false, with nothing done, in any other case.
  bool place_simply(const MInst& inst) {
    if (!inst.def.valid() || inst.early_def || is_fixed(inst.def) || f_[inst.def].global) return false;
    Placed& placed = out_.emplace_back();
    placed.inst = index_;
    const auto refuse = [this] {
      out_.pop_back();
      return false;
    };
    std::uint8_t tie = kNoReg;
    for (std::uint8_t u = 0; u < inst.uses; ++u) {
      const State& state = state_[inst.use[u].index];
      placed.use[u] = state.reg;
      if (state.reg == kNoReg) {
        const VRegInfo& info = f_[inst.use[u]];
        if (placed.mem_use != kNoReg || (inst.folds >> u & 1) == 0 || !info.global || info.zero || !info.foldable)
          return refuse();
        placed.mem_use = u;
        placed.mem = info.home;
      } else if (tie == kNoReg && (inst.ties >> u & 1) != 0 && state.last_use == index_ && !state.fixed) {
        tie = u;
      }
    }
    State& def = state_[inst.def.index];
    if (def.last_use <= index_) return refuse();
    if (inst.ties != 0 ? tie == kNoReg : free_[def.reg_class] == 0) return refuse();
    for (std::size_t u = 0; u < inst.uses; ++u) {
      State& state = state_[inst.use[u].index];
      if (state.last_use != index_ || state.fixed || state.reg == kNoReg) continue;
      free_[state.reg_class] |= 1u << state.reg;
      owner_[state.reg_class][state.reg] = kNobody;
      state.reg = kNoReg;
    }
    placed.def = tie != kNoReg ? placed.use[tie] : f_.first(free_[def.reg_class]);
    def.reg = placed.def;
    owner_[def.reg_class][def.reg] = inst.def.index;
    free_[def.reg_class] &= ~(1u << def.reg);
    return true;
  }

  void place(const MInst& inst) {
    Placed placed;
    placed.inst = index_;
    pinned_ = {};
    bool missing = false;
    for (std::size_t u = 0; u < inst.uses; ++u) {
      placed.use[u] = state_[inst.use[u].index].reg;
      if (placed.use[u] != kNoReg)
        pin(inst.use[u], placed.use[u]);
      else
        missing = true;
    }
    const std::uint8_t tie = inst.ties != 0 ? choose_tie(inst) : kNoReg;
    if (missing) {
      choose_memory_operand(inst, tie, placed);
      load_operands(inst, tie, placed);
      // The tied value may have come into a register as another operand of the same instruction.
      if (tie != kNoReg) placed.use[tie] = state_[inst.use[tie].index].reg;
    }
    const bool def_before_release = inst.early_def || (tie != kNoReg && !overwrites(inst, tie));
    if (!def_before_release) release_dying(inst, tie == kNoReg ? VReg{} : inst.use[tie]);
    if (inst.def.valid()) place_def(inst, tie, placed);
    if (def_before_release) release_dying(inst, {});
    out_.push_back(placed);
    if (inst.def.valid()) settle_def(inst, placed.def);
  }

  /// Returns whether the result may take the register of use `u` without a copy.
  bool overwrites(const MInst& inst, std::size_t u) const {
    const VReg v = inst.use[u];
    if (is_fixed(v)) return v == inst.def;
    return state_[v.index].reg != kNoReg && (dies(v) || v == inst.def) && !is_fixed(inst.def);
  }

  std::uint8_t choose_tie(const MInst& inst) const {
    std::uint8_t in_memory = kNoReg, any = kNoReg;
    for (std::uint8_t u = 0; u < inst.uses; ++u) {
      if ((inst.ties >> u & 1) == 0) continue;
      if (overwrites(inst, u)) return u;
      if (state_[inst.use[u].index].reg == kNoReg && in_memory == kNoReg) in_memory = u;
      any = u;
    }
    return in_memory != kNoReg ? in_memory : any;
  }

  /// Leaves one operand in memory if the instruction can read one there.
  void choose_memory_operand(const MInst& inst, std::uint8_t tie, Placed& placed) const {
    std::uint8_t best = kNoReg;
    int best_rank = 0;
    for (std::uint8_t u = 0; u < inst.uses; ++u) {
      if ((inst.folds >> u & 1) == 0 || u == tie || placed.use[u] != kNoReg) continue;
      const VReg v = inst.use[u];
      const VRegInfo& info = f_[v];
      if (info.zero || !info.foldable) continue;
      // A spilled local that is read again soon is better back in a register, if one is free.
      const bool stay = !info.global && !info.memory_only && !dies(v) && free_[class_of(info)] != 0;
      const int rank = info.memory_only ? 4 : info.global ? 3 : stay ? 0 : 2;
      if (rank > best_rank) best = u, best_rank = rank;
    }
    if (best == kNoReg) return;
    placed.mem_use = best;
    placed.mem = f_[inst.use[best]].home;
  }

  void load_operands(const MInst& inst, std::uint8_t tie, Placed& placed) {
    for (std::uint8_t u = 0; u < inst.uses; ++u) {
      if (u == tie || u == placed.mem_use || placed.use[u] != kNoReg) continue;
      const VReg v = inst.use[u];
      if (state_[v.index].reg == kNoReg) {  // else another operand of this instruction is the same value
        const std::uint8_t reg = take(f_[v].reg_class);
        load(v, reg);
        set_owner(v, reg);
      }
      placed.use[u] = state_[v.index].reg;
      pin(v, placed.use[u]);
    }
  }

  void release_dying(const MInst& inst, VReg kept) {
    for (std::size_t u = 0; u < inst.uses; ++u) {
      const VReg v = inst.use[u];
      if (v != kept && state_[v.index].reg != kNoReg && dies(v)) release(v);
    }
  }

  void place_def(const MInst& inst, std::uint8_t tie, Placed& placed) {
    const VRegInfo& def = f_[inst.def];
    const VReg source = tie == kNoReg ? VReg{} : inst.use[tie];
    if (tie != kNoReg && overwrites(inst, tie)) {
      placed.def = placed.use[tie];
      if (!is_fixed(source)) release(source);  // the result takes it in settle_def
      return;
    }
    placed.def = def.fixed != kNoReg ? def.fixed : take(def.reg_class);
    if (tie == kNoReg && !inst.early_def) return;
    if (is_fixed(inst.def)) keep_old_value(inst, placed);
    if (tie == kNoReg) return;
    if (placed.use[tie] == kNoReg)
      load(source, placed.def);
    else if (placed.use[tie] != placed.def)
      move(def.reg_class, inst.def_width, placed.use[tie], placed.def);
    placed.use[tie] = placed.def;
  }

  /// Moves the old value of a global elsewhere for an instruction that reads it after its register is written, as in
  /// x = y - x, where y is moved to x first.
  void keep_old_value(const MInst& inst, Placed& placed) {
    const VRegInfo& def = f_[inst.def];
    std::uint8_t kept = kNoReg;
    for (std::size_t u = 0; u < inst.uses; ++u) {
      if (inst.use[u] != inst.def) continue;
      if (kept == kNoReg) {
        kept = take(def.reg_class);
        move(def.reg_class, def.width, placed.def, kept);
      }
      placed.use[u] = kept;
    }
    if (kept != kNoReg) free_[class_of(def)] |= 1u << kept;  // nothing is taken between here and the instruction
  }

  void move(RegClass reg_class, std::uint8_t width, std::uint8_t from, std::uint8_t to) {
    Placed& move = add(Placed::Kind::move, reg_class, width);
    move.def = to;
    move.use[0] = from;
    ++counts_.moves;
  }

  /// Books the register of the result; a global without a register goes home at once.
  void settle_def(const MInst& inst, std::uint8_t reg) {
    const VRegInfo& def = f_[inst.def];
    if (def.fixed != kNoReg) return;
    State& state = state_[inst.def.index];
    if (state.reg != kNoReg && state.reg != reg) release(inst.def);
    if (def.global) {
      CHECK(def.home.place == Place::slot || def.home.place == Place::frame);
      Placed& store = add(Placed::Kind::store, def.reg_class, def.width);
      store.use[0] = reg;
      store.mem = def.home;
    }
    if (state.last_use <= index_)
      free_[class_of(def)] |= 1u << reg;
    else
      set_owner(inst.def, reg);
  }

  Placed& add(Placed::Kind kind, RegClass reg_class, std::uint8_t width) {
    Placed& placed = out_.emplace_back();
    placed.kind = kind;
    placed.reg_class = reg_class;
    placed.width = width;
    return placed;
  }

  // --- registers -----------------------------------------------------------------------------------------------------

  void pin(VReg v, std::uint8_t reg) { pinned_[class_of(f_[v])] |= 1u << reg; }

  void set_owner(VReg v, std::uint8_t reg) {
    const std::size_t c = class_of(f_[v]);
    state_[v.index].reg = reg;
    owner_[c][reg] = v.index;
    free_[c] &= ~(1u << reg);
  }

  void release(VReg v) {
    const std::size_t c = class_of(f_[v]);
    const std::uint8_t reg = state_[v.index].reg;
    owner_[c][reg] = kNobody;
    free_[c] |= 1u << reg;
    state_[v.index].reg = kNoReg;
  }

  /// Returns a register that holds no value, evicting one if need be. It belongs to the caller for this instruction.
  std::uint8_t take(RegClass reg_class) {
    const auto c = static_cast<std::size_t>(reg_class);
    if (free_[c] == 0) evict(c);
    const std::uint8_t reg = f_.first(free_[c]);
    free_[c] &= ~(1u << reg);
    pinned_[c] |= 1u << reg;
    return reg;
  }

  void evict(std::size_t c) {
    if (!times_) times_.emplace(f_, insts_);
    std::uint32_t victim = kNobody, furthest = 0;
    for (std::uint32_t reg = 0; reg < 32; ++reg) {
      const std::uint32_t v = owner_[c][reg];
      if (v == kNobody || (pinned_[c] >> reg & 1) != 0) continue;
      // A value that is in memory already costs nothing to evict, so it may be needed a little sooner.
      const std::uint32_t next = times_->next(VReg(v), index_);
      const std::uint32_t away = next == kNever ? kNever : next - index_;
      const std::uint32_t worth = in_memory(VReg(v)) && away < kNever / 4 ? away + away / 2 : away;
      if (victim == kNobody || worth > furthest) victim = v, furthest = worth;
    }
    CHECK(victim != kNobody);
    if (!in_memory(VReg(victim))) spill(VReg(victim));
    release(VReg(victim));
  }

  /// Returns whether dropping the register loses nothing. An array element can be read again until its copy stores
  /// something, possibly over it.
  bool in_memory(VReg v) const {
    const VRegInfo& info = f_[v];
    if (info.zero) return true;
    // All of its uses count, not just the next: that one may leave it in memory.
    if (info.home.place == Place::input) return state_[v.index].last_use < times_->first_store(info.copy);
    return info.home.place != Place::none;
  }

  void spill(VReg v) {
    VRegInfo& info = f_[v];
    info.home = f_.add_slot(info.width, info.lane_bytes);
    Placed& store = add(Placed::Kind::store, info.reg_class, info.width);
    store.use[0] = state_[v.index].reg;
    store.mem = info.home;
    ++counts_.spills;
  }

  void load(VReg v, std::uint8_t reg) {
    const VRegInfo& info = f_[v];
    CHECK(info.zero || info.home.place != Place::none);
    Placed& load = add(Placed::Kind::load, info.reg_class, info.width);
    load.def = reg;
    load.zero = info.zero;
    load.mem = info.home;
    ++counts_.reloads;
  }

  Function& f_;
  const std::pmr::vector<MInst>& insts_;
  std::pmr::vector<Placed>& out_;
  RegSet free_;
  RegSet pinned_{};
  std::array<std::array<std::uint32_t, 32>, kRegClasses> owner_;
  std::pmr::vector<State> state_;
  std::optional<UseTimes> times_;
  std::uint32_t index_ = 0;
  AllocationCounts counts_;
};

}  // namespace

std::array<std::uint32_t, kRegClasses> peak_pressure(const Function& function, const Block& block) {
  std::array<std::uint32_t, kRegClasses> now{}, peak{};
  std::pmr::vector<bool> alive(function.vregs.size(), false, function.arena);
  const auto is_local = [&](VReg v) { return !function[v].global && !function[v].memory_only; };
  for (std::size_t i = block.insts.size(); i-- > 0;) {
    const MInst& inst = block.insts[i];
    if (inst.def.valid() && is_local(inst.def)) {
      const auto c = static_cast<std::size_t>(function[inst.def].reg_class);
      if (alive[inst.def.index]) --now[c];
      alive[inst.def.index] = false;
      peak[c] = std::max(peak[c], now[c] + 1);
    }
    for (std::size_t u = 0; u < inst.uses; ++u) {
      const VReg v = inst.use[u];
      if (!is_local(v) || alive[v.index]) continue;
      alive[v.index] = true;
      const auto c = static_cast<std::size_t>(function[v].reg_class);
      peak[c] = std::max(peak[c], ++now[c]);
    }
  }
  return peak;
}

namespace {

/// Returns the registers of `reg_class` that the most demanding instruction needs if no global has one.
std::uint32_t most_operands(const Function& function, std::span<const WeightedBlock> blocks, RegClass reg_class) {
  std::uint32_t most = 0;
  for (const WeightedBlock& weighted : blocks)
    for (const MInst& inst : weighted.block->insts) {
      std::uint32_t own = inst.def.valid() && function[inst.def].reg_class == reg_class ? 1 : 0;
      for (std::size_t u = 0; u < inst.uses; ++u) own += function[inst.use[u]].reg_class == reg_class ? 1 : 0;
      most = std::max(most, own);
    }
  return most;
}

/// Returns how often instructions gain from a register for each global.
std::pmr::vector<std::uint64_t> weigh(const Function& function, std::span<const WeightedBlock> blocks) {
  constexpr std::uint64_t kUpdateWeight = 1000, kUnfoldableWeight = 8, kFoldableWeight = 1;
  // An update in memory costs a store, and the next reader the way through it: as much as some reads.
  constexpr std::uint64_t kGeneralUpdateWeight = 24;
  std::pmr::vector<std::uint64_t> weight(function.vregs.size(), 0, function.arena);
  for (const WeightedBlock& weighted : blocks)
    for (const MInst& inst : weighted.block->insts) {
      for (std::size_t u = 0; u < inst.uses; ++u)
        weight[inst.use[u].index] +=
            weighted.weight * ((inst.folds >> u & 1) != 0 ? kFoldableWeight : kUnfoldableWeight);
      if (!inst.def.valid()) continue;
      const bool is_general = function[inst.def].reg_class == RegClass::general;
      weight[inst.def.index] += weighted.weight * (is_general ? kGeneralUpdateWeight : kUpdateWeight);
    }
  return weight;
}

/// Returns the pressure of the blocks that run often. A block that runs an eighth as often as the heaviest may spill.
std::array<std::uint32_t, kRegClasses> heavy_pressure(const Function& function, std::span<const WeightedBlock> blocks) {
  std::uint32_t heaviest = 0;
  for (const WeightedBlock& weighted : blocks) heaviest = std::max(heaviest, weighted.weight);
  std::array<std::uint32_t, kRegClasses> most{};
  for (const WeightedBlock& weighted : blocks) {
    if (weighted.weight <= heaviest / 8) continue;
    const auto peak = peak_pressure(function, *weighted.block);
    for (std::size_t c = 0; c < kRegClasses; ++c) most[c] = std::max(most[c], peak[c]);
  }
  return most;
}

void give_homes(Function& function) {
  for (VRegInfo& info : function.vregs)
    if (info.global && info.fixed == kNoReg && info.home.place == Place::none && !info.zero)
      info.home = function.add_slot(info.width, info.lane_bytes);
}

}  // namespace

RegSet assign_globals(Function& function, std::span<const WeightedBlock> blocks, const RegSet& registers) {
  const auto weight = weigh(function, blocks);
  std::pmr::vector<VReg> ranking(function.arena);
  for (std::uint32_t v = 0; v < function.vregs.size(); ++v)
    if (function.vregs[v].global && function.vregs[v].fixed == kNoReg && weight[v] != 0) ranking.push_back(VReg(v));
  std::stable_sort(ranking.begin(), ranking.end(), [&](VReg x, VReg y) { return weight[x.index] > weight[y.index]; });

  RegSet left = registers;
  const std::array<std::uint32_t, kRegClasses> least = {kUsesMax + 1, kUsesMax + 1,
                                                        most_operands(function, blocks, RegClass::general)};
  const auto peak = heavy_pressure(function, blocks);
  for (std::size_t c = 0; c < kRegClasses; ++c) {
    const auto all = static_cast<std::uint32_t>(std::popcount(registers[c]));
    const auto wanted = static_cast<std::uint32_t>(std::count_if(
        ranking.begin(), ranking.end(), [&](VReg v) { return static_cast<std::size_t>(function[v].reg_class) == c; }));
    // Operands of one instruction need registers beside the live values; two do when some globals stay in memory.
    std::uint32_t locals = std::max(peak[c] + (peak[c] + wanted > all ? 2 : 0), least[c]);
    std::uint32_t spare = locals < all ? all - locals : all / 8;
    for (const VReg v : ranking) {
      if (static_cast<std::size_t>(function[v].reg_class) != c) continue;
      if (spare == 0) break;
      const auto reg = static_cast<std::uint8_t>(31 - std::countl_zero(left[c]));
      function[v].fixed = reg;
      left[c] &= ~(1u << reg);
      --spare;
    }
  }
  give_homes(function);
  return left;
}

RegSet assign_homeless_globals(Function& function, const RegSet& registers) {
  // Registers that one instruction may need: masks have at most two operands beside their result.
  constexpr std::array<int, kRegClasses> kLeast = {kUsesMax + 1, 3, 0};
  RegSet left = registers;
  for (VRegInfo& info : function.vregs) {
    if (!info.global || info.home.place != Place::none || info.zero) continue;
    const auto c = static_cast<std::size_t>(info.reg_class);
    if (std::popcount(left[c]) <= std::max(std::popcount(registers[c]) / 2, kLeast[c])) continue;
    info.fixed = static_cast<std::uint8_t>(31 - std::countl_zero(left[c]));
    left[c] &= ~(1u << info.fixed);
  }
  give_homes(function);
  return left;
}

AllocationCounts allocate(Function& function, const Block& block, const RegSet& available,
                          std::pmr::vector<Placed>& out) {
  if (block.insts.empty()) return {};
  return Allocator(function, block, available, out).run();
}

Result<void> check_frame(std::uint32_t bytes) {
  if (bytes <= limits::kKernelFrameBytesMax) return {};
  return make_error(ErrorCode::kLimitExceeded, "the kernel needs %u bytes of stack, more than the limit of %u", bytes,
                    limits::kKernelFrameBytesMax);
}

}  // namespace trident::codegen
