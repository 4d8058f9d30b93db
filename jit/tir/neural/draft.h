// The block that is to be rewritten, a draft of the block that is written instead, and what the network is told of
// both: rows of its feature table, whose sums are what it starts from.
//
//   encoder   a node: its token, type, place in the block, place of its result at the end, who made its first two
//             operands; and for every node alike, which slots of the stack are used and which do not stay
//   decoder   the last token, how many there are, and where the draft's stack stands against what it shall reach: for
//             each of its upper cells the place where the end has its value, what the value is still needed for, and
//             whether there are too few or too many of it; for each of the end's upper cells whether its value is
//             there; the difference in height; whether all effects are done. Of the first node that is still to be
//             done and has all that it works on: where that lies, which constants are to be pushed for it
//
// A node is still to be done if it has an effect and the draft has not done its work, or if it makes a value that the
// end or such a node needs and that is not on the draft's stack. Those that could be done next are what the decoder
// looks at.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/tir/neural/encoding.h"

namespace trident::tir::neural {

inline constexpr std::size_t kDraftTokensMax = 64;
/// Cells of the stack that the decoder is told of, and how deep their values are looked for.
inline constexpr std::size_t kCellsSeen = 8, kCellsSearched = 24;

/// Where each kind of row begins in the feature table.
namespace feature {
inline constexpr std::size_t kToken = 0;
inline constexpr std::size_t kType = kToken + kTokenCount;
inline constexpr std::size_t kNodeBit = kType + kTypeCount;  ///< of the node's number
inline constexpr std::size_t kNodeBits = 5;
inline constexpr std::size_t kPlace = kNodeBit + kNodeBits;  ///< of the result at the end: 0..7, deeper
inline constexpr std::size_t kPlaces = 9;
/// For each of two operands: a slot 0..15, or a node that many before, 1..8 or more.
inline constexpr std::size_t kOperand = kPlace + kPlaces;
inline constexpr std::size_t kOperandRows = kContextWords + 8, kOperandsSeen = 2;
inline constexpr std::size_t kSlotUsed = kOperand + kOperandsSeen * kOperandRows;
inline constexpr std::size_t kSlotMoved = kSlotUsed + kContextWords;
inline constexpr std::size_t kStepBit = kSlotMoved + kContextWords;  ///< of the number of tokens
inline constexpr std::size_t kStepBits = 6;
/// For each cell: the place where the end has its value: 0..7, deeper, nowhere.
inline constexpr std::size_t kCell = kStepBit + kStepBits;
inline constexpr std::size_t kCellRows = kCellsSeen + 2;
inline constexpr std::size_t kMissing = kCell + kCellsSeen * kCellRows;
inline constexpr std::size_t kHeight = kMissing + kCellsSeen;  ///< what is to be added, -4..4
inline constexpr std::size_t kHeights = 9;
inline constexpr std::size_t kEffectsDone = kHeight + kHeights;
/// For each cell: nobody needs it; operand 0, 1 or another of the next node; of a later one.
inline constexpr std::size_t kUse = kEffectsDone + 1;
inline constexpr std::size_t kUseRows = 5;
/// For each cell: too few of its value, as many as are needed, too many.
inline constexpr std::size_t kSupply = kUse + kCellsSeen * kUseRows;
inline constexpr std::size_t kSupplyRows = 3;
/// Constants to be pushed for the next node or the end: small, copied, another.
inline constexpr std::size_t kWanted = kSupply + kCellsSeen * kSupplyRows;
inline constexpr std::size_t kWantedRows = kSmallConstants.size() + kCopiedMax + 1;
/// Where the next node's first two operands are: st0..st15, elsewhere.
inline constexpr std::size_t kReach = kWanted + kWantedRows;
inline constexpr std::size_t kReachRows = tasm::kRegisters + 1;
inline constexpr std::size_t kCount = kReach + kOperandsSeen * kReachRows;
}  // namespace feature
static_assert(feature::kCount == 511);

using FeatureRows = std::vector<std::int32_t>;

/// A block and what is known of it.
class Original {
 public:
  /// As encode().
  static Result<Original> of(std::span<const Instruction> block);

