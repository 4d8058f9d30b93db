// Selection of reductions on x86-64, in the order of jit/kir/reduction.h. Partial results stand in the frame, where a
// step of the loop of any size finds its own by the loop's index. A main loop whose step takes all of them holds them
// in registers instead, as far as there are any, and parks them in the frame when it ends: what is left of a chunk goes
// on from there.
//
// All partial results of several reductions are more than AVX2 has registers. Then the main loop takes a group of
// columns at a time, from row to row of a chunk: each element joins the same partial result in the same order.
//
//   elements  0 .. 31   | 0 .. 15  16 .. 31 |     a step of 16 elements: first the left half of all rows, then the
//            32 .. 63   | 0 .. 15  16 .. 31 |     right half, each with half of the partial results
//
// At the end of a chunk its partial results become a tree of one chunk, "the tree at hand": in the register of the
// first partial result if there is one, else in the frame. A loop joins it with the trees of earlier chunks, which
// stand in the frame by level (x86_loop.cpp). Where the main loop has taken all of a chunk, partial results in
// registers are joined there, which saves the way through the frame.
#pragma once

#include "jit/codegen/mir.h"
#include "jit/kir/kir.h"

namespace trident::codegen {

class X86Selector;

class X86Reducer {
 public:
  static constexpr std::uint8_t kTreeBytes = 16;  ///< in the frame, by level; lane 0 counts

  X86Reducer(X86Selector& selector, std::pmr::memory_resource* arena)
      : s_(selector), reductions_(arena), partials_(arena) {}

  [[nodiscard]] bool any() const { return !reductions_.empty(); }
  /// Returns the vectors of partial results that are globals.
  [[nodiscard]] std::uint32_t held_partials() const { return static_cast<std::uint32_t>(partials_.size()); }

  // For the selector, while it selects bodies and the epilogue.
  void add(kir::Value v);
  /// Makes a step of `copies` vectors, fewer than a row, one of columns, if the kernel only reduces and all reductions
  /// have rows of one length.
  void take_columns(std::uint32_t copies);
  [[nodiscard]] bool by_columns() const { return columns_ != 0; }
  /// Returns the elements of a row; for columns.
  [[nodiscard]] std::uint32_t row_elements() const;
  /// Says that the next body has `copies` vectors: partial results that a step of so many takes all of become globals.
  void begin_body(std::uint32_t copies);
  /// Selects the update of reduction `index` by its operand in this copy.
  void accumulate(std::size_t index);
  /// Returns whether `v` is select(a, b, 0) that is not computed: a sum of integers adds b under the mask a, to a partial
  /// result in a register (AVX-512).
  [[nodiscard]] bool adds_under_mask(kir::Value v) const;
  /// Loads the results into the selector's values.
  void load_results();

  // Blocks for the loop over chunks, selected after the bodies.
  /// Selects the start of a chunk: sets the partial results.
  Block select_start();
  /// Selects what follows the main loop: partial results that are globals go to the frame.
  Block select_parking();
  /// Selects the end of a chunk: its partial results become the tree at hand. `parked`: all of them stand in the frame.
  Block select_chunk_end(bool parked);
  /// Selects a step of joining trees: the tree at the level joins the one at hand.
  Block select_join();
  /// Selects keeping the tree at hand at the level.
  Block select_keep();

 private:
  /// A block in which `each` emits code for the tree of every reduction.
  template <class Each>
  Block tree_block(Each each);
  static constexpr std::uint32_t kInFrame = 0xFFFF'FFFFu;
  struct Reduction {
    kir::Value value;                        ///< the reducing instruction
    std::uint32_t first_partial = kInFrame;  ///< in partials_, if they are globals
    MemRef partials, trees, tree;            ///< in the frame: partial results, trees by level, perhaps the one at hand
  };
  [[nodiscard]] const kir::Inst& inst(const Reduction& reduction) const;
  [[nodiscard]] std::uint32_t vectors_of(const Reduction& reduction) const;
  /// Returns how many vectors of partial results the main loop holds at a time.
  [[nodiscard]] std::uint32_t held_of(const Reduction& reduction) const;
  VReg join(const kir::Inst& reduction, VReg earlier, VReg later);
  /// Joins the element of this copy with its partial result.
  VReg join_element(const kir::Inst& reduction, VReg partial);
  void add_under_mask(const kir::Inst& chosen, VReg partial);
  VReg result_of_chunk(const Reduction& reduction, bool parked);
  /// Returns the tree at hand.
  VReg tree(const Reduction& reduction);
  /// Makes the result of the last instruction the tree at hand.
  void set_tree(const Reduction& reduction);
  VReg load(const MemRef& from);
  void store(VReg value, const MemRef& to);
  void start_block(Block& block);
  /// Sets the type of the reduction, with the width of the body's vectors.
  void set_body_type(const Reduction& reduction);

  X86Selector& s_;
  std::pmr::vector<Reduction> reductions_;
  std::pmr::vector<VReg> partials_;
  std::uint32_t copies_ = 1;
  std::uint32_t columns_ = 0;  ///< vectors of a group of columns; 0: whole rows
};

}  // namespace trident::codegen
