// A straight-line block executed on values (values.h): what it leaves, what it does in order, and exactly when it
// fails.
//
// A block fails if its stack becomes too shallow, if it reads more than its inputs have, if it uses a sponge that there
// is not, or if one of its conditions does not hold. In which order it would find out does not matter: a run that fails
// has no result. So conditions are a set, and what they say may be used for everything in the block.
//
// RAM is what the block found, then stores in order. A load finds the last store to its address, as long as every later
// one is to a provably different address (the difference is a constant, or known not to be 0); otherwise it is an atom
// of the stores that may matter. Stores end in a normal form: none that a later one overwrites, none that writes what
// is there already, and those that commute in the order of their addresses' names.
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

/// What every run of a block has in common, whatever its values are. Instructions behind a `halt` do not count.
struct Shape {
  bool straight = true;       ///< no instruction of control, but `halt`
  bool halts = false;         ///< ends the program
  std::size_t executed = 0;   ///< instructions up to `halt`
  std::size_t size_min = 16;  ///< of the stack before the block, so that it does not become too shallow
  std::size_t cells = 0;      ///< of the stack before the block, counted from the top, that may be looked at
  long height_change = 0;
  std::size_t public_words = 0, secret_words = 0, digests = 0, output_words = 0;
  bool uses_sponge = false;  ///< before any sponge_init
  bool touches_sponge = false;
  bool reads_ram = false;
};
Shape shape_of(Block block);

/// Holds in every run that does not fail.
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

/// The end of a block.
struct End {
  bool fails = false;        ///< in every run; then the rest says nothing
  std::string out_of_reach;  ///< why there is no end in normal form; empty if there is one
  std::vector<Value> stack;  ///< in the place of the topmost `cells`, bottom first
  std::vector<Value> output;
  std::vector<Store> stores;                                   ///< in normal form
  std::optional<std::array<Value, field::kTip5Width>> sponge;  ///< none if untouched
  std::vector<Condition> conditions;                           ///< sorted, each once
};

/// Executes a straight block that finds `cells` (at least its shape's) on the stack.
End execute(Values& values, Block block, std::size_t cells);

}  // namespace trident::tir::equiv
