#include "jit/tir/neural/encoding.h"

#include <algorithm>

namespace trident::tir::neural {
namespace {

using tasm::Op;

/// Uses and place of a node's result or a slot.
struct Life {
  std::uint64_t first_use = kNoNode, last_use = kNoNode, uses = 0, place = kNoPlace;
  Type demanded = Type::none;

  void use(std::uint64_t node, Type type) {
    if (uses == 0) first_use = node;
    last_use = node;
    ++uses;
    if (demanded == Type::none) demanded = type;
  }
};

/// Returns the type that an instruction demands of its operand: none if it takes any.
Type demanded_type(Op op, std::size_t operand) {
  if (op == Op::kReadMem || op == Op::kWriteMem || op == Op::kSpongeAbsorbMem)
    return operand == 0 ? Type::address : Type::none;
  if (op == Op::kLt || op == Op::kAnd || op == Op::kXor || op == Op::kDivMod || op == Op::kLog2Floor ||
      op == Op::kPopCount)
    return Type::u32;
  if (op == Op::kPow) return operand == 1 ? Type::u32 : Type::none;
  if (op == Op::kAssert) return Type::boolean;
  if (op == Op::kAssertVector) return Type::digest;
  if (op == Op::kXxAdd || op == Op::kXxMul || op == Op::kXInvert) return Type::extension;
  if (op == Op::kXbMul) return operand > 0 ? Type::extension : Type::none;
  if (op == Op::kMerkleStep || op == Op::kMerkleStepMem) {
    if (operand == 5) return Type::u32;
    if (operand == 7) return Type::address;
    return operand < 5 ? Type::digest : Type::none;
  }
  if (op == Op::kXxDotStep || op == Op::kXbDotStep) return operand < 2 ? Type::address : Type::extension;
  return Type::none;
}

std::uint64_t reference(Origin origin) {
  if (origin < kSlotOrigin) return origin;
  const std::uint64_t slot = origin - kSlotOrigin;
  return slot < kContextWords ? kFirstSlot + slot : kDeeperSlot;
}

std::uint64_t put(Field field, std::uint64_t value) {
  CHECK(value >> field.bits == 0);
  return value << field.shift;
}

class Encoder {
 public:
  explicit Encoder(std::span<const Instruction> block) : block_(block), pool_(constants_of(block)) {}

  Result<Encoding> encode() {
    if (block_.size() > kNodesMax)
      return make_error(ErrorCode::kInvalidArgument, "the block has %zu instructions: at most %zu", block_.size(),
                        kNodesMax);
    last_on_chain_.fill(kNoNode);
    for (std::size_t k = 0; k < block_.size(); ++k) TRY_VOID(add(k));
    place_results();
    finish();
    return out_;
  }

 private:
  Result<void> add(std::size_t k) {
    const Instruction& instruction = block_[k];
    const tasm::InstructionRow& row = tasm::row(instruction.op);
    if (!tasm::legal_argument(row.argument, instruction.argument))
      return make_error(ErrorCode::kInvalidArgument, "%s has an argument out of range", row.text.data());
    if (!has_token(instruction.op))
      return make_error(ErrorCode::kUnsupported, "there is no token for %s", row.text.data());
    heights_[k] = state_.height();
    Step step;
    if (!state_.run(instruction, static_cast<Origin>(k), step))
      return make_error(ErrorCode::kInvalidArgument, "%s cannot stand in a block", row.text.data());
    const bool works = step.work_count > 0;
    std::uint64_t* words = &out_.nodes[k * kNodeWords];
    words[0] = put(node_word0::kOp, static_cast<std::uint64_t>(instruction.op)) |
               put(node_word0::kType, static_cast<std::uint64_t>(step.result)) |
               put(node_word0::kToken, first_token(instruction, pool_)) |
               put(node_word0::kOperands, step.operand_count) | put(node_word0::kWorks, works ? 1 : 0);
    for (std::size_t i = 0; i < Step::kOperandsMax; ++i) {
      const bool there = i < step.operand_count;
      words[1] |= put(input_field(i), there ? reference(step.operands[i].origin) : kNoNode);
      if (there && works) note_use(step.operands[i].origin, k, demanded_type(instruction.op, i));
    }
    words[2] = put(node_word2::kFollows, follow(step, k));
    words[3] = instruction.argument.value();
    ++out_.count;
    return {};
  }

  void note_use(Origin origin, std::size_t node, Type type) {
    if (origin < kSlotOrigin) {
      results_[origin].use(node, type);
    } else if (origin - kSlotOrigin < static_cast<int>(kContextWords)) {
      slots_[origin - kSlotOrigin].use(node, type);
    }
  }

