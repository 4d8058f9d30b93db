#include "jit/tir/neural/draft.h"

#include <algorithm>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

void append(FeatureRows& rows, std::size_t row) {
  rows.push_back(static_cast<std::int32_t>(row));
}

void append_bits(FeatureRows& rows, std::size_t first, std::size_t bits, std::size_t value) {
  for (std::size_t b = 0; b < bits; ++b)
    if (value >> b & 1) append(rows, first + b);
}

}  // namespace

Result<Original> Original::of(std::span<const Instruction> block) {
  Original original;
  TRY(original.encoding_, encode(block));
  original.block_.assign(block.begin(), block.end());
  original.pool_ = constants_of(block);
  Step step;
  for (std::size_t k = 0; k < block.size(); ++k) {
    CHECK(original.end_.run(block[k], static_cast<Origin>(k), step));
    for (std::size_t w = 0; w < step.work_count; ++w) original.works_.push_back({step.work[w], k});
    original.add_task(k, step);
  }
  for (std::size_t d = 0; d < kCellsSearched; ++d) {
    const Element value = original.end_.at(d).value;
    original.end_values_[d] = value;
    original.end_needs_.push_back({value, original.maker_of(value)});
  }
  for (const Work& w : original.works_)
    if (original.end_.has_store(w.name)) original.tasks_[w.node].must = true;
  return original;
}

std::size_t Original::maker_of(Element value) const {
  for (std::size_t k = 0; k < results_.size(); ++k)
    if (std::find(results_[k].begin(), results_[k].end(), value) != results_[k].end()) return k;
  return kNodesMax;
}

void Original::add_task(std::size_t node, const Step& step) {
  const Instruction& instruction = block_[node];
  const tasm::InstructionRow& row = tasm::row(instruction.op);
  Task task;
  std::vector<Element> results;
  if (step.work_count > 0) {
    for (; task.count < step.operand_count; ++task.count) {
      const Element value = step.operands[task.count].value;
      task.operands[task.count] = {value, maker_of(value)};
    }
    // Stores are added later: only those still in RAM at the end must be done.
    constexpr std::uint16_t kMust =
        tasm::kAsserts | tasm::kMayFail | tasm::kSecret | tasm::kPublicInput | tasm::kPublicOutput | tasm::kSponge;
    task.must = (row.effects & kMust) != 0;
    for (std::size_t d = 0; d < row.gives.of(instruction.argument_of_amounts()); ++d)
      results.push_back(end_.at(d).value);
  }
  tasks_.push_back(task);
  results_.push_back(std::move(results));
}

void Original::append_context_rows(FeatureRows& rows) const {
  for (std::size_t s = 0; s < kContextWords; ++s) {
    if (context_word::kUsed.of(encoding_.context[s])) append(rows, feature::kSlotUsed + s);
    if (!context_word::kStays.of(encoding_.context[s])) append(rows, feature::kSlotMoved + s);
  }
}

void Original::append_node_rows(std::size_t k, FeatureRows& rows) const {
  const std::uint64_t what = encoding_.word(k, 0), life = encoding_.word(k, 2);
  append(rows, feature::kToken + node_word0::kToken.of(what));
  append(rows, feature::kType + node_word0::kType.of(what));
  append_bits(rows, feature::kNodeBit, feature::kNodeBits, k);
  const std::uint64_t place = node_word2::kPlace.of(life);
  if (place != kNoPlace) append(rows, feature::kPlace + std::min<std::size_t>(place, feature::kPlaces - 1));
  for (std::size_t operand = 0; operand < feature::kOperandsSeen; ++operand) {
    const std::uint64_t from = input_field(operand).of(encoding_.word(k, 1));
    const std::size_t first = feature::kOperand + operand * feature::kOperandRows;
    if (from < kNodesMax)
      append(rows, first + kContextWords + std::min<std::size_t>(k - from, 8) - 1);
    else if (from != kNoNode && from != kDeeperSlot)
      append(rows, first + (from - kFirstSlot));
  }
}

bool Draft::legal(Token token) const {
  if (!reader_.legal(token)) return false;
  if (tokens_.size() + 1 >= kDraftTokensMax && token != kEnd) return false;
  return in_block(row(token).op);
}

