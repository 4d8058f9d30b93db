#include "jit/loop/discover.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jit/loop/aarch64/lifter.h"

namespace trident::loop {
namespace {

constexpr std::uint64_t kInstructionBytes = 4;
constexpr std::size_t kTailInstructionsMax = 16;
constexpr std::string_view kNames[] = {
#define X(id, name, sentence) #name,
#include "jit/loop/refusals.def"
#undef X
};
constexpr std::string_view kSentences[] = {
#define X(id, name, sentence) sentence,
#include "jit/loop/refusals.def"
#undef X
};

/// Says why a word that is not decoded is none of ours, by the top level of the encoding (DDI 0487, C4.1).
Reason reason_of(std::uint32_t word) {
  const bool is_memory = (word >> 25 & 5) == 4, is_branch_or_system = (word >> 26 & 7) == 5;
  if ((word >> 25 & 7) == 7 || (is_memory && (word >> 26 & 1) != 0)) return Reason::floats;
  if (is_memory && (word >> 24 & 0x3F) == 0x08) return Reason::exclusive;
  if (is_memory && (word & 0x3B20'0C00) == 0x3820'0000) return Reason::exclusive;  // atomic operations
  if (!is_branch_or_system) return Reason::unknown;
  if (word >> 26 == 0x25 || (word & 0xFEFF'F000) == 0xD63F'0000) return Reason::call;
  if ((word & 0xFFFF'F000) == 0xD65F'0000) return Reason::not_a_loop;  // a return; some check the address first
  if (word >> 25 == 0x6B) return Reason::indirect;
  return Reason::system;
}

class Discovery {
 public:
  Discovery(const Code& code, std::uint64_t head) : code_(code), head_(head) {}

  std::variant<Loop, Refusal> run() {
    if (head_ % kInstructionBytes != 0 || !word_at(head_)) return Refusal{Reason::outside, head_};
    explore();
    keep(what_comes_to(comes_from_[head_]));
    if (loop_.instructions.empty()) return refusal();
    if (loop_.instructions.size() > kLoopInstructionsMax) return Refusal{Reason::too_long, head_};
    loop_.head = head_;
    mark_leaders();
    return std::move(loop_);
  }

  std::optional<Loop> run_joined() {
    if (head_ % kInstructionBytes != 0) return {};
    explore();
    number_cycles();
    std::vector<std::uint64_t> members;
    for (const auto& [address, cycle] : loop_.cycles) members.push_back(address);
    std::set<std::uint64_t> kept = what_comes_to(std::move(members));
    add_tails(kept);
    keep(kept);
    if (loop_.cycle_of(head_) == 0 || loop_.cycle_count() < 2) return {};
    if (loop_.instructions.size() > kJoinedInstructionsMax) return {};
    loop_.head = head_;
    mark_leaders();
    return std::move(loop_);
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> word_at(std::uint64_t address) const {
    const std::uint64_t offset = address - code_.base;
    if (offset > code_.bytes.size() || code_.bytes.size() - offset < kInstructionBytes) return {};
    std::uint32_t word = 0;
    std::memcpy(&word, code_.bytes.data() + offset, sizeof word);
    return word;
  }

  /// A loop that would be one if all its instructions could be lifted is refused for the first that cannot.
  Refusal refusal() {
    if (!refusal_ || refusal_->reason == Reason::not_a_loop) return {Reason::not_a_loop, head_};
    passes_ = true;
    loop_.instructions.clear();
    comes_from_.clear();
    explore();
    const bool comes_back = !comes_from_[head_].empty();
    return comes_back || refusal_->reason == Reason::indirect ? *refusal_ : Refusal{Reason::not_a_loop, head_};
  }

  /// Collects all that control can come to from the head, the code behind the loop too: it is as long as what was sent.
  void explore() {
    std::vector<std::uint64_t> open = {head_};
    while (!open.empty()) {
      const std::uint64_t address = open.back();
      open.pop_back();
      if (loop_.instructions.count(address) != 0) continue;
      const auto word = word_at(address);
      if (!word) continue;
      const auto instruction = aarch64::decode(*word);
      if (!instruction) {
        const Reason reason = reason_of(*word);
        if (!refusal_) refusal_ = Refusal{reason, address};
        if (passes_ && reason != Reason::indirect && reason != Reason::not_a_loop) pass(address, address + 4, open);
        continue;
      }
      loop_.instructions.emplace(address, *instruction);
      const Successors after = successors(*instruction, address);
      for (const auto& [has, to] : {std::pair{after.has_taken, after.taken}, {after.has_next, after.next}})
        if (has) pass(address, to, open);
    }
  }

  void pass(std::uint64_t from, std::uint64_t to, std::vector<std::uint64_t>& open) {
    // An instruction that is passed over is no instruction of the loop: it is looked at once, all the same.
    if (comes_from_.count(to) != 0 && passes_ && loop_.instructions.count(from) == 0) return;
    comes_from_[to].push_back(from);
    open.push_back(to);
  }

  void keep(const std::set<std::uint64_t>& kept) {
    std::erase_if(loop_.instructions, [&](const auto& entry) { return kept.count(entry.first) == 0; });
  }

  std::set<std::uint64_t> what_comes_to(std::vector<std::uint64_t> open) {
    std::set<std::uint64_t> found;
    while (!open.empty()) {
      const std::uint64_t address = open.back();
      open.pop_back();
      if (!found.insert(address).second) continue;
      for (const std::uint64_t from : comes_from_[address]) open.push_back(from);
    }
    return found;
  }

  /// Adds straight code behind the last loops, up to its last store: in an emulator it costs as much as some rounds.
  void add_tails(std::set<std::uint64_t>& kept) const {
    std::vector<std::uint64_t> begins;
    for (const std::uint64_t address : kept) {
      const Successors after = successors(loop_.instructions.at(address), address);
      if (after.has_taken && kept.count(after.taken) == 0) begins.push_back(after.taken);
      if (after.has_next && kept.count(after.next) == 0) begins.push_back(after.next);
    }
    for (const std::uint64_t begin : begins) {
      const std::uint64_t end = end_of_tail(begin);
      for (std::uint64_t at = begin; at != end; at += kInstructionBytes) kept.insert(at);
    }
  }

  /// The address behind the last store of the straight code at `begin`; that itself where there is none.
  [[nodiscard]] std::uint64_t end_of_tail(std::uint64_t begin) const {
    std::uint64_t end = begin, at = begin;
    for (std::size_t i = 0; i < kTailInstructionsMax; ++i) {
      const auto found = loop_.instructions.find(at);
      if (found == loop_.instructions.end() || found->second.row->lift == aarch64::Lift::branch) break;
      at += kInstructionBytes;
      const auto use = aarch64::memory_use(found->second);
      if (use && use->stores) end = at;
    }
    return end;
  }

  /// Numbers the strongly connected components that control can go round in (Kosaraju: the last one to be left in a
  /// walk along the jumps is the first one of its component; a walk against them finds the others).
  void number_cycles() {
    const std::vector<std::uint64_t> order = order_of_leaving();
    std::set<std::uint64_t> seen;
    std::uint32_t count = 0;
    for (auto first = order.rbegin(); first != order.rend(); ++first) {
      const std::vector<std::uint64_t> members = component_of(*first, seen);
      const std::vector<std::uint64_t>& before = comes_from_[*first];
      if (members.size() < 2 && std::find(before.begin(), before.end(), *first) == before.end()) continue;
      ++count;
      for (const std::uint64_t address : members) loop_.cycles.emplace(address, count);
    }
  }

  [[nodiscard]] std::vector<std::uint64_t> order_of_leaving() const {
    std::vector<std::uint64_t> order;
    std::set<std::uint64_t> seen;
    std::vector<std::pair<std::uint64_t, bool>> open = {{head_, false}};
    while (!open.empty()) {
      const auto [address, is_left] = open.back();
      open.pop_back();
      if (is_left) order.push_back(address);
      const auto found = loop_.instructions.find(address);
      if (is_left || found == loop_.instructions.end() || !seen.insert(address).second) continue;
      open.emplace_back(address, true);
      const Successors after = successors(found->second, address);
      if (after.has_taken) open.emplace_back(after.taken, false);
      if (after.has_next) open.emplace_back(after.next, false);
    }
    return order;
  }

  /// The instructions from which control comes to `first`, without those that were seen before.
  std::vector<std::uint64_t> component_of(std::uint64_t first, std::set<std::uint64_t>& seen) {
    std::vector<std::uint64_t> members, open = {first};
    while (!open.empty()) {
      const std::uint64_t address = open.back();
      open.pop_back();
      if (!seen.insert(address).second) continue;
      members.push_back(address);
      for (const std::uint64_t from : comes_from_[address]) open.push_back(from);
    }
    return members;
  }

  void mark_leaders() {
    loop_.leaders.insert(head_);
    for (const auto& [address, instruction] : loop_.instructions) {
      const Successors after = successors(instruction, address);
      if (!after.has_taken) continue;
      for (const std::uint64_t to : {after.taken, address + kInstructionBytes})
        if (loop_.instructions.count(to) != 0) loop_.leaders.insert(to);
    }
  }

  const Code& code_;
  std::uint64_t head_;
  Loop loop_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> comes_from_;
  std::optional<Refusal> refusal_;  ///< the first instruction that could not be lifted
  bool passes_ = false;             ///< control goes on behind instructions that cannot be lifted
};

}  // namespace

std::string_view name_of(Reason reason) {
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view sentence_of(Reason reason) {
  return kSentences[static_cast<std::size_t>(reason)];
}

Successors successors(const aarch64::Instruction& instruction, std::uint64_t address) {
  Successors after{.next = address + kInstructionBytes};
  if (instruction.row->lift != aarch64::Lift::branch) return after;
  after.has_taken = true;
  after.taken = address + static_cast<std::uint64_t>(instruction.imm);
  after.has_next = instruction.row->format != aarch64::Format::Jump;
  return after;
}

std::uint32_t Loop::cycle_of(std::uint64_t address) const {
  const auto found = cycles.find(address);
  return found == cycles.end() ? 0 : found->second;
}

std::uint32_t Loop::cycle_count() const {
  std::uint32_t count = 0;
  for (const auto& [address, cycle] : cycles) count = std::max(count, cycle);
  return std::max(count, 1u);
}

std::variant<Loop, Refusal> discover(const Code& code, std::uint64_t head) {
  return Discovery(code, head).run();
}

std::optional<Loop> discover_joined(const Code& code, std::uint64_t head) {
  return Discovery(code, head).run_joined();
}

std::vector<Loop> cycles_of(const Loop& joined) {
  std::vector<Loop> loops(joined.cycle_count());
  for (const auto& [address, cycle] : joined.cycles) {
    Loop& loop = loops[cycle - 1];
    if (loop.instructions.empty()) loop.leaders.insert(loop.head = address);
    loop.instructions.emplace(address, joined.instructions.at(address));
    if (joined.leaders.count(address) != 0) loop.leaders.insert(address);
  }
  return loops;
}

}  // namespace trident::loop