  struct Touched {
    Access access;
    bool anywhere;  ///< reads words at unknown addresses
    std::size_t node;
  };
  /// Returns the last node before this one that touches words which this one may touch, if either writes.
  std::uint64_t follow_in_ram(const Step& step, std::size_t k) {
    std::uint64_t latest = kNoNode;
    const std::size_t before = touched_.size();
    const auto meet = [&](const Access& access, bool anywhere) {
      for (std::size_t t = 0; t < before; ++t) {
        const Touched& old = touched_[t];
        const bool apart = !anywhere && !old.anywhere && surely_distinct(old.access.address, access.address);
        if (!(access.write || old.access.write) || apart) continue;
        latest = latest == kNoNode ? old.node : std::max<std::uint64_t>(latest, old.node);
      }
      touched_.push_back({access, anywhere, k});
    };
    if (step.access_count == 0) meet({}, true);
    for (std::size_t a = 0; a < step.access_count; ++a) meet(step.accesses[a], false);
    return latest;
  }
  /// Returns the last node that this one must follow, and makes it the last of every chain that it is on.
  std::uint64_t follow(const Step& step, std::size_t k) {
    std::uint64_t latest = step.chains[static_cast<std::size_t>(Chain::ram)] ? follow_in_ram(step, k) : kNoNode;
    for (std::size_t c = 0; c < kChainCount; ++c) {
      if (!step.chains[c] || static_cast<Chain>(c) == Chain::ram) continue;
      if (last_on_chain_[c] != kNoNode && (latest == kNoNode || last_on_chain_[c] > latest)) latest = last_on_chain_[c];
      last_on_chain_[c] = k;
    }
    return latest;
  }

  /// Finds the place of each result and slot at the end, the highest if there are several.
  void place_results() {
    const auto below = static_cast<std::size_t>(std::max(0, state_.height() + static_cast<int>(state_.dug())));
    const std::size_t depth = std::max(below, 2 * kContextWords);
    for (std::size_t d = depth; d-- > 0;) {
      const Origin origin = state_.at(d).origin;
      const std::uint64_t place = std::min<std::uint64_t>(d, kDeeperPlace);
      if (origin < kSlotOrigin)
        results_[origin].place = place;
      else if (origin - kSlotOrigin < static_cast<int>(kContextWords))
        slots_[origin - kSlotOrigin].place = place;
    }
  }

  void finish() {
    for (std::size_t k = 0; k < out_.count; ++k) {
      const Life& life = results_[k];
      out_.nodes[k * kNodeWords + 2] |=
          put(node_word2::kFirstUse, life.first_use) | put(node_word2::kLastUse, life.last_use) |
          put(node_word2::kUses, std::min<std::uint64_t>(life.uses, 63)) |
          put(node_word2::kHeight, static_cast<std::uint64_t>(heights_[k] + kHeightBias)) |
          put(node_word2::kPlace, life.place);
    }
    const int height = state_.height();
    for (std::size_t s = 0; s < kContextWords; ++s) {
      const Life& life = slots_[s];
      const auto stays_at = static_cast<int>(s) + height;
      const bool stays = stays_at >= 0 && state_.at(static_cast<std::size_t>(stays_at)).origin == kSlotOrigin + s;
      const Type type = life.demanded != Type::none ? life.demanded : Type::field;
      out_.context[s] = put(context_word::kType, static_cast<std::uint64_t>(type)) |
                        put(context_word::kUsed, life.uses > 0 ? 1 : 0) | put(context_word::kFirstUse, life.first_use) |
                        put(context_word::kLastUse, life.last_use) | put(context_word::kPlace, life.place) |
                        put(context_word::kStays, stays ? 1 : 0) |
                        put(context_word::kHeight, static_cast<std::uint64_t>(height + kHeightBias)) |
                        put(context_word::kNeeds, state_.dug());
    }
  }

  std::span<const Instruction> block_;
  ConstantPool pool_;
  AbstractState state_;
  Encoding out_;
  std::array<int, kNodesMax> heights_{};
  std::array<Life, kNodesMax> results_{};
  std::array<Life, kContextWords> slots_{};
  std::array<std::uint64_t, kChainCount> last_on_chain_{};
  std::vector<Touched> touched_;
};

}  // namespace

Result<Encoding> encode(std::span<const Instruction> block) {
  return Encoder(block).encode();
}

std::array<std::uint32_t, kNodesMax> Encoding::ancestors() const {
  std::array<std::uint32_t, kNodesMax> rows{};
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = std::uint32_t{1} << i;
    for (std::size_t operand = 0; operand < Step::kOperandsMax; ++operand) {
      const std::uint64_t from = input_field(operand).of(word(i, 1));
      if (from < kNodesMax) rows[i] |= rows[from];
    }
    const std::uint64_t before = node_word2::kFollows.of(word(i, 2));
    if (before < kNodesMax) rows[i] |= rows[before];
  }
  return rows;
}

}  // namespace trident::tir::neural
