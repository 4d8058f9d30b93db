// The block to rewrite, a draft of its replacement, and the network's inputs about both: rows of its feature table,
// which are summed.
//
//   encoder   a node: its token, type, place in the block, place of its result at the end, makers of its first two
//             operands; and for all nodes, which slots of the stack are used and which do not stay
//   decoder   the last token, the number of tokens, and the draft's stack against its goal: for
//             each of its upper cells the place where the end has its value, the value's next use, and
//             whether there are too few or too many of it; for each of the end's upper cells whether its value is
//             there; the difference in height; whether all effects are done. For the first node that is still to be
//             done and has all its operands: where these are, which constants are to be pushed for it
//
// A node is still to be done if it has an effect and the draft has not done its work, or if it makes a value that the
// end or such a node needs and that is not on the draft's stack. The decoder looks at those nodes that could be done
// next.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/tir/neural/encoding.h"

namespace trident::tir::neural {

inline constexpr std::size_t kDraftTokensMax = 64;
/// Number of cells of the stack that the decoder sees, and depth to which their values are searched.
inline constexpr std::size_t kCellsSeen = 8, kCellsSearched = 24;

/// Start of each kind of row in the feature table.
namespace feature {
inline constexpr std::size_t kToken = 0;
inline constexpr std::size_t kType = kToken + kTokenCount;
inline constexpr std::size_t kNodeBit = kType + kTypeCount;  ///< bits of the node's number
inline constexpr std::size_t kNodeBits = 5;
inline constexpr std::size_t kPlace = kNodeBit + kNodeBits;  ///< place of the result at the end: 0..7, deeper
inline constexpr std::size_t kPlaces = 9;
/// Rows for each of two operands: a slot 0..15, or a node that many before, 1..8 or more.
inline constexpr std::size_t kOperand = kPlace + kPlaces;
inline constexpr std::size_t kOperandRows = kContextWords + 8, kOperandsSeen = 2;
inline constexpr std::size_t kSlotUsed = kOperand + kOperandsSeen * kOperandRows;
inline constexpr std::size_t kSlotMoved = kSlotUsed + kContextWords;
inline constexpr std::size_t kStepBit = kSlotMoved + kContextWords;  ///< bits of the number of tokens
inline constexpr std::size_t kStepBits = 6;
/// Rows for each cell: the place where the end has its value: 0..7, deeper, nowhere.
inline constexpr std::size_t kCell = kStepBit + kStepBits;
inline constexpr std::size_t kCellRows = kCellsSeen + 2;
inline constexpr std::size_t kMissing = kCell + kCellsSeen * kCellRows;
inline constexpr std::size_t kHeight = kMissing + kCellsSeen;  ///< number of cells to add, -4..4
inline constexpr std::size_t kHeights = 9;
inline constexpr std::size_t kEffectsDone = kHeight + kHeights;
/// Rows for each cell: not needed; operand 0, 1 or another of the next node; operand of a later one.
inline constexpr std::size_t kUse = kEffectsDone + 1;
inline constexpr std::size_t kUseRows = 5;
/// Rows for each cell: too few of its value, as many as are needed, too many.
inline constexpr std::size_t kSupply = kUse + kCellsSeen * kUseRows;
inline constexpr std::size_t kSupplyRows = 3;
/// Rows for constants to be pushed for the next node or the end: small, copied, another.
inline constexpr std::size_t kWanted = kSupply + kCellsSeen * kSupplyRows;
inline constexpr std::size_t kWantedRows = kSmallConstants.size() + kCopiedMax + 1;
/// Rows for the places of the next node's first two operands: st0..st15, elsewhere.
inline constexpr std::size_t kReach = kWanted + kWantedRows;
inline constexpr std::size_t kReachRows = tasm::kRegisters + 1;
inline constexpr std::size_t kCount = kReach + kOperandsSeen * kReachRows;
}  // namespace feature
static_assert(feature::kCount == 511);

using FeatureRows = std::vector<std::int32_t>;

/// A block with all facts derived from it.
class Original {
 public:
  /// Encodes a block; errors as of encode().
  static Result<Original> of(std::span<const Instruction> block);

  [[nodiscard]] const std::vector<Instruction>& block() const { return block_; }
  [[nodiscard]] const ConstantPool& pool() const { return pool_; }
  [[nodiscard]] const Encoding& encoding() const { return encoding_; }
  [[nodiscard]] const AbstractState& end() const { return end_; }
  [[nodiscard]] std::size_t nodes() const { return encoding_.count; }

  /// Appends the rows of all nodes; append_node_rows() those of node `k` in addition.
  void append_context_rows(FeatureRows& rows) const;
  void append_node_rows(std::size_t k, FeatureRows& rows) const;

 private:
  friend class Draft;
  struct Work {
    std::uint64_t name;
    std::size_t node;
  };
  /// A needed value and the first node that makes it, kNodesMax if none does.
  struct Need {
    Element value;
    std::size_t maker = kNodesMax;
  };
  /// Operands of a node that works, and whether it must be done even if its results are not needed.
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
  std::vector<Task> tasks_;                    ///< per node
  std::vector<std::vector<Element>> results_;  ///< per node that works
  std::vector<Need> end_needs_;                ///< upper cells of the end
};

/// Draft with value semantics; a beam copies it. Refers to its original.
class Draft {
 public:
  explicit Draft(const Original& original) : original_(&original), reader_(original.pool()) {}

  /// True for tokens that the reader takes, without control flow; token number kDraftTokensMax can only be the end.
  [[nodiscard]] bool legal(Token token) const;
  void take(Token token);
  [[nodiscard]] bool ended() const { return reader_.ended(); }
  [[nodiscard]] const Original& original() const { return *original_; }
  [[nodiscard]] const std::vector<Token>& tokens() const { return tokens_; }
  [[nodiscard]] const std::vector<Instruction>& instructions() const { return instructions_; }
  /// True if its complete instructions end as the original does, as far as AbstractState can tell.
  [[nodiscard]] bool reached() const { return !reader_.open_literal() && state_.same(original_->end()); }

  /// Returns the state after the complete instructions.
  [[nodiscard]] const AbstractState& state() const { return state_; }
  [[nodiscard]] std::size_t works_done() const { return done_.count(); }
  [[nodiscard]] std::size_t works_undone() const { return original_->works_.size() - done_.count(); }

  /// True if no further token can make it do what the original does: it has been deeper in the stack.
  [[nodiscard]] bool lost() const { return state_.lowest() < original_->end().lowest(); }

  /// Hashes the point of a draft: the state and the open literal.
  [[nodiscard]] std::uint64_t point() const;
  /// Returns the words of an instruction whose literal is open.
  [[nodiscard]] std::uint32_t open_words() const;

  /// Appends rows and returns the nodes that the decoder looks at, as bits: those that could be done next; if there is
  /// none, those still to be done; if none is, all.
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
  std::bitset<kNodesMax * Step::kWorkMax> done_;  ///< finished works of the original
};

}  // namespace trident::tir::neural
