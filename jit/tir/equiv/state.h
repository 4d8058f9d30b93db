// Concrete states in which two blocks are run on the machine (vm/machine.h), and whether they end alike.
//
// This is the measure of everything else here: a difference that is reported was seen by it.
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

/// What a block may find.
struct State {
  std::vector<Element> stack;  ///< bottom first, at least 16
  std::vector<Element> public_input, secret_input;
  std::vector<field::Digest> secret_digests;
  std::vector<std::pair<Element, Element>> ram;  ///< address and word, each address once
  /// What the sponge has absorbed since sponge_init; none: there is no sponge.
  std::optional<std::array<Element, field::kTip5Rate>> absorbed;
};

using Random = SplitMix64;

/// Makes states of many kinds, in turn: random elements, u32, small numbers, corners of the field and of u32, the
/// constants of the blocks and their neighbours, vectors that are equal, little left of inputs or of the stack.
class States {
 public:
  /// Stacks have at least `size_min` elements.
  States(std::uint64_t seed, Block a, Block b, std::size_t size_min);
  State next();
  /// An element of kind `kind` % kKinds.
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

/// Two blocks, ready to be run in many states. Blocks with calls are run as they are: their targets are addresses.
class Pair {
 public:
  /// A run is first stopped after `cycles`: with calls it may go on for ever. Where only one has ended by then, the
  /// other gets several times the cycles that this one took, if they are more; if it still goes on, that is a
  /// difference.
  Pair(Block a, Block b, std::uint64_t cycles = 100'000);
  /// Whether the machine takes both: arguments are in range, and calls go to where an instruction begins.
  [[nodiscard]] bool runnable() const { return runnable_; }
  /// What is not the same at the end, in a sentence; empty if nothing is, or undecided(). Both failing is the same,
  /// however they do.
  std::string difference(const State& state);
  /// Of the last state.
  [[nodiscard]] bool both_failed() const { return !undecided_ && failed_[0] && failed_[1]; }
  /// Of the last state: neither has ended, or one met another limit of ours (vm/failures.def) early.
  [[nodiscard]] bool undecided() const { return undecided_; }
  /// Of the last state: what both have written to public output is the same.
  [[nodiscard]] bool same_output() const { return machines_[0].output() == machines_[1].output(); }

 private:
  void run(unsigned which, const State& state, std::uint64_t cycles);
  /// Where one of them has ended and the other has not: that in a sentence, if enough was waited.
  std::string endless(const State& state);

  std::array<vm::Code, 2> plain_, with_sponge_;
  std::array<vm::Machine, 2> machines_;
  std::uint64_t cycles_;
  std::array<bool, 2> failed_{};
  bool runnable_ = true, relocatable_ = true, undecided_ = false;
};

}  // namespace trident::tir::equiv
