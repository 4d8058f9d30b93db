// Blocks that one process leaves for another to learn from: a build without the daemon meets them, and the daemon
// learns.
//
//   FOLDER/left        a buffer (block_buffer.h), with the same limit; a learner takes all of it (apprentice.h)
//   FOLDER/left.lock   held while it is read and replaced
#pragma once

#include <string>
#include <vector>

#include "jit/tir/neural/block_buffer.h"

namespace trident::tir::neural {

/// Adds records, without those that no buffer takes. Makes the folder if absent. Errors: OsError.
Result<void> leave_blocks(const std::string& folder, const std::vector<BlockRecord>& records);
/// Removes and returns all left blocks. Errors: RejectedRecord if they cannot be read, and they are gone too; OsError.
Result<std::vector<BlockRecord>> take_left_blocks(const std::string& folder);

}  // namespace trident::tir::neural
