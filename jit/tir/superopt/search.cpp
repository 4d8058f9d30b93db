#include "jit/tir/superopt/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "jit/tir/superopt/ordering.h"

namespace trident::tir::superopt {
namespace {

using tasm::kCountMax;
using tasm::kIndexMax;
using tasm::Op;

/// Number of candidates per kept state that a network scores: the best by the heuristic.
constexpr std::size_t kScoredPerKept = 3;

/// True for instructions on one word that join a neighbour of their kind into one instruction.
bool joins(Op op) {
  return op == Op::kPop || op == Op::kReadIo || op == Op::kWriteIo || op == Op::kDivine || op == Op::kReadMem ||
         op == Op::kWriteMem;
}

double cost_of(const Instruction& instruction, const Weights& w) {
  return w.word * instruction.words() + w.cycle + w.stack_row * std::abs(instruction.stack_change());
}

class Search {
 public:
  Search(const Specification& specification, double bound, const SearchOptions& options)
      : spec_(specification), options_(options), best_(static_cast<float>(bound)) {
    all_done_ = spec_.tasks.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << spec_.tasks.size()) - 1;
    if (options.network != nullptr) ordering_.emplace(*options.network, specification, options_.weights);
  }

  std::optional<std::vector<Instruction>> run();

 private:
  bool finished(const State& state) const {
    return state.done == all_done_ && state.size == spec_.after.size() && state.was_lowest == options_.as_low &&
           std::equal(spec_.after.begin(), spec_.after.end(), state.stack);
  }

  /// Notes the lowest height only if asked, so that states with no other difference are merged.
  void note_lowest(State& state) const { state.was_lowest |= options_.as_low && state.size == spec_.lowest; }

  void keep_best();

  /// Counts present and needed copies of each value, with those that open tasks will take and give.
  void count(const State& state) {
    std::memset(balance_, 0, spec_.values.size() * sizeof balance_[0]);
    for (std::size_t i = 0; i < state.size; ++i) ++balance_[state.stack[i]];
    for (const Id id : spec_.after) --balance_[id];
    for (std::uint64_t open = all_done_ & ~state.done; open != 0; open &= open - 1) {
      const Task& task = spec_.tasks[static_cast<std::size_t>(std::countr_zero(open))];
      for (const Id id : task.takes) --balance_[id];
      for (const Id id : task.gives) ++balance_[id];
    }
  }

  float left(const State& state);
  void consider(State& child, std::uint32_t parent, const Instruction& instruction);
  void expand(std::uint32_t index);

  void tasks(const State& state, std::uint32_t index) {
    for (std::uint64_t open = all_done_ & ~state.done; open != 0; open &= open - 1) {
      const auto t = static_cast<std::size_t>(std::countr_zero(open));
      const Task& task = spec_.tasks[t];
      if ((task.after & ~state.done) != 0 || state.size < task.takes.size()) continue;
      if (state.size - task.takes.size() + task.gives.size() > kStackMax) continue;
      bool there = true;
      for (std::size_t i = 0; i < task.takes.size(); ++i) there &= state.st(i) == task.takes[i];
      if (!there && task.commutes) there = state.st(0) == task.takes[1] && state.st(1) == task.takes[0];
      if (!there) continue;
      State child = state;
      child.done |= std::uint64_t{1} << t;
      child.size = static_cast<std::uint8_t>(child.size - task.takes.size());
      for (std::size_t i = task.gives.size(); i-- > 0;) child.stack[child.size++] = task.gives[i];
      consider(child, index, task.instruction);
    }
  }

  void moves(const State& state, std::uint32_t index, std::size_t k) {
    if (state.st(0) != state.st(k)) {
      State child = state;
      std::swap(child.stack[child.size - 1], child.stack[child.size - 1 - k]);
      consider(child, index, {Op::kSwap, Element(k)});
    }
    if (k == 1) return;
    State picked = state;
    std::rotate(picked.stack + picked.size - 1 - k, picked.stack + picked.size - k, picked.stack + picked.size);
    consider(picked, index, {Op::kPick, Element(k)});
    State placed = state;
    std::rotate(placed.stack + placed.size - 1 - k, placed.stack + placed.size - 1, placed.stack + placed.size);
    consider(placed, index, {Op::kPlace, Element(k)});
  }

