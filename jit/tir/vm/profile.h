// Attributes the rows of a run's tables: to which instruction, in which subroutine, called from where.
//
//   Machine::run(code, inputs, budget, &profile)
//
// Rows are those of Heights. A word that a u32 or cascade table already has costs nothing, so the first instruction
// that needs an entry pays for it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "jit/tir/vm/heights.h"

namespace trident::tir::vm {

struct Code;

/// A subroutine as called along one path. A recursive call goes back to the frame that its subroutine has on the path.
struct Frame {
  std::uint32_t parent;  ///< index below its own; the first frame's own
  std::uint32_t entry;   ///< step that a call goes to; 0 for the first
  std::uint64_t calls = 0;
  Heights own;  ///< without rows of subroutines called from here

  bool operator==(const Frame&) const = default;
};

/// Profile of one run. The sum of `text` and of all own rows, or of all steps', are the run's heights.
class Profile {
 public:
  /// Limits paths. Further ones are counted at their callers; a program can have a path for each cycle.
  static constexpr std::size_t kFramesMax = std::size_t{1} << 16;

  /// Rows that no instruction costs: hashing the program, and the lookup table.
  Heights text;
  std::vector<Frame> frames;   ///< the first is the start of the program
  std::vector<Heights> steps;  ///< per step of the code
  bool frames_cut = false;     ///< kFramesMax was reached

  /// Rows of a subroutine. `own`: while no other call is open above one of its calls. `inclusive`: while a call of it
  /// is open, each row once however many are.
  struct Subroutine {
    std::uint32_t entry;
    std::uint64_t calls = 0;
    Heights own, inclusive;
  };
  /// Returns the subroutines by entry.
  [[nodiscard]] std::vector<Subroutine> subroutines() const;

 private:
  friend class Execution;

  void begin(const Code& code);
  /// Counts step `executed`, given the jump stack's depth, the next step, and the heights of these two tables.
  void count(std::uint32_t executed, std::size_t depth, std::uint32_t next, std::uint64_t u32_rows,
             std::uint64_t cascade_rows);

  /// Returns the frame of a call to step `entry` from frame `caller`.
  std::uint32_t frame_of_call(std::uint32_t caller, std::uint32_t entry);
  std::uint32_t frame_of_first_call(std::uint32_t caller, std::uint32_t entry);
  /// Makes above_ that of `frame`, by the way through the tree from the frame it was last made for.
  void look_from(std::uint32_t frame);

  /// Rows of a subroutine during the run.
  struct Counted {
    Subroutine rows;
    std::uint64_t open = 0;  ///< calls that have not returned
    Heights before;          ///< the run's rows when the first open call was made
  };
  void open(std::uint32_t entry);
  void close();

  const Code* code_ = nullptr;
  Heights rows_;                                            ///< rows of the run so far
  std::vector<Counted> counted_;                            ///< the first is the start of the program
  std::vector<std::uint32_t> counted_at_;                   ///< per step: its place in counted_ + 1, 0 if none
  std::vector<std::uint32_t> open_;                         ///< places in counted_ of the open calls
  std::vector<std::uint32_t> path_;                         ///< a frame per open call, after the first frame
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;  ///< frame of a call, by caller and entry
  std::vector<std::uint32_t> depth_;                        ///< per frame: number of frames above it
  /// Per step: the frame that it has among looked_from_ and those above it, 0 if none. The first frame, which is no
  /// call even if a call goes to its step, is left out.
  std::vector<std::uint32_t> above_;
  std::uint32_t looked_from_ = 0;
  std::uint64_t u32_rows_ = 0, cascade_rows_ = 0;
};

}  // namespace trident::tir::vm
