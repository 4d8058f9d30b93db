// Executes a straight-line block on values (values.h): its end, its effects in order, and the exact conditions under
// which it fails.
//
// A block fails if its stack becomes too shallow, if it reads more than its inputs have, if it uses a sponge that does
// not exist, or if one of its conditions does not hold. The order in which these are checked does not matter: a failing
// run has no result. So conditions are a set, and all of them may be used for everything in the block.
//
// RAM is its contents before the block, then stores in order. A load finds the last store to its address, if every
// later one is to a provably different address (the difference is a constant, or known not to be 0); otherwise it is an
// atom of the stores that may matter. Stores end in a normal form: none that a later one overwrites, none that writes
// the word that is there already, and those that commute in the order of their addresses' names.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/tir/equiv/values.h"
#include "jit/tir/tasm/instruction.h"
#include "runtime/field/tip5.h"

namespace trident::tir::equiv {

using tasm::Instruction;
using Block = std::span<const Instruction>;

/// Facts that hold for every run of a block, whatever its values. Instructions behind a `halt` do not count.
struct Shape {
  bool straight = true;       ///< no instruction of control, but `halt`
  bool halts = false;         ///< ends the program
  std::size_t executed = 0;   ///< instructions up to `halt`
  std::size_t size_min = 16;  ///< least elements of the stack before the block that keep it deep enough
  std::size_t cells = 0;      ///< number of topmost cells that the block may read
  long height_change = 0;
  std::size_t public_words = 0, secret_words = 0, digests = 0, output_words = 0;
  bool uses_sponge = false;  ///< uses a sponge before any sponge_init
  bool touches_sponge = false;
  bool reads_ram = false;
};
Shape shape_of(Block block);

/// A condition that holds in every run that does not fail.
struct Condition {
  enum class Kind : std::uint8_t { u32, not_zero, zero };
  Kind kind;
  Value value;
  auto operator<=>(const Condition&) const = default;
};

struct Store {
  Value address, word;
  bool operator==(const Store&) const = default;
};

/// End of a block.
struct End {
  bool fails = false;        ///< fails in every run; then the other members mean nothing
  std::string out_of_reach;  ///< reason why there is no normal form; empty if there is one
  std::vector<Value> stack;  ///< replaces the topmost `cells`, bottom first
  std::vector<Value> output;
  std::vector<Store> stores;                                   ///< in normal form
  std::optional<std::array<Value, field::kTip5Width>> sponge;  ///< none if untouched
  std::vector<Condition> conditions;                           ///< sorted, each once
};

/// Executes a straight block that finds `cells` (at least its shape's) on the stack.
End execute(Values& values, Block block, std::size_t cells);

}  // namespace trident::tir::equiv
