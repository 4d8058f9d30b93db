// What a straight-line block has made of the stack so far, at one random point: what each cell is worth, which
// instruction made it, and what happened besides.
//
// Problem: the network is told which instruction made an operand, and, while it writes a block, how far what it has
// written is from what it shall reach. Both need values that can be compared. Approach: the cells at the start are
// random elements, one for each slot; sums, products and inverses are computed in the field, so that polynomials that
// are equal give equal elements and others do not (but for chance, degree / p); every other instruction gives a random
// element that depends on what it was given alone. Where operands are u32 they are, but for chance, constants, and the
// machine's own result is taken. Effects in an order (input, output, sponge) are chains of such elements, each made of
// the one before. RAM is the stores that have not been overwritten: addresses that differ by a constant are different
// ones; a store or load is made of those before it that may be at its address; a word that was just stored is known.
//
// Equal states are a strong hint that two blocks do the same and no more: nothing here proves it.
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

/// What is known of a cell. In the order in which the encoding numbers them.
enum class Type : std::uint8_t { none, field, u32, boolean, digest, extension, address };
inline constexpr std::size_t kTypeCount = 7;
std::string_view name_of(Type type);

/// Who made a cell: node n as n, slot s of the stack at the start as kSlotOrigin + s.
using Origin = std::uint16_t;
inline constexpr Origin kSlotOrigin = 0x400;

struct Cell {
  Element value;
  Origin origin = 0;
  Type type = Type::field;
};

/// What has an order of its own.
enum class Chain : std::uint8_t { ram, secret, input, output, sponge };
inline constexpr std::size_t kChainCount = 5;

/// A word of RAM that an instruction touched.
struct Access {
  Element address;
  bool write = false;
};
/// Whether two addresses differ whatever the stack was at the start.
bool surely_distinct(Element a, Element b);

/// What one instruction looked at and did.
struct Step {
  /// Operands, the top first: what it computes with, or what it moves or drops. At most kOperandsMax.
  static constexpr std::size_t kOperandsMax = 10;
  std::array<Cell, kOperandsMax> operands{};
  std::size_t operand_count = 0;
  Type result = Type::none;  ///< of the first word that it leaves
  /// Names what was done, equal for the same work on the same values, one name a word for what counts words; none for
  /// pushes, moves and drops.
  static constexpr std::size_t kWorkMax = tasm::kCountMax;
  std::array<std::uint64_t, kWorkMax> work{};
  std::size_t work_count = 0;
  std::array<bool, kChainCount> chains{};  ///< that it is a part of
  std::array<Access, kWorkMax> accesses{};
  std::size_t access_count = 0;  ///< 0 with chains[ram]: it reads words that are not told apart
};

/// Value semantics; a beam copies them.
class AbstractState {
 public:
  AbstractState();

  /// Runs one instruction as node `node`. False (and nothing done) for one that may not stand in a block.
  bool run(const Instruction& instruction, Origin node, Step& step);

  /// st[depth]; below what was touched: the slot that was there at the start.
  [[nodiscard]] Cell at(std::size_t depth) const;
  /// Of the stack, against the start.
  [[nodiscard]] int height() const { return static_cast<int>(stack_.size()) - static_cast<int>(dug_); }
  /// The least height so far, at most 0: two blocks of which one goes deeper fail in different states.
  [[nodiscard]] int lowest() const { return lowest_; }
  /// How many slots of the start were looked at or taken.
  [[nodiscard]] std::size_t dug() const { return dug_; }
  [[nodiscard]] std::uint64_t chain(Chain c) const { return chains_[static_cast<std::size_t>(c)]; }
  /// Whether stack, effects, conditions of failure and the least height are the same.
  [[nodiscard]] bool same(const AbstractState& other) const;
  [[nodiscard]] bool same_effects(const AbstractState& other) const;
  /// Equal for states that are the same, and but for chance for no others.
  [[nodiscard]] std::uint64_t fingerprint() const;

  /// Whether the store of that name is still in RAM.
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
  std::array<std::uint64_t, kChainCount> chains_{};  ///< of RAM: a sum of the names of its stores
  std::vector<Store> stores_;                        ///< the oldest first, one for an address
  std::vector<std::uint64_t> conditions_;            ///< what must hold or else the run fails: sorted, each once
};

/// The element that stands for slot `slot` of the stack at the start.
Element slot_value(std::size_t slot);

}  // namespace trident::tir::neural