  void constants(const State& state, std::uint32_t index) {
    if (state.size == kStackMax) return;
    for (std::size_t v = 0; v < spec_.values.size(); ++v) {
      if (wanted_[v] >= 0 || spec_.values[v].base != kConstants) continue;
      State child = state;
      child.stack[child.size++] = static_cast<Id>(v);
      consider(child, index, {Op::kPush, spec_.values[v].offset});
    }
  }

  /// True if a value that differs from this by a constant is missing; a constant is rather pushed.
  [[nodiscard]] bool relative_wanted(Id id) const {
    const Id base = spec_.values[id].base;
    if (base == kConstants) return false;
    for (std::size_t v = 0; v < spec_.values.size(); ++v)
      if (v != id && spec_.values[v].base == base && wanted_[v] < 0) return true;
    return false;
  }
  void sums(const State& state, std::uint32_t index) {
    const Id top = state.st(0);
    if (wanted_[top] <= 0) return;
    for (std::size_t v = 0; v < spec_.values.size(); ++v) {
      if (v == top || spec_.values[v].base != spec_.values[top].base || wanted_[v] >= 0) continue;
      State child = state;
      child.stack[child.size - 1] = static_cast<Id>(v);
      consider(child, index, {Op::kAddI, spec_.values[v].offset - spec_.values[top].offset});
    }
  }

  void trace(std::uint32_t found) const {
    const State* at = &finished_[found];
    options_.trace->spent = at->spent;
    while ((at = &kept_[at->parent]) != kept_.data()) options_.trace->path.push_back(*at);
    std::reverse(options_.trace->path.begin(), options_.trace->path.end());
  }

  std::vector<Instruction> path(std::uint32_t found) const;

  const Specification& spec_;
  const SearchOptions& options_;
  float best_;
  std::uint64_t all_done_;
  std::optional<Ordering> ordering_;
  std::vector<State> kept_, next_, finished_;
  std::optional<std::uint32_t> found_;
  std::unordered_map<std::uint64_t, float> seen_;
  int balance_[kValuesMax + 1], wanted_[kValuesMax + 1];
};

inline std::optional<std::vector<Instruction>> Search::run() {
  State first;
  first.size = static_cast<std::uint8_t>(spec_.before.size());
  std::copy(spec_.before.begin(), spec_.before.end(), first.stack);
  note_lowest(first);
  kept_.push_back(first);
  std::size_t layer = 0;
  if (finished(first)) return std::vector<Instruction>();
  if (ordering_) ordering_->begin(first);
  for (std::size_t length = 0; length < options_.length_max && layer < kept_.size(); ++length) {
    if (options_.over()) break;
    next_.clear();
    const std::size_t end = kept_.size();
    for (; layer < end; ++layer) expand(static_cast<std::uint32_t>(layer));
    keep_best();
  }
  if (!found_) return {};
  if (options_.trace != nullptr) trace(*found_);
  return path(*found_);
}

inline void Search::keep_best() {
  const auto by_estimate = [](const State& a, const State& b) { return a.estimate < b.estimate; };
  if (ordering_ && next_.size() > options_.width) {  // else all are kept, in any order
    if (const std::size_t scored = kScoredPerKept * options_.width; next_.size() > scored) {
      std::nth_element(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(scored), next_.end(), by_estimate);
      next_.resize(scored);
    }
    ordering_->score(next_);
  }
  const std::size_t width = std::min(options_.width, next_.size());
  std::partial_sort(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(width), next_.end(), by_estimate);
  for (std::size_t i = 0; i < width; ++i) {
    if (next_[i].spent >= best_) continue;
    kept_.push_back(next_[i]);
    if (ordering_) ordering_->keep(next_[i]);
  }
  if (ordering_) ordering_->end_layer();
  if (options_.trace != nullptr) options_.trace->layers.push_back(next_);
}

inline float Search::left(const State& state) {
  count(state);
  const Weights& w = options_.weights;
  double sum = 0;
  for (std::uint64_t open = all_done_ & ~state.done; open != 0; open &= open - 1) {
    const Instruction& instruction = spec_.tasks[static_cast<std::size_t>(std::countr_zero(open))].instruction;
    sum += cost_of(instruction, w) / (joins(instruction.op) ? 2.5 : 1.0);
  }
  int missing = 0, surplus = 0;
  for (std::size_t v = 0; v < spec_.values.size(); ++v) (balance_[v] < 0 ? missing : surplus) += std::abs(balance_[v]);
  sum += missing * (2 * w.word + w.cycle + w.stack_row);
  sum += surplus * ((2 * w.word + w.cycle) / 3 + w.stack_row);
  int misplaced = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(state.size, spec_.after.size()); ++i)
    misplaced += state.stack[i] != spec_.after[i] ? 1 : 0;
  sum += misplaced * (2 * w.word + w.cycle) * 0.3;
  return static_cast<float>(sum);
}

