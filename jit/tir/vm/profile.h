// Where the rows of a run's tables come from: which instruction, in which subroutine, called from where.
//
//   Machine::run(code, inputs, budget, &profile)
//
// Rows are those of Heights. A word that a u32 or cascade table already has costs nothing, so that the instruction that
// is the first to need an entry bears it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "jit/tir/vm/heights.h"

namespace trident::tir::vm {

struct Code;

/// A subroutine as called along one path. A recursive call goes back to the frame that its subroutine has on the path.
struct Frame {
  std::uint32_t parent;  ///< index, below its own; of the first itself
  std::uint32_t entry;   ///< step that a call goes to; of the first 0
  std::uint64_t calls = 0;
  Heights own;  ///< without what is called from here

  bool operator==(const Frame&) const = default;
};

/// Of one run. The sum of `text` and of all own rows, or of all steps', are the run's heights.
class Profile {
 public:
  /// Paths beyond this number are counted where they are called from; a program can have a path for each cycle.
  static constexpr std::size_t kFramesMax = std::size_t{1} << 16;

  /// What no instruction costs: hashing the program, and the lookup table.
  Heights text;
  std::vector<Frame> frames;   ///< the first is where the program begins
  std::vector<Heights> steps;  ///< by step of the code
  bool frames_cut = false;     ///< kFramesMax was reached

  /// `own`: rows while no other call is open above one of the subroutine's. `inclusive`: rows while a call of it is
  /// open, each row once however many are.
  struct Subroutine {
    std::uint32_t entry;
    std::uint64_t calls = 0;
    Heights own, inclusive;
  };
  /// By entry.
  [[nodiscard]] std::vector<Subroutine> subroutines() const;

 private:
  friend class Execution;

  void begin(const Code& code);
  /// After step `executed`: the jump stack's depth, the step that comes next, and how tall these two tables are.
  void count(std::uint32_t executed, std::size_t depth, std::uint32_t next, std::uint64_t u32_rows,
             std::uint64_t cascade_rows);

  /// Of a call to step `entry` from frame `caller`.
  std::uint32_t frame_of_call(std::uint32_t caller, std::uint32_t entry);
  std::uint32_t frame_of_first_call(std::uint32_t caller, std::uint32_t entry);
  /// Makes above_ that of `frame`, by the way through the tree from where it was asked for last.
  void look_from(std::uint32_t frame);

  /// A subroutine while the run goes on.
  struct Counted {
    Subroutine rows;
    std::uint64_t open = 0;  ///< calls that have not returned
    Heights before;          ///< the run's rows when the first of these was made
  };
  void open(std::uint32_t entry);
  void close();

  const Code* code_ = nullptr;
  Heights rows_;                                            ///< of the run so far
  std::vector<Counted> counted_;                            ///< the first is where the program begins
  std::vector<std::uint32_t> counted_at_;                   ///< by step: its place in counted_ + 1, 0 if none
  std::vector<std::uint32_t> open_;                         ///< places in counted_ of the open calls
  std::vector<std::uint32_t> path_;                         ///< a frame per open call, and the first
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;  ///< by caller and entry: the frame that a call goes to
  std::vector<std::uint32_t> depth_;                        ///< by frame: how many are above it
  /// By step: the frame that it has among looked_from_ and those above it, 0 if none. The first frame, which is no
  /// call even where one goes to the same step, is left out.
  std::vector<std::uint32_t> above_;
  std::uint32_t looked_from_ = 0;
  std::uint64_t u32_rows_ = 0, cascade_rows_ = 0;
};

}  // namespace trident::tir::vm
