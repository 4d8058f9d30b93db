// Concrete states in which two blocks are run on the machine (vm/machine.h), and a test that they end alike.
//
// Everything else here is measured by it: a reported difference was seen on the machine.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/tir/equiv/symbolic.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/split_mix.h"

namespace trident::tir::equiv {

/// State of the machine before a block.
struct State {
  std::vector<Element> stack;  ///< bottom first, at least 16
  std::vector<Element> public_input, secret_input;
  std::vector<field::Digest> secret_digests;
  std::vector<std::pair<Element, Element>> ram;  ///< address and word, each address once
  /// Words absorbed by the sponge since sponge_init; none: there is no sponge.
  std::optional<std::array<Element, field::kTip5Rate>> absorbed;
};

using Random = SplitMix64;

/// Makes states of many kinds, in turn: random elements, u32, small numbers, corners of the field and of u32, the
/// constants of the blocks and their neighbours, equal vectors, short inputs and stacks.
class States {
 public:
  /// Stacks have at least `size_min` elements.
  States(std::uint64_t seed, Block a, Block b, std::size_t size_min);
  State next();
  /// Returns an element of kind `kind` % kKinds.
  static constexpr unsigned kKinds = 6;
  Element element(unsigned kind);

 private:
  void fill_ram(State& state);

  Random random_;
  std::vector<Element> constants_;
  bool straight_, reads_ram_, uses_sponge_;
  std::size_t stack_min_, deepest_, size_min_, public_, secret_, digests_;
  unsigned count_ = 0;
};

/// Runs two blocks in many states. Blocks with calls are run as they are: their targets are addresses.
class Pair {
 public:
  /// Says whether a run may take more cycles than the limit.
  enum class Limit : std::uint8_t { raised, kept };
  /// Stops a run after `cycles` at first: with calls it may be endless. If only one run has ended by then, the
  /// other needs several times the cycles of that one; if it still goes on, that is a difference. A raised limit grants
  /// them; with a kept one that is less the runs are undecided.
  Pair(Block a, Block b, std::uint64_t cycles = 100'000, Limit limit = Limit::raised);
  /// True if the machine takes both: arguments are in range, and calls go to where an instruction begins.
  [[nodiscard]] bool runnable() const { return runnable_; }
  /// Says what differs at the end; empty if nothing does, or if undecided(). Two runs that fail are the same,
  /// however they fail.
  std::string difference(const State& state);
  /// True if both failed in the last state.
  [[nodiscard]] bool both_failed() const { return !undecided_ && failed_[0] && failed_[1]; }
  /// True if in the last state neither ended, or one met another limit of ours (vm/failures.def) early.
  [[nodiscard]] bool undecided() const { return undecided_; }
  /// True if both wrote the same public output in the last state.
  [[nodiscard]] bool same_output() const { return machines_[0].output() == machines_[1].output(); }

 private:
  void run(unsigned which, const State& state, std::uint64_t cycles);
  /// Describes a difference if only one of them has ended and the other was given enough cycles.
  std::string endless(const State& state);

  std::array<vm::Code, 2> plain_, with_sponge_;
  std::array<vm::Machine, 2> machines_;
  std::uint64_t cycles_;
  Limit limit_;
  std::array<bool, 2> failed_{};
  bool runnable_ = true, relocatable_ = true, undecided_ = false;
};

}  // namespace trident::tir::equiv