inline void Search::consider(State& child, std::uint32_t parent, const Instruction& instruction) {
  const State& from = kept_[parent];
  if (child.size < spec_.lowest) return;
  note_lowest(child);
  const bool joined = joins(instruction.op) && from.last.op == instruction.op && from.run > 0 && from.run < kCountMax;
  child.run = joins(instruction.op) ? static_cast<std::uint8_t>(joined ? from.run + 1 : 1) : 0;
  child.before_last = from.last.op;
  child.last = instruction;
  child.parent = parent;
  const Weights& w = options_.weights;
  child.spent = from.spent + static_cast<float>(joined ? w.stack_row * std::abs(instruction.stack_change())
                                                       : cost_of(instruction, w));
  if (child.spent >= best_ - 1e-4f) return;
  if (finished(child)) {
    best_ = child.spent;
    found_ = static_cast<std::uint32_t>(finished_.size());
    finished_.push_back(child);
    return;
  }
  const auto [seen, fresh] = seen_.try_emplace(child.hash(), child.spent);
  if (!fresh && seen->second <= child.spent) return;
  seen->second = child.spent;
  child.left = left(child);
  child.estimate = child.spent + child.left;
  next_.push_back(child);
}

inline void Search::expand(std::uint32_t index) {
  const State state = kept_[index];
  count(state);
  // An open task's results are not there yet; one may equal a number that is needed before.
  std::copy(balance_, balance_ + spec_.values.size(), wanted_);
  for (std::uint64_t open = all_done_ & ~state.done; open != 0; open &= open - 1)
    for (const Id id : spec_.tasks[static_cast<std::size_t>(std::countr_zero(open))].gives) --wanted_[id];
  tasks(state, index);
  const std::size_t reach = std::min<std::size_t>(state.size, kIndexMax + 1);
  for (std::size_t k = 0; k < reach; ++k)
    if (state.size < kStackMax && (wanted_[state.st(k)] < 0 || relative_wanted(state.st(k)))) {
      State child = state;
      child.stack[child.size++] = state.st(k);
      consider(child, index, {Op::kDup, Element(k)});
    }
  for (std::size_t k = 1; k < reach; ++k) moves(state, index, k);
  if (state.size > 0 && wanted_[state.st(0)] > 0) {
    State child = state;
    --child.size;
    consider(child, index, {Op::kPop, field::kOne});
  }
  constants(state, index);
  if (state.size > 0) sums(state, index);
}

inline std::vector<Instruction> Search::path(std::uint32_t found) const {
  std::vector<Instruction> out;
  const State* at = &finished_[found];
  for (;; at = &kept_[at->parent]) {
    if (at == kept_.data()) break;
    out.push_back(at->last);
  }
  std::reverse(out.begin(), out.end());
  std::vector<Instruction> together;
  for (const Instruction& instruction : out) {
    if (!together.empty() && joins(instruction.op) && together.back().op == instruction.op &&
        together.back().argument.value() < kCountMax)
      together.back().argument += field::kOne;
    else
      together.push_back(instruction);
  }
  return together;
}

}  // namespace

double cost(std::span<const Instruction> block, const Weights& weights) {
  double sum = 0;
  for (const Instruction& instruction : block) sum += cost_of(instruction, weights);
  return sum;
}

std::optional<std::vector<Instruction>> search(const Specification& specification, double bound,
                                               const SearchOptions& options) {
  return Search(specification, bound, options).run();
}

}  // namespace trident::tir::superopt
