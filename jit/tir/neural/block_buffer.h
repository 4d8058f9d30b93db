// Compiled blocks to learn from, each with its cost and the best known answer.
//
// The buffer is bounded: a new block drops the oldest. It holds a block once; a repeated block becomes the newest and
// keeps the better answer. One block in four is held out, by a hash of the block, so that the choice never changes:
// nothing learns from these blocks, and new weights are promoted only if they are better on them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "jit/tir/neural/encoding.h"
#include "runtime/base/result.h"

namespace trident::tir::neural {

struct BlockRecord {
  std::vector<Instruction> block;   ///< as the compiler wrote it
  std::vector<Instruction> answer;  ///< best block known to do the same; may be the block itself
  std::int64_t block_cost = 0, answer_cost = 0;
  bool operator==(const BlockRecord&) const = default;
};

inline constexpr std::size_t kBlocksMax = 4096;
/// Share of held-out blocks: one in so many.
inline constexpr std::uint64_t kHeldOutShare = 4;

bool held_out(std::span<const Instruction> block);

class BlockBuffer {
 public:
  /// Adds a record. Errors: InvalidArgument for a block that encode() refuses, or an answer above kNodesMax.
  Result<void> add(BlockRecord record);
  /// Returns the records, the oldest first.
  [[nodiscard]] const std::deque<BlockRecord>& records() const { return records_; }

  /// Saves to a file, which is the old or the new one whatever happens. Errors: OsError.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  /// Loads a saved file. Errors: NotFound; RejectedRecord for a damaged file; OsError.
  static Result<BlockBuffer> load(const std::string& path);

 private:
  std::deque<BlockRecord> records_;
};

}  // namespace trident::tir::neural