void Draft::take(Token token) {
  CHECK(legal(token));
  const std::size_t before = instructions_.size();
  reader_.take(token, instructions_);
  tokens_.push_back(token);
  Step step;
  for (std::size_t i = before; i < instructions_.size(); ++i) {
    CHECK(state_.run(instructions_[i], static_cast<Origin>(i), step));
    for (std::size_t w = 0; w < original_->works_.size(); ++w)
      for (std::size_t s = 0; s < step.work_count; ++s)
        if (original_->works_[w].name == step.work[s]) done_.set(w);
  }
}

std::uint64_t Draft::point() const {
  // The tokens of an open literal are the last ones; without an open literal the last token does not matter.
  std::uint64_t point = state_.fingerprint();
  for (std::size_t t = tokens_.size(); t-- > 0;) {
    const TokenKind kind = row(tokens_[t]).kind;
    if (kind != TokenKind::digit && kind != TokenKind::literal) break;
    point = tensor::mix(point ^ (tokens_[t] + 1u));
    if (kind == TokenKind::literal) break;
  }
  return point;
}

std::uint32_t Draft::open_words() const {
  for (std::size_t t = tokens_.size(); t-- > 0;) {
    const TokenRow& last = row(tokens_[t]);
    if (last.kind == TokenKind::literal) return tasm::row(last.op).words();
    if (last.kind != TokenKind::digit) return 0;
  }
  return 0;
}

bool Original::is_constant(Element value) const {
  // Values that are not constants are random elements, and none of these is a u32.
  if (value.is_u32() || pool_.find(value)) return true;
  return value == field::kMinusOne;
}

/// Progress of a draft towards the original's end.
struct Draft::Outlook {
  std::array<Element, kCellsSearched> now{};
  std::uint32_t pending = 0, ready = 0;
  std::optional<std::size_t> next;  ///< the first node that is ready

  [[nodiscard]] std::size_t depth_of(Element value) const {
    return static_cast<std::size_t>(std::find(now.begin(), now.end(), value) - now.begin());
  }
  [[nodiscard]] bool has(Element value) const { return depth_of(value) < kCellsSearched; }
};

/// Marks the maker of a missing value as a node to be done, and so on for the values that this node needs.
void Draft::demand(const Original::Need& need, Outlook& outlook) const {
  if (need.maker == kNodesMax || (outlook.pending >> need.maker & 1) != 0 || outlook.has(need.value)) return;
  outlook.pending |= std::uint32_t{1} << need.maker;
  const Original::Task& task = original_->tasks_[need.maker];
  for (std::size_t i = 0; i < task.count; ++i) demand(task.operands[i], outlook);
}

void Draft::find_pending(Outlook& outlook) const {
  for (std::size_t w = 0; w < original_->works_.size(); ++w) {
    const std::size_t node = original_->works_[w].node;
    const Original::Task& task = original_->tasks_[node];
    if (done_.test(w) || !task.must || (outlook.pending >> node & 1) != 0) continue;
    outlook.pending |= std::uint32_t{1} << node;
    for (std::size_t i = 0; i < task.count; ++i) demand(task.operands[i], outlook);
  }
  for (const Original::Need& need : original_->end_needs_) demand(need, outlook);
}

Draft::Outlook Draft::outlook() const {
  Outlook out;
  for (std::size_t d = 0; d < kCellsSearched; ++d) out.now[d] = state_.at(d).value;
  find_pending(out);
  for (std::size_t k = 0; k < original_->nodes(); ++k) {
    if ((out.pending >> k & 1) == 0) continue;
    const std::uint64_t before = node_word2::kFollows.of(original_->encoding_.word(k, 2));
    if (before < kNodesMax && (out.pending >> before & 1) != 0) continue;
    const Original::Task& task = original_->tasks_[k];
    const auto end = task.operands.begin() + static_cast<std::ptrdiff_t>(task.count);
    const bool there = std::all_of(task.operands.begin(), end, [&](const Original::Need& n) {
      return out.has(n.value) || original_->is_constant(n.value);
    });
    if (!there) continue;
    out.ready |= std::uint32_t{1} << k;
    if (!out.next) out.next = k;
  }
  return out;
}

