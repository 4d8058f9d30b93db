// Blocks that were compiled, to learn from: each with what it costs and the best answer that is known.
//
// Bounded: the oldest goes when a new one comes. A block is here once; when it comes again it is young again and keeps
// the better answer. One block in four is held out, by a hash of the block, so that the same blocks are held out for
// ever: nothing learns from them, and what is promoted must be better on them.
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
  std::vector<Instruction> answer;  ///< the best that is known to do the same; may be the block
  std::int64_t block_cost = 0, answer_cost = 0;
  bool operator==(const BlockRecord&) const = default;
};

inline constexpr std::size_t kBlocksMax = 4096;
/// One in so many.
inline constexpr std::uint64_t kHeldOutShare = 4;

bool held_out(std::span<const Instruction> block);

class BlockBuffer {
 public:
  /// InvalidArgument for what encode() refuses and for answers of more than kNodesMax instructions.
  Result<void> add(BlockRecord record);
  /// The oldest first.
  [[nodiscard]] const std::deque<BlockRecord>& records() const { return records_; }

  /// To a file that is the old one or the new one. OsError.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  /// NotFound, RejectedRecord for a file that is not what was saved, OsError.
  static Result<BlockBuffer> load(const std::string& path);

 private:
  std::deque<BlockRecord> records_;
};

}  // namespace trident::tir::neural
