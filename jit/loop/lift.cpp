#include "jit/loop/lift.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "jit/loop/aarch64/lifter.h"
#include "jit/region/builder.h"

namespace trident::loop {
namespace {

using aarch64::Flags;
using aarch64::Instruction;

/// Blocks of a region, by what they do. A block of the guest has one for each kind of flags that control comes with: in
/// the first round these are the caller's, in later ones a subtraction's, say.
enum class Role : std::uint8_t { body, spend, leave, miss, out_of_budget };
struct Label {
  Role role;
  std::uint64_t address;
  Flags flags;
  auto operator<=>(const Label&) const = default;
};

class LoopLifter {
 public:
  explicit LoopLifter(const Loop& loop)
      : loop_(loop),
        windows_(windows_of(loop)),
        builder_(region_),
        lifter_(region_, builder_, loop.head,
                {[this](std::uint8_t base) { return window(base); }, [this] { return miss(); }}) {
    region_.windows = static_cast<std::uint32_t>(windows_.size());
  }

  Result<region::Region> run() {
    (void)number({Role::body, loop_.head, Flags::nzcv});
    while (!open_.empty()) {
      const Label label = open_.front();
      open_.pop_front();
      builder_.begin_block();
      builder_.at(++source_);
      lifter_.set_flags(label.flags);
      block(label);
    }
    TRY_VOID(region::check(region_));
    return std::move(region_);
  }

 private:
  /// The number of the block for `label`. Blocks are numbered in the order in which they are asked for, and are made in
  /// that order.
  std::uint32_t number(const Label& label) {
    const auto [entry, is_new] = numbers_.emplace(label, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) open_.push_back(label);
    return entry->second;
  }

  std::uint32_t miss() { return number({Role::miss, address_, lifter_.flags()}); }

  [[nodiscard]] std::uint32_t window(std::uint8_t base) const {
    const auto at = std::lower_bound(windows_.begin(), windows_.end(), Window{loop_.cycle_of(address_), base});
    return static_cast<std::uint32_t>(at - windows_.begin());
  }

  void block(const Label& label) {
    switch (label.role) {
      case Role::body: return body(label.address);
      case Role::spend: return spend(label.address);
      case Role::leave: return leave(label.address, region::Exit::left);
      case Role::miss: return leave(label.address, region::Exit::miss);
      case Role::out_of_budget: return leave(label.address, region::Exit::budget);
    }
  }

  void body(std::uint64_t address) {
    for (address_ = address;;) {
      const Instruction& instruction = loop_.instructions.at(address_);
      builder_.at(++source_);
      lifter_.lift(instruction, address_);
      const Successors after = successors(instruction, address_);
      if (after.has_taken) return jump(instruction, after);
      const std::uint64_t before = address_;
      address_ = after.next;
      if (loop_.instructions.count(address_) == 0 || loop_.leaders.count(address_) != 0)
        return builder_.jump(target(before, address_));
    }
  }

  void jump(const Instruction& instruction, const Successors& after) {
    if (!after.has_next) return builder_.jump(target(address_, after.taken));
    const region::Value condition = lifter_.taken(instruction);
    const std::uint32_t taken = target(address_, after.taken);
    builder_.branch(condition, taken, target(address_, after.next));
  }

  std::uint32_t target(std::uint64_t from, std::uint64_t to) {
    if (loop_.instructions.count(to) == 0) return number({Role::leave, to, lifter_.flags()});
    return number({to <= from ? Role::spend : Role::body, to, lifter_.flags()});
  }

  void spend(std::uint64_t address) {
    const region::Value left = lifter_.spend();
    const std::uint32_t on = number({Role::body, address, lifter_.flags()});
    builder_.branch(left, on, number({Role::out_of_budget, address, lifter_.flags()}));
  }

  void leave(std::uint64_t address, region::Exit exit) {
    lifter_.settle_flags();
    lifter_.set_pc(address);
    builder_.exit(exit);
  }

  const Loop& loop_;
  const std::vector<Window> windows_;
  region::Region region_;
  region::Builder builder_;
  aarch64::Lifter lifter_;
  std::map<Label, std::uint32_t> numbers_;
  std::deque<Label> open_;
  std::uint64_t address_ = 0;  ///< of the instruction that is lifted
  std::uint32_t source_ = 0;
};

}  // namespace

std::vector<Window> windows_of(const Loop& loop) {
  std::set<Window> windows;
  for (const auto& [address, instruction] : loop.instructions)
    if (const auto use = aarch64::memory_use(instruction)) windows.insert({loop.cycle_of(address), use->base});
  return {windows.begin(), windows.end()};
}

Result<region::Region> lift(const Loop& loop) {
  return LoopLifter(loop).run();
}

}  // namespace trident::loop