void Draft::append_cells(const Outlook& outlook, FeatureRows& rows) const {
  const auto& end = original_->end_values_;
  const int to_add = original_->end().height() - state_.height();
  for (std::size_t c = 0; c < kCellsSeen; ++c) {
    const Element value = outlook.now[c];
    // The first place asked is the one the cell gets if nothing below it changes.
    const auto aligned = static_cast<std::size_t>(std::clamp(static_cast<int>(c) + to_add, 0, 23));
    std::size_t place = aligned;
    if (end[aligned] != value) place = static_cast<std::size_t>(std::find(end.begin(), end.end(), value) - end.begin());
    const std::size_t kind = place == kCellsSearched ? kCellsSeen + 1 : std::min(place, kCellsSeen);
    append(rows, feature::kCell + c * feature::kCellRows + kind);

    std::size_t use = 0;
    auto needed = static_cast<std::size_t>(std::count(end.begin(), end.end(), value));
    for (std::size_t k = 0; k < original_->nodes(); ++k) {
      if ((outlook.pending >> k & 1) == 0) continue;
      const Original::Task& task = original_->tasks_[k];
      for (std::size_t i = 0; i < task.count; ++i) {
        if (task.operands[i].value != value) continue;
        ++needed;
        if (use == 0) use = outlook.next == k ? 1 + std::min<std::size_t>(i, 2) : feature::kUseRows - 1;
      }
    }
    append(rows, feature::kUse + c * feature::kUseRows + use);
    const auto there = static_cast<std::size_t>(std::count(outlook.now.begin(), outlook.now.end(), value));
    append(rows, feature::kSupply + c * feature::kSupplyRows + (there < needed ? 0 : there == needed ? 1 : 2));
  }
  for (std::size_t d = 0; d < kCellsSeen; ++d)
    if (!outlook.has(end[d])) append(rows, feature::kMissing + d);
  append(rows, feature::kHeight + static_cast<std::size_t>(std::clamp(to_add, -4, 4) + 4));
}

void Draft::append_wants(const Outlook& outlook, FeatureRows& rows) const {
  const auto want = [&](Element value) {
    if (outlook.has(value) || !original_->is_constant(value)) return;
    const TokenRow& push = row(first_token({tasm::Op::kPush, value}, original_->pool()));
    std::size_t which = feature::kWantedRows - 1;
    if (push.kind == TokenKind::small) which = push.argument;
    if (push.kind == TokenKind::copied) which = kSmallConstants.size() + push.argument;
    const auto wanted = static_cast<std::int32_t>(feature::kWanted + which);
    if (std::find(rows.begin(), rows.end(), wanted) == rows.end()) rows.push_back(wanted);
  };
  for (std::size_t d = 0; d < kCellsSeen; ++d) want(original_->end_values_[d]);
  if (!outlook.next) return;
  const Original::Task& task = original_->tasks_[*outlook.next];
  for (std::size_t i = 0; i < task.count; ++i) want(task.operands[i].value);
  for (std::size_t i = 0; i < std::min(task.count, feature::kOperandsSeen); ++i)
    append(rows, feature::kReach + i * feature::kReachRows +
                     std::min(outlook.depth_of(task.operands[i].value), feature::kReachRows - 1));
}

std::uint32_t Draft::append_rows(FeatureRows& rows) const {
  const Outlook outlook = this->outlook();
  if (!tokens_.empty()) append(rows, feature::kToken + tokens_.back());
  append_bits(rows, feature::kStepBit, feature::kStepBits, tokens_.size());
  append_cells(outlook, rows);
  append_wants(outlook, rows);
  if (state_.same_effects(original_->end())) append(rows, feature::kEffectsDone);
  if (outlook.ready != 0) return outlook.ready;
  if (outlook.pending != 0) return outlook.pending;
  return static_cast<std::uint32_t>((std::uint64_t{1} << original_->nodes()) - 1);
}

}  // namespace trident::tir::neural
