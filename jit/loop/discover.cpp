#include "jit/loop/discover.h"

#include <cstring>
#include <optional>
#include <vector>

namespace trident::loop {
namespace {

constexpr std::uint64_t kInstructionBytes = 4;
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
    keep_what_comes_back();
    if (loop_.instructions.empty()) return refusal();
    if (loop_.instructions.size() > kLoopInstructionsMax) return Refusal{Reason::too_long, head_};
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

  void keep_what_comes_back() {
    std::set<std::uint64_t> kept;
    std::vector<std::uint64_t> open = comes_from_[head_];
    while (!open.empty()) {
      const std::uint64_t address = open.back();
      open.pop_back();
      if (!kept.insert(address).second || address == head_) continue;
      for (const std::uint64_t from : comes_from_[address]) open.push_back(from);
    }
    std::erase_if(loop_.instructions, [&](const auto& entry) { return kept.count(entry.first) == 0; });
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

std::variant<Loop, Refusal> discover(const Code& code, std::uint64_t head) {
  return Discovery(code, head).run();
}

}  // namespace trident::loop
