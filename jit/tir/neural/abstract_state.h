// State of a straight-line block so far, at one random point: the value of each cell, the instruction that made it, and
// the effects.
//
// Problem: the network is told which instruction made an operand and, while it writes a block, how far the draft is
// from its goal. Both need values that can be compared. Approach: the cells at the start are
// random elements, one for each slot; sums, products and inverses are computed in the field, so that polynomials that
// are equal give equal elements and others do not (but for chance, degree / p); every other instruction gives a random
// element that depends on its operands alone. Operands that are u32 are, but for chance, constants, and the
// machine's own result is taken. Effects in an order (input, output, sponge) are chains of such elements, each made of
// the one before. RAM is the stores that have not been overwritten: addresses that differ by a constant are different
// ones; a store or load depends on the stores before it that may be at its address; a word just stored is known.
//
// Equal states strongly suggest that two blocks do the same; they do not prove it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "jit/tir/tasm/instruction.h"

namespace trident::tir::neural {

using field::Element;
using tasm::Instruction;

/// Known type of a cell, in the order in which the encoding numbers them.
enum class Type : std::uint8_t { none, field, u32, boolean, digest, extension, address };
inline constexpr std::size_t kTypeCount = 7;
std::string_view name_of(Type type);

/// Maker of a cell: node n as n, slot s of the stack at the start as kSlotOrigin + s.
using Origin = std::uint16_t;
inline constexpr Origin kSlotOrigin = 0x400;

struct Cell {
  Element value;
  Origin origin = 0;
  Type type = Type::field;
};

/// Kinds of effects that keep an order of their own.
enum class Chain : std::uint8_t { ram, secret, input, output, sponge };
inline constexpr std::size_t kChainCount = 5;

/// A word of RAM that an instruction touched.
struct Access {
  Element address;
  bool write = false;
};
/// True if two addresses differ whatever the stack was at the start.
bool surely_distinct(Element a, Element b);

/// Operands and effects of one instruction.
struct Step {
  /// Operands, the top first: those it computes with, moves or drops. At most kOperandsMax.
  static constexpr std::size_t kOperandsMax = 10;
  std::array<Cell, kOperandsMax> operands{};
  std::size_t operand_count = 0;
  Type result = Type::none;  ///< type of the first word that it leaves
  /// Names of the work, equal for the same work on the same values, one per word for instructions on n words; none for
  /// pushes, moves and drops.
  static constexpr std::size_t kWorkMax = tasm::kCountMax;
  std::array<std::uint64_t, kWorkMax> work{};
  std::size_t work_count = 0;
  std::array<bool, kChainCount> chains{};  ///< chains that it belongs to
  std::array<Access, kWorkMax> accesses{};
  std::size_t access_count = 0;  ///< 0 with chains[ram]: it reads words that are not told apart
};

/// State with value semantics; a beam copies it.
class AbstractState {
 public:
  AbstractState();

  /// Runs one instruction as node `node`. Returns false, and does nothing, for one that may not stand in a block.
  bool run(const Instruction& instruction, Origin node, Step& step);

  /// Returns st[depth]; below the touched cells, the slot that was there at the start.
  [[nodiscard]] Cell at(std::size_t depth) const;
  /// Returns the change of the stack's height since the start.
  [[nodiscard]] int height() const { return static_cast<int>(stack_.size()) - static_cast<int>(dug_); }
  /// Returns the least height so far, at most 0: two blocks of which one goes deeper fail in different states.
  [[nodiscard]] int lowest() const { return lowest_; }
  /// Returns how many slots of the start were read or removed.
  [[nodiscard]] std::size_t dug() const { return dug_; }
  [[nodiscard]] std::uint64_t chain(Chain c) const { return chains_[static_cast<std::size_t>(c)]; }
  /// True if stack, effects, conditions of failure and the least height are equal.
  [[nodiscard]] bool same(const AbstractState& other) const;
  [[nodiscard]] bool same_effects(const AbstractState& other) const;
  /// Hashes the state: same states have equal fingerprints, others practically never.
  [[nodiscard]] std::uint64_t fingerprint() const;

  /// True if the store of that name is still in RAM.
  [[nodiscard]] bool has_store(std::uint64_t work) const;

 private:
  struct Store {
    Element address, value;
    std::uint64_t name;
  };
  friend class AbstractRun;
  void reach(std::size_t depth);

  std::vector<Cell> stack_;  ///< bottom first; below it are the slots from dug_ on
  std::size_t dug_ = 0;
  int lowest_ = 0;
  std::array<std::uint64_t, kChainCount> chains_{};  ///< for RAM: a sum of the names of its stores
  std::vector<Store> stores_;                        ///< the oldest first, at most one per address
  std::vector<std::uint64_t> conditions_;            ///< needed for the run not to fail: sorted, each once
};

/// Returns the element that represents slot `slot` of the stack at the start.
Element slot_value(std::size_t slot);

}  // namespace trident::tir::neural
