// Tries the machine code of a region: it must do in a sandboxed child, on drawn frames and memory, what the interpreter
// does. Nothing is published before its trials.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/region/region.h"
#include "runtime/base/result.h"

namespace trident::trials {

/// A word of the frame from which addresses come.
struct Home {
  std::uint32_t slot = 0;
  std::uint64_t step = 1;  ///< the draw moves it by multiples of this
};

/// Describes what calls of a function pass to its region: numbers, and arrays as windows from address 0 on, whose
/// lengths are words of the frame. Behind their windows come those of local arrays.
struct CallShape {
  struct Number {
    std::uint32_t slot = 0;
    std::int64_t lo = 0, hi = 0;  ///< of a float: bits
    bool is_float = false;
  };
  struct Array {
    std::uint32_t slot = 0;  ///< of its length
    std::uint32_t element_bytes = 1;
    std::int64_t lo = 0, hi = 0;  ///< of an element; of a float: bits
    bool is_float = false;
  };
  std::vector<Number> numbers;
  std::vector<Array> arrays;
  std::vector<std::uint64_t> local_bytes;
};

/// Code under trial.
struct Subject {
  const region::Region& region;     ///< passes region::check()
  std::span<const std::byte> code;  ///< position-independent; 8-byte aligned entry at `entry`
  std::size_t entry = 0;            ///< offset of the entry in `code`
  std::uint32_t frame_bytes = 0;    ///< a multiple of 8
  std::vector<Home> bases;          ///< of each window: its addresses come from here; none: it has a call
  std::optional<Home> origin{};     ///< addresses of all windows may come from here
  std::uint32_t stages = 1;         ///< loops that stand one behind another: runs shall come to the last one, too
  std::optional<CallShape> call{};  ///< of a function's region
};

struct Options {
  std::uint64_t seed = 1;
  std::uint32_t runs = 96;             ///< fewer where a run takes many steps
  std::uint64_t cpu_ns = 100'000'000;  ///< of the child
};

/// How control went in the runs, by the interpreter.
struct Coverage {
  std::uint32_t runs = 0;
  std::uint32_t rounds = 0;                       ///< runs that used some of the budget: they took a way back
  std::uint32_t left = 0, missed = 0, spent = 0;  ///< by exit; spent: the budget was used up
  std::uint32_t ways = 0, ways_taken = 0;         ///< blocks that take from the budget, and those that a run came to
  std::uint32_t blocks = 0, blocks_reached = 0;   ///< of a function's region
};

struct Verdict {
  Coverage coverage;
  std::string difference;  ///< the first one, in words; empty when all runs were the same
  [[nodiscard]] bool same() const { return difference.empty(); }
};

class Stage;

/// The verdict depends on nothing but subject and options. `stage` (stage.h) may be null: it saves the time of a fork.
/// Errors: OsError when memory or a child cannot be had.
Result<Verdict> try_out(const Subject& subject, const Options& options, Stage* stage = nullptr);

}  // namespace trident::trials