  [[nodiscard]] const std::vector<Instruction>& block() const { return block_; }
  [[nodiscard]] const ConstantPool& pool() const { return pool_; }
  [[nodiscard]] const Encoding& encoding() const { return encoding_; }
  [[nodiscard]] const AbstractState& end() const { return end_; }
  [[nodiscard]] std::size_t nodes() const { return encoding_.count; }

  /// Rows of every node alike, and of node `k` besides; appended.
  void append_context_rows(FeatureRows& rows) const;
  void append_node_rows(std::size_t k, FeatureRows& rows) const;

 private:
  friend class Draft;
  struct Work {
    std::uint64_t name;
    std::size_t node;
  };
  /// A value that is needed and the first node that makes it, kNodesMax if none does.
  struct Need {
    Element value;
    std::size_t maker = kNodesMax;
  };
  /// What a node that works takes, and whether it must be done even if nobody wants what it makes.
  struct Task {
    std::array<Need, Step::kOperandsMax> operands{};
    std::size_t count = 0;
    bool must = false;
  };
  void add_task(std::size_t node, const Step& step);
  [[nodiscard]] std::size_t maker_of(Element value) const;
  [[nodiscard]] bool is_constant(Element value) const;

  std::vector<Instruction> block_;
  ConstantPool pool_;
  Encoding encoding_;
  AbstractState end_;
  std::array<Element, kCellsSearched> end_values_{};
  std::vector<Work> works_;
  std::vector<Task> tasks_;                    ///< by node
  std::vector<std::vector<Element>> results_;  ///< by node, of those that work
  std::vector<Need> end_needs_;                ///< upper cells of the end
};

/// Value semantics; a beam copies them. Refers to its original.
class Draft {
 public:
  explicit Draft(const Original& original) : original_(&original), reader_(original.pool()) {}

  /// What the reader takes, without control flow, and only the end as token kDraftTokensMax.
  [[nodiscard]] bool legal(Token token) const;
  void take(Token token);
  [[nodiscard]] bool ended() const { return reader_.ended(); }
  [[nodiscard]] const Original& original() const { return *original_; }
  [[nodiscard]] const std::vector<Token>& tokens() const { return tokens_; }
  [[nodiscard]] const std::vector<Instruction>& instructions() const { return instructions_; }
  /// Whether what is complete of it ends as the original does, as far as AbstractState can tell.
  [[nodiscard]] bool reached() const { return !reader_.open_literal() && state_.same(original_->end()); }

  /// After the instructions that are complete.
  [[nodiscard]] const AbstractState& state() const { return state_; }
  [[nodiscard]] std::size_t works_done() const { return done_.count(); }
  [[nodiscard]] std::size_t works_undone() const { return original_->works_.size() - done_.count(); }

  /// Whether nothing that is appended can make it do what the original does: it has been deeper in the stack.
  [[nodiscard]] bool lost() const { return state_.lowest() < original_->end().lowest(); }

  /// Equal for drafts that stand at the same point: the same state, the same open literal.
  [[nodiscard]] std::uint64_t point() const;
  /// Words of an instruction whose literal is open.
  [[nodiscard]] std::uint32_t open_words() const;

  /// Returns the nodes that the decoder shall look at, as bits: those that could be done next; those still to be done
  /// when none of them could; all when none is.
  std::uint32_t append_rows(FeatureRows& rows) const;

 private:
  struct Outlook;
  void demand(const Original::Need& need, Outlook& outlook) const;
  void find_pending(Outlook& outlook) const;
  [[nodiscard]] Outlook outlook() const;
  void append_cells(const Outlook& outlook, FeatureRows& rows) const;
  void append_wants(const Outlook& outlook, FeatureRows& rows) const;

  const Original* original_;
  TokenReader reader_;
  AbstractState state_;
  std::vector<Token> tokens_;
  std::vector<Instruction> instructions_;
  std::bitset<kNodesMax * Step::kWorkMax> done_;  ///< of the original's works
};

}  // namespace trident::tir::neural
