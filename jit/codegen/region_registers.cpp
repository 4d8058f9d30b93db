#include "jit/codegen/region_registers.h"

#include <algorithm>
#include <bit>

namespace trident::codegen {
namespace {

using region::Flow;
using region::Op;

constexpr std::uint32_t kLoopFactor = 8, kWeightMax = kInsideWeight << 12;
// How much better off instructions are with a register for an operand: one that may be in memory, one that may not, a
// result. A result in memory costs a store, and the next reader the way through it.
constexpr std::uint64_t kFoldableWeight = 1, kUnfoldableWeight = 8, kUpdateWeight = 24;
/// A register that must be saved costs two instructions a call.
constexpr std::uint64_t kSavedRegisterWeight = 20 * kInsideWeight;
/// A register for a variable of the frame costs a load at entry, or a store at exits.
constexpr std::uint64_t kFrameVariableWeight = kUnfoldableWeight * kInsideWeight;

constexpr std::uint8_t kRegisters = 32;
using Counts = std::array<std::uint32_t, kRegClasses>;
/// Bits of blocks.
using BlockSet = std::span<std::uint64_t>;

bool meets(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

class Assignment {
 public:
  Assignment(Function& function, std::span<const WeightedBlock> blocks, const region::Region& region,
             const region::Liveness& liveness, std::span<const VReg> variables, const RegisterFile& file)
      : f_(function),
        blocks_(blocks),
        region_(region),
        liveness_(liveness),
        variables_(variables),
        file_(file),
        words_((blocks.size() + 63) / 64),
        everywhere_(words_, ~std::uint64_t{0}, function.arena),
        weight_(function.vregs.size(), 0, function.arena),
        number_(function.vregs.size(), variables.size(), function.arena),
        is_read_(variables.size(), 0, function.arena),
        room_(function.arena),
        used_(blocks.size(), function.arena),
        variable_blocks_(words_ * variables.size(), 0, function.arena),
        taken_(words_ * kRegClasses * kRegisters, 0, function.arena) {}

  std::pmr::vector<RegSet> run() {
    weigh();
    find_room();
    find_tenancies();
    for (const VReg v : ranking()) place(v);
    for (VRegInfo& info : f_.vregs)
      if (info.global && info.fixed == kNoReg && info.home.place == Place::none && !info.zero)
        info.home = f_.add_slot(info.width, info.lane_bytes);
    std::pmr::vector<RegSet> left(blocks_.size(), file_.all, f_.arena);
    for (std::size_t c = 0; c < kRegClasses; ++c)
      for (std::uint32_t rest = any_taken_[c]; rest != 0; rest &= rest - 1) {
        const auto r = static_cast<std::uint8_t>(std::countr_zero(rest));
        for (std::size_t b = 0; b < blocks_.size(); ++b)
          if ((taken(c, r)[b / 64] >> b % 64 & 1) != 0) left[b][c] &= ~(1u << r);
      }
    return left;
  }

 private:
  BlockSet variable_blocks(std::size_t variable) {
    return BlockSet(variable_blocks_).subspan(variable * words_, words_);
  }
  BlockSet taken(std::size_t c, std::size_t reg) {
    return BlockSet(taken_).subspan((c * kRegisters + reg) * words_, words_);
  }
  [[nodiscard]] bool is_taken(std::size_t c, std::uint8_t reg) const { return (any_taken_[c] >> reg & 1) != 0; }

  void weigh() {
    for (const WeightedBlock& weighted : blocks_)
      for (const MInst& inst : weighted.block->insts) {
        for (std::size_t u = 0; u < inst.uses; ++u)
          weight_[inst.use[u].index] +=
              weighted.weight * ((inst.folds >> u & 1) != 0 ? kFoldableWeight : kUnfoldableWeight);
        if (inst.def.valid()) weight_[inst.def.index] += weighted.weight * kUpdateWeight;
      }
  }

  /// Finds how many globals may have a register in each block. A block that runs an eighth as often as the heaviest may
  /// spill its locals.
  void find_room() {
    std::uint32_t heaviest = 0;
    room_.reserve(blocks_.size());
    for (const WeightedBlock& weighted : blocks_) heaviest = std::max(heaviest, weighted.weight);
    for (const WeightedBlock& weighted : blocks_) {
      Counts need = most_operands(*weighted.block);
      const Counts peak = weighted.weight > heaviest / 8 ? peak_pressure(f_, *weighted.block) : Counts{};
      for (std::size_t c = 0; c < kRegClasses; ++c) {
        need[c] = std::max(need[c], peak[c] + 1);
        const auto all = static_cast<std::uint32_t>(std::popcount(file_.all[c]));
        need[c] = all - std::min(all, need[c]);
      }
      room_.push_back(need);
    }
  }

  Counts most_operands(const Block& block) const {
    Counts most{};
    for (const MInst& inst : block.insts) {
      Counts own{};
      if (inst.def.valid()) ++own[class_of(inst.def)];
      for (std::size_t u = 0; u < inst.uses; ++u) ++own[class_of(inst.use[u])];
      for (std::size_t c = 0; c < kRegClasses; ++c) most[c] = std::max(most[c], own[c]);
    }
    return most;
  }

  [[nodiscard]] std::size_t class_of(VReg v) const { return static_cast<std::size_t>(f_[v].reg_class); }

  /// A variable needs its register in the blocks at whose start it is wanted, and in those that name it.
  void find_tenancies() {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const std::uint64_t bit = std::uint64_t{1} << b % 64;
      for (std::size_t v = 0; v < variables_.size(); ++v)
        if (liveness_.wanted_at(static_cast<std::uint32_t>(b))[v]) variable_blocks(v)[b / 64] |= bit;
      for (std::uint32_t i = region_.blocks[b].first; i < region_.blocks[b].last; ++i) {
        const region::Inst& inst = region_.insts[i];
        if (inst.op != Op::Get && inst.op != Op::Set) continue;
        variable_blocks(inst.imm)[b / 64] |= bit;
        if (inst.op == Op::Get && liveness_.is_needed(i)) is_read_[inst.imm] = 1;
      }
    }
    for (std::size_t v = 0; v < variables_.size(); ++v) number_[variables_[v].index] = v;
  }

  std::pmr::vector<VReg> ranking() const {
    std::pmr::vector<VReg> ranking(f_.arena);
    for (std::uint32_t v = 0; v < f_.vregs.size(); ++v)
      if (f_.vregs[v].global && f_.vregs[v].fixed == kNoReg && weight_[v] >= least_weight(v))
        ranking.push_back(VReg(v));
    // Equal ones in the order of their numbers; std::stable_sort would take memory.
    std::sort(ranking.begin(), ranking.end(), [&](VReg x, VReg y) {
      return weight_[x.index] != weight_[y.index] ? weight_[x.index] > weight_[y.index] : x.index < y.index;
    });
    return ranking;
  }

  std::uint64_t least_weight(std::uint32_t v) const {
    const std::size_t number = number_[v];
    if (number == variables_.size() || region_.variables[number].scratch) return 1;
    return is_read_[number] != 0 ? kFrameVariableWeight + 1 : 2 * kUpdateWeight * kInsideWeight + 1;
  }

  void place(VReg v) {
    const std::size_t c = class_of(v);
    const BlockSet blocks =
        number_[v.index] < variables_.size() ? variable_blocks(number_[v.index]) : BlockSet(everywhere_);
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      if ((blocks[b / 64] >> b % 64 & 1) != 0 && used_[b][c] >= room_[b][c]) return;
    const std::uint8_t reg = free_register(c, blocks, weight_[v.index]);
    if (reg == kNoReg) return;
    f_[v].fixed = reg;
    any_taken_[c] |= 1u << reg;
    for (std::size_t i = 0; i < words_; ++i) taken(c, reg)[i] |= blocks[i];
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      if ((blocks[b / 64] >> b % 64 & 1) != 0) ++used_[b][c];
  }

  static constexpr int kRankMax = 3;
  /// Registers that the caller does not want back come first, then those that are saved already.
  std::uint8_t free_register(std::size_t c, BlockSet blocks, std::uint64_t weight) {
    const std::uint32_t saved = c == static_cast<std::size_t>(RegClass::general) ? file_.saved : 0;
    std::uint8_t best = kNoReg;
    int best_rank = weight >= kSavedRegisterWeight ? 0 : 1;
    for (std::uint32_t rest = file_.all[c]; rest != 0;) {
      const auto r = static_cast<std::uint8_t>(std::bit_width(rest) - 1);
      rest ^= 1u << r;
      if (is_taken(c, r) && meets(taken(c, r), blocks)) continue;
      const int rank = (saved >> r & 1) == 0 ? kRankMax : is_taken(c, r) ? 2 : 1;
      if (rank > best_rank) best = r, best_rank = rank;
      if (rank == kRankMax) break;
    }
    return best;
  }

  Function& f_;
  std::span<const WeightedBlock> blocks_;
  const region::Region& region_;
  const region::Liveness& liveness_;
  std::span<const VReg> variables_;
  const RegisterFile file_;
  const std::size_t words_;
  std::pmr::vector<std::uint64_t> everywhere_;
  std::pmr::vector<std::uint64_t> weight_;  ///< by register
  std::pmr::vector<std::size_t> number_;    ///< by register: of its variable, or how many there are
  std::pmr::vector<std::uint8_t> is_read_;
  std::pmr::vector<Counts> room_, used_;             ///< by block
  std::pmr::vector<std::uint64_t> variable_blocks_;  ///< by variable
  std::pmr::vector<std::uint64_t> taken_;            ///< by class and register
  Counts any_taken_{};                               ///< registers, one bit each
};

}  // namespace

std::pmr::vector<std::uint32_t> block_weights(const region::Region& region, std::pmr::memory_resource* arena) {
  const std::size_t count = region.blocks.size();
  std::pmr::vector<std::uint32_t> weights(count, kInsideWeight, arena), last(count, 0, arena);
  std::pmr::vector<std::uint8_t> is_head(count, 0, arena);
  for (std::uint32_t b = 0; b < count; ++b) {
    const auto goes_to = [&](std::uint32_t target) {
      if (target > b) return;
      is_head[target] = 1;
      last[target] = b;
    };
    const region::Terminator& end = region.blocks[b].end;
    if (end.flow != Flow::exit) goes_to(end.then);
    if (end.flow == Flow::branch) goes_to(end.otherwise);
  }
  for (std::uint32_t head = 0; head < count; ++head)
    for (std::uint32_t b = head; is_head[head] != 0 && b <= last[head]; ++b)
      weights[b] = std::min(weights[b] * kLoopFactor, kWeightMax);
  for (std::uint32_t b = 0; b < count; ++b)
    if (region.blocks[b].end.flow == Flow::exit) weights[b] = kExitWeight;
  return weights;
}

std::pmr::vector<RegSet> assign_region_registers(Function& function, std::span<const WeightedBlock> blocks,
                                                 const region::Region& region, const region::Liveness& liveness,
                                                 std::span<const VReg> variables, const RegisterFile& file) {
  return Assignment(function, blocks, region, liveness, variables, file).run();
}

}  // namespace trident::codegen
